//! Names and attributes of the tag that is being read.

/// Bytes of a tag's or an attribute's name that are kept: more than any that counts.
const MAX_NAME_BYTES: usize = 32;

/// Bytes of an attribute's value that are kept.
const MAX_VALUE_BYTES: usize = 64 * 1024;

/// Attributes that count.
const NAMES: [&[u8]; 24] = [
    b"href",
    b"src",
    b"content",
    b"name",
    b"property",
    b"http-equiv",
    b"rel",
    b"type",
    b"lang",
    b"hidden",
    b"style",
    b"role",
    b"open",
    b"class",
    b"aria-hidden",
    b"data-nosnippet",
    b"alt",
    b"start",
    b"colspan",
    b"rowspan",
    b"id",
    b"hreflang",
    b"itemprop",
    b"datetime",
];

/// Attribute that counts, by its place among the names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attribute {
    Href,
    Src,
    Content,
    Name,
    Property,
    HttpEquiv,
    Rel,
    Type,
    Lang,
    Hidden,
    Style,
    Role,
    Open,
    Class,
    AriaHidden,
    NoSnippet,
    Alt,
    Start,
    ColSpan,
    RowSpan,
    Id,
    HrefLang,
    ItemProp,
    DateTime,
}

/// Attributes of one tag; of one that stands twice, the first counts.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    values: [Option<Vec<u8>>; NAMES.len()],
    name: Name,
    current: Option<usize>,
    is_empty: bool,
}

impl Attributes {
    pub(super) fn clear(&mut self) {
        // Most tags have no attribute that counts, and nothing to be cleared.
        if !self.is_empty {
            self.values.fill(None);
            self.is_empty = true;
        }
        self.name.clear();
        self.current = None;
    }

    /// Begins an attribute.
    pub(super) fn begin(&mut self) {
        self.end();
    }

    pub(super) fn push_name(&mut self, part: &[u8]) {
        self.name.push(part);
    }

    /// Begins the value of the attribute whose name is there.
    pub(super) fn begin_value(&mut self) {
        self.current = None;
        // So XHTML names a language, and SVG a link.
        let name = match self.name.as_bytes() {
            b"xml:lang" => b"lang",
            b"xlink:href" => b"href",
            name => name,
        };
        let Some(at) = NAMES.iter().position(|known| *known == name) else {
            return;
        };
        if let Some(value @ None) = self.values.get_mut(at) {
            *value = Some(Vec::new());
            self.current = Some(at);
            self.is_empty = false;
        }
    }

    pub(super) fn push_value(&mut self, part: &[u8]) {
        let value = self.current.and_then(|at| self.values.get_mut(at));
        if let Some(Some(value)) = value {
            let room = MAX_VALUE_BYTES.saturating_sub(value.len());
            value.extend_from_slice(part.get(..room).unwrap_or(part));
        }
    }

    /// Ends an attribute, also one without a value.
    pub(super) fn end(&mut self) {
        if self.current.is_none() && !self.name.as_bytes().is_empty() {
            self.begin_value();
        }
        self.current = None;
        self.name.clear();
    }

    pub(super) fn has(&self, attribute: Attribute) -> bool {
        self.bytes(attribute).is_some()
    }

    /// Returns a value, white space at its ends taken off.
    pub(super) fn value(&self, attribute: Attribute) -> Option<String> {
        let value = String::from_utf8_lossy(self.bytes(attribute)?);
        Some(value.trim_matches(is_html_space).to_owned())
    }

    /// Returns a value as it stands there, if it is UTF-8.
    pub(super) fn text(&self, attribute: Attribute) -> Option<&str> {
        str::from_utf8(self.bytes(attribute)?).ok()
    }

    /// Returns a value in lower case.
    pub(super) fn lower(&self, attribute: Attribute) -> Option<String> {
        self.value(attribute)
            .map(|value| value.to_ascii_lowercase())
    }

    fn bytes(&self, attribute: Attribute) -> Option<&[u8]> {
        self.values.get(attribute as usize)?.as_deref()
    }
}

/// Returns `true` if HTML takes a character for white space.
pub(super) fn is_html_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0C')
}

/// Name of a tag or an attribute; one that is too long is no name at all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Name {
    bytes: [u8; MAX_NAME_BYTES],
    length: usize,
}

impl Name {
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    pub(super) fn push(&mut self, part: &[u8]) {
        let end = self.length.saturating_add(part.len());
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(part);
        }
        self.length = end;
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}
