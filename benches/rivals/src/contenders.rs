//! Detectors that decide whether a User-Agent is a robot's, used as their documentation shows.

use std::{fs, path::Path, sync::Arc};

use fancy_regex::RegexBuilder as FancyBuilder;
use regex::bytes::{RegexBuilder, RegexSet, RegexSetBuilder};
use robot_detection::{
    detect::{Detector, self_test},
    registry::{Format, Robot, Source, bundled, parse},
};

use crate::{Result, invent};

/// The contender to which all ratios refer.
pub const OURS: &str = "ours, bundled + 3,000 imported";

/// Size limit of a compiled regular expression; generous, because only speed is measured.
const SIZE_LIMIT: usize = 1 << 30;

/// A detector in the comparison.
pub struct Contender {
    /// Displayed name.
    pub name: &'static str,
    /// Function that returns `true` if a User-Agent is a robot's.
    pub is_robot: Box<dyn Fn(&str) -> bool>,
}

impl Contender {
    fn new(name: &'static str, is_robot: impl Fn(&str) -> bool + 'static) -> Self {
        Self {
            name,
            is_robot: Box::new(is_robot),
        }
    }
}

/// Returns every contender, or the reason why it cannot take part.
pub fn all(corpora: &Path) -> Vec<(&'static str, Result<Contender>)> {
    let listing = corpora.join("lists/crawler-user-agents.json");
    let module = corpora.join("lists/isbot.mjs");
    let mut all = vec![
        (OURS, imported(3_000)),
        ("ours, bundled", ours("ours, bundled", Vec::new())),
        ("ours, bundled + crawler-user-agents", real_import(&listing)),
    ];
    all.extend(crates().into_iter().map(|one| (one.name, Ok(one))));
    all.push(("crate woothee, try_crawler", Ok(woothee_try_crawler())));
    all.push((
        "crawler-user-agents, RegexSet",
        crawler_user_agents(&listing),
    ));
    all.push(("npm isbot's patterns, regex", isbot_parts(&module)));
    all
}

/// Returns the contenders from crates.io.
pub fn crates() -> Vec<Contender> {
    let bots = isbot::Bots::default();
    let parser = woothee::parser::Parser::new();
    vec![
        Contender::new("crate isbot", move |user_agent| bots.is_bot(user_agent)),
        Contender::new("crate iscrawl", iscrawl::is_crawler),
        Contender::new("crate woothee", move |user_agent| {
            parser
                .parse(user_agent)
                .is_some_and(|result| result.category == "crawler")
        }),
    ]
}

/// Returns the crate woothee with its cheaper check for robots only.
fn woothee_try_crawler() -> Contender {
    let parser = woothee::parser::Parser::new();
    Contender::new("crate woothee, try_crawler", move |user_agent| {
        parser.try_crawler(user_agent, &mut woothee::parser::WootheeResult::new())
    })
}

/// Returns the expressions of crawler-user-agents in one `RegexSet`.
pub fn crawler_user_agents(listing: &Path) -> Result<Contender> {
    let entries: serde_json::Value = serde_json::from_slice(&fs::read(listing)?)?;
    let entries = entries.as_array().ok_or("not a list")?;
    let patterns = entries.iter().filter_map(|entry| entry["pattern"].as_str());
    let set: RegexSet = RegexSetBuilder::new(patterns)
        .unicode(false)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(SIZE_LIMIT)
        .build()?;
    Ok(Contender::new(
        "crawler-user-agents, RegexSet",
        move |user_agent| set.is_match(user_agent.as_bytes()),
    ))
}

/// Returns npm isbot's patterns in the fastest form for Rust: all without look-around in one
/// expression on ASCII bytes, and the few others separately.
fn isbot_parts(module: &Path) -> Result<Contender> {
    let (fancy, plain): (Vec<String>, Vec<String>) =
        isbot_patterns(module)?.into_iter().partition(|pattern| {
            ["(?=", "(?!", "(?<"]
                .iter()
                .any(|sign| pattern.contains(sign))
        });
    let plain = RegexBuilder::new(&plain.join("|"))
        .unicode(false)
        .case_insensitive(true)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(SIZE_LIMIT)
        .build()?;
    let fancy = fancy
        .iter()
        .map(|pattern| FancyBuilder::new(pattern).case_insensitive(true).build())
        .collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(Contender::new(
        "npm isbot's patterns, regex",
        move |user_agent| {
            let is_match = |regex: &fancy_regex::Regex| regex.is_match(user_agent).unwrap_or(false);
            plain.is_match(user_agent.as_bytes()) || fancy.iter().any(is_match)
        },
    ))
}

/// Parses the list of patterns in npm isbot's module.
fn isbot_patterns(module: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(module)?;
    let (_, after) = text
        .split_once("var patterns_default = ")
        .ok_or("its module holds no patterns")?;
    let (list, _) = after
        .split_once("];")
        .ok_or("its list of patterns does not end")?;
    let patterns: Vec<String> = serde_json::from_str(&format!("{list}]"))?;
    // JavaScript treats a `-` after `\d` as a literal.
    Ok(patterns
        .iter()
        .map(|pattern| pattern.replace(r"\d-.", r"\d\-."))
        .collect())
}

fn imported(count: usize) -> Result<Contender> {
    ours(OURS, invent::robots(count, &Source::web_robots_db()))
}

/// Returns our detector with a real list imported, without the patterns that match browsers.
fn real_import(listing: &Path) -> Result<Contender> {
    let source = Source::web_robots_db();
    let mut robots = parse(Format::CrawlerUserAgents, &fs::read(listing)?, &source)?.robots;
    self_test(&mut robots);
    ours("ours, bundled + crawler-user-agents", robots)
}

/// Returns our detector with the bundled registry and additional robots.
fn ours(name: &'static str, more: Vec<Robot>) -> Result<Contender> {
    let robots = bundled().robots.into_iter().chain(more).map(Arc::new);
    let detector = Detector::new(robots)?.recognise_unlisted(true);
    Ok(Contender::new(name, move |user_agent| {
        detector.is_robot(user_agent)
    }))
}
