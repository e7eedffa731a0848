//! The tree.

use std::sync::Arc;

/// What a page says.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Matter {
    /// Its pieces, in order.
    pub pieces: Vec<Piece>,
}

/// Piece that stands in lines of its own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Piece {
    /// Heading of a level from 1 to 6.
    Heading(u8, Line),
    /// Paragraph.
    Paragraph(Line),
    /// Text whose lines and blanks count.
    Code {
        /// Language as the page names it, empty where it does not.
        language: String,
        /// The text, without the end of its last line.
        text: String,
    },
    /// Quotation.
    Quote(Vec<Self>),
    /// List, numbered from `start` where it is in order.
    List {
        /// Number of the first item.
        start: Option<u32>,
        /// Items.
        items: Vec<Vec<Self>>,
    },
    /// Terms and what they mean.
    Definitions(Vec<Definition>),
    /// Table; all rows have as many cells.
    Table {
        /// Caption, empty where there is none.
        caption: Line,
        /// Rows.
        rows: Vec<Vec<TableCell>>,
    },
    /// Picture, code or table with a caption.
    Figure(Vec<Self>, Line),
}

/// Term, or what a term means.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Definition {
    /// Whether it is the term.
    pub is_term: bool,
    /// What stands in it.
    pub pieces: Vec<Piece>,
}

/// Cell of a table.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TableCell {
    /// Whether it heads its row or column.
    pub is_header: bool,
    /// What stands in it.
    pub line: Line,
}

/// Text that goes on in one line.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Line {
    /// Its parts.
    pub runs: Vec<Run>,
}

/// Part of a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Run {
    /// Text in one style, never empty.
    Text(String, Style),
    /// Picture: its URL, empty where it has none of the web, and what stands for it.
    Image(String, String, Style),
    /// End of a line within.
    Break,
}

/// Style of a run; these nest in one order, the link outermost.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Style {
    /// Where it leads.
    pub link: Option<Arc<Link>>,
    /// Of importance.
    pub is_strong: bool,
    /// Stressed.
    pub is_emphasis: bool,
    /// Code; what stands in it is not stressed.
    pub is_code: bool,
}

/// Link, by its absolute URL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Link {
    /// URL of http, https or mailto.
    pub url: String,
    /// Whether the page does not vouch for it.
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

    /// Creates a line of runs in its one form.
    ///
    /// White space at the edge of a style stands outside of it, where it is part of none
    /// that does not hold on both sides; at the ends of lines there is none. Runs of one
    /// style are one run.
    pub fn new(runs: Vec<Run>) -> Self {
        let mut line = Self::default();
        // White space that waits for what follows it.
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

    /// Adds white space between what is there and what comes in a style.
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

    /// Returns `true` if nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the words alone.
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
    /// Returns what two styles share from the outermost on.
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

impl Matter {
    /// Has each heading told, wherever it stands, in order.
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
