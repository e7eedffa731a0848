//! Entries of an address list document, before they are checked.

use ipnet::IpNet;

use super::{RangesError, prefix};

/// The maximum length of document text that is quoted in an error, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// The entries of an address list document.
#[derive(Debug)]
pub(super) struct DocumentEntries {
    pub(super) entries: Vec<Entry>,
    max: usize,
    pub(super) created: Option<String>,
    /// The first entry that cannot be parsed, in the form in which it is displayed.
    pub(super) first_unreadable: Option<String>,
}

/// An entry of an address list document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The parsed network; `None` if the entry cannot be parsed.
    pub(super) net: Option<IpNet>,
    pub(super) is_selected: bool,
}

impl DocumentEntries {
    /// Creates an empty collection that accepts up to `max` entries.
    pub(super) fn new(max: usize) -> Self {
        Self {
            entries: Vec::new(),
            max,
            created: None,
            first_unreadable: None,
        }
    }

    /// Adds an entry. Text that is not a prefix is counted as unreadable.
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

    /// Stores the first text that cannot be parsed, for use in an error message.
    pub(super) fn show(&mut self, text: &str) {
        if self.first_unreadable.is_none() {
            self.first_unreadable = Some(text.chars().take(MAX_SHOWN_CHARS).collect());
        }
    }

    /// Selects all entries from the given index onwards.
    pub(super) fn select_from(&mut self, first: usize) {
        for entry in self.entries.iter_mut().skip(first) {
            entry.is_selected = true;
        }
    }
}

/// Returns the date at the start of a text, such as `2026-11-20`.
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
    fn date_is_read_at_the_start_of_a_text() {
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
