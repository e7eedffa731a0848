//! What the page of a description says, whatever it is written in.

use super::{
    date::Date,
    entry::directives,
    text::{clean, cut, one_line, paragraphs, shorten},
};
use crate::description::{ResourceDescription, name};

/// Bytes of a summary: what search engines show of one, and more.
const MAX_SUMMARY_BYTES: usize = 400;
/// Bytes of a title, an author and the like.
const MAX_FIELD_BYTES: usize = 1_000;
/// Headings in a table of contents.
const MAX_HEADINGS: usize = 1_000;

/// What the page of a description says: its words, as they stand on the original page.
#[derive(Debug)]
pub(super) struct Content<'d> {
    pub(super) url: &'d str,
    /// The title; without one, the URL.
    pub(super) title: String,
    /// Whether the title is the page's own.
    pub(super) has_title: bool,
    /// Empty where there is none.
    pub(super) description: String,
    pub(super) keywords: String,
    pub(super) author: String,
    /// Parts of the class, the widest first.
    pub(super) classes: Vec<String>,
    /// Language tag.
    pub(super) language: Option<&'d str>,
    pub(super) date: Option<Date>,
    /// Directives of the original page, as they were written.
    pub(super) robots: String,
    pub(super) blocks: Vec<Block>,
    /// Headings that are not in the text.
    pub(super) other_headings: Vec<Heading>,
    /// Whether a snippet may be shown.
    pub(super) may_be_quoted: bool,
}

/// Piece of the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Block {
    Heading(Heading),
    Paragraph(String),
}

/// Heading of the original page.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Heading {
    /// From 2: the title is 1.
    pub(super) level: u8,
    pub(super) text: String,
    /// Unique on the page; 0 where there is nothing to link to.
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
        let mut headings = headings(description);
        let blocks = if directives.archive() {
            blocks(text(description), &title, &mut headings)
        } else {
            headings.clear();
            Vec::new()
        };
        let class = field(name::CLASSIFICATION);
        let classes = class.split(':').map(str::trim);
        Self {
            url: description.url(),
            has_title: !title.is_empty(),
            title: if title.is_empty() {
                description.url().to_owned()
            } else {
                title
            },
            description: field(name::DESCRIPTION),
            keywords: field(name::KEYWORDS),
            author: field(name::AUTHOR),
            classes: classes
                .filter(|class| !class.is_empty())
                .map(str::to_owned)
                .collect(),
            language: description.value(name::LANGUAGE).and_then(language),
            date: Date::of(description),
            robots: field(name::ROBOTS),
            blocks,
            other_headings: headings,
            may_be_quoted: directives.snippet(),
        }
    }

    /// Returns the description; without one the start of the text.
    pub(super) fn summary(&self) -> String {
        if !self.description.is_empty() {
            return shorten(&self.description, MAX_SUMMARY_BYTES);
        }
        let first = self.blocks.iter().find_map(|block| match block {
            Block::Paragraph(text) => Some(shorten(text, MAX_SUMMARY_BYTES)),
            Block::Heading(_) => None,
        });
        first.unwrap_or_default()
    }

    /// Returns the description, unless the text begins with the same words.
    pub(super) fn lead(&self) -> Option<&str> {
        let start = self.description.trim_end_matches(['…', '.', ' ']);
        let mut texts = self.blocks.iter().filter_map(|block| match block {
            Block::Paragraph(text) => Some(text),
            Block::Heading(_) => None,
        });
        let repeats = texts.next().is_some_and(|text| text.starts_with(start));
        (!start.is_empty() && !repeats).then_some(self.description.as_str())
    }

    /// Returns the headings that stand in the text.
    pub(super) fn headings(&self) -> impl Iterator<Item = &Heading> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Heading(heading) => Some(heading),
            Block::Paragraph(_) => None,
        })
    }
}

/// Returns a language tag, if it has the form of one (RFC 5646 §2.1).
fn language(tag: &str) -> Option<&str> {
    let tag = tag.trim();
    let is_subtag = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let first = tag.split('-').next().unwrap_or_default();
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
            level: level.saturating_add(2).min(6),
            text,
            number: 0,
        })
    });
    headings.take(MAX_HEADINGS).collect()
}

/// Splits a text into headings, known from the table of contents, and paragraphs.
///
/// Headings that are found are taken out of `headings`. The title is not repeated.
fn blocks(text: &str, title: &str, headings: &mut Vec<Heading>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut waiting, mut missing, mut number) = (0, Vec::new(), 0);
    for line in paragraphs(&clean(text)) {
        let line = one_line(line);
        let left = headings.get(waiting..).unwrap_or_default();
        let found = left.iter().position(|heading| heading.text == line);
        if let Some(skipped) = found {
            missing.extend(left.iter().take(skipped).cloned());
            waiting += skipped + 1;
        }
        match found.and_then(|skipped| left.get(skipped)) {
            _ if line == title => {}
            Some(heading) => {
                number += 1;
                blocks.push(Block::Heading(Heading {
                    number,
                    ..heading.clone()
                }));
            }
            None => blocks.push(Block::Paragraph(line)),
        }
    }
    missing.extend(headings.drain(..).skip(waiting));
    missing.retain(|heading| heading.text != title);
    *headings = missing;
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(attributes: &[(&str, &str)]) -> ResourceDescription {
        let mut description = ResourceDescription::new("https://www.example.com/a");
        for (name, value) in attributes {
            description.set(name, *value);
        }
        description
    }

    fn told(attributes: &[(&str, &str)]) -> Vec<String> {
        let description = description(attributes);
        let blocks = Content::new(&description).blocks;
        let told = blocks.into_iter().map(|block| match block {
            Block::Heading(heading) => format!("h{} {}", heading.level, heading.text),
            Block::Paragraph(text) => text,
        });
        told.collect()
    }

    #[test]
    fn the_text_is_told_line_by_line_with_its_headings() {
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
                "h3 First quarter",
                "Good.",
                "h3 Second quarter",
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
        let numbers: Vec<_> = content.headings().map(|heading| heading.number).collect();
        assert_eq!(numbers, [1, 2]);
    }

    #[test]
    fn the_full_text_comes_before_the_partial_text() {
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
    fn noarchive_leaves_metadata_only() {
        let description = description(&[
            ("robots", "noarchive"),
            ("description", "d"),
            ("full-text", "secret"),
            ("table-of-contents", "secret"),
        ]);
        let content = Content::new(&description);
        assert!(content.blocks.is_empty() && content.other_headings.is_empty());
        assert_eq!(content.summary(), "d");
    }

    #[test]
    fn a_description_that_the_text_repeats_is_told_once() {
        for (text, lead) in [
            ("One two three.", None),
            ("Other.", Some("One two")),
            ("", Some("One two")),
        ] {
            let description = description(&[("description", "One two"), ("full-text", text)]);
            assert_eq!(Content::new(&description).lead(), lead);
        }
    }

    #[test]
    fn a_language_has_the_form_of_a_tag() {
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
