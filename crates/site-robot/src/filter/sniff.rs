//! Detects the media type of a body from its first bytes if the server sent no type.

/// Number of bytes examined at the start of a body.
const SNIFFED: usize = 512;

/// Maximum size of an XML declaration and other instructions that precede the content, in bytes.
const MAX_PROLOG_BYTES: usize = 4 * 1024;

/// Byte signatures and their media types.
const MAGIC: [(&[u8], &str); 8] = [
    (b"%PDF-", "application/pdf"),
    (b"{\\rtf", "application/rtf"),
    (b"<MIFFile", "application/x-mif"),
    (b"%!PS", "application/postscript"),
    (b"PK\x03\x04", "application/zip"),
    (b"\xd0\xcf\x11\xe0", "application/msword"),
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
];

/// Strings with which HTML documents start, in lower case.
const HTML: [&[u8]; 6] = [
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<title",
    b"<body",
    b"<!--",
];

/// Returns `true` if a media type is missing or generic.
pub(super) fn is_unspecified(media_type: Option<&str>) -> bool {
    matches!(
        media_type,
        None | Some("" | "unknown" | "application/octet-stream")
    )
}

/// Returns the media type of a body, detected from its first bytes.
pub(super) fn sniff(body: &[u8]) -> Option<&'static str> {
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let start = start.trim_ascii_start();
    let known = MAGIC.iter().find(|(magic, _)| start.starts_with(magic));
    if let Some((_, media_type)) = known {
        return Some(media_type);
    }
    let behind = behind_prolog(start.get(..MAX_PROLOG_BYTES).unwrap_or(start));
    let first = behind.get(..SNIFFED).unwrap_or(behind);
    let first = first.to_ascii_lowercase();
    if HTML.iter().any(|tag| first.starts_with(tag)) {
        return Some("text/html");
    }
    if start.starts_with(b"<?xml") {
        return Some("text/xml");
    }
    // Control characters that do not occur in text. ESC (27) is allowed because ISO-2022-JP uses
    // it.
    let is_text = !first.is_empty() && !first.iter().any(|octet| matches!(octet, 0..=8 | 14..=26));
    is_text.then_some("text/plain")
}

/// Returns the content that follows an XML declaration and other processing instructions, as in
/// XHTML.
fn behind_prolog(start: &[u8]) -> &[u8] {
    let mut rest = start;
    while let Some(instruction) = rest.strip_prefix(b"<?") {
        let end = instruction.windows(2).position(|pair| pair == b"?>");
        let Some(behind) = end.and_then(|end| instruction.get(end + 2..)) else {
            return start;
        };
        rest = behind.trim_ascii_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_detected_from_the_first_bytes() {
        for (body, expected) in [
            (&b"<!DOCTYPE html><title>A"[..], Some("text/html")),
            (b"\xef\xbb\xbf\n <HTML>", Some("text/html")),
            (
                b"<?xml version=\"1.0\"?>\n<?xml-stylesheet href='a'?>\n<!DOCTYPE html PUBLIC \"\">",
                Some("text/html"),
            ),
            (b"<?xml version=\"1.0\"?>\n<rss></rss>", Some("text/xml")),
            (b"<?xml version=\"1.0\"", Some("text/xml")),
            (b"<?php echo 1; ?>\nplain", Some("text/plain")),
            (b"%PDF-1.7", Some("application/pdf")),
            (b"Words.\n", Some("text/plain")),
            (b"\x7fELF\x02\x01\x01\0", None),
            (b"", None),
        ] {
            assert_eq!(sniff(body), expected, "{:?}", body.escape_ascii());
        }
    }
}
