//! Resource descriptions and their attributes.

use std::borrow::Cow;

use super::name;

/// The maximum number of attributes of a description; further attributes are ignored.
pub const MAX_ATTRIBUTES: usize = 1024;

/// The maximum total size of a description's values: 16 MiB.
pub const MAX_VALUE_BYTES: usize = 16 * 1024 * 1024;

/// The maximum length of an attribute name; longer names are truncated.
const MAX_NAME_BYTES: usize = 128;

/// A description of a single resource (RD), which consists of a URL and attributes.
///
/// Each attribute name has one value; attributes are stored in the order in which they were set.
/// Names are in lower case; characters that SOIF does not allow in names are replaced by `-`.
/// Attributes beyond [`MAX_ATTRIBUTES`] are ignored, and values beyond [`MAX_VALUE_BYTES`] are
/// truncated.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResourceDescription {
    url: String,
    attributes: Vec<Attribute>,
    value_bytes: usize,
}

/// An attribute of a resource description.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attribute {
    name: String,
    value: String,
}

impl ResourceDescription {
    /// Creates a description without attributes.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            attributes: Vec::new(),
            value_bytes: 0,
        }
    }

    /// Sets an attribute. An existing attribute with the same name is replaced and retains its
    /// position.
    ///
    /// The call is ignored if the name is empty.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        let name = usual_name(name);
        let known = self.position(&name);
        let is_full = self.attributes.len() >= MAX_ATTRIBUTES;
        let before = known.and_then(|at| self.attributes.get_mut(at));
        if name.is_empty() || before.is_none() && is_full {
            return;
        }
        let freed = before.as_ref().map_or(0, |it| it.value().len());
        let taken = self.value_bytes.saturating_sub(freed);
        let value = cut(value.into(), MAX_VALUE_BYTES.saturating_sub(taken));
        self.value_bytes = taken + value.len();
        match before {
            Some(attribute) => attribute.set(value),
            None => self.attributes.push(Attribute::new(name, value)),
        }
    }

    /// Removes an attribute and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        let at = self.position(&usual_name(name))?;
        let value = self.attributes.remove(at).into_value();
        self.value_bytes = self.value_bytes.saturating_sub(value.len());
        Some(value)
    }

    /// Returns the URL of the resource.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the value of an attribute; names are case-insensitive.
    pub fn value(&self, name: &str) -> Option<&str> {
        let at = self.position(&usual_name(name))?;
        self.attributes.get(at).map(Attribute::value)
    }

    /// Returns the title, or an empty string if the resource has none.
    pub fn title(&self) -> &str {
        self.value(name::TITLE).unwrap_or_default()
    }

    /// Returns the total size of all values in bytes.
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// Returns all attributes, in the order in which they were set.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn position(&self, name: &str) -> Option<usize> {
        let mut names = self.attributes.iter().map(Attribute::name);
        names.position(|known| known == name)
    }
}

impl Attribute {
    /// Creates an attribute from a normalized name.
    fn new(name: Cow<'_, str>, value: String) -> Self {
        let name = name.into_owned();
        Self { name, value }
    }

    /// Returns the attribute's name in lower case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the attribute's value.
    pub fn value(&self) -> &str {
        &self.value
    }

    fn set(&mut self, value: String) {
        self.value = value;
    }

    fn into_value(self) -> String {
        self.value
    }
}

/// Converts an attribute name to a form that SOIF allows: lower case, with `-` instead of
/// characters that are not allowed.
///
/// ASCII letters and digits, `-`, `_`, `.` and `:` remain unchanged. The name is truncated to 128
/// characters.
fn usual_name(name: &str) -> Cow<'_, str> {
    let name = name.trim();
    let is_usual = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_.:".contains(&c);
    // Nearly all names are constants in normalized form, which need no copy.
    if name.len() <= MAX_NAME_BYTES && name.bytes().all(is_usual) {
        return Cow::Borrowed(name);
    }
    let usual = |c: char| match c.to_ascii_lowercase() {
        c if u8::try_from(c).is_ok_and(is_usual) => c,
        _ => '-',
    };
    Cow::Owned(name.chars().take(MAX_NAME_BYTES).map(usual).collect())
}

/// Truncates a text to at most `max_bytes`, at a character boundary.
fn cut(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_beyond_the_limit_are_ignored() {
        let mut description = ResourceDescription::new("http://www.example.com/");
        for number in 0..2 * MAX_ATTRIBUTES {
            description.set(&format!("name-{number}"), "value");
        }
        description.set("name-0", "another");
        description.set(" ", "nothing");
        assert_eq!(description.attributes().len(), MAX_ATTRIBUTES);
        assert_eq!(description.value("NAME-0"), Some("another"));
    }

    #[test]
    fn values_beyond_the_limit_are_truncated_between_characters() {
        let mut description = ResourceDescription::new("http://www.example.com/");
        description.set("full-text", "ä".repeat(MAX_VALUE_BYTES));
        description.set("title", "cut away");
        assert_eq!(
            description.value("full-text").unwrap().len(),
            MAX_VALUE_BYTES
        );
        assert_eq!(description.title(), "");
        description.set("full-text", "short");
        description.set("title", "there");
        assert_eq!(description.remove("Full Text"), Some("short".to_owned()));
        assert_eq!(description.title(), "there");
        assert_eq!(description.value_bytes, "there".len());
    }

    #[test]
    fn odd_characters_of_a_name_become_hyphens() {
        for (name, usual) in [
            (" Content-Type ", "content-type"),
            ("og:title", "og:title"),
            ("a{5}:\tb\n@x", "a-5-:-b--x"),
            ("Autorité", "autorit-"),
            ("", ""),
        ] {
            assert_eq!(usual_name(name), usual, "{name:?}");
            assert_eq!(usual_name(usual), usual);
        }
        assert_eq!(usual_name(&"é".repeat(999)).len(), MAX_NAME_BYTES);
    }
}
