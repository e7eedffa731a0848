//! Escape sequences that servers write for bytes that cannot appear in a log line.

/// Appends `raw` to `text` with its escape sequences decoded.
///
/// Apache `httpd` (`ap_escape_logitem`) and nginx (`escape=default`) write `\xHH` and the escape
/// letters of C; JSON writers use `\uHHHH` with surrogates (RFC 8259 §7). A lone surrogate becomes
/// U+FFFD, and an invalid escape sequence is copied unchanged.
pub(super) fn unescape(raw: &[u8], text: &mut Vec<u8>) {
    let mut rest = raw;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            text.push(byte);
        } else if let Some(after) = escape(rest, text) {
            rest = after;
        } else {
            text.push(byte);
        }
    }
}

/// Appends `raw` to `text` with `%XX` and `+` decoded, as IIS and CloudFront write spaces.
///
/// CloudFront encodes the `%` of a header again, so `%25` before two digits is decoded twice.
pub(super) fn unescape_url(raw: &[u8], text: &mut Vec<u8>) {
    let mut rest = raw;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let encoded = after.strip_prefix(b"25").filter(|it| hex(it, 2).is_some());
        match (byte, hex(encoded.unwrap_or(after), 2)) {
            (b'%', Some((number, after))) => {
                text.extend(u8::try_from(number));
                rest = after;
            }
            (b'+', _) => text.push(b' '),
            _ => text.push(byte),
        }
    }
}

/// Decodes the escape sequence after a backslash. Returns the text after the escape sequence.
fn escape<'a>(rest: &'a [u8], text: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (&letter, after) = rest.split_first()?;
    match letter {
        b'"' | b'\\' | b'/' => text.push(letter),
        b'b' => text.push(0x08),
        b'f' => text.push(0x0c),
        b'n' => text.push(b'\n'),
        b'r' => text.push(b'\r'),
        b't' => text.push(b'\t'),
        // Only Apache writes this sequence; `\/` and `\f` are JSON escapes.
        b'v' => text.push(0x0b),
        b'x' => {
            let (number, after) = hex(after, 2)?;
            text.push(u8::try_from(number).ok()?);
            return Some(after);
        }
        b'u' => return unicode(after, text),
        _ => return None,
    }
    Some(after)
}

fn unicode<'a>(rest: &'a [u8], text: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (first, mut after) = hex(rest, 4)?;
    let mut number = first;
    if (0xd800..0xdc00).contains(&first)
        && let Some(next) = after.strip_prefix(b"\\u")
        && let Some((second, next)) = hex(next, 4)
        && (0xdc00..0xe000).contains(&second)
    {
        // RFC 2781 §2.2
        number = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        after = next;
    }
    let letter = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
    text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    Some(after)
}

fn hex(rest: &[u8], digits: usize) -> Option<(u32, &[u8])> {
    let (digits, after) = rest.split_at_checked(digits)?;
    let number = digits.iter().try_fold(0, |number, digit| {
        Some(number * 16 + char::from(*digit).to_digit(16)?)
    })?;
    Some((number, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_and_other_bytes_are_unchanged() {
        let table: [(&[u8], &[u8]); 16] = [
            (b"plain", b"plain"),
            (b"", b""),
            (br#"a \"b\" c"#, b"a \"b\" c"),
            (br"\\x22", br"\x22"),
            (br"\x22\x5C\xe2\x82\xAC", b"\"\\\xe2\x82\xac"),
            (br"\n\r\t\b\v\f\/", b"\n\r\t\x08\x0b\x0c/"),
            (br"\u0041\u00e9", "A\u{e9}".as_bytes()),
            (br"\ud83e\udd16!", "\u{1f916}!".as_bytes()),
            (br"\ud83e", "\u{fffd}".as_bytes()),
            (br"\ud83e\u0041", "\u{fffd}A".as_bytes()),
            (br"\udd16x", "\u{fffd}x".as_bytes()),
            (br"\xg1 \x1", br"\xg1 \x1"),
            (br"\u12 \q \", br"\u12 \q \"),
            (b"\\", b"\\"),
            (b"\xff\\x00", b"\xff\x00"),
            (br"C:\Windows", br"C:\Windows"),
        ];
        for (raw, expected) in table {
            let mut text = Vec::new();
            unescape(raw, &mut text);
            assert_eq!(text, expected, "{}", String::from_utf8_lossy(raw));
        }
    }
}
