//! Invents robots, shaped like those of published registries.

use robot_detection::registry::{Pattern, PatternKind, Robot, Source};

const FIRST: [&str; 25] = [
    "Acme", "Blue", "Crystal", "Data", "Echo", "Fern", "Global", "Harbor", "Index", "Jade", "Kite",
    "Link", "Meta", "Nova", "Open", "Page", "Quick", "River", "Site", "Trend", "Ultra", "Vivid",
    "Web", "Yonder", "Zen",
];
const SECOND: [&str; 20] = [
    "Search", "Scan", "Crawl", "Fetch", "Reach", "Watch", "Trace", "Graph", "Feed", "News",
    "Image", "Rank", "Archive", "Probe", "Lens", "Wave", "Spark", "Mind", "Path", "Check",
];
const THIRD: [&str; 20] = [
    "bot",
    "Bot",
    "-bot",
    "Crawler",
    "-Crawler",
    "Spider",
    "Agent",
    "Robot",
    "bot-Image",
    "bot-News",
    "bot-Mobile",
    "Fetcher",
    "Monitor",
    "Validator",
    "Preview",
    "Indexer",
    "-AI",
    "Scanner",
    "Reader",
    "Harvester",
];

/// Invents at most 10,000 robots with one pattern each; one in five is known by a prefix.
pub fn robots(count: usize) -> Vec<Robot> {
    (0..count)
        // Steps that visit all 10,000 names once, so that few are as varied as many.
        .map(|number| number * 3_331 % (FIRST.len() * SECOND.len() * THIRD.len()))
        .map(|place| {
            let first = FIRST[place % FIRST.len()];
            let second = SECOND[place / FIRST.len() % SECOND.len()];
            format!(
                "{first}{second}{}",
                THIRD[place / FIRST.len() / SECOND.len()]
            )
        })
        .enumerate()
        .map(|(number, name)| {
            let mut robot = Robot::new(name.to_lowercase(), Source::web_robots_db());
            robot.patterns.push(if number % 5 == 0 {
                Pattern::new(PatternKind::Prefix, format!("{name}/"))
            } else {
                Pattern::new(PatternKind::Token, name)
            });
            robot
        })
        .collect()
}
