//! Converts a content tree to text and marks.

use std::fmt::Write as _;

use super::tree::{ContentTree, Line, Piece, Run, Style};

/// Version number with which marks start.
pub(super) const VERSION: &str = "2";

/// Maximum size of stored marks, in bytes; a page with more marks is stored as text only.
pub(super) const MAX_MARK_BYTES: usize = 2 * 1024 * 1024;

/// Text of a content tree, and marks from which the tree can be reconstructed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct MarkedText {
    /// Text with one line per block and per table row; code keeps its line breaks.
    pub text: String,
    /// Marks that refer to the text; empty if they would be too long.
    pub marks: String,
}

impl ContentTree {
    /// Returns the text, truncated to at most `max_chars` characters, and the marks that refer to
    /// it.
    ///
    /// A mark is a letter, optionally preceded by a number: `2h` starts a heading of level two, and
    /// `12t` consumes twelve bytes of text. Marks start with a version number, and the length and
    /// checksum of their text.
    pub fn marked(&self, between_cells: char, max_chars: Option<usize>) -> MarkedText {
        let mut writer = Writer::new(between_cells, usize::MAX);
        writer.pieces(&self.pieces);
        let end = max_chars.and_then(|max| writer.text.char_indices().nth(max));
        let end = end.map_or(writer.text.len(), |(end, _)| end);
        if end < writer.text.len() {
            let length = writer.text.get(..end).unwrap_or_default().trim_end().len();
            // The text that is cut off has no marks.
            let mut cut = Writer::new(between_cells, length);
            cut.pieces(&self.pieces);
            cut.text.truncate(length);
            writer = cut;
        }
        let text = writer.text;
        if text.is_empty() || writer.marks.len() > MAX_MARK_BYTES {
            let marks = String::new();
            return MarkedText { text, marks };
        }
        let marks = format!("{}{}", head(&text), writer.marks);
        MarkedText { text, marks }
    }
}

/// Returns the header of the marks that refer to a text.
// The checksum need not withstand attacks, because there is no benefit in forging a matching text.
pub(super) fn head(text: &str) -> String {
    let sum = crc32fast::hash(text.as_bytes());
    format!("{VERSION} {} {sum:x} ", text.len())
}

/// Removes the header of the marks; returns `None` if the marks do not belong to the text.
pub(super) fn without_head<'m>(marks: &'m str, text: &str) -> Option<&'m str> {
    if marks.starts_with("1 ") {
        // Marks of version 1 have an FNV-1a checksum instead of a CRC.
        let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        return marks.strip_prefix(&format!("1 {} {sum:x} ", text.len()));
    }
    marks.strip_prefix(&head(text))
}

struct Writer {
    text: String,
    marks: String,
    /// Number of bytes of text after which no marks are written.
    limit: usize,
    between_cells: char,
    style: Style,
}

impl Writer {
    fn new(between_cells: char, limit: usize) -> Self {
        Self {
            text: String::new(),
            marks: String::new(),
            limit,
            between_cells,
            style: Style::default(),
        }
    }

    fn is_full(&self) -> bool {
        self.text.len() >= self.limit
    }

    fn pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            if self.is_full() {
                return;
            }
            self.piece(piece);
        }
    }

    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Heading(level, line) => self.leaf(&format!("{level}h"), line),
            Piece::Paragraph(line) => self.leaf("p", line),
            Piece::Code { language, text } => {
                let _ = write!(self.marks, "{}c{language}", language.len());
                self.separate('\n');
                self.take(text);
                self.end();
            }
            Piece::Quote(pieces) => self.all("q", pieces),
            Piece::List { start, items } => {
                match start {
                    Some(start) => drop(write!(self.marks, "{start}o")),
                    None => self.marks.push('u'),
                }
                for item in items {
                    if !self.is_full() {
                        self.all("i", item);
                    }
                }
                self.end();
            }
            Piece::Definitions(all) => {
                self.marks.push('d');
                for one in all {
                    if !self.is_full() {
                        self.all(if one.is_term { "T" } else { "D" }, &one.pieces);
                    }
                }
                self.end();
            }
            Piece::Table { caption, rows } => {
                self.marks.push('b');
                self.caption(caption);
                for row in rows {
                    self.row(row);
                }
                self.end();
            }
            Piece::Figure(pieces, caption) => {
                self.marks.push('f');
                self.pieces(pieces);
                self.caption(caption);
                self.end();
            }
        }
    }

    fn all(&mut self, mark: &str, pieces: &[Piece]) {
        self.marks.push_str(mark);
        self.pieces(pieces);
        self.end();
    }

    fn caption(&mut self, line: &Line) {
        if !line.is_empty() && !self.is_full() {
            self.leaf("k", line);
        }
    }

    fn row(&mut self, row: &[super::TableCell]) {
        if self.is_full() {
            return;
        }
        self.marks.push('r');
        self.separate('\n');
        for (at, cell) in row.iter().enumerate() {
            if at > 0 {
                self.text.push(self.between_cells);
                self.marks.push('s');
            }
            self.marks.push(if cell.is_header { 'H' } else { 'C' });
            self.line(&cell.line);
            self.end();
        }
        self.end();
    }

    fn leaf(&mut self, mark: &str, line: &Line) {
        self.marks.push_str(mark);
        if line.runs.iter().any(|run| !matches!(run, Run::Image(..))) {
            self.separate('\n');
        }
        self.line(line);
        self.end();
    }

    fn line(&mut self, line: &Line) {
        for run in &line.runs {
            if self.is_full() {
                break;
            }
            match run {
                Run::Text(text, style) => {
                    self.turn(style);
                    self.take(text);
                }
                Run::Image(url, alt, style) => {
                    self.turn(style);
                    let _ = write!(self.marks, "{}g{url}{}v{alt}", url.len(), alt.len());
                }
                Run::Break => {
                    self.text.push(' ');
                    self.marks.push('n');
                }
            }
        }
        self.turn(&Style::default());
    }

    /// Writes the marks for the differences between the current style and the next style.
    fn turn(&mut self, style: &Style) {
        let before = std::mem::replace(&mut self.style, style.clone());
        for (mark, was, is) in [
            ('S', before.is_strong, style.is_strong),
            ('E', before.is_emphasis, style.is_emphasis),
            ('M', before.is_code, style.is_code),
        ] {
            if was != is {
                self.marks.push(mark);
            }
        }
        if before.link != style.link {
            match &style.link {
                Some(link) => {
                    let mark = if link.is_nofollow { 'A' } else { 'a' };
                    let _ = write!(self.marks, "{}{mark}{}", link.url.len(), link.url);
                }
                None => self.marks.push('x'),
            }
        }
    }

    fn take(&mut self, text: &str) {
        let room = self.limit.saturating_sub(self.text.len());
        let _ = write!(self.marks, "{}t", text.len().min(room));
        self.text.push_str(text);
    }

    fn separate(&mut self, between: char) {
        if !self.text.is_empty() {
            self.text.push(between);
            self.marks.push('s');
        }
    }

    fn end(&mut self) {
        self.marks.push('/');
    }
}
