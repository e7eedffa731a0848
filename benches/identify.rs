//! Cost of identifying the robot that a User-Agent names.
//!
//! The detector has the bundled registry, a number of imported robots, and the rule for unlisted
//! robots. The imported names are invented, in the style of published registries. Time and
//! throughput are per pass over the User-Agents: `item` is one User-Agent.

use std::{hint::black_box, sync::Arc};

use divan::{AllocProfiler, Bencher, counter::ItemsCount};
use regex::bytes::{Regex, RegexBuilder};
use robot_detection::{
    detect::{Detector, browsers, self_test},
    registry::{PatternKind, Robot, Source, bundled},
};

#[path = "support/invent.rs"]
mod invent;

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

/// Numbers of imported robots, each with one pattern.
const PATTERNS: [usize; 4] = [0, 1_000, 3_000, 10_000];

fn main() {
    divan::main();
}

/// Identifies a mix of one robot to four browsers.
#[divan::bench(args = PATTERNS)]
fn mixed(bencher: Bencher<'_, '_>, patterns: usize) {
    let robots = robots(patterns);
    let mut user_agents = Vec::new();
    for (number, browser) in browsers().enumerate() {
        user_agents.push(browser.to_owned());
        if number % 4 == 0
            && let Some(robot) = robots.get(number * 7919 % robots.len())
        {
            user_agents.push(user_agent(robot, number));
        }
    }
    identify_all(bencher, robots, &user_agents);
}

/// Identifies only browsers, all different.
#[divan::bench(args = PATTERNS)]
fn browsers_only(bencher: Bencher<'_, '_>, patterns: usize) {
    let user_agents: Vec<String> = browsers().map(str::to_owned).collect();
    identify_all(bencher, robots(patterns), &user_agents);
}

/// Identifies only robots.
#[divan::bench(args = PATTERNS)]
fn robots_only(bencher: Bencher<'_, '_>, patterns: usize) {
    let robots = robots(patterns);
    let user_agents: Vec<String> = (0..1_500)
        .filter_map(|number| {
            Some(user_agent(
                robots.get(number * 7919 % robots.len())?,
                number,
            ))
        })
        .collect();
    identify_all(bencher, robots, &user_agents);
}

/// A common alternative: one regular expression for each robot, tried in turn.
#[divan::bench(args = [300, 1_000], sample_count = 10, sample_size = 1)]
fn browsers_only_one_regex_a_robot(bencher: Bencher<'_, '_>, patterns: usize) {
    let regexes: Vec<Regex> = invented(patterns).iter().filter_map(regex).collect();
    let user_agents: Vec<&str> = browsers().collect();
    bencher
        .counter(ItemsCount::new(user_agents.len()))
        .bench(|| {
            for user_agent in &user_agents {
                let is_robot = |regex: &Regex| regex.is_match(user_agent.as_bytes());
                black_box(regexes.iter().any(is_robot));
            }
        });
}

/// A faster common alternative: all robots in one alternation, which does not name the robot.
#[divan::bench(args = [300, 1_000], sample_count = 10, sample_size = 1)]
fn browsers_only_one_alternation(bencher: Bencher<'_, '_>, patterns: usize) {
    let texts: Vec<String> = invented(patterns).iter().filter_map(expression).collect();
    let Some(regex) = compiled(&texts.join("|")) else {
        return;
    };
    let user_agents: Vec<&str> = browsers().collect();
    bencher
        .counter(ItemsCount::new(user_agents.len()))
        .bench(|| {
            for user_agent in &user_agents {
                black_box(regex.is_match(black_box(user_agent.as_bytes())));
            }
        });
}

fn regex(robot: &Robot) -> Option<Regex> {
    compiled(&expression(robot)?)
}

fn expression(robot: &Robot) -> Option<String> {
    Some(regex_syntax::escape(&robot.patterns.first()?.text))
}

fn compiled(text: &str) -> Option<Regex> {
    RegexBuilder::new(text)
        .unicode(false)
        .case_insensitive(true)
        .size_limit(256 << 20)
        .build()
        .ok()
}

/// Builds a detector, as each refresh does.
#[divan::bench(args = PATTERNS, sample_count = 10, sample_size = 1)]
fn build(bencher: Bencher<'_, '_>, patterns: usize) {
    let robots: Vec<Arc<Robot>> = robots(patterns).into_iter().map(Arc::new).collect();
    bencher.bench(|| Detector::new(robots.iter().cloned()));
}

/// Tests patterns against all browsers, as each refresh does.
#[divan::bench(args = PATTERNS, sample_count = 10, sample_size = 1)]
fn self_tests(bencher: Bencher<'_, '_>, patterns: usize) {
    let robots = robots(patterns);
    bencher
        .with_inputs(|| robots.clone())
        .bench_values(|mut robots| self_test(&mut robots));
}

fn identify_all(bencher: Bencher<'_, '_>, robots: Vec<Robot>, user_agents: &[String]) {
    let Ok(detector) = Detector::new(robots.into_iter().map(Arc::new)) else {
        return;
    };
    let detector = detector.recognise_unlisted(true);
    bencher
        .counter(ItemsCount::new(user_agents.len()))
        .bench(|| {
            for user_agent in user_agents {
                black_box(detector.identify(black_box(user_agent.as_bytes())));
            }
        });
}

/// Returns the bundled robots and a number of imported ones.
fn robots(imported: usize) -> Vec<Robot> {
    let mut robots = bundled().robots;
    robots.extend(invented(imported));
    robots
}

fn invented(count: usize) -> Vec<Robot> {
    invent::robots(count, &Source::web_robots_db())
}

/// Returns a User-Agent that the robot may send.
fn user_agent(robot: &Robot, number: usize) -> String {
    let name = robot
        .patterns
        .first()
        .map_or("", |pattern| pattern.text.trim_end_matches('/'));
    let is_prefix = robot
        .patterns
        .iter()
        .any(|pattern| pattern.kind == PatternKind::Prefix);
    if is_prefix {
        format!("{name}/1.{number} (+https://{}.example/about)", robot.id)
    } else {
        format!(
            "Mozilla/5.0 (compatible; {name}/2.1; +https://{}.example/robot.html)",
            robot.id
        )
    }
}
