//! One name and its value.

use std::borrow::Cow;

/// Bytes of a name that are kept.
const MAX_NAME_BYTES: usize = 128;

/// Attribute of a resource description.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attribute {
    name: String,
    value: String,
}

impl Attribute {
    /// Attribute of a name in its usual form.
    pub(super) fn new(name: Cow<'_, str>, value: String) -> Self {
        let name = name.into_owned();
        Self { name, value }
    }

    /// Returns the name, in lower case.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    pub(super) fn set(&mut self, value: String) {
        self.value = value;
    }

    pub(super) fn into_value(self) -> String {
        self.value
    }
}

/// Returns a name in its usual form, such as SOIF can hold: lower case, `-` for odd characters.
///
/// Letters and digits of ASCII stay, and `-`, `_`, `.` and `:` do. The first
/// 128 bytes count.
pub(super) fn usual_name(name: &str) -> Cow<'_, str> {
    let name = name.trim();
    let is_usual = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_.:".contains(&c);
    // Nearly all names are ours and usual already: looking one up copies nothing.
    if name.len() <= MAX_NAME_BYTES && name.bytes().all(is_usual) {
        return Cow::Borrowed(name);
    }
    let usual = |c: char| match c.to_ascii_lowercase() {
        c if u8::try_from(c).is_ok_and(is_usual) => c,
        _ => '-',
    };
    Cow::Owned(name.chars().take(MAX_NAME_BYTES).map(usual).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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
