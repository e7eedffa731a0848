use std::collections::{BTreeMap, BTreeSet};

use super::bundled;
use crate::registry::{Purpose, Robot};

/// The words allowed in `robot-evidence`, in the order required in a record.
const EVIDENCE: &[&str] = &[
    "crawler-user-agents",
    "matomo",
    "arcjet",
    "ai-robots-txt",
    "awstats",
    "counter",
    "opawg",
    "browserdetect",
    "web-robots-db",
    "operator",
];

/// Words that may be present or absent in spellings of the same robot's name.
const ENDINGS: &[&str] = &["robot", "bot", "crawler", "spider", "reader", "fetcher"];

/// Pairs of IDs of records with similar names that are different robots, each with the reason.
const APART: &[(&str, &str, &str)] = &[
    ("akismet", "akismetbot", "a plug-in and its vendor's robot"),
    (
        "centrum-holmes",
        "holmes-ge",
        "a Czech and a Georgian search engine",
    ),
    (
        "drupal",
        "drupalbot",
        "the program and its association's robot",
    ),
    ("exa-bot", "exabot", "Exa of 2025 and Exalead of 2000"),
    ("freshbot", "freshreader", "a page checker and a reader"),
    (
        "friendly-spider",
        "friendlycrawler",
        "two authors, neither known",
    ),
    (
        "furl-perl",
        "looksmart-furl",
        "a Perl module and a bookmark service",
    ),
    (
        "git",
        "gitcrawlerbot",
        "the program and a scanner for open repositories",
    ),
    ("hubspot", "hubspot-crawler", "its webhooks and its robot"),
    (
        "iabot",
        "internetarchive",
        "a Wikipedia robot and a Python library",
    ),
    (
        "jobcrawlerbot",
        "realcaliforniajobs",
        "JobCrawler and JobBot of different sites",
    ),
    ("kagi-fetcher", "kagibot", "user requests and the index"),
    (
        "link-reader",
        "linkbot",
        "a tool of 2024 and a link checker of 1998",
    ),
    ("node", "node-crawler", "the runtime and a package"),
    ("rssbot", "rssreader", "two programs"),
    ("stripe", "stripebot", "its webhooks and its robot"),
    (
        "superbot",
        "supercrawler",
        "a Windows program and a package",
    ),
    ("test-bot", "testcrawler", "two authors"),
    ("vercel", "vercelbot", "the command and its vendor's robot"),
    (
        "wire-chile",
        "wirereaderbot",
        "a Chilean project and a reader",
    ),
    ("zombie", "zombiebot", "a package and a domain robot"),
];

fn facts(robot: &Robot) -> (Option<&str>, Purpose) {
    (robot.operator.as_deref(), robot.purpose)
}

/// Returns a name in lower case, without punctuation and the words for robots.
fn stem(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    let mut stem: String = letters.flat_map(char::to_lowercase).collect();
    while let Some(shorter) = ENDINGS
        .iter()
        .find_map(|ending| stem.strip_suffix(ending))
        .filter(|shorter| shorter.chars().count() >= 3)
    {
        stem = shorter.to_owned();
    }
    stem
}

/// Returns pairs of robots whose IDs or names differ only in spelling.
fn doubles(robots: &[Robot]) -> BTreeSet<(usize, usize)> {
    let mut stems = BTreeMap::<String, BTreeSet<usize>>::new();
    for (place, robot) in robots.iter().enumerate() {
        for name in [&robot.id, &robot.name] {
            stems.entry(stem(name)).or_default().insert(place);
        }
    }
    let mut pairs = BTreeSet::new();
    for places in stems.values() {
        for one in places {
            pairs.extend(places.range(one + 1..).map(|other| (*one, *other)));
        }
    }
    pairs
}

#[test]
fn every_record_has_operator_purpose_and_evidence() {
    let mut wrong = Vec::new();
    for robot in &bundled().robots {
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{}: {what}", robot.id));
            }
        };
        expect(
            robot.operator.is_some(),
            "robot-operator is missing; use `unlisted operator` if unknown",
        );
        expect(robot.purpose != Purpose::Unknown, "no robot-purpose");
        expect(robot.details_url.is_some(), "no robot-details-url");
        let places: Vec<_> = robot
            .evidence
            .iter()
            .map(|word| EVIDENCE.iter().position(|known| known == word))
            .collect();
        expect(!places.is_empty(), "no robot-evidence");
        expect(
            places.iter().all(Option::is_some),
            "robot-evidence contains a word that is not in the schema",
        );
        expect(
            places.is_sorted_by(|one, other| one < other),
            "robot-evidence must list each word once, in the schema's order",
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn records_with_names_that_differ_only_in_spelling_agree() {
    let robots = bundled().robots;
    let (mut wrong, mut apart) = (Vec::new(), BTreeSet::new());
    for (one, other) in doubles(&robots) {
        let (one, other) = (&robots[one], &robots[other]);
        let mut ids = [one.id.as_str(), other.id.as_str()];
        ids.sort_unstable();
        if facts(one) == facts(other) {
        } else if APART.iter().any(|(a, b, _)| [*a, *b] == ids) {
            apart.insert(ids);
        } else {
            let (one_is, other_is) = (facts(one), facts(other));
            wrong.push(format!(
                "{} is {one_is:?}, {} is {other_is:?}: merge the records, or add the reason why not",
                one.id, other.id
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (one, other, _) in APART {
        let is_met = apart.contains(&[*one, *other]);
        assert!(is_met, "{one} and {other} need no exception");
    }
}

#[test]
fn all_spellings_of_a_name_have_the_same_stem() {
    for name in ["Tavily", "TavilyBot", "tavily-bot", "Tavily Crawler"] {
        assert_eq!(stem(name), "tavily", "{name}");
    }
    assert_eq!(stem("Bot"), "bot");
    assert_ne!(stem("Feeder"), stem("Feedly"));
}
