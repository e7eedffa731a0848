//! Normalisation of percent-escapes in rules and URLs.

use std::borrow::Cow;

use memchr::memchr;

/// An octet of a text, written directly or as an escape.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Piece {
    Plain(u8),
    /// An octet written as `%XX`.
    Escaped(u8),
}

/// An iterator over the octets of a text; a `%` that is not followed by two hexadecimal digits is a
/// plain octet.
struct Pieces<'t> {
    rest: &'t [u8],
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if let [b'%', high, low, rest @ ..] = self.rest
            && let Some(octet) = octet(*high, *low)
        {
            self.rest = rest;
            return Some(Piece::Escaped(octet));
        }
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(Piece::Plain(*first))
    }
}

fn pieces(text: &[u8]) -> Pieces<'_> {
    Pieces { rest: text }
}

fn octet(high: u8, low: u8) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

/// Appends an octet as `%XX` with hexadecimal digits in upper case.
fn push_escape(out: &mut Vec<u8>, octet: u8) {
    let digit = |value: u8| match value {
        0..=9 => b'0' + value,
        _ => b'A' + value - 10,
    };
    out.extend([b'%', digit(octet >> 4), digit(octet & 15)]);
}

fn is_unreserved(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~')
}

/// Returns `true` if a text has neither escapes nor non-ASCII octets.
pub(super) fn is_plain(text: &[u8]) -> bool {
    text.is_ascii() && memchr(b'%', text).is_none()
}

/// Normalises escapes as specified by RFC 9309 §2.2.2: decodes unreserved characters, escapes
/// non-ASCII octets, and converts hexadecimal digits to upper case.
///
/// `%2A` and `%24` are also decoded, because the text no longer contains wildcards.
pub(super) fn normalised(text: &[u8]) -> Cow<'_, [u8]> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    for piece in pieces(text) {
        match piece {
            // RFC 9309 §2.2.3: `%2A` and `%24` stand for literal `*` and `$`.
            Piece::Escaped(octet) if is_unreserved(octet) || matches!(octet, b'*' | b'$') => {
                out.push(octet);
            }
            Piece::Escaped(octet) => push_escape(&mut out, octet),
            Piece::Plain(octet) if !octet.is_ascii() => push_escape(&mut out, octet),
            Piece::Plain(octet) => out.push(octet),
        }
    }
    Cow::Owned(out)
}

/// Returns the length in octets by which rules are ranked for the longest match: `%2A` and `%24`
/// count as three octets.
pub(super) fn normalised_length(text: &[u8]) -> usize {
    let wildcards = |piece: &Piece| matches!(piece, Piece::Escaped(b'*' | b'$'));
    let kept = pieces(text).filter(wildcards).count() * 2;
    normalised(text).len() + kept
}

/// Converts escapes to upper case and escapes non-ASCII octets, as Google's parser does in rules.
pub(super) fn upper_case(text: &[u8]) -> Cow<'_, [u8]> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    for piece in pieces(text) {
        match piece {
            Piece::Plain(octet) if octet.is_ascii() => out.push(octet),
            Piece::Plain(octet) | Piece::Escaped(octet) => push_escape(&mut out, octet),
        }
    }
    Cow::Owned(out)
}

/// Decodes all escapes except `%2F`, which is not equivalent to a slash (`HTTP:TDG` 9.4.3).
pub(super) fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'%', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Escaped(b'/') => out.extend(b"%2F"),
            Piece::Plain(octet) | Piece::Escaped(octet) => out.push(octet),
        }
    }
    Cow::Owned(out)
}

/// Decodes a text like Java's `URLDecoder`, but leaves `%2F` and `%2f` unchanged.
///
/// Returns `None` for a text with an invalid escape, for which Geoportal's program throws an
/// exception. Invalid UTF-8 is replaced.
pub(super) fn form_decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        rest = match rest {
            [] => break,
            [b'%', b'2', slash @ (b'f' | b'F'), rest @ ..] => {
                out.extend([b'%', b'2', *slash]);
                rest
            }
            [b'%', high, low, rest @ ..] => {
                out.push(octet(*high, *low)?);
                rest
            }
            [b'%', ..] => return None,
            [b'+', rest @ ..] => {
                out.push(b' ');
                rest
            }
            [octet, rest @ ..] => {
                out.push(*octet);
                rest
            }
        };
    }
    // A Java `String` cannot contain invalid UTF-8; it is replaced in rules and URLs alike.
    Some(match String::from_utf8_lossy(&out) {
        Cow::Borrowed(_) => out,
        Cow::Owned(replaced) => replaced.into_bytes(),
    })
}

/// Escapes characters that Perl's URI module considers unsafe; existing escapes are kept.
pub(super) fn safe(text: &[u8]) -> Cow<'_, [u8]> {
    if text.iter().all(|octet| is_safe(*octet)) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    for octet in text {
        if is_safe(*octet) {
            out.push(*octet);
        } else {
            push_escape(&mut out, *octet);
        }
    }
    Cow::Owned(out)
}

/// Returns `true` if a URL may contain the octet: `uric` of RFC 2396, `%` and `#`.
fn is_safe(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || memchr(octet, b"-_.!~*'();/?:@&=+$,%#").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).expect("UTF-8")
    }

    #[test]
    fn normalisation_decodes_unreserved_and_escapes_non_ascii_octets() {
        for (from, to) in [
            ("/a%41%7e", "/aA~"),
            ("/%2f%3b", "/%2F%3B"),
            ("/ツ", "/%E3%83%84"),
            ("/%e3%83%84", "/%E3%83%84"),
            ("/%2a%24", "/*$"),
            ("/100%", "/100%"),
            ("/%zz%4", "/%zz%4"),
        ] {
            assert_eq!(text(&normalised(from.as_bytes())), to, "{from}");
        }
    }

    #[test]
    fn google_only_changes_case_and_non_ascii_octets() {
        assert_eq!(
            text(&upper_case("/%41%aa/é%".as_bytes())),
            "/%41%AA/%C3%A9%"
        );
    }

    #[test]
    fn escaped_slash_is_not_decoded() {
        assert_eq!(text(&decoded(b"/%7efred%2fa")), "/~fred%2Fa");
        assert_eq!(
            form_decoded(b"/a+b%2fc%20d").as_deref().map(text),
            Some("/a b%2fc d".to_owned())
        );
        assert_eq!(form_decoded(b"/100%"), None);
    }
}
