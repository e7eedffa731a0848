//! Recognition of User-Agent segments that browsers send.

use std::{collections::HashSet, sync::LazyLock};

use super::{version, words};
use crate::registry::text::starts_with_ignore_case;
use crate::words::listed;

/// First words of segments that identify browsers, engines and systems.
static PARTS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| listed(include_str!("browser_parts.txt")).collect());

/// Names of months and days at the start of dates.
const CALENDAR: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mon",
    "tue", "wed", "thu", "fri", "sat", "sun",
];

/// Returns `true` if a User-Agent segment does not identify the sender.
///
/// Such segments are browsers, engines, systems, languages, dates, versions, URLs and addresses.
pub(super) fn is_browser_part(segment: &str) -> bool {
    let segment = segment.trim();
    if is_contact(segment) {
        return true;
    }
    // Check all words, because only the first word is compared below: `Mobile Crawler` is a robot.
    if words::names_robot(segment) {
        return false;
    }
    let first = segment.split(' ').next().unwrap_or_default();
    let stem = first.split(['/', ':']).next().unwrap_or_default();
    segment.chars().filter(|c| c.is_alphanumeric()).count() <= 1
        || PARTS.contains(&*stem.to_ascii_lowercase())
        || is_language(segment)
        || is_date(segment)
        || segment.split(' ').all(version::is_word)
}

/// Returns `true` if a User-Agent segment is a URL, a host or an e-mail address.
pub(super) fn is_contact(segment: &str) -> bool {
    let bare = segment.trim_start_matches(['+', '-', ' ']);
    ["http:", "https:", "mailto:", "www."]
        .iter()
        .any(|start| starts_with_ignore_case(bare, start))
        || segment.contains("://")
        || (segment.contains('@') && segment.contains('.') && !segment.contains(' '))
}

/// Returns `true` if a User-Agent segment is a language tag, such as `en`, `de-DE` or `zh_CN`.
fn is_language(segment: &str) -> bool {
    // A language without a region gets a dummy region, so that one test covers both cases.
    let (language, region) = segment.split_once(['-', '_']).unwrap_or((segment, "xx"));
    [language, region]
        .iter()
        .all(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_alphabetic()))
}

fn is_date(segment: &str) -> bool {
    let first: String = segment.chars().take(3).collect();
    segment.contains(|c: char| c.is_ascii_digit())
        && segment.contains(' ')
        && CALENDAR
            .iter()
            .any(|word| word.eq_ignore_ascii_case(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browser_parts_are_recognized() {
        for part in [
            "Windows NT 5.1",
            "en-US",
            "U",
            "Win95",
            "rv:1.8.1",
            "Linux 2.0.27",
            "Gecko/20100101",
            "Dec 31 1997 12:25:00",
            "+http://acme.example/bot.html",
            "bot@acme.example",
            "MSIE 6.0",
            "Chrome/W.X.Y.Z",
            "en",
            "",
            "3.01",
            "like Gecko",
            ".NET CLR 2.0.50727",
        ] {
            assert!(is_browser_part(part), "{part}");
        }
    }

    #[test]
    fn other_segments_may_be_names() {
        for name in [
            "Acmebot/1.0",
            "Windows Spider",
            "PQRF",
            "Ask Acme/Tundra",
            "Gadfly 2.0",
        ] {
            assert!(!is_browser_part(name), "{name}");
        }
    }
}
