//! HTML pages, read in one pass.

use url::Url;

use super::{
    fold::shorten,
    reader,
    structure::{Container, Span},
};

/// HTML page, read once.
///
/// Of a page without end the first 10,000 links, 50,000 blocks and 1,000 META
/// tags are kept. Text is what a reader sees: scripts, styles, templates, SVG,
/// `<noscript>`, form controls' values, and elements with `hidden`, `display:none`,
/// `aria-hidden="true"` or `data-nosnippet` of their own have none. References are decoded; inline
/// elements are joined as they are shown (`<b>a</b>b` is `ab`).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Page {
    /// Text of `<title>`, white space folded; none when it is empty.
    pub title: Option<String>,
    /// META tags with a name, `property` or `http-equiv`, in order.
    pub metas: Vec<Meta>,
    /// `href` of the first `<base>`.
    pub base: Option<String>,
    /// `lang` of `<html>`.
    pub language: Option<String>,
    /// `href` of `<link rel=canonical>`.
    pub canonical: Option<String>,
    /// When it was published, as it says itself and as written; see [`Moment`](super::Moment).
    pub published: Option<String>,
    /// When it was changed, likewise.
    pub modified: Option<String>,
    /// Links as written, in order.
    pub links: Vec<Link>,
    /// Headings and paragraphs that a reader sees, in order.
    pub blocks: Vec<Block>,
    /// Whether it shows a field for a password.
    pub asks_password: bool,
    /// What blocks stand in.
    pub(super) containers: Vec<Container>,
}

/// META tag.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Meta {
    /// Name, in lower case.
    pub name: String,
    /// Content as written, references decoded.
    pub content: String,
    /// Whether it is an `http-equiv`.
    pub is_http_equiv: bool,
}

/// Link to another resource.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Link {
    /// URL as written, white space at its ends taken off.
    pub url: String,
    /// Where it stands.
    pub kind: LinkKind,
    /// Whether its `rel` holds `nofollow`.
    pub is_nofollow: bool,
    /// Language of what it leads to, as `hreflang` says, in lower case.
    pub language: Option<String>,
    /// Media type that its `type` names, in lower case.
    pub media_type: Option<String>,
}

/// Kind of element or tag that holds a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum LinkKind {
    /// `<a>` or `<area>`.
    Anchor,
    /// `<frame>` or `<iframe>`.
    Frame,
    /// `<link>` to another page: next, prev, alternate, contents and the like.
    Relation,
    /// META refresh.
    Refresh,
}

/// Piece of text, a verbatim part of what a reader sees; of code alone, lines and blanks count.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Block {
    /// The text; empty where there is nothing but pictures.
    pub text: String,
    /// Kind.
    pub kind: BlockKind,
    /// In which part of the page it stands.
    pub place: PagePart,
    /// Number of what it stands in, from 1.
    pub(super) container: u32,
    /// Styles, pictures and ends of lines in it.
    pub(super) spans: Vec<Span>,
    /// Language of code.
    pub(super) language: String,
}

/// Kind of a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BlockKind {
    /// `<h1>` to `<h6>`, by its level.
    Heading(u8),
    /// Text whose lines and blanks count: `<pre>` and the like.
    Code,
    /// Other text: a paragraph, a cell, an item of a list.
    Text,
}

/// Part of a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PagePart {
    /// `<main>`, `role=main`.
    Main,
    /// `<article>`, `role=article`, outside of the main part.
    Article,
    /// No part in particular.
    Body,
    /// Around the content: `<nav>`, `<aside>`, the page's `<header>` and `<footer>`, such a role,
    /// or a class that says so, as `breadcrumbs` and `navbar` do.
    Around,
}

impl Page {
    /// Reads a page: any text, in time proportional to its length.
    pub fn read(html: &str) -> Self {
        reader::read(html, false)
    }

    /// Reads a page of type `application/xhtml+xml`, where `<script/>` ends as it begins.
    ///
    /// Else as [`Self::read`]: a fault in it does no harm.
    pub fn read_xhtml(xhtml: &str) -> Self {
        reader::read(xhtml, true)
    }

    /// Returns the URL from which the page's links count: its `<base>`, else its own.
    ///
    /// A page from a server cannot make its links those of this machine's files.
    pub fn base_url(&self, own: &Url) -> Url {
        let base = self.base.as_deref().and_then(|base| own.join(base).ok());
        let is_allowed =
            |base: &Url| matches!(base.scheme(), "http" | "https") || base.scheme() == own.scheme();
        base.filter(is_allowed).unwrap_or_else(|| own.clone())
    }

    /// Returns the content of the first META tag of a name, given in lower case.
    ///
    /// `property` counts as a name, `http-equiv` does not.
    pub fn meta(&self, name: &str) -> Option<&str> {
        let mut named = self.metas.iter().filter(|meta| !meta.is_http_equiv);
        let found = named.find(|meta| meta.name == name)?;
        Some(&found.content)
    }

    /// Returns all text, a block a line.
    pub fn text(&self) -> String {
        join(self.blocks.iter())
    }

    /// Returns the first text that is no heading, a block a line, in whole words.
    ///
    /// Where the page marks its main part, that is where text is taken from;
    /// navigation, headers and footers are passed over unless there is nothing else.
    pub fn first_text(&self, max_chars: usize) -> String {
        self.first(max_chars, |block| block.kind == BlockKind::Text)
    }

    /// Returns the first text, headings included; else as [`Self::first_text`].
    pub fn first_text_and_headings(&self, max_chars: usize) -> String {
        self.first(max_chars, |_| true)
    }

    /// Returns level and text of each heading down to a level: the table of contents.
    pub fn headings(&self, max_level: u8) -> impl Iterator<Item = (u8, &str)> {
        let blocks = self.blocks.iter();
        blocks.filter_map(move |block| block.heading(max_level))
    }

    fn first(&self, max_chars: usize, wanted: impl Fn(&Block) -> bool) -> String {
        let places: [fn(PagePart) -> bool; 4] = [
            |place| place == PagePart::Main,
            |place| place == PagePart::Article,
            |place| place != PagePart::Around,
            |_| true,
        ];
        for fits in places {
            let blocks = self.blocks.iter().filter(|block| fits(block.place));
            let blocks = blocks.filter(|block| wanted(block) && !block.text.is_empty());
            let mut chars = 0;
            // A character more than wanted, so that it is known whether the last word ends there.
            let text = join(blocks.take_while(|block| {
                let goes_on = chars <= max_chars;
                chars += block.text.chars().count() + 1;
                goes_on
            }));
            if !text.is_empty() {
                return shorten(&text, max_chars).to_owned();
            }
        }
        String::new()
    }
}

fn join<'a>(blocks: impl Iterator<Item = &'a Block>) -> String {
    let blocks: Vec<&Block> = blocks.collect();
    let mut text = String::with_capacity(length(blocks.iter().copied()));
    for block in blocks {
        add_line(&mut text, &block.text);
    }
    text
}

/// Returns how long the text of blocks is, a line each.
fn length<'a>(blocks: impl Iterator<Item = &'a Block>) -> usize {
    blocks.map(|block| block.text.len() + 1).sum()
}

fn add_line(text: &mut String, line: &str) {
    if line.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}
