//! HTML version of a page's text, which contains none of the original markup.

use std::fmt::{self, Write as _};

use askama::filters::HtmlSafe;

use super::{Catalogue, HeavenSettings, catalogue::Site, text::xml};
use crate::content_tree::{Line, Piece, Run, Style, TableCell};

/// Text of a page as HTML, in which all words and URLs are escaped.
#[derive(Debug)]
pub(super) struct Html {
    html: String,
}

impl Html {
    pub(super) fn new(pieces: &[Piece], catalogue: &Catalogue, settings: &HeavenSettings) -> Self {
        let mut writer = Writer {
            out: String::new(),
            headings: 0,
            site: Site {
                catalogue,
                settings,
            },
        };
        writer.pieces(pieces);
        Self { html: writer.out }
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.html)
    }
}

/// The HTML is safe because [`xml`] escapes all text and attributes, and the tags are our own.
impl HtmlSafe for Html {}

struct Writer<'c> {
    out: String,
    /// Number of headings written so far; the table of contents refers to headings by number.
    headings: usize,
    site: Site<'c>,
}

impl Writer<'_> {
    fn pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            self.piece(piece);
            self.out.push('\n');
        }
    }

    /// Writes a block of content, such as a heading or a list, and the blocks nested in it.
    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Heading(level, line) => {
                self.headings += 1;
                let number = self.headings;
                self.open(&format!("h{level} id=\"h{number}\" dir=\"auto\""));
                self.line(line);
                self.close(&format!("h{level}"));
            }
            Piece::Paragraph(line) => self.element("p dir=\"auto\"", "p", line),
            Piece::Code { language, text } => {
                self.out.push_str("<pre tabindex=\"0\"><code");
                if !language.is_empty() {
                    let _ = write!(self.out, " class=\"language-{}\"", xml(language));
                }
                self.out.push('>');
                self.out.push_str(&xml(text));
                self.out.push_str("</code></pre>");
            }
            Piece::Quote(pieces) => self.all("blockquote", pieces),
            Piece::List { start, items } => {
                let (tag, name) = match start {
                    Some(1) => ("ol".to_owned(), "ol"),
                    Some(start) => (format!("ol start=\"{start}\""), "ol"),
                    None => ("ul".to_owned(), "ul"),
                };
                self.open(&tag);
                for item in items {
                    self.item("li", item);
                }
                self.close(name);
            }
            Piece::Definitions(all) => {
                self.open("dl");
                for one in all {
                    self.item(if one.is_term { "dt" } else { "dd" }, &one.pieces);
                }
                self.close("dl");
            }
            Piece::Table { caption, rows } => self.table(caption, rows),
            Piece::Figure(pieces, caption) => {
                self.open("figure");
                self.pieces(pieces);
                self.element("figcaption dir=\"auto\"", "figcaption", caption);
                self.close("figure");
            }
        }
    }

    fn all(&mut self, name: &str, pieces: &[Piece]) {
        self.open(name);
        self.pieces(pieces);
        self.close(name);
    }

    /// Writes a list item; an item that is a single line is not enclosed in a paragraph.
    fn item(&mut self, name: &str, pieces: &[Piece]) {
        self.open(&format!("{name} dir=\"auto\""));
        match pieces {
            [Piece::Paragraph(line), rest @ ..]
                if rest.iter().all(|piece| matches!(piece, Piece::List { .. })) =>
            {
                self.line(line);
                self.pieces(rest);
            }
            _ => self.pieces(pieces),
        }
        self.close(name);
    }

    fn table(&mut self, caption: &Line, rows: &[Vec<TableCell>]) {
        self.out
            .push_str("<div class=\"table\" tabindex=\"0\"><table>");
        if !caption.is_empty() {
            self.element("caption dir=\"auto\"", "caption", caption);
        }
        for (at, row) in rows.iter().enumerate() {
            self.open("tr");
            for cell in row {
                let (tag, name) = match (cell.is_header, at) {
                    (true, 0) => ("th scope=\"col\" dir=\"auto\"", "th"),
                    (true, _) => ("th dir=\"auto\"", "th"),
                    (false, _) => ("td dir=\"auto\"", "td"),
                };
                self.element(tag, name, &cell.line);
            }
            self.close("tr");
        }
        self.out.push_str("</table></div>");
    }

    fn element(&mut self, tag: &str, name: &str, line: &Line) {
        self.open(tag);
        self.line(line);
        self.close(name);
    }

    fn line(&mut self, line: &Line) {
        for run in &line.runs {
            match run {
                Run::Text(text, style) => {
                    let text = xml(text);
                    self.styled(style, |out| out.push_str(&text));
                }
                Run::Image(url, alt, style) => {
                    let source = self.site.target(url);
                    let source = source.filter(|source| source.starts_with("http"));
                    let alt = xml(alt);
                    self.styled(style, |out| match &source {
                        Some(source) => {
                            let source = xml(source);
                            let _ = write!(
                                out,
                                "<img src=\"{source}\" alt=\"{alt}\" loading=\"lazy\">"
                            );
                        }
                        None => drop(write!(
                            out,
                            "<span role=\"img\" aria-label=\"{alt}\"></span>"
                        )),
                    });
                }
                Run::Break => self.out.push_str("<br>"),
            }
        }
    }

    fn styled(&mut self, style: &Style, write: impl FnOnce(&mut String)) {
        let link = style.link.as_ref().and_then(|link| {
            let target = self.site.target(&link.url)?;
            Some((target, link.is_nofollow))
        });
        if let Some((target, is_nofollow)) = &link {
            let rel = if *is_nofollow {
                " rel=\"nofollow\""
            } else {
                ""
            };
            let _ = write!(self.out, "<a href=\"{}\"{rel}>", xml(target));
        }
        let tags = [
            (style.is_strong, "strong"),
            (style.is_emphasis, "em"),
            (style.is_code, "code"),
        ];
        let tags = || tags.iter().filter(|(is, _)| *is).map(|(_, name)| *name);
        tags().for_each(|name| self.open(name));
        write(&mut self.out);
        tags().rev().for_each(|name| self.close(name));
        if link.is_some() {
            self.close("a");
        }
    }

    fn open(&mut self, tag: &str) {
        let _ = write!(self.out, "<{tag}>");
    }

    fn close(&mut self, name: &str) {
        let _ = write!(self.out, "</{name}>");
    }
}
