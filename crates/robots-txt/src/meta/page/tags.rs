//! A search for the META tags of a page.

use std::convert::Infallible;

use html5gum::{Emitter, Error, State, Tokenizer};

use super::foreign::Surroundings;

/// The maximum length of a tag or attribute name that is stored; all relevant names are shorter.
const MAX_NAME_BYTES: usize = 32;

/// The maximum length of an attribute value that is stored.
const MAX_VALUE_BYTES: usize = 64 * 1024;

/// Calls `found` with the name and content of each META tag that has both.
///
/// Memory use is bounded regardless of the size of the page, and no tag is reported twice.
pub(super) fn each_meta_tag(html: &[u8], found: impl FnMut(&[u8], &[u8])) {
    let finder = Finder {
        found,
        surroundings: Surroundings::default(),
        tag: Name::default(),
        is_end_tag: false,
        is_self_closing: false,
        last_start_tag: Name::default(),
        attribute: Name::default(),
        target: None,
        name: None,
        content: None,
    };
    // Reading from memory cannot fail, and the emitter emits no tokens.
    let Ok(()) = Tokenizer::new_with_emitter(html, finder).finish();
}

/// An emitter for the tokenizer that stores the relevant parts of META tags.
struct Finder<F> {
    found: F,
    surroundings: Surroundings,
    tag: Name,
    is_end_tag: bool,
    is_self_closing: bool,
    last_start_tag: Name,
    attribute: Name,
    /// The current attribute, if it is `name` or `content`.
    target: Option<Target>,
    name: Option<Vec<u8>>,
    content: Option<Vec<u8>>,
}

#[derive(Clone, Copy)]
enum Target {
    Name,
    Content,
}

impl<F: FnMut(&[u8], &[u8])> Finder<F> {
    fn begin_tag(&mut self, is_end_tag: bool) {
        self.tag.clear();
        self.is_end_tag = is_end_tag;
        self.is_self_closing = false;
        self.attribute.clear();
        self.target = None;
        self.name = None;
        self.content = None;
    }

    /// Prepares to store the value of the current attribute if it is relevant and not repeated.
    fn begin_value(&mut self) {
        self.target = None;
        if self.is_end_tag || self.tag.as_bytes() != b"meta" {
            return;
        }
        let (target, value) = match self.attribute.as_bytes() {
            b"name" => (Target::Name, &mut self.name),
            b"content" => (Target::Content, &mut self.content),
            _ => return,
        };
        if value.is_none() {
            *value = Some(Vec::new());
            self.target = Some(target);
        }
    }

    /// Ends the current attribute, which may have no value.
    fn end_attribute(&mut self) {
        self.begin_value();
        self.target = None;
        self.attribute.clear();
    }
}

impl<F: FnMut(&[u8], &[u8])> Emitter for Finder<F> {
    type Token = Infallible;

    fn init_start_tag(&mut self) {
        self.begin_tag(false);
    }

    fn init_end_tag(&mut self) {
        self.begin_tag(true);
    }

    fn push_tag_name(&mut self, part: &[u8]) {
        self.tag.push(part);
    }

    fn init_attribute(&mut self) {
        self.end_attribute();
    }

    fn push_attribute_name(&mut self, part: &[u8]) {
        self.attribute.push(part);
    }

    fn init_attribute_value(&mut self) {
        self.begin_value();
    }

    fn push_attribute_value(&mut self, part: &[u8]) {
        let value = match self.target {
            Some(Target::Name) => &mut self.name,
            Some(Target::Content) => &mut self.content,
            None => return,
        };
        if let Some(value) = value {
            let room = MAX_VALUE_BYTES.saturating_sub(value.len());
            value.extend_from_slice(part.get(..room).unwrap_or(part));
        }
    }

    fn set_self_closing(&mut self) {
        self.is_self_closing = true;
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.end_attribute();
        let tag = self.tag.as_bytes();
        if self.is_end_tag {
            self.surroundings.end(tag);
            return None;
        }
        let state = self.surroundings.start(tag, self.is_self_closing);
        // The `meta` tag has just ended surrounding SVG and `MathML`, so it is never foreign here.
        if tag == b"meta"
            && !self.surroundings.is_in_template()
            && let (Some(name), Some(content)) = (&self.name, &self.content)
        {
            (self.found)(name, content);
        }
        self.last_start_tag = self.tag;
        state
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.is_end_tag && self.tag.is_same(&self.last_start_tag)
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.surroundings.is_foreign()
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}
    fn emit_eof(&mut self) {}
    fn emit_error(&mut self, _: Error) {}
    fn emit_string(&mut self, _: &[u8]) {}
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

/// The name of a tag or an attribute; empty if it is too long.
#[derive(Clone, Copy, Default)]
struct Name {
    bytes: [u8; MAX_NAME_BYTES],
    length: usize,
}

impl Name {
    fn clear(&mut self) {
        self.length = 0;
    }

    fn push(&mut self, part: &[u8]) {
        let end = self.length.saturating_add(part.len());
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(part);
        }
        // The length also grows when the buffer is full, which marks names that are too long.
        self.length = end;
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    fn is_same(&self, other: &Self) -> bool {
        !self.as_bytes().is_empty() && self.as_bytes() == other.as_bytes()
    }
}
