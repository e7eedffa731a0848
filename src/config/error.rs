//! What is wrong with a configuration, and the nearest right name.

use std::fmt;

/// One thing that is wrong, and where it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigError {
    /// `robot-detection.toml:7`, `environment variable …`, `--listen`.
    pub origin: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)
    }
}

impl std::error::Error for ConfigError {}

/// All that is wrong with a configuration, one line each.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

/// Returns the candidate that is spelled most like `word`, if one comes near.
#[must_use]
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let plain = simplify(word);
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::jaro_winkler(&plain, &simplify(candidate)),
                candidate,
            )
        })
        .filter(|(likeness, _)| *likeness > 0.82)
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, candidate)| candidate)
}

/// Returns what to say of a word that is none of those allowed: the nearest, or all.
pub fn unknown_word<'c>(
    what: &str,
    word: &str,
    words: impl IntoIterator<Item = &'c str>,
) -> String {
    let words = words.into_iter().collect::<Vec<_>>();
    nearest(word, words.iter().copied()).map_or_else(
        || format!("{word:?} is no {what}; use one of {}", words.join(", ")),
        |near| format!("{word:?} is no {what}; did you mean {near:?}?"),
    )
}

fn simplify(word: &str) -> String {
    word.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
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
