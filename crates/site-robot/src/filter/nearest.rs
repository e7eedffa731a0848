//! The name that was probably meant.

/// Names longer than this are not compared.
const MAX_NAME: usize = 64;

/// Returns the candidate that is spelled most like a word, if one comes near.
#[must_use]
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if word.len() > MAX_NAME {
        return None;
    }
    let plain = simplify(word);
    candidates
        .into_iter()
        .map(|candidate| (likeness(&plain, &simplify(candidate)), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, candidate)| candidate)
}

/// Returns what to say of a word that is none of those allowed: the nearest, or all.
#[must_use]
pub fn unknown<'c>(
    what: &str,
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> String {
    let all: Vec<_> = candidates.into_iter().collect();
    let word_shown = super::quoted(word);
    match nearest(word, all.iter().copied()) {
        Some(near) => format!("{word_shown} is no {what}; did you mean {near:?}?"),
        None => format!("{word_shown} is no {what}; use one of {}", all.join(", ")),
    }
}

/// Spelling from its beginning, and slips anywhere.
fn likeness(one: &str, other: &str) -> f64 {
    strsim::jaro_winkler(one, other).max(strsim::normalized_damerau_levenshtein(one, other))
}

fn simplify(word: &str) -> String {
    let letters = word.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}
