//! Resource descriptions as JSON objects.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::Value;

use super::{Attribute, ResourceDescription, name};

/// The JSON name of the resource's URL.
const URL: &str = "url";

/// The attributes that the database stores in separate columns: long texts that lists omit.
pub(crate) const TEXTS: [&str; 4] = [
    name::PARTIAL_TEXT,
    name::FULL_TEXT,
    name::TABLE_OF_CONTENTS,
    name::MARKS,
];

/// Serializes the description as an object: `url`, followed by each attribute as a string, in
/// order.
///
/// An attribute with the name `url` is omitted.
impl Serialize for ResourceDescription {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(URL, self.url())?;
        let others = |attribute: &&Attribute| attribute.name() != URL;
        for attribute in self.attributes().iter().filter(others) {
            map.serialize_entry(attribute.name(), attribute.value())?;
        }
        map.end()
    }
}

/// Deserializes an object with a `url`. Non-string values are stored as JSON text; `null` is
/// ignored.
impl<'de> Deserialize<'de> for ResourceDescription {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (url, description) = deserializer.deserialize_map(Object::default())?;
        url.map_or_else(
            || Err(de::Error::missing_field(URL)),
            |url| Ok(renamed(&description, url)),
        )
    }
}

/// Returns the attribute values that the database stores in separate columns.
pub(crate) fn stored_texts(description: &ResourceDescription) -> [Option<&str>; TEXTS.len()] {
    // Some databases cannot store NUL characters, so a text with NUL remains in the JSON column.
    TEXTS.map(|name| description.value(name).filter(|text| !text.contains('\0')))
}

/// Returns the attributes as JSON for the database, with `null` instead of each text that is stored
/// in a separate column.
pub(crate) fn attributes_to_json(
    description: &ResourceDescription,
    texts: &[Option<&str>; TEXTS.len()],
) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::new(&mut out);
    let is_apart = |name: &str| {
        let mut all = TEXTS.iter().zip(texts);
        all.any(|(known, text)| *known == name && text.is_some())
    };
    let attributes = description.attributes().iter().map(|attribute| {
        let name = attribute.name();
        (name, (!is_apart(name)).then(|| attribute.value()))
    });
    let written = serializer.collect_map(attributes);
    written.expect("a map of strings is valid JSON");
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Creates a description from a URL and the attributes stored in the database.
///
/// Texts that are stored in separate columns are included only if they are passed.
pub(crate) fn attributes_from_json(
    url: String,
    json: &str,
    texts: [Option<String>; TEXTS.len()],
) -> Result<ResourceDescription, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let object = Object {
        url: Some(url),
        texts,
    };
    let (_, description) = deserializer.deserialize_map(object)?;
    deserializer.end()?;
    Ok(description)
}

/// A deserializer for a resource description in a JSON object. If the URL is already set, a member
/// named `url` is treated as an ordinary attribute.
#[derive(Default)]
struct Object {
    url: Option<String>,
    /// The texts from separate columns, which replace `null` members.
    texts: [Option<String>; TEXTS.len()],
}

impl Object {
    /// Removes and returns the separately stored text of the attribute with the given name.
    fn take(&mut self, name: &str) -> Option<String> {
        let mut all = TEXTS.iter().zip(&mut self.texts);
        all.find(|(known, _)| **known == name)?.1.take()
    }
}

impl<'de> Visitor<'de> for Object {
    type Value = (Option<String>, ResourceDescription);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a resource description: an object with a `url`")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let is_given = self.url.is_some();
        let mut description = ResourceDescription::new(self.url.take().unwrap_or_default());
        let mut url = None;
        while let Some(name) = map.next_key::<String>()? {
            let text = match map.next_value::<Value>()? {
                Value::Null => match self.take(&name) {
                    Some(text) => text,
                    None => continue,
                },
                Value::String(text) => text,
                other => other.to_string(),
            };
            if name == URL && !is_given {
                url = Some(text);
            } else {
                description.set(&name, text);
            }
        }
        Ok((url, description))
    }
}

/// Returns a copy of a description with the given URL. In JSON, the URL may follow the attributes.
fn renamed(description: &ResourceDescription, url: String) -> ResourceDescription {
    let mut renamed = ResourceDescription::new(url);
    for attribute in description.attributes() {
        renamed.set(attribute.name(), attribute.value());
    }
    renamed
}
