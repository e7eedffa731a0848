//! A parser for the common and the combined log format.

use memchr::{memchr, memchr2};

/// The fields of an access log line, in escaped form.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct RawEntry<'a> {
    /// User-Agent of the request; empty in the common format.
    pub(super) user_agent: &'a [u8],
    pub(super) bytes: u64,
}

/// Parses a log line. Returns `None` if the line is truncated or not in either format.
pub(super) fn read(line: &[u8]) -> Option<RawEntry<'_>> {
    let (bytes, rest) = after_request(request(line)?)?;
    let Some(referer) = next_quoted(rest) else {
        // A line without quoted fields is in the common format, possibly followed by additional
        // fields.
        return Some(RawEntry {
            user_agent: b"",
            bytes,
        });
    };
    let (_, rest) = quoted(referer)?;
    let (user_agent, _) = quoted(next_quoted(rest)?)?;
    Some(RawEntry { user_agent, bytes })
}

/// Returns the request line contained in a log line, in escaped form.
pub(super) fn request_line(line: &[u8]) -> Option<&[u8]> {
    let request = request(line)?;
    let (_, _, end) = after_request_at(request)?;
    request.get(..end)
}

/// Returns the part of a log line after the opening quote of the request.
///
/// This quote follows the time. A user name before the time may contain `]`, but no unescaped
/// quote.
pub(super) fn request(line: &[u8]) -> Option<&[u8]> {
    let mut from = 0;
    loop {
        let at = from + memchr(b'"', line.get(from..)?)?;
        if line.get(..at)?.ends_with(b"] ") {
            return line.get(at + 1..);
        }
        from = at + 1;
    }
}

/// Returns the number of bytes sent, and the part of the log line after this number.
///
/// The request ends at the first quote that is followed by a status and a byte count: with
/// `escape=none`, a quote within the request looks like the closing quote.
fn after_request(request: &[u8]) -> Option<(u64, &[u8])> {
    after_request_at(request).map(|(bytes, rest, _)| (bytes, rest))
}

/// Returns the number of bytes sent, the part of the log line after it, and the end of the request.
pub(super) fn after_request_at(request: &[u8]) -> Option<(u64, &[u8], usize)> {
    let mut rest = request;
    loop {
        let (_, after) = quoted(rest)?;
        // Runs in linear time, because only two words are examined after each quote.
        if let Some((bytes, behind)) = status_and_bytes(after) {
            return Some((bytes, behind, request.len() - after.len() - 1));
        }
        rest = after;
    }
}

fn status_and_bytes(text: &[u8]) -> Option<(u64, &[u8])> {
    let (status, rest) = word(text.strip_prefix(b" ")?);
    let is_status = status == b"-" || (status.len() == 3 && status.iter().all(u8::is_ascii_digit));
    let (bytes, rest) = word(rest.strip_prefix(b" ")?);
    // Apache's `%b` writes `-` if no bytes were sent.
    let bytes = if bytes == b"-" { 0 } else { number(bytes)? };
    is_status.then_some((bytes, rest))
}

pub(super) fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr(b' ', text).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, b""))
}

/// Parses a number that consists only of digits; saturates on overflow.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        Some(number.saturating_mul(10).saturating_add(digit.into()))
    })
}

/// Returns the part of a text after the next quote.
pub(super) fn next_quoted(text: &[u8]) -> Option<&[u8]> {
    text.get(memchr(b'"', text)? + 1..)
}

/// Splits a text that starts inside a quoted field into the field and the part after its closing
/// quote.
pub(super) fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', text.get(from..)?)?;
        if text.get(at) == Some(&b'"') {
            return Some((text.get(..at)?, text.get(at + 1..)?));
        }
        // Skip the escaped byte too: `\"` does not end the field, and the second byte of `\\`
        // escapes nothing.
        from = at + 2;
    }
}

#[cfg(test)]
mod tests;
