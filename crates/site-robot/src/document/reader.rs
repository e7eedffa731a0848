//! Reads a page tag by tag.

use std::convert::Infallible;

use html5gum::{Emitter, Error, State, Tokenizer};

use super::{
    attributes::{Attribute, Attributes, Name, is_html_space},
    elements::{Element, Raw},
    fold::Folded,
    open::{OpenElements, Part, Traits},
    page::{Block, BlockKind, Cell, Page},
    tags::take_in,
};

const MAX_BLOCKS: usize = 50_000;
/// Bytes beyond which a heading that nobody closes is text.
const MAX_HEADING_BYTES: usize = 1_000;

/// Reads a page; in XHTML any element may end as it begins.
pub(super) fn read(html: &str, is_xhtml: bool) -> Page {
    let mut page = Page::default();
    let reader = Reader {
        page: &mut page,
        is_xhtml,
        open: OpenElements::default(),
        tag: Name::default(),
        is_end_tag: false,
        is_self_closing: false,
        last_start_tag: Name::default(),
        attributes: Attributes::default(),
        raw: None,
        text: Folded::default(),
        title: Folded::default(),
        rows: 0,
        cells: 0,
    };
    // Reading from memory does not fail, and no tokens are emitted.
    let Ok(()) = Tokenizer::new_with_emitter(html.as_bytes(), reader).finish();
    page
}

/// Listener to the tokenizer that fills a page.
struct Reader<'a> {
    page: &'a mut Page,
    is_xhtml: bool,
    open: OpenElements,
    tag: Name,
    is_end_tag: bool,
    is_self_closing: bool,
    last_start_tag: Name,
    attributes: Attributes,
    /// Element that is open and has no tags in it.
    raw: Option<Raw>,
    text: Folded,
    title: Folded,
    /// Rows of tables so far, and the cells of the last.
    rows: u32,
    cells: u32,
}

impl Reader<'_> {
    fn start(&mut self) -> Option<State> {
        let name = self.tag;
        let element = match name.as_bytes() {
            // Those two are one to browsers.
            b"image" => Element::Void,
            name => Element::named(name),
        };
        self.close_to(self.open.ended_by(element, name.as_bytes()));
        // A heading that nobody closed, unless all its text is still to come.
        if let Some(depth) = self.open.heading_ended_by(element)
            && !self.text.is_empty()
        {
            self.close_to(depth);
        }
        if !self.open.is_in_template() {
            take_in(self.page, name.as_bytes(), &self.attributes);
            self.page.asks_password |= self.asks_password(name.as_bytes());
        }
        let is_foreign = self.open.is_foreign();
        // To HTML itself the slash at the end of a tag means nothing.
        let may_close = is_foreign || self.is_xhtml || element.is_foreign_root();
        if may_close && self.is_self_closing && !element.is_void() {
            if element.is_block() && !self.open.is_hidden() {
                self.end_block();
            }
            return None;
        }
        match element {
            Element::Raw(raw) if !is_foreign => {
                self.begin_raw(raw);
                return Some(raw.state());
            }
            Element::LineBreak if !self.open.is_hidden() => self.text.space(),
            Element::Rule if !self.open.is_hidden() => self.end_block(),
            Element::Void | Element::Rule | Element::LineBreak => {}
            _ if is_page(name.as_bytes()) => {}
            _ => self.open_element(element, name.as_bytes()),
        }
        None
    }

    fn begin_raw(&mut self, raw: Raw) {
        if matches!(raw, Raw::Shown(_)) && !self.open.is_hidden() {
            self.end_block();
        }
        self.raw = Some(raw);
    }

    fn open_element(&mut self, element: Element, name: &[u8]) {
        let traits = self.traits(name);
        let is_part = traits.part.is_some();
        let is_shown = !traits.is_hidden && !self.open.is_hidden();
        if is_shown && (element.is_block() || is_part) {
            // A block within a heading parts its words, and does not end it.
            if self.open.heading().is_some() && !is_part {
                self.text.space();
            } else {
                self.end_block();
            }
        }
        match element {
            Element::Row | Element::Table => {
                self.rows = self.rows.saturating_add(1);
                self.cells = 0;
            }
            Element::Cell => self.cells = self.cells.saturating_add(1),
            _ => {}
        }
        self.open.push(element, name, traits);
    }

    fn end(&mut self) {
        let name = self.tag;
        let name = name.as_bytes();
        if let Some(raw) = self.raw.take() {
            return self.end_raw(raw);
        }
        let element = Element::named(name);
        match self.open.ended_by_end(element, name) {
            Some(depth) => self.close_to(depth),
            None => match element {
                Element::LineBreak => self.text.space(),
                // An empty paragraph, to browsers.
                Element::Paragraph if self.open.heading().is_none() && !self.open.is_hidden() => {
                    self.end_block();
                }
                Element::Void | Element::Rule | Element::Raw(_) => {}
                _ => self.open.end_beyond(),
            },
        }
    }

    fn end_raw(&mut self, raw: Raw) {
        match raw {
            Raw::Title => {
                let title = self.title.take();
                let is_ours = self.page.title.is_none() && !self.open.is_in_template();
                if is_ours && !title.is_empty() {
                    self.page.title = Some(title);
                }
            }
            Raw::Shown(_) if !self.open.is_hidden() => self.end_block(),
            Raw::Shown(_) | Raw::Dropped(_) => {}
        }
    }

    /// Ends the elements from one on, and with a block its text.
    fn close_to(&mut self, depth: usize) {
        if self.open.has_part_from(depth) {
            self.end_block();
        } else if self.open.has_block_from(depth) {
            if self.open.heading_after(depth).is_some() {
                self.text.space();
            } else {
                self.end_block();
            }
        }
        self.open.truncate(depth);
    }

    fn end_block(&mut self) {
        let text = self.text.take();
        if text.is_empty() || self.page.blocks.len() >= MAX_BLOCKS {
            return;
        }
        let kind = match self.open.heading() {
            Some(level) if text.len() <= MAX_HEADING_BYTES => BlockKind::Heading(level),
            _ => BlockKind::Text,
        };
        let cell = Cell {
            row: self.rows,
            column: self.cells.saturating_sub(1),
        };
        self.page.blocks.push(Block {
            text,
            kind,
            place: self.open.place(),
            cell: self.open.is_in_cell().then_some(cell),
        });
    }

    fn traits(&self, name: &[u8]) -> Traits {
        let role = self.attributes.lower(Attribute::Role);
        let role = role.as_deref().unwrap_or_default();
        Traits {
            is_hidden: self.attributes.has(Attribute::Hidden)
                || self.is_kept_from_robots()
                || (name == b"dialog" && !self.attributes.has(Attribute::Open))
                || self
                    .attributes
                    .lower(Attribute::Style)
                    .is_some_and(|style| hides(&style)),
            is_section: matches!(name, b"section" | b"article" | b"main"),
            part: part_of(name, role).or_else(|| self.part_of_class(name)),
        }
    }
}

impl Reader<'_> {
    /// Returns `true` for a field for a password that is shown: many pages hide one for later.
    fn asks_password(&self, name: &[u8]) -> bool {
        name == b"input"
            && !self.open.is_hidden()
            && !self.traits(name).is_hidden
            && self.attributes.lower(Attribute::Type).as_deref() == Some("password")
    }

    /// Returns `true` for text that is not for assistive technology or snippets.
    ///
    /// Google reads `data-nosnippet` on `span`, `div` and `section` only; whoever writes it
    /// on another element wants the same, and what was published cannot be taken back.
    fn is_kept_from_robots(&self) -> bool {
        let is_silent = || {
            let hidden = self.attributes.lower(Attribute::AriaHidden);
            hidden.is_some_and(|hidden| hidden == "true")
        };
        self.attributes.has(Attribute::NoSnippet) || is_silent()
    }

    /// Returns the part of a page that an element is, by the usual names of classes.
    fn part_of_class(&self, name: &[u8]) -> Option<Part> {
        if !matches!(name, b"div" | b"ul" | b"ol" | b"p" | b"table") {
            return None;
        }
        let classes = self.attributes.lower(Attribute::Class)?;
        classes.split(is_html_space).find_map(|class| match class {
            "breadcrumb" | "breadcrumbs" | "navbar" | "navheader" | "navfooter" => {
                Some(Part::Around)
            }
            "footer" => Some(Part::Edge),
            _ => None,
        })
    }
}

impl Emitter for Reader<'_> {
    type Token = Infallible;

    fn init_start_tag(&mut self) {
        self.tag.clear();
        self.is_end_tag = false;
        self.is_self_closing = false;
        self.attributes.clear();
    }

    fn init_end_tag(&mut self) {
        self.init_start_tag();
        self.is_end_tag = true;
    }

    fn push_tag_name(&mut self, part: &[u8]) {
        self.tag.push(part);
    }

    fn init_attribute(&mut self) {
        self.attributes.begin();
    }

    fn push_attribute_name(&mut self, part: &[u8]) {
        self.attributes.push_name(part);
    }

    fn init_attribute_value(&mut self) {
        self.attributes.begin_value();
    }

    fn push_attribute_value(&mut self, part: &[u8]) {
        self.attributes.push_value(part);
    }

    fn set_self_closing(&mut self) {
        self.is_self_closing = true;
    }

    fn emit_string(&mut self, text: &[u8]) {
        match self.raw {
            Some(Raw::Title) => self.title.push(text),
            Some(Raw::Dropped(_)) => {}
            _ if self.open.is_hidden() => {}
            _ => self.text.push(text),
        }
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.attributes.end();
        if self.is_end_tag {
            self.end();
            return None;
        }
        self.last_start_tag = self.tag;
        self.start()
    }

    fn emit_eof(&mut self) {
        if let Some(raw) = self.raw.take() {
            self.end_raw(raw);
        }
        self.end_block();
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        let name = self.tag.as_bytes();
        self.is_end_tag && !name.is_empty() && name == self.last_start_tag.as_bytes()
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        // The tokenizer asks before `<![CDATA[`, which is a comment in HTML alone.
        self.is_xhtml || self.open.is_foreign()
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}
    fn emit_error(&mut self, _: Error) {}
    fn init_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn emit_current_comment(&mut self) {}
    fn init_doctype(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn set_force_quirks(&mut self) {}
    fn emit_current_doctype(&mut self) {}
}

/// Returns the part of a page that an element is, by its name and its role.
fn part_of(name: &[u8], role: &str) -> Option<Part> {
    match (name, role) {
        (b"nav" | b"aside", _)
        | (_, "navigation" | "banner" | "contentinfo" | "complementary" | "search") => {
            Some(Part::Around)
        }
        (b"main", _) | (_, "main") => Some(Part::Main),
        (b"article", _) | (_, "article") => Some(Part::Article),
        (b"header" | b"footer", "") => Some(Part::Edge),
        _ => None,
    }
}

/// Returns `true` if an element is the page itself: it has no end that counts.
fn is_page(name: &[u8]) -> bool {
    matches!(name, b"html" | b"head" | b"body" | b"frameset")
}

/// Returns `true` if a style, in lower case, takes its element out of sight.
fn hides(style: &str) -> bool {
    style.split(';').any(|rule| {
        let Some((name, value)) = rule.split_once(':') else {
            return false;
        };
        let value = value.trim().trim_end_matches("!important").trim_end();
        matches!(
            (name.trim(), value),
            ("display", "none") | ("visibility", "hidden" | "collapse")
        )
    })
}
