//! Nesting and inline styles, which are recorded while a page is parsed.

use super::attributes::{Attribute, Attributes, is_html_space};

/// Maximum number of containers on a page; any further containers are ignored.
const MAX_CONTAINERS: usize = 200_000;
/// Maximum nesting depth of containers; deeper containers are ignored.
const MAX_DEPTH: u8 = 24;
/// Maximum number of columns in a table.
const MAX_COLUMNS: usize = 64;
/// Maximum number of style changes, pictures and line breaks in a block.
const MAX_SPANS: usize = 20_000;

/// An element that contains blocks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Container {
    pub(super) parent: u32,
    pub(super) depth: u8,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// A list, with the number of its first item if the list is ordered.
    List(Option<u32>),
    Item,
    Definitions,
    Term,
    Meaning,
    Table,
    Caption,
    Row,
    /// A table cell and its column.
    Cell {
        column: u32,
        is_header: bool,
    },
    Quote,
    Figure,
}

/// Style of inline text.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Inline {
    pub(super) is_strong: bool,
    pub(super) is_emphasis: bool,
    pub(super) is_code: bool,
    /// Number of the link on the page, starting at 1; 0 for text outside links.
    pub(super) link: u32,
}

/// A mark (a style, picture or line break) and its position within a block's text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Span {
    /// Byte offset in the block's text.
    pub(super) at: usize,
    pub(super) mark: Mark,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Mark {
    /// Style of the text that follows.
    Style(Inline),
    Image {
        source: String,
        alt: String,
    },
    Break,
}

/// Structure of the page that is being parsed.
#[derive(Debug, Default)]
pub(super) struct Structure {
    pub(super) containers: Vec<Container>,
    spans: Vec<Span>,
    style: Inline,
    /// Next column of the current table row.
    column: usize,
    /// For each column, the number of further rows that cells above occupy.
    taken: Vec<u32>,
    /// Programming language, and the depth of the element that specifies it.
    language: Option<(usize, String)>,
    /// Whether a `<pre>` element was just opened; a line break immediately after it is ignored.
    pub(super) is_first_of_pre: bool,
    /// Whether the current tag is a link that has been recorded.
    pub(super) has_new_link: bool,
}

impl Structure {
    /// Returns the number of the container that an element forms, or else of its parent container.
    ///
    /// Containers are numbered from 1; 0 is the page itself.
    pub(super) fn container(&mut self, name: &[u8], tag: &Attributes, parent: u32) -> u32 {
        let kind = match name {
            b"ul" | b"menu" | b"dir" => Kind::List(None),
            b"ol" => Kind::List(Some(number(tag, Attribute::Start, 1))),
            b"li" => Kind::Item,
            b"dl" => Kind::Definitions,
            b"dt" => Kind::Term,
            b"dd" => Kind::Meaning,
            b"blockquote" => Kind::Quote,
            b"figure" => Kind::Figure,
            b"caption" | b"figcaption" => Kind::Caption,
            b"table" => {
                self.taken.clear();
                self.column = 0;
                if lays_out(tag) {
                    return parent;
                }
                Kind::Table
            }
            b"tr" => {
                self.begin_row();
                Kind::Row
            }
            b"td" | b"th" => Kind::Cell {
                column: self.begin_cell(tag),
                is_header: name == b"th",
            },
            _ => return parent,
        };
        let depth = self.get(parent).map_or(1, |parent| parent.depth + 1);
        if depth > MAX_DEPTH || self.containers.len() >= MAX_CONTAINERS {
            return parent;
        }
        self.containers.push(Container {
            parent,
            depth,
            kind,
        });
        u32::try_from(self.containers.len()).unwrap_or(parent)
    }

    fn get(&self, number: u32) -> Option<&Container> {
        self.containers.get(number.checked_sub(1)? as usize)
    }

    fn begin_row(&mut self) {
        for rows in self.taken.iter_mut().skip(self.column) {
            *rows = rows.saturating_sub(1);
        }
        self.column = 0;
    }

    /// Returns the column of a cell, skipping columns that are occupied by cells above.
    fn begin_cell(&mut self, tag: &Attributes) -> u32 {
        while let Some(rows @ 1..) = self.taken.get_mut(self.column) {
            *rows -= 1;
            self.column += 1;
        }
        let column = self.column;
        let wide = (number(tag, Attribute::ColSpan, 1) as usize).clamp(1, MAX_COLUMNS);
        let high = number(tag, Attribute::RowSpan, 1).clamp(1, 1_000) - 1;
        self.column = column.saturating_add(wide);
        if high > 0 && self.column <= MAX_COLUMNS && self.taken.len() < self.column {
            self.taken.resize(self.column, 0);
        }
        let below = self.taken.iter_mut().take(self.column).skip(column);
        below.for_each(|rows| *rows = high);
        u32::try_from(column).unwrap_or(u32::MAX)
    }

    /// Records the style of the text that starts at a byte offset of the block.
    pub(super) fn begin_text(&mut self, at: usize, style: Inline) {
        if self.style != style {
            self.style = style;
            self.note(at, Mark::Style(style));
        }
    }

    /// Records a picture or a line break.
    pub(super) fn note(&mut self, at: usize, mark: Mark) {
        if self.spans.len() < MAX_SPANS {
            self.spans.push(Span { at, mark });
        }
    }

    pub(super) fn has_image(&self) -> bool {
        let mut marks = self.spans.iter();
        marks.any(|span| matches!(span.mark, Mark::Image { .. }))
    }

    /// Returns the marks of the current block, and clears them.
    pub(super) fn take_spans(&mut self) -> Vec<Span> {
        self.style = Inline::default();
        std::mem::take(&mut self.spans)
    }

    /// Records the programming language specified by an element's classes.
    pub(super) fn note_language(&mut self, depth: usize, name: &[u8], tag: &Attributes) {
        if !matches!(name, b"pre" | b"code" | b"div") {
            return;
        }
        if let Some(classes) = tag.lower(Attribute::Class)
            && let Some(language) = language(&classes, name == b"div")
        {
            self.language = Some((depth, language.to_owned()));
        }
    }

    /// Returns the programming language of the current code block.
    pub(super) fn take_language(&mut self) -> String {
        // An enclosing element may set the language for several code blocks.
        self.language
            .as_ref()
            .map_or_else(String::new, |it| it.1.clone())
    }

    /// Drops the language set by elements at or below `depth`.
    pub(super) fn truncate(&mut self, depth: usize) {
        self.language.take_if(|(at, _)| *at >= depth);
    }
}

/// Returns the text style inside an element.
pub(super) fn style(name: &[u8], around: Inline, links: usize) -> Inline {
    let mut style = around;
    match name {
        b"b" | b"strong" => style.is_strong = true,
        b"i" | b"em" | b"cite" | b"dfn" | b"var" => style.is_emphasis = true,
        b"code" | b"tt" | b"kbd" | b"samp" => style.is_code = true,
        b"a" => style.link = u32::try_from(links).unwrap_or(0),
        _ => {}
    }
    style
}

/// Returns `true` if a table's role indicates a layout table.
fn lays_out(tag: &Attributes) -> bool {
    let role = tag.lower(Attribute::Role);
    role.is_some_and(|role| matches!(role.as_str(), "presentation" | "none"))
}

fn number(tag: &Attributes, attribute: Attribute, default: u32) -> u32 {
    let value = tag.value(attribute);
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// Returns the programming language in a `class` value, as written by syntax highlighters and site
/// generators.
fn language(classes: &str, is_around: bool) -> Option<&str> {
    const PREFIXES: [&str; 4] = ["language-", "lang-", "highlight-source-", "source-"];
    let is_language = |word: &&str| {
        !word.is_empty()
            && word.len() <= 32
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+#._-".contains(&byte))
    };
    let words = || classes.split(is_html_space);
    let mut prefixed = words().filter_map(|word| {
        let around = word.strip_prefix("highlight-").filter(|_| is_around);
        let mut named = PREFIXES
            .iter()
            .filter_map(|prefix| word.strip_prefix(prefix));
        named.next().or(around)
    });
    let behind = |mark: &str| words().skip_while(|word| *word != mark).nth(1);
    let found = prefixed.next();
    let found = found
        .or_else(|| behind("brush:"))
        .or_else(|| behind("sourcecode"));
    found
        .map(|word| word.trim_end_matches(';'))
        .filter(is_language)
}

const SIGNS: [&str; 4] = ["#", "¶", "§", "🔗"];

/// Removes the permalink sign from the text of a heading.
pub(super) fn take_sign_off(text: &mut String, spans: &mut Vec<Span>) {
    let is_sign = |part: Option<&str>| part.is_some_and(|part| SIGNS.contains(&part.trim()));
    let is_link = |span: &Span| matches!(span.mark, Mark::Style(style) if style.link > 0);
    let last = spans.iter().rposition(is_link);
    if let Some((last, at)) = last.and_then(|last| Some((last, spans.get(last)?.at)))
        && is_sign(text.get(at..))
        && let length @ 1.. = text.get(..at).unwrap_or_default().trim_end().len()
    {
        text.truncate(length);
        spans.truncate(last);
    }
    if let [first, second, ..] = spans.as_slice()
        && is_link(first)
        && is_sign(text.get(..second.at))
    {
        let rest = text.get(second.at..).unwrap_or_default().trim_start();
        let length = text.len() - rest.len();
        text.drain(..length);
        spans.remove(0);
        for span in spans {
            span.at = span.at.saturating_sub(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Page;

    #[test]
    fn permalink_signs_are_removed_from_headings() {
        for (html, expected) in [
            (
                "<h2>Salt<span><a class=mark href=#s>#</a></span></h2>",
                "Salt",
            ),
            ("<h2 id=s>Salt <a href=#s>¶</a></h2>", "Salt"),
            (
                "<h2><a href=#s>§</a> <b>Salt</b> of the sea</h2>",
                "Salt of the sea",
            ),
            ("<h2><a href=/c>C#</a></h2>", "C#"),
            (
                "<h2>Rooms of <a href=/irc>#</a> salt</h2>",
                "Rooms of # salt",
            ),
            ("<h2><a href=#s>#</a></h2>", "#"),
            ("<h2>Salt #</h2>", "Salt #"),
        ] {
            let page = Page::read(&format!("{html}<p>Text."));
            assert_eq!(page.main_headings(6).next(), Some((2, expected)), "{html}");
            assert_eq!(page.main_text(), format!("{expected}\nText."), "{html}");
        }
    }
}
