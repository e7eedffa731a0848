//! Name and attributes of the tag that is being parsed.

/// Maximum length of a stored tag or attribute name, in bytes; all known names are shorter.
const MAX_NAME_BYTES: usize = 32;

/// Maximum length of a stored attribute value, in bytes.
const MAX_VALUE_BYTES: usize = 64 * 1024;

/// Attributes evaluated by the parser.
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

/// An evaluated attribute, as an index into [`NAMES`].
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

/// Attributes of a single tag. If an attribute is duplicated, the first one is used.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    values: [Option<Vec<u8>>; NAMES.len()],
    name: Name,
    current: Option<usize>,
    is_empty: bool,
}

impl Attributes {
    pub(super) fn clear(&mut self) {
        // Most tags have no evaluated attributes, so nothing needs to be cleared.
        if !self.is_empty {
            self.values.fill(None);
            self.is_empty = true;
        }
        self.name.clear();
        self.current = None;
    }

    pub(super) fn begin(&mut self) {
        self.end();
    }

    pub(super) fn push_name(&mut self, part: &[u8]) {
        self.name.push(part);
    }

    /// Starts the value of the attribute whose name was just read.
    pub(super) fn begin_value(&mut self) {
        self.current = None;
        // XHTML sets the language with `xml:lang`, and SVG sets links with `xlink:href`.
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

    /// Ends an attribute, which may or may not have a value.
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

    /// Returns an attribute's value, with white space at both ends removed.
    pub(super) fn value(&self, attribute: Attribute) -> Option<String> {
        let value = String::from_utf8_lossy(self.bytes(attribute)?);
        Some(value.trim_matches(is_html_space).to_owned())
    }

    /// Returns an attribute's value unchanged if it is valid UTF-8.
    pub(super) fn text(&self, attribute: Attribute) -> Option<&str> {
        str::from_utf8(self.bytes(attribute)?).ok()
    }

    /// Returns an attribute's value in lower case.
    pub(super) fn lower(&self, attribute: Attribute) -> Option<String> {
        self.value(attribute)
            .map(|value| value.to_ascii_lowercase())
    }

    fn bytes(&self, attribute: Attribute) -> Option<&[u8]> {
        self.values.get(attribute as usize)?.as_deref()
    }
}

/// Returns `true` if HTML treats a character as white space.
pub(super) fn is_html_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0C')
}

/// Name of a tag or attribute; names that exceed the length limit are treated as empty.
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
