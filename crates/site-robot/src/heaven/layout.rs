//! Layout of plain text lines as headings, paragraphs and tables.

use super::{
    content::Heading,
    text::{clean, one_line},
};
use crate::content_tree::{ContentTree, Line, Piece, TableCell, repeats};

/// Maximum number of cells in a table row.
const MAX_CELLS: usize = 64;

/// Layout of a text: its main heading, its content and the headings in the content.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The page's first heading, if it applies to the complete text.
    pub(super) heading: Option<String>,
    pub(super) matter: ContentTree,
    /// Headings in the text, in document order.
    pub(super) headings: Vec<Heading>,
    /// Headings that do not occur in the text.
    pub(super) others: Vec<Heading>,
}

impl Layout {
    /// Lays out a text with the given headings, whose levels start at 1.
    pub(super) fn new(text: &str, has_tables: bool, title: &str, headings: Vec<Heading>) -> Self {
        let (pieces, others) = split(text, has_tables, headings);
        Self::of(pieces, others, title)
    }

    /// Lays out a content tree.
    pub(super) fn from_content(matter: ContentTree, title: &str) -> Self {
        Self::of(matter.pieces, Vec::new(), title)
    }

    /// Removes repetitions of the title and main heading from the top of the text.
    fn of(mut pieces: Vec<Piece>, mut others: Vec<Heading>, title: &str) -> Self {
        let (top, heading) = take_heading(&mut pieces, title).unzip();
        let is_news = |text: &str| text != title && heading.as_deref() != Some(text);
        // Farther down, repetitions are part of the text, such as a command name in an example.
        let mut above = top.unwrap_or(0);
        let mut is_top = true;
        pieces.retain(|piece| {
            let is_news = match piece {
                Piece::Heading(_, line) | Piece::Paragraph(line) => is_news(&line.text()),
                _ => true,
            };
            is_top = above > 0 || (is_top && !is_news);
            above = above.saturating_sub(1);
            is_news || !is_top
        });
        others.retain(|heading| is_news(&heading.text));
        let mut matter = ContentTree { pieces };
        let headings = set_levels(&mut matter, &mut others);
        Self {
            heading,
            matter,
            headings,
            others,
        }
    }
}

/// Splits a text into headings (recognized by the table of contents), table rows and paragraphs.
fn split(text: &str, has_tables: bool, headings: Vec<Heading>) -> (Vec<Piece>, Vec<Heading>) {
    let mut blocks = Vec::new();
    let (mut waiting, mut missing) = (0, Vec::new());
    for line in clean(text).lines() {
        if has_tables
            && line.contains('\t')
            && let Some(row) = row(line)
        {
            add_row(&mut blocks, row);
            continue;
        }
        let line = one_line(line);
        if line.is_empty() {
            continue;
        }
        // Headings are in the order of the text, so a skipped heading does not occur later.
        let left = headings.get(waiting..).unwrap_or_default();
        let found = left.iter().position(|heading| heading.text == line);
        match found.and_then(|skipped| Some((skipped, left.get(skipped)?))) {
            Some((skipped, heading)) => {
                missing.extend(left.iter().take(skipped).cloned());
                waiting += skipped + 1;
                let line = Line::plain(heading.text.as_str());
                blocks.push(Piece::Heading(heading.level, line));
            }
            None => blocks.push(Piece::Paragraph(Line::plain(line))),
        }
    }
    missing.extend(headings.into_iter().skip(waiting));
    (blocks, missing)
}

/// Returns the cells of a line in which cells are separated by tabs.
fn row(line: &str) -> Option<Vec<String>> {
    let cells: Vec<_> = line.split('\t').take(MAX_CELLS + 1).map(one_line).collect();
    let count = cells.iter().filter(|cell| !cell.is_empty()).count();
    (count > 1 && cells.len() <= MAX_CELLS).then_some(cells)
}

/// Adds a row to the last table, or starts a new table.
fn add_row(pieces: &mut Vec<Piece>, row: Vec<String>) {
    let cell = |text: String| TableCell {
        is_header: false,
        line: Line::plain(text),
    };
    let mut row: Vec<_> = row.into_iter().map(cell).collect();
    let Some(Piece::Table { rows, .. }) = pieces.last_mut() else {
        let (caption, rows) = (Line::default(), vec![row]);
        pieces.push(Piece::Table { caption, rows });
        return;
    };
    let width = rows.first().map_or(0, Vec::len).max(row.len());
    row.resize(width, TableCell::default());
    if rows.first().is_some_and(|first| first.len() < width) {
        for earlier in rows.iter_mut() {
            earlier.resize(width, TableCell::default());
        }
    }
    rows.push(row);
}

/// Removes the heading of the complete page from the content, and returns its position and text.
///
/// This heading is the first heading of the text, provided that it matches the title, or that it
/// starts the text and is the only heading of level 1.
fn take_heading(pieces: &mut Vec<Piece>, title: &str) -> Option<(usize, String)> {
    let headings = pieces.iter().enumerate();
    let mut headings = headings.filter_map(|(at, piece)| match piece {
        Piece::Heading(level, line) => Some((at, *level, line)),
        _ => None,
    });
    let (at, level, first) = headings.next()?;
    let text = first.text();
    let is_only = at == 0 && level == 1 && headings.all(|(_, level, _)| level > 1);
    if text.is_empty() || !is_only && !repeats(title, &text) {
        return None;
    }
    pieces.remove(at);
    Some((at, text))
}

/// Normalizes heading levels to start at 2 and to increase by at most one; returns all headings.
fn set_levels(matter: &mut ContentTree, others: &mut [Heading]) -> Vec<Heading> {
    let mut top = others.iter().map(|heading| heading.level).min();
    matter.for_each_heading(&mut |level, _| top = Some(top.map_or(*level, |top| top.min(*level))));
    let top = top.unwrap_or(1);
    let below = |level: u8| (level.saturating_sub(top) + 2).min(6);
    let (mut last, mut headings) = (1, Vec::new());
    matter.for_each_heading(&mut |level, line| {
        *level = below(*level).min(last + 1);
        last = *level;
        headings.push(Heading {
            level: *level,
            text: line.text(),
            number: headings.len() + 1,
        });
    });
    for heading in others {
        heading.level = below(heading.level);
    }
    headings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(level: u8, text: &str) -> Heading {
        Heading {
            level,
            text: text.to_owned(),
            number: 0,
        }
    }

    fn told(text: &str, title: &str, headings: &[(u8, &str)]) -> String {
        let headings = headings.iter().map(|(level, text)| heading(*level, text));
        let layout = Layout::new(text, true, title, headings.collect());
        let blocks = layout.matter.pieces.into_iter().map(|piece| match piece {
            Piece::Heading(level, line) => format!("{level}{}", line.text()),
            Piece::Table { rows, .. } => {
                let cells = |row: &Vec<TableCell>| {
                    let cells: Vec<_> = row.iter().map(|cell| cell.line.text()).collect();
                    cells.join(",")
                };
                rows.iter().map(cells).collect::<Vec<_>>().join(";")
            }
            Piece::Paragraph(line) => line.text(),
            other => format!("{other:?}"),
        });
        let over = format!("[{}]", layout.heading.unwrap_or_default());
        let told: Vec<_> = std::iter::once(over).chain(blocks).collect();
        told.join(" ")
    }

    #[test]
    fn first_heading_becomes_the_main_heading() {
        for (text, title, headings, expected) in [
            (
                "A\nx\nB\ny",
                "A: Site",
                &[(1, "A"), (2, "B")][..],
                "[A] x 2B y",
            ),
            ("A\nx\nB\ny", "Site", &[(1, "A"), (2, "B")], "[A] x 2B y"),
            // If several headings have the same level and none matches the title, none is the main
            // heading.
            ("A\nx\nB\ny", "Site", &[(1, "A"), (1, "B")], "[] 2A x 2B y"),
            (
                "A\nx\nB\ny",
                "Site - A",
                &[(1, "A"), (1, "B")],
                "[A] x 2B y",
            ),
            ("A\nx", "Abc", &[(2, "A")], "[] 2A x"),
            // Pages whose headings start at a lower level or skip a level.
            ("A\nx\nB\ny", "Site", &[(3, "A"), (5, "B")], "[] 2A x 3B y"),
            ("B\nA\nx", "Site", &[(2, "B"), (1, "A")], "[] 2B 2A x"),
            // A heading in the middle of the text belongs to its section.
            ("x\nA\ny", "Site", &[(1, "A")], "[] x 2A y"),
            ("x\nA\ny", "A | Site", &[(1, "A")], "[A] x y"),
            ("x\nA\ny", "A and B", &[(1, "A")], "[] x 2A y"),
        ] {
            assert_eq!(told(text, title, headings), expected);
        }
    }

    #[test]
    fn title_and_heading_are_not_repeated() {
        let text = "A: Site\nA\nA\nx";
        assert_eq!(told(text, "A: Site", &[(1, "A")]), "[A] x");
        assert_eq!(told("A\nx", "A", &[]), "[] x");
        assert_eq!(
            told("A: Site\nHome\nA\nA\nx", "A: Site", &[(1, "A")]),
            "[A] Home x"
        );
    }

    #[test]
    fn title_words_further_down_are_preserved() {
        let text = "SALT\nsalts the sea\nSynopsis\nSALT\nExamples\nSALT\nSALT";
        let headings = [(1, "SALT"), (2, "Synopsis"), (2, "Examples")];
        let told = told(text, "SALT", &headings);
        assert_eq!(
            told,
            "[SALT] salts the sea 2Synopsis SALT 2Examples SALT SALT"
        );
    }

    #[test]
    fn tab_separated_rows_become_tables() {
        assert_eq!(told("a\tb\n\tc\td\nx\n\ty", "", &[]), "[] a,b,;,c,d x y");
    }
}
