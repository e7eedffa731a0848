//! Renders lines as Markdown; only characters that would be interpreted as markup are escaped.

use std::{fmt::Write as _, sync::Arc};

use super::catalogue::Site;
use crate::content_tree::{Line, Link, Run, Style};

/// Renders a line of text; in a heading, line breaks become spaces.
pub(super) fn line(line: &Line, is_heading: bool, site: Site<'_>) -> String {
    Writer::new(line, false, site).write(line, if is_heading { " " } else { "\\\n" })
}

/// Renders the text of a table cell.
pub(super) fn cell(line: &Line, site: Site<'_>) -> String {
    Writer::new(line, true, site).write(line, "<br>")
}

/// Appends text to a line that has already been started, escaping markup.
pub(super) fn add_text(out: &mut String, text: &str, in_link: bool) {
    let place = Place {
        in_link,
        is_cell: false,
        is_last: true,
    };
    escape(out, text, place);
}

/// Returns text with markup escaped, for use at the start of a line.
pub(super) fn text(text: &str) -> String {
    let mut out = String::new();
    add_text(&mut out, text, false);
    out
}

/// A link destination (`CommonMark` §6.3).
pub(super) struct Target<'t>(pub(super) &'t str);

impl std::fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '(' | ')' | '<' | '>' | '\\' | '*' => {
                    write!(f, "%{:02X}", u32::from(character))?;
                }
                '&' => f.write_str("&amp;")?,
                _ if character.is_whitespace() || character.is_control() => {}
                _ => f.write_char(character)?,
            }
        }
        Ok(())
    }
}

/// Position of a text in the output.
#[derive(Clone, Copy)]
struct Place {
    in_link: bool,
    is_cell: bool,
    /// Whether the text is the last part of its line.
    is_last: bool,
}

struct Writer<'c> {
    out: String,
    is_cell: bool,
    site: Site<'c>,
    /// Emphasis marker: `*`, or `_` in lines with strong text.
    emphasis: &'static str,
    open: Style,
    /// Whether the next character must not be a letter, because a letter would prevent the closing
    /// marker from taking effect.
    needs_sign: bool,
    /// End position of the last opening marker, and the marker itself.
    begun: Option<(usize, &'static str)>,
}

impl<'c> Writer<'c> {
    fn new(line: &Line, is_cell: bool, site: Site<'c>) -> Self {
        let is_strong = |run: &Run| match run {
            Run::Text(_, style) | Run::Image(_, _, style) => style.is_strong,
            Run::Break => false,
        };
        Self {
            out: String::new(),
            is_cell,
            site,
            emphasis: if line.runs.iter().any(is_strong) {
                "_"
            } else {
                "*"
            },
            open: Style::default(),
            needs_sign: false,
            begun: None,
        }
    }

    fn write(mut self, line: &Line, end_of_line: &str) -> String {
        for (at, run) in line.runs.iter().enumerate() {
            let is_last = at + 1 == line.runs.len();
            match run {
                Run::Text(text, style) if style.is_code && !is_like_definition(text, style) => {
                    self.turn(style, Some('`'));
                    self.code(text);
                }
                Run::Text(text, style) => {
                    self.turn(style, text.chars().next());
                    self.text(text, is_last);
                }
                Run::Image(url, alt, style) => {
                    self.turn(style, Some('!'));
                    self.image(url, alt);
                }
                Run::Break => {
                    self.turn(&Style::default(), None);
                    self.out.push_str(end_of_line);
                    self.needs_sign = false;
                }
            }
        }
        self.turn(&Style::default(), None);
        self.out
    }

    /// Closes the styles that end and opens those that begin, with links outermost; `next` is the
    /// character that follows.
    fn turn(&mut self, style: &Style, next: Option<char>) {
        let before = std::mem::take(&mut self.open);
        let style = Style {
            link: style
                .link
                .clone()
                .filter(|link| self.site.absolute_target(&link.url).is_some()),
            is_code: false,
            ..style.clone()
        };
        let keeps_link = before.link == style.link;
        let keeps_strong = keeps_link && before.is_strong == style.is_strong;
        let keeps_emphasis = keeps_strong && before.is_emphasis == style.is_emphasis;
        if before.is_emphasis && !keeps_emphasis {
            self.end(self.emphasis);
        }
        if before.is_strong && !keeps_strong {
            self.end("**");
        }
        if let Some(link) = before.link.filter(|_| !keeps_link) {
            self.end_link(&link);
        }
        if let Some(link) = style.link.as_ref().filter(|_| !keeps_link) {
            debug_assert!(!link.url.is_empty(), "a link has a URL");
            self.out.push('[');
            self.needs_sign = false;
        }
        let begins_emphasis = style.is_emphasis && !keeps_emphasis;
        if style.is_strong && !keeps_strong {
            let next = if begins_emphasis { Some('_') } else { next };
            self.begin("**", next);
        }
        if begins_emphasis {
            self.begin(self.emphasis, next);
        }
        self.open = style;
    }

    /// Opens a style. A letter must not precede `_`, or any marker that is followed by punctuation.
    fn begin(&mut self, mark: &'static str, next: Option<char>) {
        let is_plain = mark != "_" && next.is_some_and(char::is_alphanumeric);
        if !is_plain {
            self.end_in_sign();
        }
        self.out.push_str(mark);
        self.begun = Some((self.out.len(), mark));
        self.needs_sign = false;
    }

    /// Replaces the last letter with a character reference, so that the output ends in punctuation.
    fn end_in_sign(&mut self) {
        let Some(last) = self.out.chars().next_back().filter(|last| is_word(*last)) else {
            return;
        };
        self.out.pop();
        if let Some((end, mark)) = self.begun
            && end == self.out.len()
        {
            // The preceding marker is now followed by punctuation, so it also must be preceded by
            // punctuation.
            self.begun = None;
            self.out.truncate(end - mark.len());
            self.end_in_sign();
            self.out.push_str(mark);
        }
        // A trailing backslash that escapes nothing would escape the character reference.
        let plain = self.out.trim_end_matches('\\').len();
        if (self.out.len() - plain) % 2 == 1 {
            self.out.push('\\');
        }
        let _ = write!(self.out, "&#{};", u32::from(last));
    }

    fn end(&mut self, mark: &str) {
        let last = self.out.chars().next_back();
        self.needs_sign = mark == "_" || !last.is_some_and(char::is_alphanumeric);
        self.out.push_str(mark);
    }

    fn end_link(&mut self, link: &Arc<Link>) {
        let target = self.site.absolute_target(&link.url).unwrap_or_default();
        let _ = write!(self.out, "]({})", Target(&target));
        self.needs_sign = false;
    }

    fn image(&mut self, url: &str, alt: &str) {
        match self
            .site
            .absolute_target(url)
            .filter(|url| url.starts_with("http"))
        {
            Some(url) => {
                self.out.push_str("![");
                self.escape(alt, true, true);
                let _ = write!(self.out, "]({})", Target(&url));
            }
            None => self.escape(alt, true, true),
        }
        self.needs_sign = false;
    }

    fn code(&mut self, text: &str) {
        let text = if self.is_cell {
            text.replace('|', "\\|")
        } else {
            text.to_owned()
        };
        let runs = || {
            text.split(|c| c != '`')
                .map(str::len)
                .filter(|run| *run > 0)
        };
        let length = (1..=text.len() + 1).find(|length| runs().all(|run| run != *length));
        let fence = "`".repeat(length.unwrap_or(1));
        let pad = if text.starts_with('`') || text.ends_with('`') {
            " "
        } else {
            ""
        };
        let _ = write!(self.out, "{fence}{pad}{text}{pad}{fence}");
        self.needs_sign = false;
    }

    fn text(&mut self, text: &str, is_last: bool) {
        let mut text = text;
        if std::mem::take(&mut self.needs_sign)
            && let Some(first) = text.chars().next()
            && is_word(first)
        {
            let _ = write!(self.out, "&#{};", u32::from(first));
            text = text.get(first.len_utf8()..).unwrap_or_default();
        }
        let in_link = self.open.link.is_some();
        self.escape(text, in_link, is_last);
    }

    fn escape(&mut self, text: &str, in_link: bool, is_last: bool) {
        let place = Place {
            in_link,
            is_cell: self.is_cell,
            is_last,
        };
        escape(&mut self.out, text, place);
    }
}

/// Appends text, with a backslash before each character that would be interpreted as markup.
fn escape(out: &mut String, text: &str, place: Place) {
    let is_start = out.is_empty() || out.ends_with('\n');
    let mut begin = if is_start { begin_length(text) } else { None };
    let mut before = out.chars().next_back();
    for (at, c) in text.char_indices() {
        let rest = text.get(at + c.len_utf8()..).unwrap_or_default();
        let next = rest.chars().next();
        // The character after the end of this part is unknown, unless this is the last part.
        let at_end = next.is_none() && !place.is_last;
        let is_word_both =
            before.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric);
        let is_blank_both =
            before.is_some_and(char::is_whitespace) && next.is_some_and(char::is_whitespace);
        let is_mark = match c {
            '`' => true,
            '*' => !is_blank_both,
            '_' => !is_word_both && !is_blank_both,
            '[' => place.in_link || is_start && before.is_none_or(|c| c == '\n'),
            ']' => place.in_link || at_end || matches!(next, Some('(' | '[' | ':')),
            '!' => at_end || next == Some('['),
            '<' => at_end || next.is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(c)),
            '&' => at_end || is_reference(rest),
            '\\' => next.is_none_or(|c| c.is_ascii_punctuation()),
            '~' => next == Some('~') || before == Some('~') || is_start,
            '|' => place.is_cell || before.is_none() || before == Some('\n'),
            _ => false,
        };
        let is_begin = begin == Some(at);
        if is_begin {
            begin = None;
        }
        if is_mark || is_begin {
            out.push('\\');
        }
        out.push(if c == '\n' { ' ' } else { c });
        before = Some(c);
    }
}

/// Returns `true` for code that would turn the surrounding link into a link definition.
pub(super) fn is_like_definition(text: &str, style: &Style) -> bool {
    style.link.is_some() && text.contains("]:")
}

/// Returns the position of a character that would start a list, heading or other block.
fn begin_length(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_gap = |rest: &str| rest.chars().next().is_none_or(char::is_whitespace);
    match first {
        '#' => is_gap(text.trim_start_matches('#')).then_some(0),
        '>' | '=' | '|' => Some(0),
        '+' => is_gap(text.get(1..)?).then_some(0),
        '-' => {
            let is_rule = text.chars().all(|c| matches!(c, '-' | ' ' | '|' | ':'));
            (is_rule || is_gap(text.get(1..)?)).then_some(0)
        }
        ':' => text
            .chars()
            .all(|c| matches!(c, '-' | ' ' | '|' | ':'))
            .then_some(0),
        _ if (1..=9).contains(&digits) => {
            let rest = text.get(digits..)?;
            let is_mark = rest.starts_with(['.', ')']) && is_gap(rest.get(1..)?);
            is_mark.then_some(digits)
        }
        _ => None,
    }
}

/// Returns `true` if the text after `&` forms a character reference.
fn is_reference(rest: &str) -> bool {
    let name = rest.split(';').next().unwrap_or_default();
    let name = name.strip_prefix('#').unwrap_or(name);
    name.len() < rest.len() && !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Returns `true` for characters that are neither white space nor ASCII punctuation.
fn is_word(c: char) -> bool {
    !c.is_whitespace() && !c.is_ascii_punctuation()
}
