//! Misspelled words in settings, and the names that were probably meant.

/// Names longer than this are not compared.
const MAX_NAME: usize = 64;

/// Likeness, from 0 to 1, above which one name is taken for the other.
const LIKE: f64 = 0.8;

/// Characters of a quotation.
const MAX_QUOTED: usize = 80;

/// Returns the candidate that is spelled most like a word, if one comes near.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // Comparing takes as long as one length times the other.
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

/// Returns what to say of a word that is none of those allowed: the nearest, or all.
pub fn unknown<'c>(
    what: &str,
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> String {
    let all: Vec<_> = candidates.into_iter().collect();
    let word_shown = quoted(word);
    match nearest(word, all.iter().copied()) {
        Some(near) => format!("{word_shown} is no {what}; did you mean {near:?}?"),
        None => format!("{word_shown} is no {what}; use one of {}", all.join(", ")),
    }
}

/// Returns text in quotes, escaped and cut: fit for a message.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

/// The first measure forgives a wrong ending, the second a slip anywhere.
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
    fn a_slip_of_the_pen_finds_the_right_name() {
        let names = ["filter_pattern", "redirect_url", "refresh_interval_days"];
        assert_eq!(nearest("filter_patern", names), Some("filter_pattern"));
        assert_eq!(nearest("RedirectUri", names), Some("redirect_url"));
        assert_eq!(nearest("colour", names), None);
    }
}
