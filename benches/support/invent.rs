//! Generates invented robots in the style of published registries.

use robot_detection::registry::{Pattern, PatternKind, Robot, Source};

/// Invents at most 10,000 robots with one pattern each; one in five has a prefix pattern.
pub(crate) fn robots(count: usize, source: &Source) -> Vec<Robot> {
    const FIRST: [&str; 25] = [
        "Acme", "Blue", "Crystal", "Data", "Echo", "Fern", "Global", "Harbor", "Index", "Jade",
        "Kite", "Link", "Meta", "Nova", "Open", "Page", "Quick", "River", "Site", "Trend", "Ultra",
        "Vivid", "Web", "Yonder", "Zen",
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
    let names = THIRD
        .iter()
        .flat_map(|third| SECOND.iter().map(move |second| (second, third)))
        .flat_map(|(second, third)| FIRST.map(|first| format!("{first}{second}{third}")));
    // A step that visits all 10,000 names once, so that few patterns are as varied as many.
    let names: Vec<String> = names.collect();
    (0..count)
        .filter_map(|number| names.get(number * 3_331 % names.len()))
        .enumerate()
        .map(|(number, name)| {
            let mut robot = Robot::new(name.to_lowercase(), source.clone());
            robot.patterns.push(if number % 5 == 0 {
                Pattern::new(PatternKind::Prefix, format!("{name}/"))
            } else {
                Pattern::new(PatternKind::Token, name)
            });
            robot
        })
        .collect()
}
