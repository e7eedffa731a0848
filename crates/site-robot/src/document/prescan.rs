//! Searches the first bytes of a page for a declaration of the character encoding.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use super::charset::by_label;

/// Number of bytes at the start of a page in which its encoding must be declared (WHATWG HTML
/// §13.2.3.2).
pub(super) const EARLY: usize = 1024;

/// Number of bytes at the start of a page in which browsers accept a late encoding declaration.
pub(super) const LATE: usize = 64 * 1024;

/// Maximum number of attributes read from a META tag.
const MAX_ATTRIBUTES: usize = 100;

/// Returns the encoding declared in the first bytes of an HTML page or XML document.
pub(super) fn declared(bytes: &[u8], length: usize) -> Option<&'static Encoding> {
    let bytes = bytes.get(..length).unwrap_or(bytes);
    match bytes {
        [0x3C, 0, 0x3F, 0, 0x78, 0, ..] => return Some(UTF_16LE),
        [0, 0x3C, 0, 0x3F, 0, 0x78, ..] => return Some(UTF_16BE),
        _ => {}
    }
    let found = xml_declaration(bytes).or_else(|| Scan { rest: bytes }.run())?;
    // If the page were really UTF-16, the declaration itself would not have been readable.
    Some(if found == UTF_16LE || found == UTF_16BE {
        UTF_8
    } else if found == X_USER_DEFINED {
        // WHATWG HTML §13.2.3.2 requires this replacement.
        WINDOWS_1252
    } else {
        found
    })
}

/// Parses `<?xml version="1.0" encoding="…"?>`.
fn xml_declaration(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.iter().take_while(|byte| byte.is_ascii_whitespace());
    let text = bytes.get(start.count()..)?.strip_prefix(b"<?xml")?;
    let text = text.get(..text.iter().position(|byte| *byte == b'>')?)?;
    let at = text.windows(8).position(|part| part == b"encoding")?;
    let text = text.get(at + 8..)?.trim_ascii_start();
    let text = text.strip_prefix(b"=")?.trim_ascii_start();
    let (quote, text) = text.split_first()?;
    let end = text.iter().position(|byte| byte == quote)?;
    let is_quote = matches!(quote, b'"' | b'\'');
    by_label(text.get(..end)?).filter(|_| is_quote)
}

/// Scanner for tags and their attributes (WHATWG HTML §13.2.3.2, prescan).
struct Scan<'a> {
    rest: &'a [u8],
}

impl Scan<'_> {
    fn run(mut self) -> Option<&'static Encoding> {
        loop {
            let at = self.rest.iter().position(|byte| *byte == b'<')?;
            self.skip(at);
            if self.rest.starts_with(b"<!--") {
                // The two dashes may be part of the start of the comment: `<!-->`.
                self.skip(2);
                self.skip_behind(b"-->")?;
            } else if self.is_meta() {
                self.skip(5);
                if let Some(found) = self.meta() {
                    return Some(found);
                }
            } else if self.is_tag() {
                self.skip_name();
                while self.attribute().is_some() {}
            } else if matches!(self.rest.get(1), Some(b'!' | b'/' | b'?')) {
                self.skip_behind(b">")?;
            } else {
                self.skip(1);
            }
        }
    }

    fn is_meta(&self) -> bool {
        let name = self.rest.get(1..5).unwrap_or_default();
        let next = self.rest.get(5);
        name.eq_ignore_ascii_case(b"meta")
            && next.is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'/')
    }

    fn is_tag(&self) -> bool {
        match self.rest {
            [_, b'/', first, ..] | [_, first, ..] => first.is_ascii_alphabetic(),
            _ => false,
        }
    }

    fn meta(&mut self) -> Option<&'static Encoding> {
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let mut is_content_type = false;
        let mut by_content = None;
        let mut by_charset = None;
        // The number is limited because each name is compared with all previous names.
        for _ in 0..MAX_ATTRIBUTES {
            let Some((name, value)) = self.attribute() else {
                break;
            };
            if seen.contains(&name) {
                continue;
            }
            match name.as_slice() {
                b"http-equiv" => is_content_type = value == b"content-type",
                b"content" => by_content = charset_in(&value),
                b"charset" => by_charset = Some(by_label(&value)),
                _ => {}
            }
            seen.push(name);
        }
        match by_charset {
            Some(found) => found,
            None => by_content.filter(|_| is_content_type),
        }
    }

    /// Reads an attribute and converts it to lower case; returns `None` at the end of the tag.
    fn attribute(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        self.skip_while(|byte| byte.is_ascii_whitespace() || byte == b'/');
        if matches!(self.rest.first(), None | Some(b'>')) {
            self.skip(1);
            return None;
        }
        let mut is_first = true;
        let name = self.take_while(|byte| {
            let goes_on = is_first || byte != b'=';
            is_first = false;
            goes_on && !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>')
        });
        self.skip_while(|byte| byte.is_ascii_whitespace());
        if self.rest.first() != Some(&b'=') {
            return Some((name, Vec::new()));
        }
        self.skip(1);
        self.skip_while(|byte| byte.is_ascii_whitespace());
        Some((name, self.value()?))
    }

    /// Reads an attribute value; returns `None` if the closing quotation mark is missing.
    fn value(&mut self) -> Option<Vec<u8>> {
        match self.rest.first() {
            Some(quote @ (b'"' | b'\'')) => {
                let quote = *quote;
                self.skip(1);
                let value = self.take_while(|byte| byte != quote);
                let is_closed = !self.rest.is_empty();
                self.skip(1);
                is_closed.then_some(value)
            }
            _ => Some(self.take_while(|byte| !byte.is_ascii_whitespace() && byte != b'>')),
        }
    }

    fn skip_name(&mut self) {
        self.skip_while(|byte| !byte.is_ascii_whitespace() && byte != b'>');
    }

    fn skip_behind(&mut self, end: &[u8]) -> Option<()> {
        let at = self.rest.windows(end.len()).position(|part| part == end)?;
        self.skip(at + end.len());
        Some(())
    }

    fn skip_while(&mut self, skips: impl Fn(u8) -> bool) {
        let length = self.rest.iter().take_while(|byte| skips(**byte)).count();
        self.skip(length);
    }

    fn take_while(&mut self, mut takes: impl FnMut(u8) -> bool) -> Vec<u8> {
        let length = self.rest.iter().take_while(|byte| takes(**byte)).count();
        let taken = self.rest.get(..length).unwrap_or_default();
        let taken = taken.to_ascii_lowercase();
        self.skip(length);
        taken
    }

    fn skip(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
    }
}

/// Returns the encoding specified in a `content` value such as `text/html; charset=utf-8`.
fn charset_in(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    loop {
        let at = rest.windows(7).position(|part| part == b"charset")?;
        rest = rest.get(at + 7..)?;
        let Some(value) = rest.trim_ascii_start().strip_prefix(b"=") else {
            continue;
        };
        let value = value.trim_ascii_start();
        let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
        let value = match value.split_first()? {
            (quote @ (b'"' | b'\''), value) => {
                value.get(..value.iter().position(|byte| byte == quote)?)?
            }
            _ => value.get(..value.iter().position(ends).unwrap_or(value.len()))?,
        };
        return by_label(value);
    }
}
