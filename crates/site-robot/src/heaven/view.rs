//! Orders in which indexes list pages.

use std::cmp::Ordering;

use robot_detection_texts::Language;

use super::entry::Entry;

robot_detection_layer::words! {
    /// Order of the pages in an index.
    #[derive(Hash)]
    pub(super) enum View {
        Title = "title",
        Classification = "classification",
        Author = "author",
        Date = "date",
        Depth = "depth",
    }
}

impl View {
    pub(super) fn heading(self, language: Language) -> &'static str {
        language.text(match self {
            Self::Title => "by-title",
            Self::Classification => "by-classification",
            Self::Author => "by-author",
            Self::Date => "by-date",
            Self::Depth => "by-depth",
        })
    }

    /// Returns the path of an index page, relative to robot heaven.
    pub(super) fn path(self, number: usize) -> String {
        match number {
            0 | 1 => format!("by/{}/", self.as_str()),
            _ => format!("by/{}/{number}.html", self.as_str()),
        }
    }

    /// Returns `true` if the index lists an entry.
    pub(super) fn lists(self, entry: &Entry) -> bool {
        match self {
            Self::Title => true,
            Self::Classification => !entry.class.is_empty(),
            Self::Author => !entry.author.is_empty(),
            Self::Date => entry.date.is_some(),
            Self::Depth => entry.depth.is_some(),
        }
    }

    /// Compares two entries by the view's sort key; dates are sorted in descending order.
    pub(super) fn compare(self, a: &Entry, b: &Entry) -> Ordering {
        match self {
            Self::Title => Ordering::Equal,
            Self::Classification => a.class.cmp(&b.class),
            Self::Author => a.author.cmp(&b.author),
            Self::Date => b.date.cmp(&a.date),
            Self::Depth => a.depth.cmp(&b.depth),
        }
    }

    /// Returns the heading of the group to which an entry belongs.
    pub(super) fn group(self, entry: &Entry, language: Language) -> String {
        match self {
            Self::Title => initial(entry.label()),
            Self::Classification => entry.class.replace(':', " › "),
            Self::Author => entry.author.to_string(),
            Self::Date => entry.date.map(super::date::Date::month).unwrap_or_default(),
            Self::Depth => match entry.depth.unwrap_or_default() {
                0 => language.text("depth-0").to_owned(),
                depth => language.filled("depth", &[&depth]),
            },
        }
    }
}

/// Returns the letter under which a title is listed.
fn initial(title: &str) -> String {
    match title.chars().find(|character| character.is_alphanumeric()) {
        Some(letter) if letter.is_alphabetic() => letter.to_uppercase().collect(),
        Some(_) => "0–9".to_owned(),
        None => "#".to_owned(),
    }
}
