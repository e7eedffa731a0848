//! Suggests corrections for misspelled names in settings.

/// Maximum length of a name that is compared, in bytes.
const MAX_NAME: usize = 64;

/// Minimum similarity for a name to be suggested, from 0 to 1.
const LIKE: f64 = 0.8;

/// Maximum number of characters that are quoted in a message.
const MAX_QUOTED: usize = 80;

/// Returns the candidate that is most similar to a word, if any is similar enough.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // The comparison takes time proportional to the product of the two lengths.
    if word.len() > MAX_NAME {
        return None;
    }
    let plain = simplify(word);
    candidates
        .into_iter()
        .map(|candidate| (likeness(&plain, &simplify(candidate)), candidate))
        .filter(|(likeness, _)| *likeness > LIKE)
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, candidate)| candidate)
}

/// Returns an error message for an unknown word, which contains the nearest candidate or all
/// candidates.
pub fn unknown_word<'c>(
    what: &str,
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> String {
    let all: Vec<_> = candidates.into_iter().collect();
    let word_shown = quoted(word);
    match nearest(word, all.iter().copied()) {
        Some(near) => format!("{word_shown} is not a valid {what}; did you mean {near:?}?"),
        None => format!(
            "{word_shown} is not a valid {what}; use one of {}",
            all.join(", ")
        ),
    }
}

/// Returns text that is quoted, escaped and truncated for use in a message.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

/// Returns the similarity of two words: Jaro-Winkler tolerates a wrong ending, and
/// Damerau-Levenshtein tolerates a typo anywhere.
fn likeness(one: &str, other: &str) -> f64 {
    strsim::jaro_winkler(one, other).max(strsim::normalized_damerau_levenshtein(one, other))
}

fn simplify(word: &str) -> String {
    let letters = word.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn typo_suggests_the_right_name() {
        let names = ["filter_pattern", "redirect_url", "refresh_interval_days"];
        assert_eq!(nearest("filter_patern", names), Some("filter_pattern"));
        assert_eq!(nearest("RedirectUri", names), Some("redirect_url"));
        assert_eq!(nearest("colour", names), None);
    }
}
