//! Conversion of a User-Agent into patterns.

use crate::registry::{
    Pattern,
    text::{clean, starts_with_ignore_case},
};

use super::{kind, name::name_of, version, words, wrapper};

/// Maximum number of bytes in a User-Agent.
const MAX_BYTES: usize = 1024;
/// Maximum number of bytes in a User-Agent before it is cleaned, which shortens the text.
const MAX_RAW_BYTES: usize = 16 * MAX_BYTES;
/// Maximum number of alternatives in a User-Agent.
const MAX_ALTERNATIVES: usize = 32;

/// Error returned if no pattern can be derived from a User-Agent.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoPattern {
    /// The User-Agent is empty.
    #[error("the useragent is empty")]
    Empty,
    /// The text is a placeholder for a missing User-Agent, such as `no` or `???`.
    #[error("the useragent is {0:?}, which does not name a robot")]
    Junk(String),
    /// The text is a sentence about the User-Agent.
    #[error("the useragent is a sentence, not a name")]
    Sentence,
    /// The User-Agent contains only parts that browsers send.
    #[error("the useragent contains only parts that browsers send")]
    BrowserOnly,
    /// The name consists only of words that are too general.
    #[error("the useragent {0:?} consists only of generic words")]
    Generic(String),
    /// The text is longer than the maximum length of a User-Agent.
    #[error("the useragent is longer than 1,024 bytes")]
    TooLong,
}

/// Derives patterns from a User-Agent.
///
/// Alternatives (`A | B`, `A or B`, `A, B`) yield several patterns. The result is never empty, and
/// each pattern is as strict as its name requires: tokens have at least four letters and digits,
/// and names that consist of generic words are rejected.
///
/// # Errors
///
/// Returns an error with the reason if the value does not identify a robot.
///
/// # Example
///
/// ```
/// use robot_detection_layer::registry::{Pattern, PatternKind, normalise};
///
/// let patterns = normalise("Mozilla/5.0 (compatible; AcmeBot/2.1; +http://acme.example/)")?;
/// assert_eq!(patterns, [Pattern::new(PatternKind::Token, "AcmeBot")]);
/// assert!(normalise("Mozilla/5.0 (Windows NT 10.0; Win64; x64)").is_err());
/// # Ok::<(), robot_detection_layer::registry::NoPattern>(())
/// ```
pub fn normalise(useragent: &str) -> Result<Vec<Pattern>, NoPattern> {
    if useragent.len() > MAX_RAW_BYTES {
        return Err(NoPattern::TooLong);
    }
    normalise_clean(&clean_useragent(useragent))
}

/// Derives patterns as [`normalise`] does, from a User-Agent that has already been cleaned.
pub(in crate::registry) fn normalise_clean(whole: &str) -> Result<Vec<Pattern>, NoPattern> {
    if whole.len() > MAX_BYTES {
        return Err(NoPattern::TooLong);
    }
    if whole.is_empty() {
        return Err(NoPattern::Empty);
    }
    if is_junk(whole) {
        return Err(NoPattern::Junk(whole.to_owned()));
    }
    if is_sentence(whole) {
        return Err(NoPattern::Sentence);
    }
    if wrapper::is_wrapper(whole) {
        let pattern = wrapper::pattern_in_wrapper(whole).ok_or(NoPattern::BrowserOnly)?;
        return Ok(vec![pattern]);
    }
    if let Some(pattern) = wrapper::pattern_behind_compatible(whole) {
        return Ok(vec![pattern]);
    }
    let mut patterns = Vec::new();
    for alternative in alternatives(whole) {
        let pattern =
            name_of(alternative).and_then(|name| kind::pattern_at_start(&name, alternative));
        if let Some(pattern) = pattern
            && !patterns.contains(&pattern)
        {
            patterns.push(pattern);
        }
    }
    if patterns.is_empty() {
        return Err(NoPattern::Generic(whole.to_owned()));
    }
    Ok(patterns)
}

/// Cleans a User-Agent: decodes entities, and removes redundant spaces, quotes, `User-Agent:` and
/// trailing commas.
pub(in crate::registry) fn clean_useragent(useragent: &str) -> String {
    strip_useragent(&clean(useragent)).to_owned()
}

/// Removes quotes, spaces and `User-Agent:` around a User-Agent, but does not decode entities.
pub(in crate::registry) fn strip_useragent(useragent: &str) -> &str {
    let mut value = useragent;
    loop {
        let mut rest = value
            // This is repeated until nothing changes, because quotes may surround a comma or
            // `User-Agent:`.
            .trim_matches([' ', '"', '\'', '`', '“', '”', '‘', '’'])
            .trim_end_matches([' ', ',', ';']);
        if starts_with_ignore_case(rest, "User-Agent:") {
            rest = rest.get("User-Agent:".len()..).unwrap_or_default();
        }
        if rest.len() == value.len() {
            return value;
        }
        value = rest;
    }
}

/// Creates a token pattern from a cleaned name in a list of tokens.
///
/// # Errors
///
/// Returns an error if the name is too short or too generic to match anywhere.
pub(in crate::registry) fn token(text: &str) -> Result<Pattern, NoPattern> {
    let whole = strip_useragent(text);
    if whole.is_empty() {
        return Err(NoPattern::Empty);
    }
    if is_junk(whole) {
        return Err(NoPattern::Junk(whole.to_owned()));
    }
    if is_sentence(whole) {
        return Err(NoPattern::Sentence);
    }
    name_of(whole)
        .and_then(|name| kind::pattern_of_token(&name))
        .ok_or_else(|| NoPattern::Generic(whole.to_owned()))
}

/// Returns the alternatives in a User-Agent, split at ` | `, ` or ` and commas.
fn alternatives(whole: &str) -> impl Iterator<Item = &str> {
    whole
        .split(" | ")
        .flat_map(|part| part.split(" or "))
        .flat_map(split_at_commas)
        .map(str::trim)
        .filter(|part| !part.is_empty() && !is_junk(part))
        .take(MAX_ALTERNATIVES)
}

/// Splits a text at commas outside parentheses if each part looks like a product.
fn split_at_commas(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..));
    let mut parts = parts.into_iter();
    let first = parts.next();
    first
        .into_iter()
        // The text after a comma usually describes the same robot.
        .chain(parts.filter(|part| looks_like_product(part)))
        .collect()
}

fn looks_like_product(text: &str) -> bool {
    let words = text.split(['(', '[']).next().unwrap_or_default();
    let versioned = words.split_whitespace().any(|word| {
        word.split_once('/')
            .is_some_and(|(_, v)| version::follows_slash(v))
    });
    versioned || (words.split_whitespace().count() <= 3 && words::has_robot_part(words))
}

/// Placeholders that people write instead of a User-Agent.
const JUNK: &[&str] = &[
    "all",
    "any",
    "configurable",
    "default",
    "false",
    "in progress",
    "n/a",
    "na",
    "nil",
    "no",
    "none",
    "none yet",
    "not applicable",
    "not available",
    "not set",
    "not yet",
    "null",
    "see above",
    "same",
    "same as above",
    "tba",
    "tbd",
    "to be announced",
    "to be determined",
    "true",
    "undefined",
    "unknown",
    "user defined",
    "variable",
    "varies",
    "various",
    "yes",
];

/// Minimum number of words outside parentheses for a text to be a sentence, if no word has a
/// version.
const SENTENCE_WORDS: usize = 7;

/// Returns `true` if a cleaned value is a placeholder for a missing User-Agent.
pub(super) fn is_junk(value: &str) -> bool {
    let bare = value.trim_matches(|c: char| !c.is_alphanumeric());
    bare.is_empty() || JUNK.iter().any(|junk| bare.eq_ignore_ascii_case(junk))
}

/// Returns `true` if a cleaned value is prose, which means many words without a version.
pub(super) fn is_sentence(value: &str) -> bool {
    let outside = outside_parentheses(value);
    let has_product = outside
        .split_whitespace()
        .filter_map(|word| word.split_once('/'))
        .any(|(_, behind)| version::follows_slash(behind));
    !has_product && outside.split_whitespace().count() >= SENTENCE_WORDS
}

fn outside_parentheses(value: &str) -> String {
    let mut depth = 0_usize;
    value
        .chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect()
}

#[cfg(test)]
mod tests;
