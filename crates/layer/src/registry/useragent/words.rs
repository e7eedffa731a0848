//! Generic words, and words that indicate a robot.

use std::{collections::HashSet, sync::LazyLock};

use crate::words::listed;

/// Generic words, which are too general to be a name on their own.
static GENERIC: LazyLock<HashSet<&str>> =
    LazyLock::new(|| listed(include_str!("generic.txt")).collect());

/// Names of libraries that many robots use.
const LIBRARIES: &[&str] = &[
    "jdk",
    "libcurl",
    "libwww",
    "libwww-fm",
    "libwww-perl",
    "lwp",
    "pycurl",
    "python-requests",
    "python-urllib",
    "urllib",
];

/// Parts of words that indicate a robot's name.
const ROBOT_PARTS: &[&str] = &[
    "archiver", "bot", "catch", "check", "copy", "crawl", "download", "explor", "fetch", "gather",
    "grab", "harvest", "hopper", "index", "link", "mirror", "monitor", "reap", "robo", "rover",
    "scan", "scooter", "scrap", "search", "seek", "slurp", "snarf", "spider", "spyder", "validat",
    "walker", "wander", "worm",
];

/// Phone manufacturers whose names end in `bot`.
const NOT_ROBOTS: &[&str] = &["cubot"];

/// Returns `true` if a name consists only of generic words, numbers and a few single letters.
///
/// A name that consists only of single letters is not generic, but is too short for a token.
pub(super) fn is_generic(name: &str) -> bool {
    let mut words = name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 1)
        .peekable();
    if words.peek().is_none() {
        return name.chars().all(|c| !c.is_alphabetic());
    }
    words.all(|word| {
        word.bytes().all(|b| b.is_ascii_digit()) || GENERIC.contains(&*word.to_ascii_lowercase())
    })
}

/// Returns `true` if a name without its version is the name of a library.
pub(super) fn is_library(name: &str) -> bool {
    contains(LIBRARIES, name)
}

/// Returns `true` if a part of a name is a word for robots.
pub(super) fn has_robot_part(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ROBOT_PARTS.iter().any(|part| name.contains(part))
}

/// Returns `true` if a segment of a browser-like User-Agent indicates a robot.
///
/// This check is stricter than [`has_robot_part`] because a browser's segments contain many words.
pub(super) fn names_robot(segment: &str) -> bool {
    let segment = segment.to_ascii_lowercase();
    segment.split(|c: char| !c.is_alphanumeric()).any(|word| {
        let ends_in_bot = word
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .ends_with("bot");
        (ends_in_bot && !contains(NOT_ROBOTS, word))
            || [
                "spider",
                "crawl",
                "robot",
                "slurp",
                "archiver",
                "fetcher",
                "validator",
            ]
            .iter()
            .any(|part| word.contains(part))
    })
}

fn contains(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_generic_words_are_generic() {
        for generic in [
            "Web Robot",
            "The Spider 2",
            "Mozilla",
            "I Robot",
            "http-client",
            "Java",
            "2000",
            "",
        ] {
            assert!(is_generic(generic), "{generic}");
        }
        for name in [
            "Acme Spider",
            "Websurfer",
            "W3C",
            "Go Zilla",
            "M",
            "H-U-S-K",
        ] {
            assert!(!is_generic(name), "{name}");
        }
    }

    #[test]
    fn segments_with_robot_words_are_distinguished_from_phones() {
        for robot in [
            "FooBot/1.0",
            "Foo Spider",
            "foo_bot2",
            "Crawler",
            "archiver",
        ] {
            assert!(names_robot(robot), "{robot}");
        }
        for phone in ["CUBOT X18", "Abbott", "bottle", "Windows NT 5.1"] {
            assert!(!names_robot(phone), "{phone}");
        }
    }
}
