//! Parser of the common and the combined form.

use memchr::{memchr, memchr2};

/// Fields of a line, still escaped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct RawEntry<'a> {
    /// Empty where the form has none.
    pub(super) user_agent: &'a [u8],
    pub(super) bytes: u64,
}

/// Reads a line; `None` when it is not of these forms, or is cut off.
pub(super) fn read(line: &[u8]) -> Option<RawEntry<'_>> {
    let (bytes, rest) = after_request(request(line)?)?;
    let Some(referer) = next_quoted(rest) else {
        // A form without quoted fields is the common one, perhaps with more.
        return Some(RawEntry {
            user_agent: b"",
            bytes,
        });
    };
    let (_, rest) = quoted(referer)?;
    let (user_agent, _) = quoted(next_quoted(rest)?)?;
    Some(RawEntry { user_agent, bytes })
}

/// Returns the request of a line, still escaped.
pub(super) fn request_line(line: &[u8]) -> Option<&[u8]> {
    let request = request(line)?;
    let (_, _, end) = after_request_at(request)?;
    request.get(..end)
}

/// Returns the line from within the request's quote.
///
/// The time ends before it. A name of a user can hold the bracket, but no
/// quote that is not escaped.
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

/// Returns the bytes sent, and what follows them.
///
/// The request ends at the first quote that status and bytes follow: with
/// `escape=none` a quote within the request is as bare as the one at its end.
fn after_request(request: &[u8]) -> Option<(u64, &[u8])> {
    after_request_at(request).map(|(bytes, rest, _)| (bytes, rest))
}

/// Returns where the request ends too.
pub(super) fn after_request_at(request: &[u8]) -> Option<(u64, &[u8], usize)> {
    let mut rest = request;
    loop {
        let (_, after) = quoted(rest)?;
        // Linear: two words are looked at behind each quote, and then the search goes on.
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
    // Apache's `%b` writes `-` where no byte was sent.
    let bytes = if bytes == b"-" { 0 } else { number(bytes)? };
    is_status.then_some((bytes, rest))
}

pub(super) fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr(b' ', text).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, b""))
}

/// Returns the number that digits alone write; the greatest if that is greater.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        Some(number.saturating_mul(10).saturating_add(digit.into()))
    })
}

/// Returns the text from within the next quote.
pub(super) fn next_quoted(text: &[u8]) -> Option<&[u8]> {
    text.get(memchr(b'"', text)? + 1..)
}

/// Splits a quoted field, begun within, from what follows its quote.
pub(super) fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', text.get(from..)?)?;
        if text.get(at) == Some(&b'"') {
            return Some((text.get(..at)?, text.get(at + 1..)?));
        }
        // Past the escaped byte too: `\"` does not end the field, and `\\` escapes nothing behind
        // it.
        from = at + 2;
    }
}

#[cfg(test)]
mod tests;
