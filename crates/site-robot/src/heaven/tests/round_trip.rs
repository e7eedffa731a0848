//! Tests which check that a `CommonMark` parser reads the generated Markdown as the original tree.

use std::fmt::{Display, Write as _};

use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::content_tree::{Definition, Line, Piece, Run, Style, tests};
use crate::heaven::{
    Catalogue, HeavenSettings,
    catalogue::Site,
    files,
    markdown::pieces,
    markdown_line::{Target, is_like_definition},
};

/// Words of a line with their styles.
#[derive(Default)]
struct Words {
    all: Vec<(String, String)>,
}

impl Words {
    fn push(&mut self, text: &str, style: &str) {
        match self.all.last_mut() {
            Some((before, same)) if same == style => before.push_str(text),
            _ => self.all.push((text.to_owned(), style.to_owned())),
        }
    }

    fn take(&mut self) -> String {
        let all = std::mem::take(&mut self.all);
        let told = all.iter().map(|(text, style)| format!("{{{style}}}{text}"));
        told.collect()
    }
}

fn url(url: &str) -> String {
    Target(url).to_string().replace("&amp;", "&")
}

fn style_of(style: &Style) -> String {
    let link = style.link.as_ref().map(|link| url(&link.url));
    word(
        link.as_deref(),
        style.is_strong,
        style.is_emphasis,
        style.is_code,
    )
}

fn word(link: Option<&str>, strong: bool, emphasis: bool, code: bool) -> String {
    let mark = |is: bool, mark| if is { mark } else { "" };
    let (strong, emphasis, code) = (mark(strong, "s"), mark(emphasis, "e"), mark(code, "c"));
    format!("{}{strong}{emphasis}{code}", link.unwrap_or_default())
}

fn line_of(line: &Line, end: &str) -> String {
    let mut words = Words::default();
    for run in &line.runs {
        match run {
            Run::Text(text, style) => {
                let is_code = style.is_code && !is_like_definition(text, style);
                let style = Style {
                    is_code,
                    ..style.clone()
                };
                words.push(text, &style_of(&style));
            }
            Run::Image(source, alt, style) => {
                let style = Style {
                    is_code: false,
                    ..style.clone()
                };
                words.push(&format!("![{alt}]({})", url(source)), &style_of(&style));
            }
            Run::Break => words.push(end, ""),
        }
    }
    words.take()
}

fn of_tree(tree: &[Piece]) -> String {
    tree.iter().map(of_piece).collect()
}

fn of_piece(piece: &Piece) -> String {
    let paragraph = |line: &Line| {
        let text = if line.is_empty() { "" } else { "<p>" };
        format!("{text}{}", line_of(line, "\\"))
    };
    match piece {
        Piece::Heading(level, line) => format!("<h{level}>{}", line_of(line, " ")),
        Piece::Paragraph(line) => paragraph(line),
        Piece::Code { language, text } => format!("<code {language}>{text}\n"),
        Piece::Quote(inner) => format!("<q>{}</q>", of_tree(inner)),
        Piece::List { start, items } => {
            let start = start.map_or(String::new(), |start| format!(" {start}"));
            let mut out = format!("<list{start}>");
            for item in items {
                put(&mut out, format_args!("<li>{}", of_tree(item)));
            }
            out + "</list>"
        }
        Piece::Definitions(all) => {
            let mut out = "<list>".to_owned();
            let mut was_term = false;
            for (at, Definition { is_term, pieces }) in all.iter().enumerate() {
                if at == 0 || *is_term && !was_term {
                    out.push_str("<li>");
                }
                out.push_str(&of_tree(pieces));
                was_term = *is_term;
            }
            out + "</list>"
        }
        Piece::Table { caption, rows } => {
            let mut out = paragraph(caption) + "<table>";
            for row in rows {
                out.push_str("<tr>");
                for cell in row {
                    put(&mut out, format_args!("<td>{}", line_of(&cell.line, "\\")));
                }
            }
            out
        }
        Piece::Figure(inner, caption) => of_tree(inner) + &paragraph(caption),
    }
}

fn put(out: &mut String, what: impl Display) {
    write!(out, "{what}").unwrap();
}

/// Returns Markdown in the same notation, as interpreted by a `CommonMark` parser.
fn of_markdown(text: &str) -> String {
    let mut reading = Reading::default();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        reading.event(event);
    }
    reading.out
}

#[derive(Default)]
struct Reading {
    out: String,
    words: Words,
    links: Vec<String>,
    strong: u32,
    emphasis: u32,
    image: Option<(String, String)>,
    is_code: bool,
    has_paragraph: bool,
}

impl Reading {
    fn style(&self, code: bool) -> String {
        let link = self.links.last().map(String::as_str);
        word(link, self.strong > 0, self.emphasis > 0, code)
    }

    fn event(&mut self, event: Event<'_>) {
        let is_inline = matches!(
            event,
            Event::Text(_)
                | Event::Code(_)
                | Event::HardBreak
                | Event::Start(Tag::Strong | Tag::Emphasis | Tag::Link { .. } | Tag::Image { .. })
        );
        if is_inline && !self.has_paragraph && !self.is_code {
            // A line in a tight list.
            self.out.push_str("<p>");
            self.has_paragraph = true;
        }
        if let Event::Start(Tag::List(_) | Tag::Item) | Event::End(TagEnd::Item) = event {
            self.end_line();
        }
        match event {
            Event::Text(text) if self.is_code => self.out.push_str(&text),
            Event::Text(text) => match &mut self.image {
                Some((alt, _)) => alt.push_str(&text),
                None => self.words.push(&text, &self.style(false)),
            },
            Event::Code(text) => self.words.push(&text, &self.style(true)),
            Event::HardBreak => self.words.push("\\", ""),
            Event::InlineHtml(tag) if &*tag == "<br>" => self.words.push("\\", ""),
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            other => put(&mut self.out, format_args!("{other:?}")),
        }
    }

    fn end_line(&mut self) {
        self.out.push_str(&self.words.take());
        self.has_paragraph = false;
    }

    fn start(&mut self, tag: Tag<'_>) {
        self.has_paragraph |= matches!(tag, Tag::Paragraph | Tag::Heading { .. } | Tag::TableCell);
        match tag {
            Tag::Paragraph => self.out.push_str("<p>"),
            Tag::Heading { level, .. } => put(&mut self.out, format_args!("<{level}>")),
            Tag::BlockQuote(_) => self.out.push_str("<q>"),
            Tag::CodeBlock(CodeBlockKind::Fenced(language)) => {
                put(&mut self.out, format_args!("<code {language}>"));
                self.is_code = true;
            }
            Tag::List(Some(start)) => put(&mut self.out, format_args!("<list {start}>")),
            Tag::List(None) => self.out.push_str("<list>"),
            Tag::Item => self.out.push_str("<li>"),
            Tag::Table(_) => self.out.push_str("<table>"),
            Tag::TableHead | Tag::TableRow => self.out.push_str("<tr>"),
            Tag::TableCell => self.out.push_str("<td>"),
            Tag::Strong => self.strong += 1,
            Tag::Emphasis => self.emphasis += 1,
            Tag::Link { dest_url, .. } => self.links.push(dest_url.to_string()),
            Tag::Image { dest_url, .. } => {
                self.image = Some((String::new(), dest_url.to_string()));
            }
            other => put(&mut self.out, format_args!("{other:?}")),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::TableCell => self.end_line(),
            TagEnd::BlockQuote(_) => self.out.push_str("</q>"),
            TagEnd::CodeBlock => self.is_code = false,
            TagEnd::List(_) => self.out.push_str("</list>"),
            TagEnd::Strong => self.strong -= 1,
            TagEnd::Emphasis => self.emphasis -= 1,
            TagEnd::Link => drop(self.links.pop()),
            TagEnd::Image => {
                let (alt, source) = self.image.take().unwrap();
                let style = self.style(false);
                self.words.push(&format!("![{alt}]({source})"), &style);
            }
            _ => {}
        }
    }
}

fn markdown(tree: &[Piece]) -> String {
    let settings = HeavenSettings::new("https://a.example").unwrap();
    let catalogue = Catalogue::default();
    let site = Site {
        catalogue: &catalogue,
        settings: &settings,
    };
    pieces(tree, site)
}

/// Generates words and punctuation that could be mistaken for Markdown syntax.
fn text() -> impl Strategy<Value = String> {
    let words = prop::collection::vec("[a-c0-9.)(#>*_`\\[\\]<&;|~!:+=\\\\-]{1,4}", 1..5);
    words.prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn llms_txt_items_round_trip(title in text(), note in text()) {
        let mut line = String::new();
        files::link(&title, "https://a.example/b", &note, &mut line);
        let told = format!("<list><li><p>{{https://a.example/b}}{title}{{}}: {note}</list>");
        prop_assert_eq!(of_markdown(&line), told, "{}", line);
    }

    #[test]
    fn llms_txt_title_round_trips(name in text(), about in text()) {
        let settings = HeavenSettings::new("https://a.example").unwrap();
        let settings = settings.name(&name).summary(&about);
        let text = files::title(&settings);
        let told = format!("<h1>{{}}{name}<q><p>{{}}{about}</q>");
        prop_assert_eq!(of_markdown(&text), told, "{}", text);
    }

    #[test]
    fn markdown_round_trips_to_the_tree(tree in tests::pieces()) {
        let text = markdown(&tree);
        prop_assert_eq!(of_markdown(&text), of_tree(&tree), "{}", text);
    }

    #[test]
    fn line_round_trips(line in tests::line()) {
        let tree = [Piece::Paragraph(line)];
        let text = markdown(&tree);
        prop_assert_eq!(of_markdown(&text), of_tree(&tree), "{}", text);
    }
}
