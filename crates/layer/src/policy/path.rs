//! Path normalization, which decodes paths once and removes dot segments and doubled slashes.

use std::{borrow::Cow, fmt::Write as _, slice};

/// Maximum length of a path that is rewritten without an allocation.
const STACK_BYTES: usize = 1024;

/// Calls `look` with the normalized path of a request.
///
/// `%XX` is decoded once (invalid escapes are unchanged), empty and dot segments are resolved
/// according to RFC 3986 §5.2.4, and a query or fragment is removed. If the target is in absolute
/// form, its path is used. If the target has no path (`*`, an authority), an empty slice is passed
/// to `look`.
pub fn with_normal_path<T>(target: &str, look: impl FnOnce(&[u8]) -> T) -> T {
    PathReading::default().with_path(target, look)
}

/// The way in which the site's server interprets paths; by default, as specified by RFC 3986.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PathReading {
    /// Whether `;` and the text after it in a segment are ignored, as in servlet containers.
    pub parameters: bool,
    /// Whether paths are case-insensitive, as with IIS on Windows.
    pub ignore_case: bool,
}

impl PathReading {
    /// Calls `look` with the path of a request, normalized as the site's server interprets it.
    ///
    /// In addition to the steps of [`with_normal_path`], parameters are removed and letters are
    /// converted to lower case, depending on the settings. If either setting is enabled, a
    /// backslash becomes a slash.
    #[doc(hidden)]
    pub fn with_path<T>(self, target: &str, look: impl FnOnce(&[u8]) -> T) -> T {
        let target = target.as_bytes();
        if is_normal(target) && self.is_plain() {
            look(target)
        } else {
            with_rewritten(path_part(target), self, look)
        }
    }

    pub(super) fn is_plain(self) -> bool {
        self == Self::default()
    }

    /// Returns a byte of a decoded path in the form in which the server compares it.
    fn byte(self, byte: u8) -> u8 {
        match byte {
            b'\\' if !self.is_plain() => b'/',
            _ if self.ignore_case => byte.to_ascii_lowercase(),
            _ => byte,
        }
    }

    /// Returns a text from the settings in the form in which paths are compared.
    pub(super) fn folded(self, text: &[u8]) -> Cow<'_, [u8]> {
        if self.ignore_case {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        }
    }
}

/// Returns `true` if a path equals `prefix` or is below it.
#[must_use]
pub fn is_below(path: &[u8], prefix: &[u8]) -> bool {
    let rest = path.strip_prefix(prefix);
    // `/shopping` is not below `/shop`.
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

/// Returns `true` if a path equals the path of a built-in page or is below it.
///
/// Paths with `..` never match, because proxies and applications resolve such paths differently.
#[must_use]
pub fn is_own_path(path: &str, own: &str) -> bool {
    let is_below = |path: &[u8]| is_below(path, own.as_bytes());
    let goes_up = || {
        let decoded: Vec<_> = decode(path.as_bytes()).collect();
        decoded
            .split(|&byte| byte == b'/')
            .any(|segment| segment == b"..")
    };
    is_below(path.as_bytes()) && with_normal_path(path, is_below) && !goes_up()
}

/// Returns the normalized form of a path in the settings.
pub(super) fn normal_path(path: &[u8]) -> Vec<u8> {
    let mut room = vec![0; path.len().max(1)];
    let length = rewrite(path, PathReading::default(), &mut room).len();
    room.truncate(length);
    room
}

/// Returns an iterator over the bytes with each `%XX` decoded.
pub(super) fn decode(bytes: &[u8]) -> Decoded<'_> {
    Decoded { rest: bytes.iter() }
}

/// Returns `true` if a decoded path contains empty or dot segments, which normalized paths do not
/// have.
pub(super) fn has_odd_segments(path: &[u8]) -> bool {
    let mut segments = path.split(|&byte| byte == b'/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        if matches!(segment, b"." | b"..") || (segment.is_empty() && !is_last) {
            return true;
        }
    }
    false
}

/// Returns `true` if the path of a request contains empty or dot segments, escaped or not.
///
/// Some servers resolve such segments, while other servers treat the segments as names. Such a
/// request may therefore get a page other than the page at the normalized path.
pub(super) fn is_odd(target: &str) -> bool {
    if is_normal(target.as_bytes()) {
        return false;
    }
    let mut segment = Segment::default();
    let mut bytes = decode(path_part(target.as_bytes()));
    if bytes.next() != Some(b'/') {
        return false;
    }
    let ended = |segment: Segment| {
        matches!(
            segment,
            Segment {
                dots: 1..=2,
                others: false
            }
        )
    };
    for byte in bytes {
        match byte {
            b'/' if ended(segment) || segment == Segment::default() => return true,
            b'/' => segment = Segment::default(),
            b'.' => segment.dots += 1,
            _ => segment.others = true,
        }
    }
    ended(segment)
}

/// Returns the path and query with the path resolved, if this may affect the result of robots.txt
/// matching.
///
/// Characters with a special meaning remain escaped. Returns `None` if matching (RFC 9309 §2.2.2)
/// gives the same result for both forms.
pub(super) fn resolved(target: &str, reading: PathReading) -> Option<String> {
    if reading.is_plain() && is_normal(target.as_bytes()) {
        return None;
    }
    let path = path_part(target.as_bytes());
    if path.is_empty() || reading.is_plain() && !(is_odd(target) || has_escaped_sign(path)) {
        return None;
    }
    let mut text = String::with_capacity(target.len());
    reading.with_path(target, |path| {
        for &byte in path {
            if byte.is_ascii_graphic() && !b"%?#".contains(&byte) {
                text.push(char::from(byte));
            } else {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    });
    if let Some((_, query)) = target.split_once('?') {
        text.push('?');
        text.push_str(&String::from_utf8_lossy(&reading.folded(query.as_bytes())));
    }
    Some(text)
}

/// Returns `true` if a punctuation character is escaped. In robots.txt, the escaped form differs
/// from the character, but many servers treat both as equal.
fn has_escaped_sign(path: &[u8]) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_punctuation() && !b"%?#-._~*$".contains(&byte);
    path.windows(3).any(|window| match window {
        [b'%', high, low] => match (hex_digit(*high), hex_digit(*low)) {
            (Some(high), Some(low)) => is_sign(high << 4 | low),
            _ => false,
        },
        _ => false,
    })
}

/// The characters of a path segment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Segment {
    dots: usize,
    others: bool,
}

/// An iterator that decodes each `%XX` once.
pub(super) struct Decoded<'b> {
    rest: slice::Iter<'b, u8>,
}

impl Iterator for Decoded<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let byte = *self.rest.next()?;
        if byte == b'%'
            && let [high, low, rest @ ..] = self.rest.as_slice()
            && let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low))
        {
            self.rest = rest.iter();
            return Some(high << 4 | low);
        }
        Some(byte)
    }
}

/// Returns the value of a hexadecimal digit.
pub(super) fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Returns `true` if a target certainly needs no rewriting; `false` means that rewriting may be
/// needed.
///
/// This check runs for every request, so it compares eight bytes at a time.
fn is_normal(target: &[u8]) -> bool {
    let (words, rest) = target.as_chunks::<8>();
    let mut slash_before = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let slashes = places(word, b'/');
        // A dot differs from a slash only in the lowest bit.
        let segments = places(word | EACH, b'/');
        let rewritten = places(word, b'%') | places(word, b'?') | places(word, b'#');
        // A slash or dot directly after a slash: the shift moves the mark of each slash to the next
        // byte.
        if (rewritten | (segments & ((slashes << 8) | slash_before))) != 0 {
            return false;
        }
        // The mark of the last byte carries over to the first byte of the next word.
        slash_before = slashes >> 56;
    }
    let mut previous = if slash_before == 0 { b'a' } else { b'/' };
    for &byte in rest {
        let rewrites = match byte {
            b'%' | b'?' | b'#' => true,
            b'/' | b'.' => previous == b'/',
            _ => false,
        };
        if rewrites {
            return false;
        }
        previous = byte;
    }
    target.starts_with(b"/")
}

/// A word in which the lowest bit of each of the eight bytes is set.
const EACH: u64 = u64::from_le_bytes([1; 8]);

/// Sets the highest bit of each byte of `word` that equals `byte`, and possibly of some bytes above
/// such a byte.
fn places(word: u64, byte: u8) -> u64 {
    let differs = word ^ (EACH * u64::from(byte));
    differs.wrapping_sub(EACH) & !differs & (EACH << 7)
}

/// Returns the path of a request target (RFC 9112 §3.2), or an empty slice if there is no path.
pub(super) fn path_part(target: &[u8]) -> &[u8] {
    let target = target
        .split(|byte| matches!(byte, b'?' | b'#'))
        .next()
        .unwrap_or_default();
    if target.is_empty() {
        return b"/";
    }
    if target.starts_with(b"/") {
        return target;
    }
    let Some(after_scheme) = strip_scheme(target) else {
        return b"";
    };
    match after_scheme.iter().position(|&byte| byte == b'/') {
        Some(slash) => after_scheme.get(slash..).unwrap_or_default(),
        None => b"/",
    }
}

fn strip_scheme(target: &[u8]) -> Option<&[u8]> {
    [&b"http://"[..], b"https://"].iter().find_map(|scheme| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

#[cold]
fn with_rewritten<T>(path: &[u8], reading: PathReading, look: impl FnOnce(&[u8]) -> T) -> T {
    if path.is_empty() {
        look(path)
    } else if path.len() <= STACK_BYTES {
        look(rewrite(path, reading, &mut [0; STACK_BYTES]))
    } else {
        look(rewrite(path, reading, &mut vec![0; path.len()]))
    }
}

/// Writes the normalized path to `room`, which must be at least as long as the path.
fn rewrite<'r>(path: &[u8], reading: PathReading, room: &'r mut [u8]) -> &'r [u8] {
    let mut writer = Writer {
        room,
        written: 0,
        segment: 0,
    };
    // Servlet containers remove parameters before they decode the path.
    for segment in path.split(|&byte| byte == b'/') {
        let name = segment.split(|&byte| byte == b';').next();
        let segment = name.filter(|_| reading.parameters).unwrap_or(segment);
        writer.slash();
        for byte in decode(segment) {
            match reading.byte(byte) {
                b'/' => writer.slash(),
                byte => writer.push(byte),
            }
        }
    }
    writer.end_segment();
    let Writer { room, written, .. } = writer;
    room.get(..written).unwrap_or_default()
}

struct Writer<'r> {
    room: &'r mut [u8],
    written: usize,
    /// The index at which the current segment starts.
    segment: usize,
}

impl Writer<'_> {
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.room.get_mut(self.written) {
            *slot = byte;
            self.written += 1;
        }
    }

    fn slash(&mut self) {
        self.end_segment();
        if self.written > self.segment || self.written == 0 {
            self.push(b'/');
            self.segment = self.written;
        }
    }

    /// Removes a dot segment, and for `..` also the segment before it.
    fn end_segment(&mut self) {
        match self.room.get(self.segment..self.written) {
            Some(b".") => self.written = self.segment,
            Some(b"..") => {
                let parent = self
                    .room
                    .get(..self.segment.saturating_sub(1))
                    .and_then(|above| above.iter().rposition(|&byte| byte == b'/'))
                    // A path above the root resolves to the root (RFC 3986 §5.2.4).
                    .map_or(1, |slash| slash + 1);
                self.written = parent;
                self.segment = parent;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_reported_as_normal_equals_its_normal_form() {
        let signs = b"/.%?#0an\x80\xaf";
        let mut said = 0;
        for start in [
            "/",
            "/abcdef",
            "/abcdefg",
            "/members/",
            "/members-only-stuff",
        ] {
            for number in 0..signs.len().pow(4) {
                let sign = |place: u32| signs[number / signs.len().pow(place) % signs.len()];
                let mut path = start.as_bytes().to_vec();
                path.extend([sign(0), sign(1), sign(2), sign(3)]);
                if is_normal(&path) {
                    assert_eq!(normal_path(&path), path, "{}", path.escape_ascii());
                    assert!(!path.contains(&b'?') && !path.contains(&b'#'));
                    said += 1;
                }
            }
        }
        assert!(said > 5_000, "{said}");
        assert!(is_normal(b"/members-only-stuff/page.html"));
    }

    macro_rules! cases {
        ($($name:ident: $target:expr => $normal:expr;)*) => {
            $(#[test] fn $name() {
                let normal: &[u8] = $normal;
                let found = with_normal_path($target, <[u8]>::to_vec);
                assert_eq!(found, normal, "{:?}", String::from_utf8_lossy(&found));
            })*
        };
    }

    cases! {
        plain_path_stays: "/a/b.html" => b"/a/b.html";
        root_stays: "/" => b"/";
        slash_at_the_end_stays: "/a/" => b"/a/";
        escape_is_decoded: "/%6dembers" => b"/members";
        escape_is_decoded_once: "/%252e%252e/a" => b"/%2e%2e/a";
        escape_that_is_none_stays: "/%zz/%4/%" => b"/%zz/%4/%";
        escaped_slash_separates: "/a%2Fb%2fc" => b"/a/b/c";
        escaped_nul_is_a_byte: "/a%00b" => b"/a\0b";
        escaped_question_mark_is_no_query: "/a%3fb" => b"/a?b";
        byte_that_is_not_utf8_stays: "/%ff%C3" => b"/\xff\xc3";
        slashes_are_merged: "//a///b//" => b"/a/b/";
        dot_segment_goes: "/./a/./b/." => b"/a/b/";
        two_dots_go_up: "/a/b/../c" => b"/a/c";
        two_dots_at_the_end_leave_the_parent: "/a/b/.." => b"/a/";
        two_dots_stop_at_the_root: "/../../a" => b"/a";
        two_dots_after_doubled_slashes_go_up_one_name: "/a//../b" => b"/b";
        escaped_dots_are_dots: "/a/%2e%2E/b" => b"/b";
        three_dots_are_a_name: "/a/.../b" => b"/a/.../b";
        hidden_file_is_a_name: "/a/.hidden" => b"/a/.hidden";
        backslash_is_a_character: "/a\\..\\b" => b"/a\\..\\b";
        parameters_stay: "/a;v=1/b" => b"/a;v=1/b";
        query_is_cut: "/a?b=/../c" => b"/a";
        fragment_is_cut: "/a#b" => b"/a";
        absolute_form_counts_with_its_path: "HTTP://example.com:80/a/../b?c" => b"/b";
        absolute_form_without_path_is_the_root: "http://example.com" => b"/";
        asterisk_is_no_path: "*" => b"";
        authority_is_no_path: "example.com:443" => b"";
        nothing_is_the_root: "" => b"/";
    }

    #[test]
    fn long_paths_are_rewritten_too() {
        let long = format!("/{}//b/../c", "a/".repeat(40_000));
        let normal = format!("/{}c", "a/".repeat(40_000));
        assert_eq!(with_normal_path(&long, <[u8]>::to_vec), normal.as_bytes());
    }

    #[test]
    fn odd_paths_are_detected() {
        for path in [
            "//p",
            "/p//q",
            "/./p",
            "/p/.",
            "/x/../p",
            "/..",
            "/%2e/p",
            "/%2E%2e/p",
            "/x/.%2e/p",
            "/x%2f..%2fp",
            "/%2fp",
            "//",
        ] {
            assert!(is_odd(path) && is_odd(&format!("{path}?a")), "{path}");
        }
        for path in [
            "/",
            "/p",
            "/p/",
            "/p/...",
            "/.p/a.",
            "/%2e%2e%2e",
            "/p?/../a",
            "/p%20q/",
            "*",
            "",
            "/a..",
        ] {
            assert!(!is_odd(path), "{path}");
        }
    }

    #[test]
    fn a_resolved_path_differs_from_the_received_one() {
        for (target, expected) in [
            ("//p?a=%2e/", Some("/p?a=%2e/")),
            ("/x/../p", Some("/p")),
            ("/%2e/p/%c3%a9%20%3f", Some("/p/%C3%A9%20%3F")),
            ("/a%2fb", Some("/a/b")),
            ("/a%2Cb%25", Some("/a,b%25")),
            ("/%70", None),
            ("/a%20b", None),
            ("/a%25b", None),
            ("/a?b=//c", None),
            ("/a", None),
            ("*", None),
        ] {
            let found = resolved(target, PathReading::default());
            assert_eq!(found.as_deref(), expected, "{target}");
        }
    }

    #[test]
    fn paths_are_read_as_the_server_of_the_site_reads_them() {
        let servlets = PathReading {
            parameters: true,
            ..PathReading::default()
        };
        let windows = PathReading {
            ignore_case: true,
            ..PathReading::default()
        };
        for (reading, target, expected) in [
            (servlets, "/p;x=1/a;y", "/p/a"),
            (servlets, "/open/..;/P/a", "/P/a"),
            (servlets, "/open/%2e%2e;x/p", "/p"),
            (servlets, "/;/p/;a/b", "/p/b"),
            (servlets, "/open\\..\\p", "/p"),
            (servlets, "/a%3bx", "/a;x"),
            (servlets, "/a;x?b;c", "/a"),
            (windows, "/P/A.aspx", "/p/a.aspx"),
            (windows, "/%50\\a%5cB", "/p/a/b"),
            (windows, "/a;X", "/a;x"),
            (windows, "/Ä", "/Ä"),
        ] {
            let found = reading.with_path(target, <[u8]>::to_vec);
            assert_eq!(found, expected.as_bytes(), "{target}");
        }
    }

    proptest! {
        #[test]
        fn normal_form_is_short_rooted_and_stable(target in "/[/.a%2eEfF\\\\é]{0,40}") {
            let normal = with_normal_path(&target, <[u8]>::to_vec);
            prop_assert!(normal.starts_with(b"/"));
            prop_assert!(normal.len() <= target.len());
            prop_assert!(!has_odd_segments(&normal), "{}", String::from_utf8_lossy(&normal));
            if !normal.contains(&b'%') {
                let mut room = vec![0; normal.len()];
                prop_assert_eq!(rewrite(&normal, PathReading::default(), &mut room), &normal[..]);
            }
        }

        #[test]
        fn any_text_is_handled_without_a_panic(target in ".{0,60}") {
            let normal = with_normal_path(&target, <[u8]>::to_vec);
            prop_assert!(normal.is_empty() || normal.starts_with(b"/"));
        }
    }
}
