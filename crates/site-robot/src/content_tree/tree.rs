//! Content tree of a page.

use std::sync::Arc;

/// Content of a page as a tree of headings, paragraphs, lists and tables.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ContentTree {
    /// Pieces of the content, in order.
    pub pieces: Vec<Piece>,
}

/// A block-level piece of content.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Piece {
    /// A heading with a level from 1 to 6.
    Heading(u8, Line),
    /// A paragraph of text.
    Paragraph(Line),
    /// Preformatted text.
    Code {
        /// Programming language that the page specifies; may be empty.
        language: String,
        /// Text of the code, without the final line break.
        text: String,
    },
    /// A block quotation.
    Quote(Vec<Self>),
    /// A list, which is ordered if `start` is set.
    List {
        /// Number of the first item of an ordered list.
        start: Option<u32>,
        /// Items of the list.
        items: Vec<Vec<Self>>,
    },
    /// A definition list.
    Definitions(Vec<Definition>),
    /// A table in which all rows have the same number of cells.
    Table {
        /// Caption of the table; may be empty.
        caption: Line,
        /// Rows of the table.
        rows: Vec<Vec<TableCell>>,
    },
    /// A picture, code or table with a caption.
    Figure(Vec<Self>, Line),
}

/// A term or description in a definition list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Definition {
    /// Whether the entry is a term.
    pub is_term: bool,
    /// Content of the definition entry.
    pub pieces: Vec<Piece>,
}

/// A table cell.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TableCell {
    /// Whether the cell is the header of a row or column.
    pub is_header: bool,
    /// Content of the cell.
    pub line: Line,
}

/// A line of inline text with styles and links.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Line {
    /// Parts of the line.
    pub runs: Vec<Run>,
}

/// A part of a line: styled text, a picture, or a line break.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Run {
    /// Non-empty text in a single style.
    Text(String, Style),
    /// A picture: its web URL or an empty string, its alternative text, and its style.
    Image(String, String, Style),
    /// A line break within the line.
    Break,
}

/// Style of a run. Styles are nested in a fixed order, with the link outermost.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Style {
    /// Target of the link, if any.
    pub link: Option<Arc<Link>>,
    /// Whether the text is strong.
    pub is_strong: bool,
    /// Whether the text is emphasized.
    pub is_emphasis: bool,
    /// Whether the text is code; text inside code is not emphasized.
    pub is_code: bool,
}

/// A link with an absolute URL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Link {
    /// URL whose scheme is http, https or mailto.
    pub url: String,
    /// Whether the link is marked `nofollow`.
    pub is_nofollow: bool,
}

impl Line {
    /// Creates a line of plain text.
    pub fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        let run = (!text.is_empty()).then(|| Run::Text(text, Style::default()));
        Self {
            runs: run.into_iter().collect(),
        }
    }

    /// Creates a normalized line from runs.
    ///
    /// White space at the edge of a style is moved outside, unless both sides have the same style.
    /// White space at the ends of lines is removed. Adjacent runs with the same style are merged.
    pub fn new(runs: Vec<Run>) -> Self {
        let mut line = Self::default();
        // White space that is not yet written, because it depends on the next run.
        let mut waiting = String::new();
        for run in runs {
            match run {
                Run::Text(text, style) => {
                    let words = text.trim_start();
                    let (before, _) = text
                        .split_at_checked(text.len() - words.len())
                        .unwrap_or_default();
                    waiting.push_str(before);
                    let words = words.trim_end();
                    if words.is_empty() {
                        continue;
                    }
                    line.space(&mut waiting, &style);
                    line.push(words, style);
                    let end = before.len() + words.len();
                    waiting.push_str(text.get(end..).unwrap_or_default());
                }
                Run::Image(url, alt, style) => {
                    line.space(&mut waiting, &style);
                    line.runs.push(Run::Image(url, alt, style));
                }
                Run::Break => {
                    waiting.clear();
                    if !matches!(line.runs.last(), None | Some(Run::Break)) {
                        line.runs.push(Run::Break);
                    }
                }
            }
        }
        if line.runs.last() == Some(&Run::Break) {
            line.runs.pop();
        }
        line
    }

    fn push(&mut self, text: &str, style: Style) {
        match self.runs.last_mut() {
            Some(Run::Text(before, same)) if *same == style => before.push_str(text),
            _ => self.runs.push(Run::Text(text.to_owned(), style)),
        }
    }

    /// Appends the pending white space before a run with the given style.
    fn space(&mut self, waiting: &mut String, next: &Style) {
        let space = std::mem::take(waiting);
        let style = match self.runs.last() {
            Some(Run::Text(_, before) | Run::Image(_, _, before)) => before.and(next),
            Some(Run::Break) | None => return,
        };
        if !space.is_empty() {
            self.push(&space, style);
        }
    }

    /// Returns `true` if the line is empty.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the text of the line without styles.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for run in &self.runs {
            match run {
                Run::Text(part, _) => text.push_str(part),
                Run::Break => text.push(' '),
                Run::Image(..) => {}
            }
        }
        text
    }
}

impl Style {
    /// Returns the styles that two runs have in common, starting with the outermost.
    fn and(&self, other: &Self) -> Self {
        let mut shared = Self::default();
        if self.link != other.link {
            return shared;
        }
        shared.link.clone_from(&self.link);
        if self.is_strong != other.is_strong {
            return shared;
        }
        shared.is_strong = self.is_strong;
        if self.is_emphasis == other.is_emphasis {
            shared.is_emphasis = self.is_emphasis;
            shared.is_code = self.is_code && other.is_code;
        }
        shared
    }
}

impl ContentTree {
    /// Calls `tell` for each heading at any depth, in order.
    pub fn for_each_heading(&mut self, tell: &mut dyn FnMut(&mut u8, &Line)) {
        headings(&mut self.pieces, tell);
    }
}

fn headings(pieces: &mut [Piece], tell: &mut dyn FnMut(&mut u8, &Line)) {
    for piece in pieces {
        match piece {
            Piece::Heading(level, line) => tell(level, line),
            Piece::Quote(pieces) | Piece::Figure(pieces, _) => headings(pieces, tell),
            Piece::List { items, .. } => {
                for item in items {
                    headings(item, tell);
                }
            }
            Piece::Definitions(all) => {
                for it in all {
                    headings(&mut it.pieces, tell);
                }
            }
            Piece::Paragraph(_) | Piece::Code { .. } | Piece::Table { .. } => {}
        }
    }
}
