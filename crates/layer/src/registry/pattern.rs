//! Patterns that identify robots in User-Agents.

use std::fmt;

use super::{
    compile_regex,
    text::{alphanumerics, tidy},
};

/// Maximum number of bytes in a pattern.
pub(super) const MAX_BYTES: usize = 2048;

/// A pattern that identifies a robot in a User-Agent.
///
/// Literal patterns are compared without regard to ASCII case.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Pattern {
    /// The way in which the text is compared with a User-Agent.
    pub kind: PatternKind,
    /// The text of the literal or of the regular expression.
    pub text: String,
}

impl Pattern {
    /// Creates a pattern without validation.
    pub fn new(kind: PatternKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }

    /// Creates a pattern of the given kind, if it is valid.
    ///
    /// Control characters and redundant spaces are removed from literals.
    ///
    /// # Errors
    ///
    /// Returns an error for an empty literal, for a token with fewer than three letters and digits,
    /// and for a regular expression that [`compile_regex`] rejects.
    pub fn stated(kind: PatternKind, text: &str) -> Result<Self, InvalidPattern> {
        if text.len() > MAX_BYTES {
            return Err(InvalidPattern::TooLong);
        }
        if kind == PatternKind::Regex {
            compile_regex(text)?;
            return Ok(Self::new(kind, text));
        }
        let text = tidy(text);
        let least = if kind == PatternKind::Token { 3 } else { 1 };
        if alphanumerics(&text) < least {
            return Err(InvalidPattern::TooShort);
        }
        Ok(Self::new(kind, text))
    }
}

/// Error returned if a pattern is invalid or too general.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPattern {
    /// The pattern contains too few letters and digits.
    #[error("the pattern is too short to identify a robot")]
    TooShort,
    /// The pattern is longer than the maximum length.
    #[error("the pattern is longer than 2,048 bytes")]
    TooLong,
    /// The pattern contains control characters.
    #[error("the pattern contains control characters")]
    Control,
    /// The expression matches almost any text, or an empty text.
    #[error("the regular expression is too general and would match browsers")]
    TooLoose,
    /// The regular expression does not compile.
    #[error("invalid regular expression: {0}")]
    Regex(String),
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind.as_str(), self.text)
    }
}

crate::words! {
    /// The way in which the text of a pattern is compared with a User-Agent.
#[derive(Hash, Ord, PartialOrd)]
    pub enum PatternKind {
        /// Matches anywhere, except after a letter or digit, or before a letter.
        Token = "token",
        /// Matches at the start of the User-Agent. The text ends with `/` if a version follows.
        Prefix = "prefix",
        /// Matches at the start of the User-Agent, if followed by `/`, `_`, ` (`, a number or the
        /// end.
        Product = "product",
        /// Matches if the text is the whole User-Agent.
        Exact = "exact",
        /// A regular expression from an imported list, with its anchors, case and boundaries.
        Regex = "regex",
    }
}
