//! JSON or YAML of which nothing is known beforehand.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

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
