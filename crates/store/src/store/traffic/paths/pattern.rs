//! Converts paths to text, to patterns, and to more general patterns.

use std::fmt::Write as _;

use robot_detection_layer::registry::is_invisible;

/// The maximum length of a stored path, in bytes; longer paths are stored as their pattern.
pub const MAX_PATH_BYTES: usize = 120;

/// The pattern that matches every path.
pub(super) const TOP: &str = "/*";

/// The maximum number of segments in a pattern.
const SEGMENTS: usize = 2;

/// The maximum length of a segment in a pattern; longer segments are mostly unique titles and
/// tokens.
const MAX_CHARS: usize = 32;
const MAX_SEGMENT_BYTES: usize = 48;

/// The maximum number of consecutive letters and digits in a word; random tokens have more.
const MAX_RUN: usize = 15;

/// The maximum number of digits in a name, such as a version or a year.
const MAX_DIGITS: usize = 4;

/// The maximum number of changes between letters and digits, or to upper case, in a name such as
/// `HowToAsk`.
const MAX_CHANGES: usize = 2;

/// The minimum length at which hexadecimal digits, or mixed-case letters with digits, are
/// considered a token.
const MIN_TOKEN: usize = 8;

/// Returns the text of a normalised path, in the form stored for robots.
///
/// Invisible characters, line breaks and `*` are escaped. If the path is truncated, or the text is
/// longer than [`MAX_PATH_BYTES`], returns the path's [pattern](path_pattern) instead.
pub fn stored_path(normal: &[u8], is_cut: bool) -> String {
    let text = text(normal);
    if is_cut || text.len() > MAX_PATH_BYTES {
        path_pattern(normal, is_cut)
    } else {
        text
    }
}

/// Returns the pattern of a path: up to two segments, followed by `/*` if there are more segments.
///
/// Segments that may be IDs or secrets are replaced by `*`. `path` may be a normalised path, a
/// stored path, or a pattern, which is returned unchanged. The last segment of a truncated path is
/// treated as unknown.
///
/// # Example
///
/// ```
/// use robot_detection_store::store::path_pattern;
///
/// let pattern = |path: &str| path_pattern(path.as_bytes(), false);
/// assert_eq!(pattern("/docs/guide/start.html"), "/docs/guide/*");
/// assert_eq!(pattern("/reset/9f86d081884c7d65"), "/reset/*");
/// ```
pub fn path_pattern(path: &[u8], is_cut: bool) -> String {
    let Some(path) = path.strip_prefix(b"/") else {
        // `OPTIONS *` has no path.
        return "*".to_owned();
    };
    let mut segments = path.split(|byte| *byte == b'/').peekable();
    let mut pattern = String::new();
    for _ in 0..SEGMENTS {
        let Some(segment) = segments.next() else {
            return pattern;
        };
        let is_unknown = is_cut && segments.peek().is_none();
        pattern.push('/');
        pattern.push_str(name(segment).filter(|_| !is_unknown).unwrap_or("*"));
    }
    match segments.next() {
        None => {}
        Some(b"") if segments.peek().is_none() && !is_cut => pattern.push('/'),
        Some(_) => pattern.push_str("/*"),
    }
    pattern
}

/// Returns the next more general pattern of a stored path or pattern, under which omitted requests
/// are counted; `None` for `/*`.
pub fn parent_pattern(path: &str) -> Option<String> {
    let pattern = path_pattern(path.as_bytes(), false);
    if pattern != path {
        return Some(pattern);
    }
    if path == TOP {
        return None;
    }
    let mut segments = path.strip_prefix('/').unwrap_or_default().split('/');
    let first = segments.next().unwrap_or_default();
    Some(match (segments.next(), segments.next()) {
        (None, _) | (Some("*"), None) => TOP.to_owned(),
        _ => format!("/{first}/*"),
    })
}

/// Returns a segment as text, or `None` if it may be an ID or a secret.
fn name(segment: &[u8]) -> Option<&str> {
    if segment.len() > MAX_SEGMENT_BYTES {
        return None;
    }
    // Fast path: most names are short lower-case words, which reveal nothing.
    if segment.len() <= MAX_RUN
        && segment
            .iter()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'.'))
    {
        return std::str::from_utf8(segment).ok();
    }
    let text = std::str::from_utf8(segment).ok()?;
    let mut shape = SegmentStatistics::default();
    // Other characters may separate keys, values or the parts of an email address.
    let is_named = text.chars().all(|char| shape.push(char));
    (is_named && !shape.may_be_secret()).then_some(text)
}

/// The class of a character that may occur in a name.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Kind {
    #[default]
    Divider,
    Digit,
    Upper,
    Lower,
    /// A letter that has neither upper nor lower case.
    Uncased,
}

/// Statistics used to distinguish names from IDs.
#[derive(Default)]
struct SegmentStatistics {
    chars: usize,
    digits: usize,
    lower: usize,
    upper: usize,
    /// The number of hexadecimal digits and of the dashes in a UUID.
    hexadecimal: usize,
    /// The lengths of the current and of the longest sequence of letters and digits.
    run: usize,
    longest: usize,
    changes: usize,
    rises: usize,
    previous: Kind,
}

impl Kind {
    /// Returns the class of a character, or `None` if the character does not occur in names.
    fn from_char(char: char) -> Option<Self> {
        match char {
            '-' | '_' | '.' | '~' => Some(Self::Divider),
            '0'..='9' => Some(Self::Digit),
            'A'..='Z' => Some(Self::Upper),
            'a'..='z' => Some(Self::Lower),
            _ if char.is_ascii() || !char.is_alphabetic() || is_invisible(char) => None,
            _ if char.is_uppercase() => Some(Self::Upper),
            _ if char.is_lowercase() => Some(Self::Lower),
            _ => Some(Self::Uncased),
        }
    }
}

impl SegmentStatistics {
    /// Adds a character to the statistics. Returns `false` if the character does not occur in
    /// names.
    fn push(&mut self, char: char) -> bool {
        let Some(kind) = Kind::from_char(char) else {
            return false;
        };
        self.chars += 1;
        self.run = if kind == Kind::Divider {
            0
        } else {
            self.run + 1
        };
        self.longest = self.longest.max(self.run);
        self.digits += usize::from(kind == Kind::Digit);
        self.upper += usize::from(kind == Kind::Upper);
        self.lower += usize::from(matches!(kind, Kind::Lower | Kind::Uncased));
        self.hexadecimal += usize::from(char.is_ascii_hexdigit() || char == '-');
        let both = [self.previous, kind];
        let is_digit = both.map(|kind| kind == Kind::Digit);
        self.changes += usize::from(!both.contains(&Kind::Divider) && is_digit[0] != is_digit[1]);
        self.rises += usize::from(both == [Kind::Lower, Kind::Upper]);
        self.previous = kind;
        true
    }

    /// Returns `true` if the segment may be an ID or a secret.
    fn may_be_secret(&self) -> bool {
        let is_long = self.chars > MAX_CHARS || self.longest > MAX_RUN;
        let is_number = self.digits > MAX_DIGITS || 2 * self.digits > self.chars;
        let is_mixed = self.changes > MAX_CHANGES || self.rises > MAX_CHANGES;
        let is_hexadecimal = self.hexadecimal == self.chars && self.digits > 0;
        let has_all = self.digits > 0 && self.lower > 0 && self.upper > 0;
        let is_token = self.chars >= MIN_TOKEN && (is_hexadecimal || has_all);
        is_long || is_number || is_mixed || is_token
    }
}

/// Returns a normalised path as a single line of text without invisible characters.
fn text(normal: &[u8]) -> String {
    if normal.is_empty() {
        return "*".to_owned();
    }
    let mut text = String::with_capacity(normal.len());
    for chunk in normal.utf8_chunks() {
        for char in chunk.valid().chars() {
            // A literal `*` in the path must not look like a pattern.
            if matches!(char, '%' | '*' | '?' | '#') || is_invisible(char) {
                escape(char.encode_utf8(&mut [0; 4]).as_bytes(), &mut text);
            } else {
                text.push(char);
            }
        }
        escape(chunk.invalid(), &mut text);
    }
    text
}

fn escape(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "%{byte:02X}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(path: &str) -> String {
        path_pattern(path.as_bytes(), false)
    }

    macro_rules! cases {
        ($($name:ident: $($path:expr => $pattern:expr),+;)*) => {
            $(#[test]
            fn $name() {
                for (path, expected) in [$(($path, $pattern)),+] {
                    assert_eq!(pattern(path), expected, "{path}");
                }
            })*
        };
    }

    cases! {
        words_are_kept: "/" => "/", "/about" => "/about", "/docs/guide" => "/docs/guide",
            "/docs/" => "/docs/", "/Über-uns/Straße" => "/Über-uns/Straße",
            "/html5/v2.0" => "/html5/v2.0", "/blog/HowToAsk" => "/blog/HowToAsk",
            "/a/robots-of-the-web-2026" => "/a/robots-of-the-web-2026";
        segments_after_the_second_become_a_star: "/docs/guide/" => "/docs/guide/",
            "/docs/guide/a" => "/docs/guide/*", "/docs/guide/a/b/" => "/docs/guide/*";
        numbers_become_stars: "/order/12345" => "/order/*", "/7" => "/*", "/user/7/edit" => "/user/*/*",
            "/tel/+49-170-1234567" => "/tel/*", "/day/2026-11-24" => "/day/*";
        tokens_become_stars:
            "/u/550e8400-e29b-41d4-a716-446655440000" => "/u/*",
            "/reset/9f86d081" => "/reset/*", "/t/aB3dE5fGhi" => "/t/*",
            "/v/dQw4w9WgXcQ" => "/v/*", "/t/kjhgfdsaqwertyuiop" => "/t/*",
            "/t/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0" => "/t/*",
            "/s;jsessionid=abc" => "/*", "/q/a=b" => "/q/*";
        email_addresses_become_stars: "/mail/jo@example.org" => "/mail/*", "/~jo" => "/~jo";
        unusual_bytes_become_stars: "/a/%2A" => "/a/*", "/a/b c" => "/a/*", "/a/*" => "/a/*",
            "/a/b\u{202e}c" => "/a/*", "" => "*";
    }

    #[test]
    fn patterns_generalise_step_by_step_to_the_top() {
        for (path, expected) in [
            (
                "/docs/guide/a.html",
                &["/docs/guide/*", "/docs/*", "/*"][..],
            ),
            ("/docs/guide", &["/docs/*", "/*"]),
            ("/docs/", &["/docs/*", "/*"]),
            ("/order/12345", &["/order/*", "/*"]),
            ("/1/2/3", &["/*/*/*", "/*/*", "/*"]),
            ("/", &["/*"]),
            ("*", &["/*"]),
            ("/*", &[]),
        ] {
            let above = std::iter::successors(parent_pattern(path), |path| parent_pattern(path));
            assert_eq!(above.collect::<Vec<_>>(), expected, "{path}");
        }
    }

    #[test]
    fn truncated_path_ends_in_an_unknown_segment() {
        for (path, expected) in [
            ("/", "/*"),
            ("/a/", "/a/*"),
            ("/a/b/", "/a/b/*"),
            ("/a/b/c/", "/a/b/*"),
        ] {
            assert_eq!(stored_path(path.as_bytes(), true), expected);
        }
    }

    #[test]
    fn path_text_is_one_line_without_pattern_characters() {
        for (normal, expected) in [
            (&b"/a b\n\x1b[2J"[..], "/a b%0A%1B[2J"),
            (b"/100%/*/?#", "/100%25/%2A/%3F%23"),
            (b"/\xff\xc3\xa9", "/%FF\u{e9}"),
            ("/a\u{202e}b".as_bytes(), "/a%E2%80%AEb"),
            (b"", "*"),
        ] {
            assert_eq!(stored_path(normal, false), expected);
        }
        let long = format!("/a/b/{}", "c".repeat(200));
        assert_eq!(stored_path(long.as_bytes(), false), "/a/b/*");
    }

    /// Generates path segments that contain IDs or secrets.
    fn secret() -> impl Strategy<Value = String> {
        prop_oneof![
            "[0-9]{3,40}",
            "[0-9a-f]{4}[0-9]{2}[0-9a-f]{6,30}",
            "[A-Za-z0-9_-]{33,60}",
            "[a-z]{1,9}@[a-z]{1,9}\\.org",
            "[a-z]{16,40}",
            "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
            "[a-z]{1,6}=[a-z]{1,6}",
            "([a-z][0-9]){2,12}",
        ]
    }

    proptest! {
        #[test]
        fn patterns_are_short_and_idempotent(path in "/[ -~é\u{202e}]{0,200}", is_cut: bool) {
            let pattern = path_pattern(path.as_bytes(), is_cut);
            prop_assert!(pattern.len() <= MAX_PATH_BYTES);
            prop_assert_eq!(&path_pattern(pattern.as_bytes(), false), &pattern);
            prop_assert_eq!(stored_path(path.as_bytes(), false).len().min(121), stored_path(path.as_bytes(), false).len());
            // The stored text has the same pattern as the original path.
            let kept = stored_path(path.as_bytes(), is_cut);
            prop_assert_eq!(path_pattern(kept.as_bytes(), false), pattern);
        }

        #[test]
        fn arbitrary_bytes_have_a_pattern(path in prop::collection::vec(any::<u8>(), 0..200)) {
            let pattern = path_pattern(&path, false);
            prop_assert!(pattern.len() <= MAX_PATH_BYTES);
            prop_assert!(!pattern.chars().any(char::is_control));
        }

        #[test]
        fn patterns_contain_no_secrets(
            before in prop::collection::vec("[a-z]{1,8}", 0..3),
            secret in secret(),
            after in prop::collection::vec("[a-z]{1,8}", 0..2),
        ) {
            let segments: Vec<_> = before.iter().chain([&secret]).chain(&after).cloned().collect();
            let pattern = pattern(&format!("/{}", segments.join("/")));
            prop_assert!(!pattern.split('/').any(|segment| segment == secret), "{pattern}");
        }
    }
}
