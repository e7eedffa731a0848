//! Speed of parsing a flat file into robots, including the conversion of useragents to patterns.
//!
//! `cargo bench --bench parse`

use std::fmt::Write as _;

use divan::{Bencher, counter::BytesCount};
use robot_detection::registry::{Format, Source, parse, write_flat_file};

fn main() {
    divan::main();
}

/// Returns a file with records of typical size and shape.
fn flat_file(records: usize) -> String {
    let useragents = [
        "QuillBot{}/1.0",
        "Mozilla/4.0 (compatible; QuillView{} 1.0;unix)",
        "'Quill Valley {} Robot'",
        "quip{}/x.x (+http://quill.example/robot.html)",
        "Quill{} Server/5.5 | Quill{} Workstation/5.5",
        "no",
    ];
    let mut file = String::new();
    for (number, useragent) in (0..records).zip(useragents.iter().cycle()) {
        let useragent = useragent.replace("{}", &number.to_string());
        write!(
            file,
            "robot-id: quill{number}\n\
             robot-name: Quill {number}\n\
             robot-cover-url: http://quill.example/\n\
             robot-details-url: http://quill.example/robots/{number}.html\n\
             robot-owner-name: Quill Works\n\
             robot-owner-url: http://quill.example/\n\
             robot-owner-email: robots@quill.example\n\
             robot-status: active\n\
             robot-purpose: indexing, statistics\n\
             robot-type: standalone\n\
             robot-platform: unix\n\
             robot-availability: none\n\
             robot-exclusion: yes\n\
             robot-exclusion-useragent: quill{number}\n\
             robot-noindex: yes\n\
             robot-host: *.quill.example\n\
             robot-from: no\n\
             robot-useragent: {useragent}\n\
             robot-language: c\n\
             robot-description: Gathers the pages of the web for a search engine,\n\
             \x20                 and comes back to each of them after a month or\n\
             \x20                 so to see whether it is still there.\n\
             robot-history: Began as a student's work.\n\
             robot-environment: service\n\
             modified-date: Thu, 29 May 2003 01:00:00 GMT\n\
             modified-by: Quill Works\n\n"
        )
        .expect("writing to a string cannot fail");
    }
    file
}

#[divan::bench(args = [300, 3_000])]
fn flat_file_to_robots(bencher: Bencher<'_, '_>, records: usize) {
    let file = flat_file(records);
    let source = Source::web_robots_db();
    bencher
        .counter(BytesCount::of_str(&file))
        .bench(|| parse(Format::WebRobotsDb, file.as_bytes(), &source));
}

#[divan::bench(args = [300, 3_000])]
fn robots_to_flat_file(bencher: Bencher<'_, '_>, records: usize) {
    let file = flat_file(records);
    let robots = parse(
        Format::WebRobotsDb,
        file.as_bytes(),
        &Source::web_robots_db(),
    )
    .map(|parsed| parsed.robots)
    .unwrap_or_default();
    bencher
        .counter(BytesCount::of_str(&file))
        .bench(|| write_flat_file(&robots));
}
