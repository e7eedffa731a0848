//! The parts of a User-Agent: products, comments, URLs and mail addresses.

use std::ops::Range;

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
        let end = start + word_len(self.text.get(start..)?.iter());
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
    byte.is_ascii_control()
        || matches!(byte, b' ' | b'(' | b')' | b'[' | b']' | b'{' | b'}')
        || matches!(byte, b';' | b',' | b'"' | b'<' | b'>' | b'\'' | b'|')
}

/// Returns the number of bytes before the first delimiter.
fn word_len<'t>(bytes: impl Iterator<Item = &'t u8>) -> usize {
    bytes.take_while(|byte| !is_delimiter(**byte)).count()
}

/// Returns the URL or mail address in a word.
fn contact(text: &[u8], word: Range<usize>) -> Option<Part> {
    let bytes = text.get(word.clone())?;
    let plus = bytes.iter().take_while(|byte| **byte == b'+').count();
    let bare = bytes.get(plus..)?;
    let is_scheme_s = |colon: &usize| bytes.get(*colon..).is_some_and(|it| it.starts_with(b"://"));
    let (start, host) = if let Some(colon) = memchr::memchr_iter(b':', bytes).find(is_scheme_s) {
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

/// The places in a User-Agent, of which the last word is remembered.
#[derive(Debug)]
pub(super) struct Places<'t> {
    text: &'t [u8],
    word: Range<usize>,
    /// Start and end of the host, or of the address, in the word.
    contact: Option<Range<usize>>,
}

impl<'t> Places<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            word: 0..0,
            contact: None,
        }
    }

    /// Returns the place of an occurrence that starts at `at`.
    pub(super) fn at(&mut self, at: usize) -> Place {
        if !self.word.contains(&at)
            && let Some((before, after)) = self.text.split_at_checked(at)
        {
            self.word = at - word_len(before.iter().rev())..at + word_len(after.iter());
            let part = contact(self.text, self.word.clone());
            self.contact = part.map(|part| match part.kind {
                PartKind::Url { host_end } => part.range.start..host_end,
                _ => part.range,
            });
        }
        match &self.contact {
            Some(host) if at >= host.end && at < self.word.end => Place::Path,
            Some(host) if host.contains(&at) => Place::Contact,
            _ => Place::Name,
        }
    }
}

/// Returns a User-Agent with a space for each byte of a URL or mail address.
pub(super) fn without_contacts(text: &[u8]) -> Vec<u8> {
    let mut words = text.to_vec();
    let is_contact = |part: &Part| matches!(part.kind, PartKind::Url { .. } | PartKind::Mail);
    for Part { range, .. } in parts(text).filter(is_contact) {
        words.get_mut(range).unwrap_or_default().fill(b' ');
    }
    words
}

/// Returns `false` if a User-Agent has no URL but one that begins with `www.`, and no mail address.
pub(super) fn may_have_contact(text: &[u8]) -> bool {
    memchr::memchr3_iter(b':', b'@', b'+', text)
        .any(|at| text.get(at) != Some(&b':') || text.get(at + 1) == Some(&b'/'))
}
