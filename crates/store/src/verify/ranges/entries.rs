//! Entries of a document, before it is checked.

use ipnet::IpNet;

use super::{RangesError, prefix};

/// Longest piece of a document that an error shows, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// Entries of a document.
#[derive(Debug)]
pub(super) struct DocumentEntries {
    pub(super) entries: Vec<Entry>,
    max: usize,
    pub(super) created: Option<String>,
    /// The first that could not be read, as it may be shown.
    pub(super) first_unreadable: Option<String>,
}

/// One entry of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Nothing where it could not be read.
    pub(super) net: Option<IpNet>,
    pub(super) is_selected: bool,
}

impl DocumentEntries {
    /// Creates those of a document that may have so many.
    pub(super) fn new(max: usize) -> Self {
        Self {
            entries: Vec::new(),
            max,
            created: None,
            first_unreadable: None,
        }
    }

    /// Adds an entry; what is no prefix counts as unreadable.
    pub(super) fn add(&mut self, text: &str, is_selected: bool) -> Result<(), RangesError> {
        let net = prefix::read(text);
        if net.is_none() {
            self.show(text);
        }
        self.push(net, is_selected)
    }

    pub(super) fn push(
        &mut self,
        net: Option<IpNet>,
        is_selected: bool,
    ) -> Result<(), RangesError> {
        if self.entries.len() >= self.max {
            return Err(RangesError::TooMany { max: self.max });
        }
        self.entries.push(Entry { net, is_selected });
        Ok(())
    }

    /// Keeps the first text that could not be read, for the error.
    pub(super) fn show(&mut self, text: &str) {
        if self.first_unreadable.is_none() {
            self.first_unreadable = Some(text.chars().take(MAX_SHOWN_CHARS).collect());
        }
    }

    /// Selects all entries from the one with this number on.
    pub(super) fn select_from(&mut self, first: usize) {
        for entry in self.entries.iter_mut().skip(first) {
            entry.is_selected = true;
        }
    }
}

/// Returns the day that a date begins with, such as `2026-11-20`.
pub(super) fn day(text: &str) -> Option<String> {
    let day = text.trim().get(..10)?;
    let mut parts = day.split('-');
    let mut number = |digits: usize| {
        let part = parts.next()?;
        let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse::<u16>().ok())?
    };
    let (year, month, of_month) = (number(4)?, number(2)?, number(2)?);
    let is_day = year > 1970 && (1..=12).contains(&month) && (1..=31).contains(&of_month);
    is_day.then(|| day.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_stands_at_the_beginning() {
        for (text, expected) in [
            ("2026-11-20T10:00:00.000000", Some("2026-11-20")),
            ("2026-11-20-12-00-00", Some("2026-11-20")),
            ("2026-11-20", Some("2026-11-20")),
            ("2026-13-20", None),
            ("2026-11-32", None),
            ("1795132800", None),
            ("20 November 2026", None),
            ("2026-1-200", None),
            ("+026-11-20", None),
            ("2026-11-2é", None),
            ("", None),
        ] {
            assert_eq!(day(text).as_deref(), expected, "{text:?}");
        }
    }
}
