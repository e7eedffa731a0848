//! Choice of the pattern kind: the more specific a name, the less strict the comparison.

use super::{name::Name, words};
use crate::registry::{Pattern, PatternKind, text::alphanumerics};

/// Minimum number of letters and digits in a token.
const MIN_TOKEN: usize = 4;
/// Minimum number of letters and digits in a specific word that contains a word for robots.
const ROBOT_WORD: usize = 5;
/// Minimum number of letters and digits in a specific word that contains `-`, `_`, `.` or `@`.
const JOINED_WORD: usize = 7;
/// Minimum number of letters and digits in any other specific word.
const LONG_WORD: usize = 9;

/// Chooses the pattern for a name at the start of a User-Agent.
///
/// `whole` is the cleaned User-Agent, which is used if only the whole text identifies the robot.
pub(super) fn pattern_at_start(name: &Name, whole: &str) -> Option<Pattern> {
    let text = name.text.as_str();
    let size = alphanumerics(text);
    if words::is_library(text) {
        return Some(Pattern::new(PatternKind::Exact, whole));
    }
    if words::is_generic(text) {
        return has_contact(whole).then(|| Pattern::new(PatternKind::Exact, whole));
    }
    if is_specific(text) {
        return Some(Pattern::new(PatternKind::Token, text));
    }
    match name.separator {
        Some(separator @ ('/' | '-' | '_' | 'V')) if size >= 2 => Some(Pattern::new(
            PatternKind::Prefix,
            format!("{text}{separator}"),
        )),
        _ if size >= MIN_TOKEN => Some(Pattern::new(PatternKind::Product, text)),
        _ => Some(Pattern::new(PatternKind::Exact, whole)),
    }
}

/// Chooses the pattern for a name within a User-Agent that starts like a browser's User-Agent.
///
/// `introduced` specifies whether the name follows `compatible;`, where robots put their names.
/// Names that are too short or too vague are compared with the whole User-Agent.
pub(super) fn pattern_inside(name: &Name, whole: &str, introduced: bool) -> Option<Pattern> {
    let text = name.text.as_str();
    if words::is_generic(text) || words::is_library(text) {
        return None;
    }
    let size = alphanumerics(text);
    let fits = if introduced {
        size >= MIN_TOKEN
    } else {
        size >= ROBOT_WORD
    };
    let (kind, text) = if fits {
        (PatternKind::Token, text)
    } else {
        (PatternKind::Exact, whole)
    };
    Some(Pattern::new(kind, text))
}

/// Creates a token pattern from a name in a token list, if the name is specific enough.
pub(super) fn pattern_of_token(name: &Name) -> Option<Pattern> {
    let text = name.text.as_str();
    let fits =
        alphanumerics(text) >= MIN_TOKEN && !words::is_generic(text) && !words::is_library(text);
    fits.then(|| Pattern::new(PatternKind::Token, text))
}

/// Returns `true` if a name that is not generic is specific enough to match anywhere.
fn is_specific(name: &str) -> bool {
    let size = alphanumerics(name);
    if name.contains(' ') {
        return size >= MIN_TOKEN;
    }
    let joined = name
        .trim_matches(|c: char| !c.is_alphanumeric())
        .contains(['-', '_', '.', '@', '/']);
    let speaks_of_robots = words::has_robot_part(name);
    size >= LONG_WORD
        || (joined && size >= JOINED_WORD)
        || (speaks_of_robots && size >= ROBOT_WORD && !is_only_robot_word(name))
}

/// Returns `true` if a word is merely a generic word for robots, such as `grabber` or `walker`.
fn is_only_robot_word(name: &str) -> bool {
    const ALONE: &[&str] = &[
        "catcher",
        "checker",
        "copier",
        "crawl",
        "downloader",
        "explore",
        "gatherer",
        "grabber",
        "harvester",
        "linker",
        "mirror",
        "monitor",
        "reaper",
        "rover",
        "scanner",
        "searcher",
        "seeker",
        "validator",
        "walker",
        "wanderer",
    ];
    ALONE.iter().any(|word| word.eq_ignore_ascii_case(name))
}

/// Returns `true` if a User-Agent contains contact details, which make it unique.
fn has_contact(whole: &str) -> bool {
    whole.contains('@') || whole.contains("://") || whole.contains("www.")
}
