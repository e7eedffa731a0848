//! Patterns: what of a User-Agent makes a robot.

use std::fmt;

use super::{
    compile_regex,
    text::{alphanumerics, tidy},
};

/// Bytes of the longest pattern.
pub(super) const MAX_BYTES: usize = 2048;

/// Pattern that recognises one robot.
///
/// Literals are compared without regard to ASCII case.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Pattern {
    /// How the text is compared.
    pub kind: PatternKind,
    /// The literal, or the regular expression.
    pub text: String,
}

impl Pattern {
    /// Creates a pattern as it is, without looking at it.
    pub fn new(kind: PatternKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }

    /// Creates a pattern whose kind somebody states, if it can be compared so.
    ///
    /// Literals lose control characters and needless blanks.
    ///
    /// # Errors
    ///
    /// Fails for an empty literal, for a token of fewer than three letters and
    /// digits, and for a regular expression that [`compile_regex`] refuses.
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

/// Error of a pattern that cannot be compared, or would match everybody.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPattern {
    /// It has too few letters and digits.
    #[error("the pattern is too short to tell anybody apart")]
    TooShort,
    /// It is longer than a User-Agent.
    #[error("the pattern is longer than 2,048 bytes")]
    TooLong,
    /// It holds control characters.
    #[error("the pattern holds control characters")]
    Control,
    /// The expression matches everybody, or nothing at all.
    #[error("the regular expression would match everybody")]
    TooLoose,
    /// The expression does not compile.
    #[error("the regular expression cannot be used: {0}")]
    Regex(String),
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind.as_str(), self.text)
    }
}

crate::words! {
    /// Way in which a pattern's text is compared with a User-Agent.
#[derive(Hash, Ord, PartialOrd)]
    pub enum PatternKind {
        /// Anywhere; the character before is not alphanumeric, the next not a letter.
        Token = "token",
        /// The User-Agent starts with the text, which ends in `/` where it has a version.
        Prefix = "prefix",
        /// The User-Agent starts with the text, then ends, or goes on with `/`, `_`, ` (` or a number.
        Product = "product",
        /// The User-Agent is the text.
        Exact = "exact",
        /// A regular expression of an imported list, with its anchors, case and boundaries.
        Regex = "regex",
    }
}
