//! HTML reader that builds a page tag by tag.

use std::convert::Infallible;

use html5gum::{Emitter, Error, State, Tokenizer};

use super::{
    around::BoilerplateTracker,
    attributes::{Attribute, Attributes, Name},
    dates::Dates,
    elements::{Element, Raw},
    fold::FoldedText,
    open::{OpenElements, Part, Traits},
    page::{Block, BlockKind, Page},
    structure::take_sign_off,
    structure::{Mark, Structure, style},
    tags::read_tag,
};

const MAX_BLOCKS: usize = 50_000;
/// Maximum length of an unclosed heading, in bytes; longer headings are treated as text.
const MAX_HEADING_BYTES: usize = 1_000;

mod traits;

use traits::{is_page, may_stand_around};

/// Parses a page; if `is_xhtml` is set, any element may be self-closing.
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
        text: FoldedText::default(),
        title: FoldedText::default(),
        structure: Structure::default(),
        around: BoilerplateTracker::default(),
        dates: Dates::default(),
    };
    // Reading from memory does not fail, and the emitter returns no tokens.
    let Ok(()) = Tokenizer::new_with_emitter(html.as_bytes(), reader).finish();
    page
}

/// Tokenizer callback that fills in a page.
struct Reader<'a> {
    page: &'a mut Page,
    is_xhtml: bool,
    open: OpenElements,
    tag: Name,
    is_end_tag: bool,
    is_self_closing: bool,
    last_start_tag: Name,
    attributes: Attributes,
    /// The open element, if its content is only text and no tags.
    raw: Option<Raw>,
    text: FoldedText,
    title: FoldedText,
    structure: Structure,
    around: BoilerplateTracker,
    dates: Dates,
}

impl Reader<'_> {
    fn start(&mut self) -> Option<State> {
        let name = self.tag;
        let element = match name.as_bytes() {
            // Browsers treat `<image>` as `<img>`.
            b"image" => Element::Void,
            name => Element::from_name(name),
        };
        self.close_to(self.open.ended_by(element, name.as_bytes()));
        // Closes an unclosed heading, unless the heading has no text yet.
        if let Some(depth) = self.open.heading_ended_by(element)
            && !self.text.is_empty()
        {
            self.close_to(depth);
        }
        if !self.open.is_in_template() {
            self.dates.tag(name.as_bytes(), &self.attributes);
            let links = self.page.links.len();
            read_tag(self.page, name.as_bytes(), &self.attributes);
            self.structure.has_new_link = self.page.links.len() > links;
            if let (b"a", Some(link)) = (name.as_bytes(), self.page.links.get(links)) {
                self.around
                    .link(&link.url, self.attributes.has(Attribute::HrefLang));
            }
            self.page.asks_password |= self.asks_for_password(name.as_bytes());
        }
        let is_foreign = self.open.is_foreign();
        // In HTML, a slash at the end of a tag has no meaning.
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
            Element::LineBreak if !self.open.is_hidden() => self.break_line(),
            Element::Void if name.as_bytes() == b"img" => self.image(),
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
        if !self.open.is_in_template() && self.is_structured_data() {
            self.dates.begin_json();
        }
    }

    fn open_element(&mut self, element: Element, name: &[u8]) {
        let traits = self.traits(name);
        let is_part = traits.part.is_some_and(Part::is_sure);
        let is_shown = !traits.is_hidden && !self.open.is_hidden();
        if is_shown && (element.is_block() || is_part) {
            // A block within a heading separates words but does not end the heading.
            if self.open.is_pre() && !is_part {
                self.text.break_line();
            } else if self.open.heading().is_some() && !is_part {
                self.text.space();
            } else {
                self.end_block();
            }
        }
        let depth = self.open.depth();
        if is_shown && may_stand_around(name) {
            self.around
                .begin(depth, self.page.blocks.len(), name, traits.part);
        }
        self.structure.note_language(depth, name, &self.attributes);
        self.structure.is_first_of_pre = matches!(name, b"pre" | b"listing");
        let around = self.open.container();
        let container = self.structure.container(name, &self.attributes, around);
        let style = style(name, self.open.style(), self.new_link());
        let traits = Traits {
            style,
            container,
            ..traits
        };
        self.open.push(element, name, traits);
    }

    /// Returns the number of the link that the current tag creates, or 0 if it creates none.
    fn new_link(&self) -> usize {
        if self.structure.has_new_link {
            self.page.links.len()
        } else {
            0
        }
    }

    /// Adds text in which white space is significant.
    fn push_code(&mut self, text: &[u8]) {
        let is_first = std::mem::take(&mut self.structure.is_first_of_pre);
        let text = match text.strip_prefix(b"\n") {
            Some(rest) if is_first => rest,
            _ => text,
        };
        self.text.push_verbatim(text);
    }

    fn break_line(&mut self) {
        if self.open.is_pre() {
            self.text.push_verbatim(b"\n");
        } else {
            self.structure.note(self.text.end(), Mark::Break);
            self.text.space();
        }
    }

    fn end(&mut self) {
        let name = self.tag;
        let name = name.as_bytes();
        if let Some(raw) = self.raw {
            self.end_raw(raw);
            self.raw = None;
            return;
        }
        let element = Element::from_name(name);
        match self.open.ended_by_end(element, name) {
            Some(depth) => self.close_to(depth),
            None => match element {
                Element::LineBreak if !self.open.is_hidden() => self.break_line(),
                // Browsers treat a stray `</p>` as an empty paragraph.
                Element::Paragraph if self.open.heading().is_none() && !self.open.is_hidden() => {
                    self.end_block();
                }
                Element::Void | Element::LineBreak | Element::Rule | Element::Raw(_) => {}
                _ => self.open.close_untracked(),
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
            Raw::Dropped(_) => self.dates.end_json(),
            Raw::Shown(_) => {}
        }
    }

    /// Closes the elements at or below `depth`, and ends the current block if one of them is a
    /// block.
    fn close_to(&mut self, depth: usize) {
        if self.open.has_part_from(depth) {
            self.end_block();
        } else if self.open.has_block_from(depth) {
            if self.open.is_pre_after(depth) {
                self.text.break_line();
            } else if self.open.heading_after(depth).is_some() {
                self.text.space();
            } else {
                self.end_block();
            }
        }
        if !self.open.is_pre_after(depth) {
            self.structure.truncate(depth);
        }
        self.around.end(depth, &mut self.page.blocks);
        self.open.truncate(depth);
    }

    fn end_block(&mut self) {
        let mut text = self.text.take();
        let is_code = self.open.is_pre() || matches!(self.raw, Some(Raw::Shown(_)));
        if is_code {
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
        }
        let is_nothing = if is_code {
            text.trim().is_empty()
        } else {
            text.is_empty() && !self.structure.has_image()
        };
        let mut spans = self.structure.take_spans();
        if is_nothing || self.page.blocks.len() >= MAX_BLOCKS {
            return;
        }
        let kind = match self.open.heading() {
            _ if is_code => BlockKind::Code,
            Some(level) if text.len() <= MAX_HEADING_BYTES => BlockKind::Heading(level),
            _ => BlockKind::Text,
        };
        let language = match kind {
            BlockKind::Code => self.structure.take_language(),
            BlockKind::Heading(_) | BlockKind::Text => String::new(),
        };
        if matches!(kind, BlockKind::Heading(_)) {
            take_sign_off(&mut text, &mut spans);
        }
        let block = Block {
            text,
            kind,
            place: self.open.page_part(),
            container: self.open.container(),
            spans,
            language,
        };
        self.around.block(&block);
        self.page.blocks.push(block);
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
            Some(Raw::Dropped(_)) => self.dates.push_json(text),
            _ if self.open.is_hidden() => {}
            Some(Raw::Shown(_)) => self.text.push_verbatim(text),
            _ if self.open.is_pre() => self.push_code(text),
            _ => {
                let (at, style) = (self.text.position(), self.open.style());
                self.structure.begin_text(at, style);
                self.text.push(text);
            }
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
        if let Some(raw) = self.raw {
            self.end_raw(raw);
            self.raw = None;
        }
        self.end_block();
        let title = self.page.title.as_deref().unwrap_or_default();
        self.around.finish(title, &mut self.page.blocks);
        [self.page.published, self.page.modified] = self.dates.take();
        self.page.containers = std::mem::take(&mut self.structure.containers);
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        let name = self.tag.as_bytes();
        self.is_end_tag && !name.is_empty() && name == self.last_start_tag.as_bytes()
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        // The tokenizer calls this before `<![CDATA[`, which is a comment only in HTML.
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
