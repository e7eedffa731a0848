//! Content of a page, independent of the output format.

use super::{
    date::Date,
    entry::directives,
    layout::Layout,
    text::{clean, cut, one_line, shorten},
};
use crate::content_tree::ContentTree;
use robot_detection_store::description::{ResourceDescription, name};

/// Maximum length of a summary, in bytes; search engines display fewer.
const MAX_SUMMARY_BYTES: usize = 400;
/// Maximum length of fields such as the title and author, in bytes.
const MAX_FIELD_BYTES: usize = 1_000;
/// Number of characters at the start of the text that are searched for the description.
const MAX_BEGINNING_CHARS: usize = 2_000;
/// Maximum number of headings in a table of contents.
const MAX_HEADINGS: usize = 1_000;

/// Content of a heaven page, which uses the words of the original page.
#[derive(Debug)]
pub(super) struct Content<'d> {
    pub(super) url: &'d str,
    /// Title of the page, or its URL if the title is missing.
    pub(super) title: String,
    /// Whether the page has a title or a heading.
    pub(super) has_title: bool,
    /// Heading above the text: the page's first heading, or else the title.
    pub(super) heading: String,
    /// Description of the page; empty if missing.
    pub(super) description: String,
    pub(super) keywords: String,
    pub(super) author: String,
    /// Parts of the page's class, from the most general to the most specific.
    pub(super) classes: Vec<String>,
    /// Language tag of the page, if it has one.
    pub(super) language: Option<&'d str>,
    pub(super) date: Option<Date>,
    pub(super) published: Option<Date>,
    pub(super) modified: Option<Date>,
    /// Robots directives of the original page, as written.
    pub(super) robots: String,
    pub(super) matter: ContentTree,
    /// Headings in the text.
    pub(super) headings: Vec<Heading>,
    /// Headings of the original page that do not occur in the text.
    pub(super) other_headings: Vec<Heading>,
    /// Whether a snippet of the page may be shown.
    pub(super) may_be_quoted: bool,
}

/// A heading of the original page.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Heading {
    /// Heading level, starting at 2; the heading above the text has level 1.
    pub(super) level: u8,
    pub(super) text: String,
    /// Number of the heading, unique on the page; 0 if the heading is not in the text.
    pub(super) number: usize,
}

impl<'d> Content<'d> {
    pub(super) fn new(description: &'d ResourceDescription) -> Self {
        let field = |name: &str| {
            let value = description.value(name).unwrap_or_default();
            one_line(cut(value, MAX_FIELD_BYTES))
        };
        let directives = directives(description);
        let title = field(name::TITLE);
        // `noarchive` forbids copies, and the text of a page would be a copy.
        let layout = if directives.archive() {
            layout(description, &title)
        } else {
            Layout::default()
        };
        // Documentation generators often repeat the title as the description.
        let said = Some(field(name::DESCRIPTION)).filter(|said| *said != title);
        let class = field(name::CLASSIFICATION);
        let classes = class.split(':').map(str::trim);
        Self {
            url: description.url(),
            has_title: !title.is_empty() || layout.heading.is_some(),
            heading: match layout.heading {
                Some(heading) => heading,
                None if title.is_empty() => description.url().to_owned(),
                None => title.clone(),
            },
            title: if title.is_empty() {
                description.url().to_owned()
            } else {
                title
            },
            description: said.unwrap_or_default(),
            keywords: field(name::KEYWORDS),
            author: field(name::AUTHOR),
            classes: classes
                .filter(|class| !class.is_empty())
                .map(str::to_owned)
                .collect(),
            language: description.value(name::LANGUAGE).and_then(language),
            date: Date::from_description(description),
            published: Date::published(description),
            modified: Date::modified(description),
            robots: field(name::ROBOTS),
            matter: layout.matter,
            headings: layout.headings,
            other_headings: layout.others,
            may_be_quoted: directives.snippet(),
        }
    }

    /// Returns the page's description, or else a sentence from its text, or else its heading.
    pub(super) fn summary(&self) -> String {
        let said = if self.description.is_empty() {
            self.matter.first_sentence(&self.title)
        } else {
            Some(self.description.clone())
        };
        let said = said.map_or_else(|| self.heading.clone(), |said| one_line(&said));
        shorten(&said, MAX_SUMMARY_BYTES)
    }

    /// Returns the page's description, unless the text begins with the same words.
    pub(super) fn lead(&self) -> Option<&str> {
        let start = self.description.trim_end_matches(['…', '.', ' ']);
        if start.is_empty() {
            return None;
        }
        let beginning = self.matter.marked(' ', Some(MAX_BEGINNING_CHARS)).text;
        let repeats = one_line(&beginning).contains(start);
        (!repeats).then_some(self.description.as_str())
    }
}

/// Lays out a description's text according to its marks, or line by line if there are no marks.
fn layout(description: &ResourceDescription, title: &str) -> Layout {
    let marks = description.value(name::MARKS).unwrap_or_default();
    let text_of_marks = description.value(name::FULL_TEXT).unwrap_or_default();
    if let Some(matter) = ContentTree::read(text_of_marks, marks) {
        return Layout::from_content(matter, title);
    }
    let is_plain = description
        .value(name::CONTENT_TYPE)
        .is_some_and(|kind| kind.trim_start().starts_with("text/plain"));
    Layout::new(text(description), !is_plain, title, headings(description))
}

/// Returns a language tag if it is well-formed (RFC 5646 §2.1).
fn language(tag: &str) -> Option<&str> {
    let tag = tag.trim();
    let is_subtag = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let first = tag.split('-').next().unwrap_or_default();
    // RFC 5646 §4.4.1 recommends room for 35 characters; longer tags are unlikely to be valid.
    let is_tag = tag.len() <= 35
        && first.len() >= 2
        && first.bytes().all(|byte| byte.is_ascii_alphabetic())
        && tag.split('-').all(is_subtag);
    is_tag.then_some(tag)
}

fn text(description: &ResourceDescription) -> &str {
    let texts = [name::FULL_TEXT, name::PARTIAL_TEXT];
    let mut texts = texts.iter().filter_map(|name| description.value(name));
    texts
        .find(|text| !text.trim().is_empty())
        .unwrap_or_default()
}

fn headings(description: &ResourceDescription) -> Vec<Heading> {
    let contents = description.value(name::TABLE_OF_CONTENTS);
    let lines = clean(contents.unwrap_or_default());
    let headings = lines.lines().filter_map(|line| {
        let text = one_line(line);
        let indented = line.len() - line.trim_start_matches(' ').len();
        let level = u8::try_from(indented / 2).unwrap_or(u8::MAX);
        (!text.is_empty()).then(|| Heading {
            level: level.saturating_add(1).min(6),
            text,
            number: 0,
        })
    });
    headings.take(MAX_HEADINGS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content_tree::{Piece, TableCell};

    fn description(attributes: &[(&str, &str)]) -> ResourceDescription {
        let mut description = ResourceDescription::new("https://www.example.com/a");
        for (name, value) in attributes {
            description.set(name, *value);
        }
        description
    }

    fn told(attributes: &[(&str, &str)]) -> Vec<String> {
        let description = description(attributes);
        let pieces = Content::new(&description).matter.pieces;
        let told = pieces.into_iter().map(|piece| match piece {
            Piece::Heading(level, line) => format!("h{level} {}", line.text()),
            Piece::Paragraph(line) => line.text(),
            Piece::Table { rows, .. } => {
                let cells = |row: &Vec<TableCell>| row.iter().map(|it| it.line.text()).collect();
                let rows: Vec<Vec<_>> = rows.iter().map(cells).collect();
                format!("{rows:?}")
            }
            other => format!("{other:?}"),
        });
        told.collect()
    }

    #[test]
    fn text_is_laid_out_by_lines_and_headings() {
        let attributes = [
            ("title", "Reports"),
            (
                "table-of-contents",
                "Reports\n  First quarter\n    Sales\n  Second quarter",
            ),
            (
                "full-text",
                "Reports\nAll of them.\nFirst quarter\n\nGood.\nSecond quarter\nBetter.",
            ),
        ];
        assert_eq!(
            told(&attributes),
            [
                "All of them.",
                "h2 First quarter",
                "Good.",
                "h2 Second quarter",
                "Better."
            ]
        );
        let description = description(&attributes);
        let content = Content::new(&description);
        let others: Vec<_> = content
            .other_headings
            .iter()
            .map(|other| &*other.text)
            .collect();
        assert_eq!(others, ["Sales"]);
        let numbers: Vec<_> = content
            .headings
            .iter()
            .map(|heading| heading.number)
            .collect();
        assert_eq!(numbers, [1, 2]);
    }

    #[test]
    fn full_text_takes_precedence_over_partial_text() {
        assert_eq!(
            told(&[("partial-text", "part"), ("full-text", "full")]),
            ["full"]
        );
        assert_eq!(
            told(&[("partial-text", "part"), ("full-text", " \n")]),
            ["part"]
        );
        assert!(told(&[("description", "only this")]).is_empty());
    }

    #[test]
    fn every_page_has_a_summary() {
        for (attributes, summary) in [
            (&[("title", "T"), ("full-text", "One.")][..], "One."),
            (&[("title", "T")], "T"),
            (
                &[("title", "T"), ("description", "T"), ("full-text", "One.")],
                "One.",
            ),
            (&[("table-of-contents", "H"), ("full-text", "H")], "H"),
            (&[], "https://www.example.com/a"),
        ] {
            assert_eq!(Content::new(&description(attributes)).summary(), summary);
        }
    }

    #[test]
    fn plain_text_has_no_tables() {
        let text = ("full-text", "a\tb\nc");
        assert_eq!(told(&[text]), [r#"[["a", "b"]]"#, "c"]);
        assert_eq!(told(&[text, ("content-type", "text/plain")]), ["a b", "c"]);
    }

    #[test]
    fn noarchive_leaves_metadata_only() {
        let description = description(&[
            ("robots", "noarchive"),
            ("description", "d"),
            ("full-text", "secret"),
            ("table-of-contents", "secret"),
        ]);
        let content = Content::new(&description);
        assert!(content.matter.pieces.is_empty() && content.other_headings.is_empty());
        assert_eq!(content.summary(), "d");
    }

    #[test]
    fn description_repeated_in_the_text_is_omitted() {
        for (text, lead) in [
            ("One two three.", None),
            ("By me\nOne\ntwo three.", None),
            ("Other.", Some("One two")),
            ("", Some("One two")),
        ] {
            let description = description(&[("description", "One two"), ("full-text", text)]);
            assert_eq!(Content::new(&description).lead(), lead);
        }
    }

    #[test]
    fn language_must_be_a_well_formed_tag() {
        for (tag, is_tag) in [
            ("en", true),
            (" de-CH ", true),
            ("zh-Hant-TW", true),
            ("x", false),
            ("en\" onload=\"x", false),
            ("english please", false),
            ("", false),
        ] {
            assert_eq!(language(tag).is_some(), is_tag, "{tag}");
        }
    }
}
