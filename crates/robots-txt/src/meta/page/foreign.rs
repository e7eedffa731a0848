//! Tracking of the elements around a tag that change its meaning.

use html5gum::State;

/// The maximum number of nested elements that are tracked; more deeply nested elements are ignored.
const MAX_DEPTH: usize = 100;

/// The open elements that change the meaning of the tags inside them.
///
/// To limit memory and time, no tree is built. Only the beginnings and ends of SVG, of `MathML`, of
/// HTML inside SVG or `MathML`, and of templates are tracked. The content of templates is not part
/// of the page.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    open: Vec<Open>,
    templates: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Open {
    Svg,
    Math,
    /// The name of an SVG or `MathML` element that contains HTML.
    Island(&'static [u8]),
    Template,
}

/// The SVG elements that contain HTML (WHATWG HTML §13.2.6.5, integration points).
const SVG_ISLANDS: [&[u8]; 3] = [b"foreignobject", b"desc", b"title"];

/// The `MathML` elements that contain HTML.
const MATH_ISLANDS: [&[u8]; 5] = [b"mi", b"mo", b"mn", b"ms", b"mtext"];

/// The HTML elements that end surrounding SVG and `MathML` elements (WHATWG HTML §13.2.6.5).
const BREAKING_OUT: [&[u8]; 44] = [
    b"b",
    b"big",
    b"blockquote",
    b"body",
    b"br",
    b"center",
    b"code",
    b"dd",
    b"div",
    b"dl",
    b"dt",
    b"em",
    b"embed",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"head",
    b"hr",
    b"i",
    b"img",
    b"li",
    b"listing",
    b"menu",
    b"meta",
    b"nobr",
    b"ol",
    b"p",
    b"pre",
    b"ruby",
    b"s",
    b"small",
    b"span",
    b"strong",
    b"strike",
    b"sub",
    b"sup",
    b"table",
    b"tt",
    b"u",
    b"ul",
    b"var",
];

impl Surroundings {
    /// Returns `true` if the next tag is not an HTML tag.
    pub(super) fn is_foreign(&self) -> bool {
        matches!(self.open.last(), Some(Open::Svg | Open::Math))
    }

    /// Returns `true` if the next tag is part of a template, not of the page.
    pub(super) fn is_in_template(&self) -> bool {
        self.templates > 0
    }

    /// Processes a start tag; returns the tokenizer state for the text that follows.
    pub(super) fn start(&mut self, name: &[u8], is_self_closing: bool) -> Option<State> {
        if self.is_foreign() && BREAKING_OUT.contains(&name) {
            while self.is_foreign() {
                self.open.pop();
            }
        }
        match self.open.last() {
            Some(Open::Svg) if !is_self_closing => self.push_in(name, &SVG_ISLANDS),
            Some(Open::Math) if !is_self_closing => self.push_in(name, &MATH_ISLANDS),
            Some(Open::Svg | Open::Math) => {}
            Some(Open::Island(_) | Open::Template) | None => {
                match name {
                    b"svg" if !is_self_closing => self.push(Open::Svg),
                    b"math" if !is_self_closing => self.push(Open::Math),
                    b"template" => self.push(Open::Template),
                    _ => {}
                }
                // In SVG and `MathML`, even `<title>` and `<script>` contain markup, not text.
                return text_state(name);
            }
        }
        None
    }

    /// Processes an end tag, which may end an open element.
    pub(super) fn end(&mut self, name: &[u8]) {
        match (name, self.open.last()) {
            (b"template", _) if self.templates > 0 => {
                while self.open.pop_if(|open| *open != Open::Template).is_some() {}
                self.open.pop();
                self.templates -= 1;
            }
            // WHATWG HTML §13.2.6.5: these two end tags also end surrounding SVG and `MathML`
            // elements.
            (b"p" | b"br", _) => {
                while self.is_foreign() {
                    self.open.pop();
                }
            }
            (b"svg", Some(Open::Svg)) | (b"math", Some(Open::Math)) => {
                self.open.pop();
            }
            (_, Some(Open::Island(island))) if *island == name => {
                self.open.pop();
            }
            _ => {}
        }
    }

    fn push_in(&mut self, name: &[u8], islands: &[&'static [u8]]) {
        match (name, islands.iter().find(|island| **island == name)) {
            (b"svg", _) => self.push(Open::Svg),
            (b"math", _) => self.push(Open::Math),
            (_, Some(island)) => self.push(Open::Island(island)),
            _ => {}
        }
    }

    fn push(&mut self, open: Open) {
        if self.open.len() < MAX_DEPTH {
            self.templates += usize::from(open == Open::Template);
            self.open.push(open);
        }
    }
}

/// Returns the tokenizer state for the content of an HTML element, if the content is not parsed as
/// usual.
///
/// `noscript` is parsed as usual, because robots run no scripts (WHATWG HTML §13.2.6.4.4, scripting
/// disabled).
fn text_state(name: &[u8]) -> Option<State> {
    match name {
        b"title" | b"textarea" => Some(State::RcData),
        b"style" | b"xmp" | b"iframe" | b"noembed" | b"noframes" => Some(State::RawText),
        b"script" => Some(State::ScriptData),
        b"plaintext" => Some(State::PlainText),
        _ => None,
    }
}
