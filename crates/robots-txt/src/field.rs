//! Parsing of a line's field and value, as strictly as the dialect requires.

use memchr::{memchr, memchr2};

use super::{
    dialect::LineReading,
    lines::{Line, Lines},
};

/// The maximum length of a line in Google's parser; the rest is truncated.
///
/// Google's parser allows lines of up to eight times 2,083 bytes, the maximum length of a URL in
/// some browsers.
pub(super) const GOOGLE_MAX_LINE: usize = 2083 * 8 - 1;

/// The UTF-8 byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A field name at the start of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    RequestRate,
    Sitemap,
    Host,
    CleanParam,
    ContentSignal,
    ContentUsage,
    License,
    VisitTime,
    /// Any field that the dialect ignores.
    Other,
}

impl Field {
    /// Returns `true` for a field that no dialect of crawling defines, because it is about the use
    /// of fetched pages or from a draft.
    pub(super) const fn is_extension(self) -> bool {
        matches!(
            self,
            Self::ContentSignal | Self::ContentUsage | Self::License | Self::VisitTime
        )
    }
}

/// The parsed content of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Content<'t> {
    Blank,
    /// A comment, or a line that the dialect cannot parse.
    Nothing,
    Field(Field, &'t [u8]),
}

/// Returns an iterator over the lines of a file, without a byte order mark that the dialect skips.
pub(super) fn lines(text: &[u8], reading: LineReading) -> Lines<'_> {
    let marked = match reading {
        LineReading::Standard if text.starts_with(MARK) => MARK.len(),
        // Google's parser skips a byte order mark octet by octet, even if the mark is incomplete.
        LineReading::Google => common_length(text, MARK),
        _ => 0,
    };
    Lines::new(text.get(marked..).unwrap_or_default())
}

/// Parses a line of a robots.txt file.
///
/// Rare forms are handled in separate functions, outside the hot loop.
#[expect(clippy::inline_always, reason = "10 % faster for small files")]
#[inline(always)]
pub(super) fn read(line: Line<'_>, reading: LineReading) -> Content<'_> {
    match reading {
        LineReading::Standard | LineReading::Plain => standard(line),
        LineReading::Google => google(line),
        LineReading::Perl => perl(line),
        LineReading::Geoportal => geoportal(line),
    }
}

#[inline]
fn standard(line: Line<'_>) -> Content<'_> {
    let text = line.before_comment();
    match usual(text) {
        Some((field, value)) => Content::Field(field, trim(value)),
        None => unusual(line, text),
    }
}

#[inline(never)]
fn unusual<'t>(line: Line<'t>, text: &'t [u8]) -> Content<'t> {
    let text = trim(text);
    match split(text) {
        Some((key, value)) => Content::Field(named(key), value),
        None if text.is_empty() && line.hash.is_none() => Content::Blank,
        None => Content::Nothing,
    }
}

/// Parses a common field in its usual spelling, without searching for the colon.
#[inline]
fn usual(text: &[u8]) -> Option<(Field, &[u8])> {
    if let Some(value) = text.strip_prefix(b"Disallow: ") {
        Some((Field::Disallow, value))
    } else if let Some(value) = text.strip_prefix(b"Allow: ") {
        Some((Field::Allow, value))
    } else {
        let value = text.strip_prefix(b"User-agent: ")?;
        Some((Field::UserAgent, value))
    }
}

/// Parses a line as Google's C++ program does: the text ends at a NUL, and spaces may replace the
/// colon if there are exactly two words.
#[inline(never)]
fn google(line: Line<'_>) -> Content<'_> {
    let bytes = line.bytes.get(..GOOGLE_MAX_LINE).unwrap_or(line.bytes);
    let end = memchr2(0, b'#', bytes).unwrap_or(bytes.len());
    let text = trim(bytes.get(..end).unwrap_or_default());
    let parts = match split_at(text, memchr(b':', text)) {
        None => two_words(text),
        parts => parts,
    };
    match parts {
        Some((key, value)) if !trim(key).is_empty() => {
            Content::Field(google_named(trim(key)), trim(value))
        }
        _ => Content::Nothing,
    }
}

/// Parses a line as `WWW::RobotRules` does: a line that consists of a comment is ignored, but a
/// line with only spaces before a comment counts as blank.
#[inline(never)]
fn perl(line: Line<'_>) -> Content<'_> {
    if trim(line.bytes).starts_with(b"#") {
        return Content::Nothing;
    }
    let text = trim(line.before_comment());
    if text.is_empty() {
        return Content::Blank;
    }
    match split(text) {
        Some((key, value)) => Content::Field(named(key), trim_any_space(value)),
        None => Content::Nothing,
    }
}

/// Removes all Unicode white space from both ends, as Perl does.
fn trim_any_space(value: &[u8]) -> &[u8] {
    str::from_utf8(value).map_or(value, |value| value.trim().as_bytes())
}

/// Parses a line as Geoportal's Java program does: a field name inside a comment is ignored, a
/// value ends at a comment, and field names without hyphens are accepted.
#[inline(never)]
fn geoportal(line: Line<'_>) -> Content<'_> {
    let text = trim_controls(line.bytes);
    if text.starts_with(b"#") {
        return Content::Nothing;
    }
    let Some((key, rest)) = split_at(text, memchr(b':', text)) else {
        return Content::Nothing;
    };
    let field = match named(trim_controls(key)) {
        Field::RequestRate | Field::CleanParam => Field::Other,
        Field::Other if key_is(key, b"useragent") => Field::UserAgent,
        Field::Other if key_is(key, b"crawldelay") => Field::CrawlDelay,
        field => field,
    };
    if field == Field::Other {
        return Content::Nothing;
    }
    let end = memchr(b'#', rest).unwrap_or(rest.len());
    Content::Field(field, trim_controls(rest.get(..end).unwrap_or_default()))
}

fn key_is(key: &[u8], name: &[u8]) -> bool {
    trim_controls(key).eq_ignore_ascii_case(name)
}

/// Splits a line at the first colon and trims both parts; returns `None` if the first part is
/// empty.
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (key, value) = split_at(text, memchr(b':', text))?;
    let key = trim(key);
    (!key.is_empty()).then(|| (key, trim(value)))
}

/// Returns the parts of a text before and after a position.
fn split_at(text: &[u8], at: Option<usize>) -> Option<(&[u8], &[u8])> {
    let at = at?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Splits a text that consists of exactly two words.
fn two_words(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (key, rest) = split_at(text, memchr2(b' ', b'\t', text))?;
    let value = trim(rest);
    memchr2(b' ', b'\t', value)
        .is_none()
        .then_some((key, value))
}

/// Returns the field with the given name, ignoring case.
fn named(key: &[u8]) -> Field {
    let is = |name: &[u8]| key.eq_ignore_ascii_case(name);
    // Each length has few names to compare.
    match key.len() {
        4 if is(b"host") => Field::Host,
        5 if is(b"allow") => Field::Allow,
        7 if is(b"sitemap") => Field::Sitemap,
        7 if is(b"license") => Field::License,
        8 if is(b"disallow") => Field::Disallow,
        10 if is(b"user-agent") => Field::UserAgent,
        10 if is(b"visit-time") => Field::VisitTime,
        11 if is(b"crawl-delay") => Field::CrawlDelay,
        11 if is(b"clean-param") => Field::CleanParam,
        12 if is(b"request-rate") => Field::RequestRate,
        13 if is(b"content-usage") => Field::ContentUsage,
        14 if is(b"content-signal") => Field::ContentSignal,
        _ => Field::Other,
    }
}

/// The name prefixes that Google's parser accepts as fields.
// The list is copied from `ParsedRobotsKey` in github.com/google/robotstxt, `robots.cc`.
const GOOGLE_NAMES: [(&[u8], Field); 12] = [
    (b"user-agent", Field::UserAgent),
    (b"useragent", Field::UserAgent),
    (b"user agent", Field::UserAgent),
    (b"allow", Field::Allow),
    (b"disallow", Field::Disallow),
    (b"dissallow", Field::Disallow),
    (b"dissalow", Field::Disallow),
    (b"disalow", Field::Disallow),
    (b"diasllow", Field::Disallow),
    (b"disallaw", Field::Disallow),
    (b"sitemap", Field::Sitemap),
    (b"site-map", Field::Sitemap),
];

fn google_named(key: &[u8]) -> Field {
    match named(key) {
        Field::Other => GOOGLE_NAMES
            .iter()
            .find(|(name, _)| starts_with_ignoring_case(key, name))
            .map_or(Field::Other, |(_, field)| *field),
        field => field,
    }
}

fn starts_with_ignoring_case(text: &[u8], beginning: &[u8]) -> bool {
    text.get(..beginning.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(beginning))
}

/// Returns the length of the common prefix of two texts.
fn common_length(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// Removes white space as defined by C, including vertical tabs, from both ends.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    trim_by(text, |octet| octet.is_ascii_whitespace() || *octet == 0x0b)
}

/// Removes control characters and spaces from both ends, like Java's `trim`.
fn trim_controls(text: &[u8]) -> &[u8] {
    trim_by(text, |octet| *octet <= b' ')
}

#[inline]
fn trim_by(mut text: &[u8], is_space: impl Fn(&u8) -> bool) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_space(last)
    {
        text = rest;
    }
    text
}
