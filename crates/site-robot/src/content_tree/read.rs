//! Reconstructs a content tree from text and marks.

use std::sync::Arc;

use super::{
    MAX_DEPTH,
    marks::{MAX_MARK_BYTES, without_head},
    tree::{ContentTree, Definition, Line, Link, Piece, Run, Style, TableCell},
};

/// Maximum number of pieces, cells and runs in a tree.
const MAX_NODES: usize = 500_000;

impl ContentTree {
    /// Reconstructs the tree from text and marks; returns `None` if the marks do not belong to the
    /// text.
    ///
    /// Even invalid marks are parsed in time proportional to their length. Trees deeper than
    /// [`MAX_DEPTH`] are rejected.
    pub fn read(text: &str, marks: &str) -> Option<Self> {
        if marks.len() > 2 * MAX_MARK_BYTES {
            return None;
        }
        let marks = without_head(marks, text)?;
        let mut reader = Reader {
            text,
            marks,
            nodes: 0,
        };
        let pieces = reader.pieces(MAX_DEPTH)?;
        (reader.text.is_empty() && reader.marks.is_empty()).then_some(Self { pieces })
    }
}

struct Reader<'m> {
    text: &'m str,
    marks: &'m str,
    nodes: usize,
}

impl<'m> Reader<'m> {
    /// Returns the next mark and its number, which is 0 if the mark has none.
    fn mark(&mut self) -> Option<(usize, u8)> {
        self.nodes += 1;
        if self.nodes > 2 * MAX_NODES {
            return None;
        }
        let digits = self.marks.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.marks.split_at_checked(digits)?;
        let number = if digits == 0 { 0 } else { number.parse().ok()? };
        let mark = *rest.as_bytes().first()?;
        self.marks = rest.get(1..)?;
        Some((number, mark))
    }

    /// Consumes the next mark if it ends a block; returns `true` if it did.
    fn is_end(&mut self) -> bool {
        let is_end = self.marks.starts_with('/');
        if is_end {
            self.marks = self.marks.get(1..).unwrap_or_default();
        }
        is_end
    }

    fn argument(&mut self, length: usize) -> Option<&'m str> {
        let (argument, rest) = self.marks.split_at_checked(length)?;
        self.marks = rest;
        Some(argument)
    }

    fn take(&mut self, length: usize) -> Option<&'m str> {
        let (taken, rest) = self.text.split_at_checked(length)?;
        self.text = rest;
        Some(taken)
    }

    /// Skips the separators between blocks.
    fn skip(&mut self) {
        while let Some(rest) = self.marks.strip_prefix('s') {
            self.marks = rest;
            self.text = self.text.get(1..).unwrap_or_default();
        }
    }

    /// Reads blocks up to the end of the container.
    fn pieces(&mut self, depth: usize) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        while !self.marks.is_empty() && !self.marks.starts_with(['/', 'k']) {
            pieces.push(self.piece(depth)?);
        }
        Some(pieces)
    }

    fn piece(&mut self, depth: usize) -> Option<Piece> {
        let below = depth.checked_sub(1)?;
        Some(match self.mark()? {
            (level @ 1..=6, b'h') => Piece::Heading(u8::try_from(level).ok()?, self.line()?),
            (_, b'p') => Piece::Paragraph(self.line()?),
            (length, b'c') => {
                let language = self.argument(length)?.to_owned();
                self.skip();
                let (length, b't') = self.mark()? else {
                    return None;
                };
                let text = self.take(length)?.to_owned();
                self.is_end().then_some(Piece::Code { language, text })?
            }
            (_, b'q') => Piece::Quote(self.ended(below)?),
            (_, b'u') => self.list(None, below)?,
            (start, b'o') => self.list(Some(u32::try_from(start).ok()?), below)?,
            (_, b'd') => self.definitions(below)?,
            (_, b'b') => self.table()?,
            (_, b'f') => {
                let pieces = self.pieces(below)?;
                let caption = self.caption()?;
                self.is_end().then_some(Piece::Figure(pieces, caption))?
            }
            _ => return None,
        })
    }

    fn ended(&mut self, depth: usize) -> Option<Vec<Piece>> {
        let pieces = self.pieces(depth)?;
        self.is_end().then_some(pieces)
    }

    fn list(&mut self, start: Option<u32>, depth: usize) -> Option<Piece> {
        let mut items = Vec::new();
        while !self.is_end() {
            let (_, b'i') = self.mark()? else {
                return None;
            };
            items.push(self.ended(depth)?);
        }
        Some(Piece::List { start, items })
    }

    fn definitions(&mut self, depth: usize) -> Option<Piece> {
        let mut all = Vec::new();
        while !self.is_end() {
            let (_, mark @ (b'T' | b'D')) = self.mark()? else {
                return None;
            };
            let pieces = self.ended(depth)?;
            let is_term = mark == b'T';
            all.push(Definition { is_term, pieces });
        }
        Some(Piece::Definitions(all))
    }

    fn caption(&mut self) -> Option<Line> {
        match self.marks.strip_prefix('k') {
            Some(rest) => {
                self.marks = rest;
                self.line()
            }
            None => Some(Line::default()),
        }
    }

    fn table(&mut self) -> Option<Piece> {
        let caption = self.caption()?;
        let mut rows: Vec<Vec<TableCell>> = Vec::new();
        while !self.is_end() {
            let (_, b'r') = self.mark()? else {
                return None;
            };
            let mut row = Vec::new();
            loop {
                self.skip();
                if self.is_end() {
                    break;
                }
                let (_, mark @ (b'H' | b'C')) = self.mark()? else {
                    return None;
                };
                let line = self.line()?;
                let is_header = mark == b'H';
                row.push(TableCell { is_header, line });
            }
            // The last row may be shorter if the text was truncated.
            let width = rows.first().map_or(row.len(), Vec::len);
            row.resize(width, TableCell::default());
            rows.push(row);
        }
        Some(Piece::Table { caption, rows })
    }

    fn line(&mut self) -> Option<Line> {
        let mut line = Line::default();
        let mut style = Style::default();
        self.skip();
        while !self.is_end() {
            match self.mark()? {
                (0, b't') => {}
                (length, b't') => {
                    let text = self.take(length)?.to_owned();
                    line.runs.push(Run::Text(text, style.clone()));
                }
                (_, b'S') => style.is_strong = !style.is_strong,
                (_, b'E') => style.is_emphasis = !style.is_emphasis,
                (_, b'M') => style.is_code = !style.is_code,
                (length, mark @ (b'a' | b'A')) => {
                    let url = self.argument(length)?;
                    style.link = is_allowed(url).then(|| {
                        Arc::new(Link {
                            url: url.to_owned(),
                            is_nofollow: mark == b'A',
                        })
                    });
                }
                (_, b'x') => style.link = None,
                (_, b'n') => {
                    // The space at the very end of the text has been removed.
                    self.text = self.text.get(1..).unwrap_or_default();
                    line.runs.push(Run::Break);
                }
                (length, b'g') => {
                    let url = self.argument(length)?;
                    let (length, b'v') = self.mark()? else {
                        return None;
                    };
                    let alt = self.argument(length)?.to_owned();
                    let url = if is_allowed(url) { url } else { "" };
                    line.runs
                        .push(Run::Image(url.to_owned(), alt, style.clone()));
                }
                _ => return None,
            }
        }
        Some(line)
    }
}

/// Returns `true` for URLs that are allowed in pages, that is, URLs that neither run a script nor
/// open a file.
fn is_allowed(url: &str) -> bool {
    ["https://", "http://", "mailto:"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
        && !url.chars().any(|c| c.is_control() || c.is_whitespace())
}
