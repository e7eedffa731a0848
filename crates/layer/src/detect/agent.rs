//! The parts of a User-Agent: products, comments, URLs and mail addresses.

use std::{borrow::Cow, ops::Range};

use memchr::memmem;

/// Maximum number of URLs and mail addresses whose place is known.
const MAX_CONTACTS: usize = 32;

/// A part of a User-Agent.
#[derive(Clone, Debug, Eq, PartialEq)]
#[doc(hidden)]
pub struct Part {
    pub kind: PartKind,
    /// Range of the part in the User-Agent.
    pub range: Range<usize>,
}

/// The kind of a part of a User-Agent.
#[derive(Clone, Debug, Eq, PartialEq)]
#[doc(hidden)]
pub enum PartKind {
    /// A word outside of parentheses, whose name ends before its version.
    Product {
        /// Position of the slash between the name and the version, or the end of the word.
        name_end: usize,
    },
    /// A word in parentheses.
    Comment,
    /// A URL with or without a scheme.
    Url {
        /// End of the host; the path, query and fragment follow.
        host_end: usize,
    },
    /// A mail address.
    Mail,
}

/// The place of an occurrence in a User-Agent.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Place {
    /// In a product or a comment.
    Name,
    /// In the host of a URL, or in a mail address.
    Contact,
    /// In the path, query or fragment of a URL.
    Path,
}

/// Returns the parts of a User-Agent in order, in time linear in its length.
#[doc(hidden)]
pub fn parts(text: &[u8]) -> impl Iterator<Item = Part> {
    Parts {
        text,
        at: 0,
        depth: 0,
    }
}

struct Parts<'t> {
    text: &'t [u8],
    at: usize,
    depth: usize,
}

impl Iterator for Parts<'_> {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        loop {
            match self.text.get(self.at)? {
                b'(' | b'[' | b'{' => self.depth += 1,
                // Some User-Agents close parentheses that they have not opened.
                b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                byte if !is_delimiter(*byte) => break,
                _ => {}
            }
            self.at += 1;
        }
        let start = self.at;
        let rest = self.text.get(start..)?;
        let len = rest.iter().position(|byte| is_delimiter(*byte));
        let end = start + len.unwrap_or(rest.len());
        let contact = contact(self.text, start..end);
        // A name may be written directly before a URL: `ExampleBot+http://`.
        let word = start..contact.as_ref().map_or(end, |part| part.range.start);
        if let Some(part) = contact.filter(|part| part.range.start == start) {
            self.at = part.range.end;
            return Some(part);
        }
        self.at = word.end;
        let kind = if self.depth > 0 {
            PartKind::Comment
        } else {
            let name = self.text.get(word.clone())?;
            let slash = name.iter().position(|byte| *byte == b'/');
            PartKind::Product {
                name_end: start + slash.unwrap_or(name.len()),
            }
        };
        Some(Part { kind, range: word })
    }
}

/// Returns `true` for the bytes between two words.
fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_control() || b"()[]{};,\"<>'|".contains(&byte)
}

/// Returns the URL or mail address in a word.
fn contact(text: &[u8], word: Range<usize>) -> Option<Part> {
    let bytes = text.get(word.clone())?;
    let plus = bytes.iter().take_while(|byte| **byte == b'+').count();
    let bare = bytes.get(plus..)?;
    let (start, host) = if let Some(colon) = memmem::find(bytes, b"://") {
        let before = bytes.get(..colon)?;
        let is_scheme = |byte: &&u8| byte.is_ascii_alphabetic();
        let scheme = before.iter().rev().take_while(is_scheme).count();
        let pluses = before.get(..colon - scheme)?.iter().rev();
        let pluses = pluses.take_while(|byte| **byte == b'+').count();
        (colon - scheme - pluses, colon + 3)
    } else if starts_with(bare, b"www.") || plus > 0 && is_domain(bare) {
        (0, plus)
    } else {
        let at = memchr::memchr(b'@', bare)?;
        let (local, domain) = bare.split_at(at);
        let is_mail = !local.is_empty() && is_domain(domain.get(1..)?);
        return is_mail.then_some(Part {
            kind: PartKind::Mail,
            range: word,
        });
    };
    let behind = bytes.get(host..)?;
    let len = behind.iter().position(|byte| b"/?#\\".contains(byte));
    Some(Part {
        kind: PartKind::Url {
            host_end: word.start + host + len.unwrap_or(behind.len()),
        },
        range: word.start + start..word.end,
    })
}

/// Returns `true` if a text starts with a domain name whose last label consists of letters.
pub(super) fn is_domain(text: &[u8]) -> bool {
    let is_label = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-.".contains(byte);
    let len = text.iter().take_while(is_label).count();
    let mut labels = text.get(..len).unwrap_or_default().rsplit(|b| *b == b'.');
    let top = labels.next().unwrap_or_default();
    let is_top = top.len() >= 2 && top.iter().all(u8::is_ascii_alphabetic);
    is_top && labels.next().is_some_and(|label| !label.is_empty())
}

pub(super) fn starts_with(text: &[u8], start: &[u8]) -> bool {
    let found = text.get(..start.len());
    found.is_some_and(|found| found.eq_ignore_ascii_case(start))
}

/// The places of the URLs and mail addresses in a User-Agent.
#[derive(Debug, Default)]
pub(super) struct Contacts {
    /// Start, end of the host, and end of each contact.
    spans: [(u16, u16, u16); MAX_CONTACTS],
    count: usize,
    /// Start of the first contact that did not fit.
    rest: Option<usize>,
}

impl Contacts {
    /// Finds the contacts in a User-Agent of less than 64 KiB.
    pub(super) fn find_in(text: &[u8]) -> Self {
        let mut found = Self::default();
        if !may_have_contact(text) {
            return found;
        }
        for part in parts(text) {
            let host_end = match part.kind {
                PartKind::Url { host_end } => host_end,
                PartKind::Mail => part.range.end,
                PartKind::Product { .. } | PartKind::Comment => continue,
            };
            let numbers = [part.range.start, host_end, part.range.end].map(u16::try_from);
            let ([Ok(start), Ok(host_end), Ok(end)], Some(free)) =
                (numbers, found.spans.get_mut(found.count))
            else {
                found.rest = Some(part.range.start);
                break;
            };
            *free = (start, host_end, end);
            found.count += 1;
        }
        found
    }

    /// Returns the place of an occurrence that starts at `at`.
    pub(super) fn place(&self, at: usize) -> Place {
        for &(start, host_end, end) in self.spans() {
            match () {
                () if at < usize::from(start) => return Place::Name,
                () if at < usize::from(host_end) => return Place::Contact,
                () if at < usize::from(end) => return Place::Path,
                () => {}
            }
        }
        match self.rest {
            Some(rest) if at >= rest => Place::Contact,
            _ => Place::Name,
        }
    }

    /// Returns a User-Agent with a space for each byte of a contact.
    pub(super) fn without<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let mut text = Cow::Borrowed(text);
        for &(start, _, end) in self.spans() {
            if let Some(contact) = text.to_mut().get_mut(usize::from(start)..usize::from(end)) {
                contact.fill(b' ');
            }
        }
        text
    }

    fn spans(&self) -> &[(u16, u16, u16)] {
        self.spans.get(..self.count).unwrap_or_default()
    }
}

/// Returns `false` if a User-Agent has neither a URL nor a mail address, as nearly all browsers'.
fn may_have_contact(text: &[u8]) -> bool {
    memchr::memchr3_iter(b':', b'@', b'+', text)
        .any(|at| text.get(at) != Some(&b':') || text.get(at + 1) == Some(&b'/'))
        || memmem::find(text, b"www.").is_some()
}
