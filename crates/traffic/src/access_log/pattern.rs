//! Formats of text lines: fields, and the text between them.

use memchr::{memchr, memchr2};

use super::slot::{Fields, Slot};

/// A format of text lines.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Pattern {
    /// Text before the first field.
    start: Vec<u8>,
    parts: Vec<Part>,
}

/// A field and the text behind it.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Part {
    slot: Slot,
    /// Text behind the field; empty if the field is the rest of the line.
    end: Vec<u8>,
    is_quoted: bool,
}

impl Pattern {
    /// Adds text that each line contains at this position.
    pub(super) fn literal(&mut self, text: &[u8]) {
        let end = self.parts.last_mut().map(|part| &mut part.end);
        end.unwrap_or(&mut self.start).extend_from_slice(text);
    }

    /// Adds a field.
    pub(super) fn field(&mut self, slot: Slot) {
        let before = self.parts.last().map_or(&self.start, |part| &part.end);
        let is_quoted = before.ends_with(b"\"");
        let end = Vec::new();
        self.parts.push(Part {
            slot,
            end,
            is_quoted,
        });
    }

    /// Returns `true` if the format contains a field.
    pub(super) fn has(&self, slot: Slot) -> bool {
        self.parts.iter().any(|part| part.slot == slot)
    }

    /// Returns `true` if lines in this format contain a User-Agent.
    pub(super) fn has_user_agent(&self) -> bool {
        self.has(Slot::UserAgent) || self.has(Slot::Captured)
    }

    /// Returns the fields of a line. Returns `None` if the line has another format.
    ///
    /// Text behind the last field is ignored, except a quoted field where the format has no
    /// User-Agent. The time required is linear in the line's length,
    /// because only the text directly behind a quote is examined.
    pub(super) fn read<'l>(&self, line: &'l [u8]) -> Option<Fields<'l>> {
        let mut fields = Fields::default();
        let mut rest = line.strip_prefix(&*self.start)?;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            let is_before_status = parts.peek().is_some_and(|next| next.slot == Slot::Status);
            let (text, behind) = part.split(rest, is_before_status)?;
            fields.set(part.slot, text);
            rest = behind;
        }
        // The line has a further quoted field: its User-Agent is cut off.
        let is_cut = rest.starts_with(b" \"") && !self.has_user_agent();
        (!is_cut).then_some(fields)
    }
}

impl Part {
    /// Splits the field from the text behind it, which begins with a status if
    /// `is_before_status`.
    fn split<'l>(&self, text: &'l [u8], is_before_status: bool) -> Option<(&'l [u8], &'l [u8])> {
        let Some(&first) = self.end.first() else {
            let is_word = matches!(self.slot, Slot::Bytes | Slot::Seconds | Slot::Micros);
            let end = memchr(b' ', text).filter(|_| is_word);
            return text.split_at_checked(end.unwrap_or(text.len()));
        };
        let mut from = 0;
        loop {
            let rest = text.get(from..)?;
            let at = from
                + if self.is_quoted {
                    memchr2(first, b'\\', rest)?
                } else {
                    memchr(first, rest)?
                };
            if self.is_quoted && text.get(at) == Some(&b'\\') {
                // Skip the escaped byte too: `\"` does not end the field, and `\\` escapes no
                // later byte.
                from = at + 2;
                continue;
            }
            // With `escape=none`, a quote within the request looks like the closing quote.
            let behind = text
                .get(at..)
                .and_then(|rest| rest.strip_prefix(&*self.end));
            if let Some(behind) = behind.filter(|behind| !is_before_status || is_status(behind)) {
                return Some((text.get(..at)?, behind));
            }
            from = at + 1;
        }
    }
}

fn is_status(text: &[u8]) -> bool {
    match text {
        [b'-', b' ', ..] => true,
        [a, b, c, rest @ ..] => {
            [a, b, c].iter().all(|digit| digit.is_ascii_digit()) && !rest.starts_with(b"\"")
        }
        _ => false,
    }
}

/// Splits a quoted field, without its opening quote, from the text behind its closing quote.
pub(super) fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let part = Part {
        slot: Slot::Skip,
        end: vec![b'"'],
        is_quoted: true,
    };
    part.split(text, false)
}
