//! JSON or YAML of which nothing is known beforehand.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::registry::text::{clean, starts_with_ignore_case};

/// Value of any shape, in the order of its file; wrong shapes are data too.
///
/// A published list is changed by many hands: one number in place of a string
/// must not hide the other records.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Nothing,
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Value {
    /// Reads JSON, whatever its encoding.
    pub(super) fn from_json(bytes: &[u8]) -> Result<Self, String> {
        // RFC 8259 §8.1 forbids the mark to writers, and allows readers to ignore it.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = crate::registry::text::decode(bytes);
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    /// Returns the text, or an empty one for any other shape.
    pub(super) fn as_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Nothing | Self::List(_) | Self::Map(_) => "",
        }
    }

    /// Returns the value of a key, or nothing.
    pub(super) fn field(&self, key: &str) -> &Self {
        match self {
            Self::Map(fields) => fields
                .iter()
                .find(|(name, _)| name == key)
                .map_or(&Self::Nothing, |(_, value)| value),
            Self::Nothing | Self::Text(_) | Self::List(_) => &Self::Nothing,
        }
    }

    /// Returns the values of a list, none for any other shape.
    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Nothing | Self::Text(_) | Self::Map(_) => &[],
        }
    }

    /// Returns the name of its kind.
    pub(super) fn shape(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Text(_) => "a single value",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyShape)
    }
}

struct AnyShape;

impl<'de> Visitor<'de> for AnyShape {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Deserialize::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<Self::Value>()? {
            // YAML has keys of every shape, but no format that is read here has other keys than
            // text.
            match key {
                Value::Text(key) => fields.push((key, map.next_value()?)),
                Value::Nothing | Value::List(_) | Value::Map(_) => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Value::Map(fields))
    }
}

/// Bytes of the longest URL that is kept.
const MAX_URL_BYTES: usize = 2048;

/// Returns the first `http:` or `https:` URL in a text.
pub(super) fn first_url(text: &str) -> Option<String> {
    let text = clean(text);
    text.split(|c: char| c.is_whitespace() || "<>\"'`\\()[]{}".contains(c))
        // At the end these belong to the sentence around the URL.
        .map(|word| word.trim_end_matches(['.', ',', ';', ':', '!', '?']))
        .find_map(url_at_the_end)
}

/// Returns the longest URL that ends a word.
fn url_at_the_end(word: &str) -> Option<String> {
    // In lower case once for the whole word: it can have many beginnings that are none of a URL.
    let lower = word.to_ascii_lowercase();
    let mut ends = lower
        .match_indices("http")
        .filter_map(|(at, _)| word.get(at..));
    ends.find(|url| is_http(url)).map(str::to_owned)
}

/// Returns the text of a Markdown link, or the text itself.
pub(super) fn link_text(text: &str) -> &str {
    text.trim()
        .strip_prefix('[')
        .and_then(|text| text.split_once("]("))
        .map_or(text.trim(), |(name, _)| name)
}

fn is_http(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        starts_with_ignore_case(url, scheme)
            && url
                .get(scheme.len()..)
                .is_some_and(|host| host.starts_with(char::is_alphanumeric))
    }) && url.len() <= MAX_URL_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_url_of_a_text_is_found() {
        let found = |text| first_url(text).unwrap_or_default();
        assert_eq!(
            found("[Acme](https://acme.example/about)"),
            "https://acme.example/about"
        );
        assert_eq!(
            found("See http: or HTTP://acme.example/x?y=1."),
            "HTTP://acme.example/x?y=1"
        );
        assert_eq!(found("https://acme.example"), "https://acme.example");
        assert_eq!(
            first_url("javascript:alert(1) http https:// http:///x"),
            None
        );
    }

    #[test]
    fn words_that_begin_no_url_are_looked_at_once() {
        // It would take minutes if each one had the rest of the text copied or searched.
        for (word, bytes) in [("http", 0), ("http ", 0), ("http://a", MAX_URL_BYTES)] {
            let found = first_url(&word.repeat((1 << 20) / word.len()));
            assert_eq!(found.map_or(0, |url| url.len()), bytes, "{word:?}");
        }
        let text = format!("{} https://acme.example/.", "http".repeat(1 << 18));
        assert_eq!(first_url(&text).as_deref(), Some("https://acme.example/"));
    }

    #[test]
    fn the_longest_url_that_is_kept_has_2_kib() {
        let longest = format!("http://{}", "a".repeat(MAX_URL_BYTES - 7));
        assert_eq!(first_url(&format!("({longest}...)")), Some(longest.clone()));
        assert_eq!(first_url(&format!("{longest}a")), None);
        let inner = format!("{}http://acme.example", "a".repeat(MAX_URL_BYTES));
        let found = first_url(&format!("http://{inner}"));
        assert_eq!(found.as_deref(), Some("http://acme.example"));
    }

    #[test]
    fn a_link_has_a_text() {
        assert_eq!(link_text("[Acme](https://acme.example)"), "Acme");
        assert_eq!(link_text(" Acme "), "Acme");
    }
}
