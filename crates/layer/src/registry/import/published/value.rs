//! JSON or YAML values without a fixed schema.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::registry::text::{clean, starts_with_ignore_case};

/// A value of any type; entries remain in the order of the file.
///
/// Published lists have many authors: a number instead of a string in one record must not affect
/// the other records.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Nothing,
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Value {
    /// Parses JSON in any Unicode encoding.
    pub(super) fn from_json(bytes: &[u8]) -> Result<Self, String> {
        // RFC 8259 §8.1 forbids writing a byte order mark, but allows parsers to ignore the mark.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = crate::registry::text::decode(bytes);
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    /// Returns the text, or an empty text if the value has another type.
    pub(super) fn as_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Nothing | Self::List(_) | Self::Map(_) => "",
        }
    }

    /// Returns the value of a key, or `Nothing` if the key does not exist.
    pub(super) fn field(&self, key: &str) -> &Self {
        match self {
            Self::Map(fields) => fields
                .iter()
                .find(|(name, _)| name == key)
                .map_or(&Self::Nothing, |(_, value)| value),
            Self::Nothing | Self::Text(_) | Self::List(_) => &Self::Nothing,
        }
    }

    /// Returns the items of a list, or no items if the value has another type.
    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Nothing | Self::Text(_) | Self::Map(_) => &[],
        }
    }

    /// Returns the name of the value's type, such as "a list".
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
            // YAML allows keys of any type, but the formats parsed here have only text keys.
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

/// Maximum number of bytes in a stored URL.
const MAX_URL_BYTES: usize = 2048;

/// Returns the first `http:` or `https:` URL in a text.
pub(super) fn first_url(text: &str) -> Option<String> {
    let text = clean(text);
    text.split(|c: char| c.is_whitespace() || "<>\"'`\\()[]{}".contains(c))
        // At the end of a URL, these characters belong to the surrounding sentence.
        .map(|word| word.trim_end_matches(['.', ',', ';', ':', '!', '?']))
        .find_map(url_at_the_end)
}

/// Returns the longest URL that forms the end of a word.
fn url_at_the_end(word: &str) -> Option<String> {
    // The word is converted to lower case only once, because it may contain `http` many times.
    let lower = word.to_ascii_lowercase();
    let mut ends = lower
        .match_indices("http")
        .filter_map(|(at, _)| word.get(at..));
    ends.find(|url| is_http(url)).map(str::to_owned)
}

/// Returns the text of a Markdown link; a text that is not a link is returned unchanged.
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
    fn words_without_a_url_take_linear_time() {
        // The test takes minutes if the rest of the text is copied or searched at each word.
        for (word, bytes) in [("http", 0), ("http ", 0), ("http://a", MAX_URL_BYTES)] {
            let found = first_url(&word.repeat((1 << 20) / word.len()));
            assert_eq!(found.map_or(0, |url| url.len()), bytes, "{word:?}");
        }
        let text = format!("{} https://acme.example/.", "http".repeat(1 << 18));
        assert_eq!(first_url(&text).as_deref(), Some("https://acme.example/"));
    }

    #[test]
    fn the_maximum_length_of_a_url_is_2_kib() {
        let longest = format!("http://{}", "a".repeat(MAX_URL_BYTES - 7));
        assert_eq!(first_url(&format!("({longest}...)")), Some(longest.clone()));
        assert_eq!(first_url(&format!("{longest}a")), None);
        let inner = format!("{}http://acme.example", "a".repeat(MAX_URL_BYTES));
        let found = first_url(&format!("http://{inner}"));
        assert_eq!(found.as_deref(), Some("http://acme.example"));
    }

    #[test]
    fn the_text_of_a_link_is_returned() {
        assert_eq!(link_text("[Acme](https://acme.example)"), "Acme");
        assert_eq!(link_text(" Acme "), "Acme");
    }
}
