//! Speed of parsing and querying a robots.txt.
//!
//! `cargo bench --bench robots_txt`; `benches/rivals/run` measures other libraries for comparison.

#[path = "support/robots_txt.rs"]
mod support;

use divan::{Bencher, counter::BytesCount};
use robot_detection::robots_txt::{Dialect, RobotsTxt};
use support::{ROBOT, Sample, samples};

fn main() {
    divan::main();
}

const SAMPLES: [&str; 6] = [
    "small, 2 rules",
    "common, 3 groups of 30",
    "5,615 plain rules",
    "1,200 wildcard rules",
    "2,000 groups",
    "500 KiB",
];

fn sample(name: &str) -> Sample {
    let mut samples = samples().into_iter();
    let found = samples.find(|sample| sample.name == name);
    found.expect("unknown name of a sample")
}

#[divan::bench(args = SAMPLES)]
fn parse(bencher: Bencher<'_, '_>, name: &str) {
    let sample = sample(name);
    bencher
        .counter(BytesCount::of_str(&sample.text))
        .bench(|| RobotsTxt::parse(sample.text.as_bytes(), Dialect::default()));
}

/// Measures a robot's first query, for which no index is built.
#[divan::bench(args = SAMPLES)]
fn ask_once(bencher: Bencher<'_, '_>, name: &str) {
    let sample = sample(name);
    let file = RobotsTxt::parse(sample.text.as_bytes(), Dialect::default());
    let mut urls = sample.urls.iter().cycle();
    bencher.bench_local(|| {
        let url = urls.next().map_or("/", String::as_str);
        RobotsTxt::clone(&file)
            .for_robot(ROBOT)
            .check(url)
            .allowed()
    });
}

#[divan::bench(args = SAMPLES)]
fn ask_often(bencher: Bencher<'_, '_>, name: &str) {
    let sample = sample(name);
    let file = RobotsTxt::parse(sample.text.as_bytes(), Dialect::default());
    let robot = file.for_robot(ROBOT);
    let mut urls = sample.urls.iter().cycle();
    bencher.bench_local(|| {
        let url = urls.next().map_or("/", String::as_str);
        robot.check(url).allowed()
    });
}

/// Measures a malicious file: 500 KiB of rules with 200 wildcards, and a path of 2,000 bytes.
#[divan::bench(sample_count = 10)]
fn ask_a_hostile_file(bencher: Bencher<'_, '_>) {
    let text = format!(
        "User-agent: *\n{}",
        format!("Disallow: /{}\n", "*a".repeat(200)).repeat(1_220)
    );
    let url = format!("/{}", "b".repeat(1_999));
    bencher.bench(|| {
        let file = RobotsTxt::parse(text.as_bytes(), Dialect::default());
        let robot = file.for_robot(ROBOT);
        (0..8).filter(|_| robot.check(&url).allowed()).count()
    });
}
