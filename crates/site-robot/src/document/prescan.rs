//! Searches the first bytes of a page for a declaration of the character encoding.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use html5gum::{StartTag, Token, Tokenizer};

use super::charset::by_label;

/// Number of bytes at the start of a page in which its encoding must be declared (WHATWG HTML
/// §13.2.3.2).
pub(super) const EARLY: usize = 1024;

/// Number of bytes at the start of a page in which browsers accept a late encoding declaration.
pub(super) const LATE: usize = 64 * 1024;

/// Returns the encoding declared in the first bytes of an HTML page or XML document.
pub(super) fn declared(bytes: &[u8], length: usize) -> Option<&'static Encoding> {
    let bytes = bytes.get(..length).unwrap_or(bytes);
    match bytes {
        [0x3C, 0, 0x3F, 0, 0x78, 0, ..] => return Some(UTF_16LE),
        [0, 0x3C, 0, 0x3F, 0, 0x78, ..] => return Some(UTF_16BE),
        _ => {}
    }
    let found = xml_declaration(bytes).or_else(|| in_markup(bytes))?;
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

fn in_markup(bytes: &[u8]) -> Option<&'static Encoding> {
    Tokenizer::new(bytes).find_map(|Ok(token)| match token {
        Token::StartTag(tag) if &**tag.name == b"meta" => of_meta(&tag),
        _ => None,
    })
}

fn of_meta(tag: &StartTag<()>) -> Option<&'static Encoding> {
    let attribute = |name: &[u8]| {
        let value = tag.attributes.get(name)?;
        Some(value.value.to_ascii_lowercase())
    };
    if let Some(label) = attribute(b"charset") {
        return by_label(&label);
    }
    let is_content_type = attribute(b"http-equiv")? == b"content-type";
    charset_in(&attribute(b"content")?).filter(|_| is_content_type)
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
