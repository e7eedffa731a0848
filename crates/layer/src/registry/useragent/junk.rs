//! Values that are not useragents at all.

use super::version;

/// What people wrote where they had nothing to write.
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

/// Words outside parentheses from which a value without a version is a sentence.
const SENTENCE_WORDS: usize = 7;

/// Returns `true` if a cleaned value says that there is no useragent.
pub(super) fn is_junk(value: &str) -> bool {
    let bare = value.trim_matches(|c: char| !c.is_alphanumeric());
    bare.is_empty() || JUNK.iter().any(|junk| bare.eq_ignore_ascii_case(junk))
}

/// Returns `true` if a cleaned value is prose: many words, none with a version.
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
mod tests {
    use super::*;

    #[test]
    fn words_for_nothing_are_junk() {
        for junk in [
            "no",
            "Yes",
            "none",
            "???",
            "not available",
            "-",
            "(none)",
            "N/A",
            "*",
        ] {
            assert!(is_junk(junk), "{junk}");
        }
        for fine in ["nomad", "Yessir/1.0", "none-such", "I", "3"] {
            assert!(!is_junk(fine), "{fine}");
        }
    }

    #[test]
    fn prose_is_a_sentence_and_a_long_product_list_is_not() {
        assert!(is_sentence(
            "There is no way to set the header in this toolkit."
        ));
        assert!(!is_sentence(
            "Mozilla/5.0 one two three four five six seven eight"
        ));
        assert!(!is_sentence("Six words (and five in here too) of text and"));
    }
}
