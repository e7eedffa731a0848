//! HTML pages, parsed in one pass.

use url::Url;

use super::{
    fold::shorten,
    reader,
    structure::{Container, Span},
};

/// A parsed HTML page.
///
/// A page stores at most 10,000 links, 50,000 blocks and 1,000 META tags. Its text is what a reader
/// sees, without scripts, styles, templates, SVG, `<noscript>`, form control values, and elements
/// with `hidden`, `display:none`, `aria-hidden="true"` or `data-nosnippet`. Character references
/// are decoded, and inline elements are joined as displayed (`<b>a</b>b` becomes `ab`).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Page {
    /// Text of `<title>`, with white space folded; `None` if empty.
    pub title: Option<String>,
    /// META tags that have a `name`, `property` or `http-equiv` attribute, in document order.
    pub metas: Vec<Meta>,
    /// Value of `href` in the first `<base>` element.
    pub base: Option<String>,
    /// Value of `lang` in the `<html>` element.
    pub language: Option<String>,
    /// Value of `href` in the `<link rel=canonical>` element.
    pub canonical: Option<String>,
    /// Publication date, as written on the page; see [`Moment`](super::Moment).
    pub published: Option<String>,
    /// Modification date, as written on the page; see [`Moment`](super::Moment).
    pub modified: Option<String>,
    /// Links on the page as written, in document order.
    pub links: Vec<Link>,
    /// Visible headings and paragraphs, in document order.
    pub blocks: Vec<Block>,
    /// Whether the page contains a visible password field.
    pub asks_password: bool,
    /// Lists, tables and other containers of the blocks.
    pub(super) containers: Vec<Container>,
}

/// A META tag of an HTML page.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Meta {
    /// Name of the META tag, in lower case.
    pub name: String,
    /// Content of the META tag, with character references decoded.
    pub content: String,
    /// Whether the tag has an `http-equiv` attribute instead of a name.
    pub is_http_equiv: bool,
}

/// A link from an HTML page to another resource.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Link {
    /// URL of the link as written, with white space at both ends removed.
    pub url: String,
    /// Kind of the element that contains the link.
    pub kind: LinkKind,
    /// Whether the link's `rel` contains `nofollow`.
    pub is_nofollow: bool,
    /// Language of the link target (`hreflang`), in lower case.
    pub language: Option<String>,
    /// Media type of the link target (`type`), in lower case.
    pub media_type: Option<String>,
}

/// Kind of the element or tag that contains a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum LinkKind {
    /// An `<a>` or `<area>` element.
    Anchor,
    /// A `<frame>` or `<iframe>` element.
    Frame,
    /// A `<link>` element that refers to another page: next, prev, alternate, contents and the
    /// like.
    Relation,
    /// A META refresh to another URL.
    Refresh,
}

/// A block of visible text, verbatim. White space is significant only in code.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Block {
    /// Text of the block; empty if the block contains only pictures.
    pub text: String,
    /// Kind of the block.
    pub kind: BlockKind,
    /// Part of the page that contains the block.
    pub place: PagePart,
    /// Number of the block's container, starting at 1.
    pub(super) container: u32,
    /// Styles, pictures and line breaks in the text.
    pub(super) spans: Vec<Span>,
    /// Programming language of a code block.
    pub(super) language: String,
}

/// Kind of a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BlockKind {
    /// A heading, `<h1>` to `<h6>`, with its level.
    Heading(u8),
    /// Text in which white space is significant: `<pre>` and similar elements.
    Code,
    /// Any other text, such as a paragraph, a table cell or a list item.
    Text,
}

/// Part of an HTML page, such as the main content or the navigation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PagePart {
    /// The main part: `<main>` or `role=main`.
    Main,
    /// An article outside the main part: `<article>` or `role=article`.
    Article,
    /// The rest of the page, which belongs to no particular part.
    Body,
    /// Boilerplate: `<nav>`, `<aside>`, the page's `<header>` and `<footer>`, and elements with a
    /// corresponding role or with a class such as `breadcrumbs` or `navbar`.
    Around,
}

impl Page {
    /// Parses any text as HTML, in time proportional to its length.
    pub fn read(html: &str) -> Self {
        reader::read(html, false)
    }

    /// Parses a page of type `application/xhtml+xml`, in which `<script/>` is a complete element.
    ///
    /// In all other respects, this works like [`Self::read`]; in particular, errors are tolerated.
    pub fn read_xhtml(xhtml: &str) -> Self {
        reader::read(xhtml, true)
    }

    /// Returns the base URL of the page's links: the URL in `<base>`, or else the page's own URL.
    ///
    /// A page from a server cannot set a base URL with the scheme `file:`.
    pub fn base_url(&self, own: &Url) -> Url {
        let base = self.base.as_deref().and_then(|base| own.join(base).ok());
        let is_allowed =
            |base: &Url| matches!(base.scheme(), "http" | "https") || base.scheme() == own.scheme();
        base.filter(is_allowed).unwrap_or_else(|| own.clone())
    }

    /// Returns the content of the first META tag with the given name, which must be in lower case.
    ///
    /// A `property` attribute is treated like `name`; `http-equiv` is not.
    pub fn meta(&self, name: &str) -> Option<&str> {
        let mut named = self.metas.iter().filter(|meta| !meta.is_http_equiv);
        let found = named.find(|meta| meta.name == name)?;
        Some(&found.content)
    }

    /// Returns all text of the page, one line per block.
    pub fn text(&self) -> String {
        join(self.blocks.iter())
    }

    /// Returns the beginning of the page's text without headings, one line per block, truncated to
    /// whole words.
    ///
    /// Text is taken from the main part if the page has one. Navigation, headers and footers are
    /// skipped unless the page has no other text.
    pub fn first_text(&self, max_chars: usize) -> String {
        self.first(max_chars, |block| block.kind == BlockKind::Text)
    }

    /// Returns the beginning of the page's text like [`Self::first_text`], but includes headings.
    pub fn first_text_and_headings(&self, max_chars: usize) -> String {
        self.first(max_chars, |_| true)
    }

    /// Returns the table of contents: the level and text of each heading, down to the given level.
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
            // One more character than requested shows whether the last word is complete.
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

/// Returns the total length of the blocks' text, with one line break after each block.
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
