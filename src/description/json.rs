//! Descriptions as JSON objects.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::Value;

use super::{Attribute, ResourceDescription};

/// Name that stands for the resource itself.
const URL: &str = "url";

/// Writes an object: `url`, then each attribute as a string, in order.
///
/// An attribute that is called `url` is left out.
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

/// Reads an object with a `url`; what is no string is kept as JSON, `null` left out.
impl<'de> Deserialize<'de> for ResourceDescription {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (url, description) = deserializer.deserialize_map(Object { url: None })?;
        url.map_or_else(
            || Err(de::Error::missing_field(URL)),
            |url| Ok(renamed(&description, url)),
        )
    }
}

/// Returns the attributes alone, as the database keeps them.
pub(crate) fn attributes_to_json(description: &ResourceDescription) -> String {
    struct Attributes<'d>(&'d [Attribute]);
    impl Serialize for Attributes<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|it| (it.name(), it.value())))
        }
    }
    serde_json::to_string(&Attributes(description.attributes()))
        .expect("a map of strings always fits into JSON")
}

/// Returns the description of a URL, its attributes as the database keeps them.
pub(crate) fn attributes_from_json(
    url: &str,
    json: &str,
) -> Result<ResourceDescription, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let object = Object {
        url: Some(url.to_owned()),
    };
    let (_, description) = deserializer.deserialize_map(object)?;
    deserializer.end()?;
    Ok(description)
}

/// Where the URL is given, `url` is an attribute like any other.
struct Object {
    url: Option<String>,
}

impl<'de> Visitor<'de> for Object {
    type Value = (Option<String>, ResourceDescription);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a resource description: an object with a `url`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let is_given = self.url.is_some();
        let mut description = ResourceDescription::new(self.url.unwrap_or_default());
        let mut url = None;
        while let Some(name) = map.next_key::<String>()? {
            let text = match map.next_value::<Value>()? {
                Value::Null => continue,
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

/// The URL may stand behind the attributes.
fn renamed(description: &ResourceDescription, url: String) -> ResourceDescription {
    let mut renamed = ResourceDescription::new(url);
    for attribute in description.attributes() {
        renamed.set(attribute.name(), attribute.value());
    }
    renamed
}
