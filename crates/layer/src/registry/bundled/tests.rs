use std::collections::{BTreeMap, BTreeSet};

use super::bundled;
use crate::registry::{Purpose, Robot};

/// Words for who saw a robot, in the order of a record.
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

/// Words with which one robot's name is spelled, or not.
const ENDINGS: &[&str] = &["robot", "bot", "crawler", "spider", "reader", "fetcher"];

/// Records whose names are alike and that are not the same robot, by their ids.
const APART: &[(&str, &str, &str)] = &[
    (
        "akismet",
        "akismetbot",
        "a plug-in and a robot of its maker",
    ),
    (
        "centrum-holmes",
        "holmes-ge",
        "a Czech and a Georgian search",
    ),
    (
        "drupal",
        "drupalbot",
        "the program and a robot of its association",
    ),
    ("exa-bot", "exabot", "Exa of 2025 and Exalead of 2000"),
    ("freshbot", "freshreader", "a check of pages and a reader"),
    (
        "friendly-spider",
        "friendlycrawler",
        "two authors, neither known",
    ),
    (
        "furl-perl",
        "looksmart-furl",
        "a Perl module and a service of bookmarks",
    ),
    (
        "git",
        "gitcrawlerbot",
        "the program and a search for open repositories",
    ),
    ("hubspot", "hubspot-crawler", "its webhooks and its robot"),
    (
        "iabot",
        "internetarchive",
        "a robot of Wikipedia and a Python library",
    ),
    (
        "jobcrawlerbot",
        "realcaliforniajobs",
        "JobCrawler and JobBot of two sites",
    ),
    (
        "kagi-fetcher",
        "kagibot",
        "what users ask for and the index",
    ),
    (
        "link-reader",
        "linkbot",
        "a tool of 2024 and a check of 1998",
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
    (
        "vercel",
        "vercelbot",
        "the command and a robot of its maker",
    ),
    (
        "wire-chile",
        "wirereaderbot",
        "a project of Chile and a reader",
    ),
    ("zombie", "zombiebot", "a package and a robot of domains"),
];

fn facts(robot: &Robot) -> (Option<&str>, Purpose) {
    (robot.operator.as_deref(), robot.purpose)
}

/// Returns a name without case, punctuation and the words that mean a robot.
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

/// Returns pairs of ids of which an id or name is the same but for its spelling.
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
fn every_record_says_who_runs_the_robot_what_for_and_who_saw_it() {
    let mut wrong = Vec::new();
    for robot in &bundled().robots {
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{}: {what}", robot.id));
            }
        };
        expect(
            robot.operator.is_some(),
            "robot-operator is missing; `unknown author` is one",
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
            "a word of robot-evidence is none of the schema's",
        );
        expect(
            places.is_sorted_by(|one, other| one < other),
            "the words of robot-evidence stand in the schema's order, each once",
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn records_whose_names_differ_in_spelling_only_do_not_disagree() {
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
                "{} is {one_is:?}, {} is {other_is:?}: make one record of them, or say why not",
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
fn spellings_of_one_name_have_one_stem() {
    for name in ["Tavily", "TavilyBot", "tavily-bot", "Tavily Crawler"] {
        assert_eq!(stem(name), "tavily", "{name}");
    }
    assert_eq!(stem("Bot"), "bot");
    assert_ne!(stem("Feeder"), stem("Feedly"));
}
