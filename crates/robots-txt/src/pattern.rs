//! Patterns of paths in rules.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use super::{Dialect, dialect::Escapes, escapes};

/// The path pattern of an `Allow` or `Disallow` rule.
///
/// Without wildcards, the pattern matches every path that starts with it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct PathPattern<'t> {
    /// The texts between the wildcards; there is one more text than there are wildcards. Only the
    /// first and last texts may be empty.
    pub(super) texts: Vec<Cow<'t, [u8]>>,
    /// Whether a matching path must end where the pattern ends.
    pub(super) ends: bool,
    /// The length by which the longest match is determined, in octets (in characters for
    /// Geoportal's program).
    pub(super) length: usize,
}

impl<'t> PathPattern<'t> {
    /// Parses a pattern; returns `None` if the pattern never matches.
    pub(super) fn new(written: &'t [u8], dialect: &Dialect) -> Option<Self> {
        match dialect.escapes {
            Escapes::FormDecoded => Self::decoded(written),
            Escapes::Normalised => Some(Self {
                length: escapes::normalised_length(written),
                ..Self::split(written, dialect, escapes::normalised)
            }),
            Escapes::RuleOnly => Some(Self::split(written, dialect, escapes::upper_case)),
            Escapes::Decoded => Some(Self::split(written, dialect, escapes::decoded)),
            Escapes::Resolved => Some(Self::split(written, dialect, escapes::safe)),
        }
    }

    /// Creates the pattern that matches every path.
    pub(super) fn everything() -> Self {
        Self::prefix(Vec::new())
    }

    /// Creates a pattern without wildcards from a normalised path.
    pub(super) fn prefix(path: Vec<u8>) -> Self {
        Self {
            length: path.len(),
            texts: vec![Cow::Owned(path)],
            ends: false,
        }
    }

    /// Creates a pattern that ends with an implied `$`.
    pub(super) fn exactly(written: &'t [u8], dialect: &Dialect) -> Option<Self> {
        let mut pattern = Self::new(written, dialect)?;
        pattern.ends = true;
        pattern.length += 1;
        Some(pattern)
    }

    /// Parses a pattern as Geoportal's program does: the pattern is decoded first, so `%2A` is a
    /// wildcard.
    ///
    /// Geoportal's program converts each character to a regular expression. The expressions for
    /// `^`, for a backslash and for characters outside the Basic Multilingual Plane are wrong and
    /// match nothing.
    fn decoded(written: &[u8]) -> Option<Self> {
        let decoded = escapes::form_decoded(written).unwrap_or_else(|| written.to_vec());
        let broken = |octet: &u8| matches!(octet, b'^' | b'\\' | 0xf0..);
        if decoded.iter().any(broken) {
            return None;
        }
        let length = String::from_utf8_lossy(&decoded).encode_utf16().count();
        let (texts, ends) = cut(&decoded);
        Some(Self {
            texts: texts
                .into_iter()
                .map(|text| Cow::Owned(text.to_vec()))
                .collect(),
            ends,
            length,
        })
    }

    fn split(
        written: &'t [u8],
        dialect: &Dialect,
        comparable: impl Fn(&'t [u8]) -> Cow<'t, [u8]>,
    ) -> Self {
        let (texts, ends) = if dialect.wildcards {
            cut(written)
        } else {
            (vec![written], false)
        };
        Self {
            length: comparable(written).len(),
            texts: texts.into_iter().map(comparable).collect(),
            ends,
        }
    }
}

/// Splits a pattern at its wildcards and removes the final `$`.
fn cut(written: &[u8]) -> (Vec<&[u8]>, bool) {
    let (text, ends) = match written {
        [text @ .., b'$'] => (text, true),
        text => (text, false),
    };
    if memchr(b'*', text).is_none() {
        return (vec![text], ends);
    }
    let mut texts: Vec<&[u8]> = Vec::new();
    let mut parts = text.split(|octet| *octet == b'*').peekable();
    while let Some(part) = parts.next() {
        // Several adjacent `*` are equivalent to one.
        if texts.is_empty() || parts.peek().is_none() || !part.is_empty() {
            texts.push(part);
        }
    }
    (texts, ends)
}

/// Returns `true` if a path contains the texts of a pattern in order.
///
/// The time is proportional to the combined length of path and pattern, regardless of the number of
/// wildcards, because only the first occurrence of each text has to be tried.
pub(super) fn matches<'t>(
    texts: impl IntoIterator<Item = &'t [u8]>,
    ends: bool,
    path: &[u8],
) -> bool {
    let mut texts = texts.into_iter();
    let Some(mut rest) = texts.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    let mut pending = texts.next();
    if pending.is_none() {
        return !ends || rest.is_empty();
    }
    while let Some(text) = pending {
        pending = texts.next();
        if pending.is_none() && ends {
            // The last text must be at the end of the path, so its first occurrence is not
            // sufficient.
            return rest.ends_with(text);
        }
        let Some(at) = find(rest, text) else {
            return false;
        };
        rest = rest.get(at + text.len()..).unwrap_or_default();
    }
    true
}

/// Returns the position of a text; for short texts, creating a searcher would cost more than it
/// saves.
fn find(rest: &[u8], text: &[u8]) -> Option<usize> {
    match text {
        [] => Some(0),
        [octet] => memchr(*octet, rest),
        _ => memmem::find(rest, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(pattern: &str, path: &str) -> bool {
        let pattern = PathPattern::new(pattern.as_bytes(), &Dialect::rfc9309()).expect("a pattern");
        let texts = pattern.texts.iter().map(AsRef::as_ref);
        matches(texts, pattern.ends, path.as_bytes())
    }

    /// The cases are from Google's documentation, "URL matching based on path values".
    #[test]
    fn wildcards_match_any_run_and_the_end() {
        for (pattern, path, expected) in [
            ("/fish", "/fishheads/yummy.html", true),
            ("/fish", "/Fish.asp", false),
            ("/fish*", "/fish", true),
            ("/fish/", "/fish", false),
            ("/*.php", "/folder/any.php.file.html", true),
            ("/*.php", "/windows.PHP", false),
            ("/*.php$", "/filename.php", true),
            ("/*.php$", "/filename.php?parameters", false),
            ("/fish*.php", "/fishheads/catfish.php?p", true),
            ("/a*b*c$", "/abbc", true),
            ("/a*b*c$", "/abbcd", false),
            ("/a$b", "/a$bc", true),
            ("/*/*/x", "/a/x", false),
            ("/**x", "/ax", true),
            ("*$", "/", true),
            ("$", "/", false),
            ("/ab*ab$", "/ab", false),
            ("/a-%2A.html", "/a-*.html", true),
            ("/a-%2A.html", "/a-b.html", false),
        ] {
            assert_eq!(is_match(pattern, path), expected, "{pattern} {path}");
        }
    }
}
