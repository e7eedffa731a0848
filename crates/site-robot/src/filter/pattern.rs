//! Patterns for matching values: exact text, prefix, or regular expression.

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};

use super::{Resource, Source, quoted};

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN: usize = 4 * 1024;

/// Maximum size of a compiled regular expression, in bytes.
const MAX_COMPILED: usize = 1024 * 1024;

/// A pattern to be matched against the value of a source.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// A pattern that matches any value, and also a missing value.
    All,
    Exact(String),
    Prefix(String),
    Contains(String),
    Suffix(String),
    Regex(Regex),
}

impl Pattern {
    /// Creates an exact pattern; the keyword `all` matches any value.
    pub(super) fn exact(text: &str) -> Self {
        keyword(text).unwrap_or_else(|| Self::Exact(text.to_owned()))
    }

    /// Creates a prefix pattern; the keyword `all` matches any value.
    pub(super) fn prefix(text: &str) -> Self {
        keyword(text).unwrap_or_else(|| Self::Prefix(text.to_owned()))
    }

    /// Creates a pattern from a regular expression.
    pub(super) fn regex(text: &str) -> Result<Self, String> {
        if text.len() > MAX_PATTERN {
            return Err(format!(
                "the regular expression is longer than {MAX_PATTERN} bytes"
            ));
        }
        // Nested repetitions such as `(a{999}){999}` would compile to gigabytes.
        let regex = RegexBuilder::new(&translate(text))
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .build();
        regex.map(Self::Regex).map_err(|error| {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default();
            let reason = reason.trim().trim_start_matches("error: ");
            format!(
                "{} is not a valid regular expression: {reason}",
                quoted(text)
            )
        })
    }

    /// Returns `true` if the value of a resource's source matches; hosts match with or without the
    /// port.
    pub(super) fn matches(&self, resource: &Resource, source: &Source) -> bool {
        if matches!(self, Self::All) {
            return true;
        }
        let Some(value) = resource.source(source) else {
            return false;
        };
        let is_caseless = source.is_caseless();
        self.is_match(&value, is_caseless)
            || (resource.is_own_host(source)
                && self.is_match(resource.host_and_port(), is_caseless))
    }

    fn is_match(&self, value: &str, is_caseless: bool) -> bool {
        let same = |value: Option<&str>, text: &str| {
            value.is_some_and(|it| it == text || (is_caseless && it.eq_ignore_ascii_case(text)))
        };
        match self {
            Self::All => true,
            Self::Exact(text) => same(Some(value), text),
            Self::Prefix(text) => same(value.get(..text.len()), text),
            Self::Suffix(text) => {
                let from = value.len().checked_sub(text.len());
                same(from.and_then(|from| value.get(from..)), text)
            }
            Self::Contains(text) if is_caseless => {
                let text = text.to_ascii_lowercase();
                value.to_ascii_lowercase().contains(&text)
            }
            Self::Contains(text) => value.contains(text.as_str()),
            Self::Regex(regex) => regex.is_match(value),
        }
    }
}

/// Returns the pattern for the keyword `all`, which matches any string.
fn keyword(text: &str) -> Option<Pattern> {
    (text == "all").then_some(Pattern::All)
}

/// Translates a POSIX.1-style regular expression into the syntax of the regex crate.
///
/// Backslashes followed by `*` are translated to `.*`, as in Sun's reference (`\\\\*.gov`), and so
/// is a leading `*`. In brackets, only `]`, `-` and `[:class:]` have a special meaning. `\d`, `\w`,
/// `\s` and `\b` match ASCII characters only.
fn translate(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = match c {
            '\\' => escape(rest, &mut out),
            '[' => bracket(after, &mut out),
            '*' if out.is_empty() || out.ends_with(['(', '|', '^']) => {
                out.push_str(".*");
                after
            }
            _ => {
                out.push(c);
                after
            }
        };
    }
    out
}

/// Translates a run of backslashes and the character that follows.
fn escape<'a>(text: &'a str, out: &mut String) -> &'a str {
    let after = text.trim_start_matches('\\');
    if let Some(after) = after.strip_prefix('*') {
        out.push_str(".*");
        return after;
    }
    let mut chars = text.chars();
    let (Some(slash), Some(c)) = (chars.next(), chars.next()) else {
        out.push_str("\\\\");
        return "";
    };
    match class(c) {
        Some(class) => out.extend(["[", class, "]"]),
        None if c == 'b' || c == 'B' => out.extend(['(', '?', '-', 'u', ':', '\\', c, ')']),
        None => out.extend([slash, c]),
    }
    chars.as_str()
}

/// Returns the bracket expression content for `\d` and similar classes.
fn class(c: char) -> Option<&'static str> {
    match c {
        'd' => Some("0-9"),
        'w' => Some("0-9A-Za-z_"),
        's' => Some("\\t-\\r "),
        'D' => Some("^0-9"),
        'W' => Some("^0-9A-Za-z_"),
        'S' => Some("^\\t-\\r "),
        _ => None,
    }
}

/// Translates a bracket expression, starting after the opening `[`.
fn bracket<'a>(text: &'a str, out: &mut String) -> &'a str {
    out.push('[');
    let mut rest = text;
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    // POSIX.1 §9.3.5: a leading `]` is literal.
    if let Some(after) = rest.strip_prefix(']') {
        out.push_str("\\]");
        rest = after;
    }
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        if c == ']' {
            out.push(']');
            return after;
        }
        rest = inside_bracket(c, rest, after, out);
    }
    rest
}

fn inside_bracket<'a>(c: char, rest: &'a str, after: &'a str, out: &mut String) -> &'a str {
    if let Some((name, behind)) = rest
        .strip_prefix("[:")
        .and_then(|named| named.split_once(":]"))
    {
        out.extend(["[:", name, ":]"]);
        return behind;
    }
    match c {
        '\\' => {
            let escaped = after.chars().next();
            let named = escaped.and_then(class).filter(|it| !it.starts_with('^'));
            match (named, escaped) {
                (Some(class), Some(letter)) => {
                    out.push_str(class);
                    after.get(letter.len_utf8()..).unwrap_or_default()
                }
                // POSIX has no escapes in brackets, but escapes used in other dialects are
                // preserved.
                (None, Some(sign)) if sign.is_ascii_punctuation() => {
                    out.extend(['\\', sign]);
                    after.get(sign.len_utf8()..).unwrap_or_default()
                }
                _ => {
                    out.push_str("\\\\");
                    after
                }
            }
        }
        // The regex crate interprets these characters as nested classes and set operations; in
        // POSIX they are literal.
        '[' | '&' | '~' => {
            out.extend(['\\', c]);
            after
        }
        _ => {
            out.push(c);
            after
        }
    }
}

/// Returns the name and value of a source, for use in the reason for a denial.
pub(super) fn shown(resource: &Resource, source: &Source) -> String {
    let value = resource.source(source);
    match value.as_deref().map(Cow::Borrowed) {
        Some(value) => format!("{source} {}", quoted(&value)),
        None => format!("{source} (none)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_follow_posix_and_allow_a_leading_star() {
        for (text, value, is_match) in [
            (r"\\\\*.gov", "www.example.gov", true),
            (r"\\\\*.gov", "www.example.org", false),
            (r"\*", "", true),
            ("*.siroe.com", "home.siroe.com", true),
            ("^www", "www.example.com", true),
            ("^www", "a.www.example.com", false),
            ("a{2}b", "xaab", true),
            ("[[:digit:]]+$", "page12", true),
            ("[]a]", "]", true),
            ("[^[]", "[", false),
            ("[a&&b]", "&", true),
            (r"\d\w\s", "1a ", true),
            (r"[\d.]+x", "1.2x", true),
            (r"\.html$", "/a.html", true),
            (r"\.html$", "/ahtml", false),
            ("(jpg|png)$", "/a.png", true),
            (r"\bcat\b", "a cat b", true),
            ("é", "café", true),
        ] {
            let Pattern::Regex(regex) = Pattern::regex(text).unwrap() else {
                panic!("invalid expression: {text}");
            };
            assert_eq!(regex.is_match(value), is_match, "{text} on {value}");
        }
    }

    #[test]
    fn invalid_or_too_large_expressions_are_rejected() {
        for text in ["(", "a{1000}{1000}", "(?=a)", &"a".repeat(5000)] {
            assert!(Pattern::regex(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_match_with_or_without_port() {
        let host = Source::from_name("host");
        let resource = Resource::new("http://WWW.example.com/".parse().unwrap(), 0);
        for (pattern, is_match) in [
            ("www.example.com", true),
            ("WWW.Example.com:80", true),
            ("www.example.com:8080", false),
            ("www.example", false),
            ("all", true),
        ] {
            assert_eq!(
                Pattern::exact(pattern).matches(&resource, &host),
                is_match,
                "{pattern}"
            );
        }
    }
}
