//! Compares libraries that parse robots.txt: parsing, and repeated queries.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use robot_detection::robots_txt::{Dialect, RobotsTxt};

#[path = "../../support/robots_txt.rs"]
mod samples;

use samples::{ROBOT, Sample};

const ROUNDS: usize = 9;
const TURN: Duration = Duration::from_millis(30);
const NAMES: [&str; 4] = [
    "robot-detection",
    "fast-robots",
    "robotxt",
    "texting_robots",
];

/// Work of one contender; the result prevents its removal by the optimiser.
type Work<'s> = Box<dyn FnMut() -> usize + 's>;

/// Prints the microseconds of parsing and of a query, with the ratios to ours.
pub fn bench() {
    println!(
        "{:<34}{}",
        "µs (times ours)",
        NAMES.map(|name| format!("{name:>20}")).concat()
    );
    for sample in samples::samples() {
        row(&format!("{}: parse", sample.name), parsers(&sample), 1);
        row(
            &format!("{}: parse, ask once", sample.name),
            first_questions(&sample),
            1,
        );
        row(
            &format!("{}: ask", sample.name),
            questions(&sample),
            sample.urls.len(),
        );
    }
}

fn parsers(sample: &Sample) -> [Work<'_>; 4] {
    let text = sample.text.as_bytes();
    [
        Box::new(move || RobotsTxt::parse(text, Dialect::default()).as_bytes().len()),
        Box::new(move || fast(text).groups.len()),
        Box::new(move || robotxt::Robots::parse(text, ROBOT).rules().len()),
        Box::new(move || {
            texting_robots::Robot::new(ROBOT, text).map_or(0, |file| file.sitemaps.len())
        }),
    ]
}

fn first_questions(sample: &Sample) -> [Work<'_>; 4] {
    let text = sample.text.as_bytes();
    let url = sample.urls.first().map_or("/", String::as_str);
    [
        Box::new(move || {
            let file = RobotsTxt::parse(text, Dialect::default());
            usize::from(file.for_robot(ROBOT).check(url).allowed())
        }),
        Box::new(move || usize::from(fast(text).is_allowed(ROBOT, url))),
        Box::new(move || usize::from(robotxt::Robots::parse(text, ROBOT).is_allowed(url))),
        Box::new(move || {
            texting_robots::Robot::new(ROBOT, text).map_or(0, |file| usize::from(file.allowed(url)))
        }),
    ]
}

fn questions(sample: &Sample) -> [Work<'_>; 4] {
    let text = sample.text.as_bytes();
    let ours = RobotsTxt::parse(text, Dialect::default()).for_robot(ROBOT);
    let parsed: &'static _ = Box::leak(Box::new(sample.text.clone()));
    let parsed: &'static _ = Box::leak(Box::new(fast_robots::RobotsTxt::parse(parsed)));
    let fast = parsed.matcher();
    let robotxt = robotxt::Robots::parse(text, ROBOT);
    let texting = texting_robots::Robot::new(ROBOT, text).ok();
    let count =
        move |allowed: &dyn Fn(&str) -> bool| sample.urls.iter().filter(|url| allowed(url)).count();
    [
        Box::new(move || count(&|url| ours.check(url).allowed())),
        Box::new(move || count(&|url| fast.is_allowed(ROBOT, url))),
        Box::new(move || count(&|url| robotxt.is_allowed(url))),
        Box::new(move || count(&|url| texting.as_ref().is_some_and(|file| file.allowed(url)))),
    ]
}

/// Parses as fast-robots is intended for untrusted bytes, without its size limit.
fn fast(text: &[u8]) -> fast_robots::RobotsTxt<'_> {
    let options = fast_robots::ParseOptions { max_bytes: None };
    fast_robots::RobotsTxt::parse_bytes_with_options(text, options).expect("UTF-8")
}

/// Measures in turns, keeps the fastest time of each contender, and prints a row.
#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
fn row(name: &str, mut works: [Work<'_>; 4], questions: usize) {
    let mut fastest = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        for (work, fastest) in works.iter_mut().zip(&mut fastest) {
            let start = Instant::now();
            let mut passes = 0;
            while start.elapsed() < TURN {
                black_box(work());
                passes += 1;
            }
            let taken = start.elapsed().as_secs_f64() * 1e6 / (passes * questions) as f64;
            *fastest = taken.min(*fastest);
        }
    }
    let ours = fastest[0];
    let cells =
        fastest.map(|taken| format!("{:>20}", format!("{taken:.3} ({:.2}x)", taken / ours)));
    println!("{name:<34}{}", cells.concat());
}
