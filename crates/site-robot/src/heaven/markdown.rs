//! Markdown rendition of a page.

use std::{borrow::Cow, fmt::Write as _};

use super::{
    Catalogue, HeavenSettings,
    catalogue::Site,
    content::Content,
    markdown_line::{Target, line},
};
use crate::content_tree::{Definition, Line, Piece, TableCell};
use robot_detection_store::description::ResourceDescription;

/// Renders a page as Markdown (`CommonMark`), with the words of the page in the same order.
pub fn markdown(
    description: &ResourceDescription,
    catalogue: &Catalogue,
    settings: &HeavenSettings,
) -> String {
    content_markdown(&Content::new(description), catalogue, settings)
}

pub(super) fn content_markdown(
    content: &Content<'_>,
    catalogue: &Catalogue,
    settings: &HeavenSettings,
) -> String {
    let site = Site {
        catalogue,
        settings,
    };
    let said = |text: &str| heading(&Line::plain(text), site);
    let mut out = format!("# {}\n", said(&content.heading));
    // Writing to a string never fails.
    if let Some(lead) = content.lead() {
        let _ = write!(out, "\n> {}\n", said(lead));
    }
    let text = pieces(&content.matter.pieces, site);
    if !text.is_empty() {
        let _ = write!(out, "\n{text}\n");
    }
    let url = Target(content.url);
    let _ = write!(out, "\n[{}]({url})\n", said(content.url));
    out
}

/// Renders blocks of content as Markdown, separated by empty lines. The depth of the tree is
/// limited, so the recursion is bounded.
pub(super) fn pieces(pieces: &[Piece], site: Site<'_>) -> String {
    let mut out = String::new();
    // Two adjacent lists with the same marker would be merged.
    let mut is_other = false;
    let mut before = None;
    let mut flat = Vec::new();
    without_figures(pieces, &mut flat);
    for piece in flat {
        let piece = piece.as_ref();
        let mark = match piece {
            Piece::List { start, .. } => Some(start.is_some()),
            Piece::Definitions(_) => Some(false),
            _ => None,
        };
        is_other = mark.is_some() && mark == before && !is_other;
        before = mark;
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(&one(piece, is_other, site));
    }
    out
}

/// Appends blocks of content to `flat`, replacing each figure with its content and then its
/// caption.
fn without_figures<'p>(pieces: &'p [Piece], flat: &mut Vec<Cow<'p, Piece>>) {
    for piece in pieces {
        if let Piece::Figure(shown, caption) = piece {
            without_figures(shown, flat);
            flat.push(Cow::Owned(Piece::Paragraph(caption.clone())));
        } else {
            flat.push(Cow::Borrowed(piece));
        }
    }
}

fn one(piece: &Piece, is_other: bool, site: Site<'_>) -> String {
    match piece {
        Piece::Heading(level, text) => {
            let marks = "#".repeat(usize::from(*level));
            format!("{marks} {}", heading(text, site))
        }
        Piece::Paragraph(text) => line(text, false, site),
        Piece::Code { language, text } => code(language, text),
        Piece::Quote(quoted) => prefixed(&pieces(quoted, site), "> ", "> "),
        Piece::List { start, items } => list(*start, items, is_other, site),
        Piece::Definitions(all) => definitions(all, is_other, site),
        Piece::Table { caption, rows } => {
            let mut out = String::new();
            if !caption.is_empty() {
                out = line(caption, false, site);
                out.push_str("\n\n");
            }
            table(rows, &mut out, site);
            out
        }
        // Figures have already been replaced.
        Piece::Figure(..) => String::new(),
    }
}

/// Renders the text of a heading on one line.
pub(super) fn heading(text: &Line, site: Site<'_>) -> String {
    without_closing(line(text, true, site))
}

/// Escapes a trailing `#` in the text of a heading, which Markdown would otherwise remove.
pub(super) fn without_closing(mut text: String) -> String {
    if text.ends_with('#') && !text.ends_with("\\#") {
        text.pop();
        text.push_str("\\#");
    }
    text
}

fn code(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let is_word = |c: &char| c.is_ascii_alphanumeric() || "+#._-".contains(*c);
    let language: String = language.chars().filter(is_word).collect();
    format!("{fence}{language}\n{text}\n{fence}")
}

/// Adds one prefix to the first line of a text and another prefix to all other lines.
fn prefixed(text: &str, first: &str, rest: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let prefix = if at == 0 { first } else { rest };
        out.push_str(if line.is_empty() {
            prefix.trim_end()
        } else {
            prefix
        });
        out.push_str(line);
    }
    out
}

fn list(start: Option<u32>, items: &[Vec<Piece>], is_other: bool, site: Site<'_>) -> String {
    let is_tight = items.iter().all(|item| is_tight(item));
    let mut out = String::new();
    for (number, item) in (u64::from(start.unwrap_or(0))..).zip(items) {
        let mark = match (start, is_other) {
            // `CommonMark` allows at most nine digits in a list number.
            (Some(_), false) => format!("{}. ", number % 1_000_000_000),
            (Some(_), true) => format!("{}) ", number % 1_000_000_000),
            (None, false) => "- ".to_owned(),
            (None, true) => "* ".to_owned(),
        };
        if !out.is_empty() {
            out.push_str(if is_tight { "\n" } else { "\n\n" });
        }
        let mut text = pieces(item, site);
        if is_tight && item.len() > 1 {
            text = text.replacen("\n\n", "\n", 1);
        }
        out.push_str(&prefixed(&text, &mark, &" ".repeat(mark.len())));
    }
    out
}

/// Returns `true` if a list item consists of one line, optionally followed by a tight list.
fn is_tight(item: &[Piece]) -> bool {
    match item {
        [Piece::Paragraph(_)] => true,
        [Piece::Paragraph(_), Piece::List { start, items }] => {
            matches!(start, None | Some(1)) && items.iter().all(|item| is_tight(item))
        }
        _ => false,
    }
}

/// Renders a definition list as an ordinary list in which each item is a term and its definition,
/// because Markdown has no definition lists.
fn definitions(all: &[Definition], is_other: bool, site: Site<'_>) -> String {
    let mut items: Vec<Vec<Piece>> = Vec::new();
    let mut was_term = false;
    for one in all {
        match items.last_mut() {
            Some(last) if was_term || !one.is_term => last.extend(one.pieces.iter().cloned()),
            _ => items.push(one.pieces.clone()),
        }
        was_term = one.is_term;
    }
    list(None, &items, is_other, site)
}

/// Writes a table whose first row is the header.
fn table(rows: &[Vec<TableCell>], out: &mut String, site: Site<'_>) {
    for (at, row) in rows.iter().enumerate() {
        out.push_str(if at == 0 { "|" } else { "\n|" });
        for cell in row {
            let text = super::markdown_line::cell(&cell.line, site);
            let _ = write!(out, " {text} |");
        }
        if at == 0 {
            let _ = write!(out, "\n|{}", " --- |".repeat(row.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heaven::markdown_line::text;
    use robot_detection_store::description::name;

    fn description(title: &str, text: &str) -> ResourceDescription {
        let mut description = ResourceDescription::new("https://a.example/a_(b)?c&d");
        description.set(name::TITLE, title);
        description.set(name::FULL_TEXT, text);
        description.set(name::TABLE_OF_CONTENTS, "One\n  Two");
        description
    }

    fn told(description: &ResourceDescription) -> String {
        let settings = HeavenSettings::new("https://a.example").unwrap();
        markdown(description, &Catalogue::default(), &settings)
    }

    #[test]
    fn page_is_rendered_as_markdown() {
        let told = told(&description("A page", "First.\nOne\nSecond."));
        assert_eq!(
            told,
            "# A page\n\nFirst.\n\n## One\n\nSecond.\n\n\
             [https://a.example/a\\_(b)?c&d](https://a.example/a_%28b%29?c&amp;d)\n"
        );
    }

    #[test]
    fn table_is_rendered_as_markdown() {
        let told = told(&description("T", "a|\tb\n1\t2\nEnd."));
        assert!(
            told.contains("\n| a\\| | b |\n| --- | --- |\n| 1 | 2 |\n\nEnd.\n"),
            "{told}"
        );
    }

    #[test]
    fn text_never_becomes_markup() {
        for (plain, written) in [
            ("- item", "\\- item"),
            ("1. item", "1\\. item"),
            ("12) item", "12\\) item"),
            ("1.5 is 1.5", "1.5 is 1.5"),
            ("# heading", "\\# heading"),
            ("> quote", "\\> quote"),
            ("===", "\\==="),
            ("[a](javascript:x)", "\\[a\\](javascript:x)"),
            ("<script>", "\\<script>"),
            (
                "&amp; `x` *y* _z_ ~~s~~",
                "\\&amp; \\`x\\` \\*y\\* \\_z\\_ \\~\\~s\\~\\~",
            ),
            ("a - b + c", "a - b + c"),
        ] {
            assert_eq!(text(plain), written);
        }
    }
}
