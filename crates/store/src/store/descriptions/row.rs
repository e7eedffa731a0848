//! Conversion between descriptions and database rows.

use std::sync::Arc;

use moka::sync::Cache;
use sha2::{Digest, Sha256};

use super::{
    super::{StoreError, StoreErrorKind, error::DatabaseLocation, statement::Value},
    DescriptionCursor, DescriptionOrder,
};
use crate::description::{
    Attribute, ResourceDescription, TEXTS, attributes_from_json, attributes_to_json, name,
    stored_texts,
};

/// The maximum length of a sort key in bytes; `PostgreSQL` limits the size of index rows.
// The limit is 2,704 bytes, which includes the site's name and a URL of up to 2,000 bytes.
const KEY_BYTES: usize = 255;

/// The attributes that may change even if the resource has not changed.
const VOLATILE_ATTRIBUTES: [&str; 7] = [
    name::DEPTH,
    name::ETAG,
    name::EXPIRES,
    name::IP,
    name::LAST_MODIFIED,
    name::RD_EXPIRES,
    name::RD_LAST_MODIFIED,
];

/// A stored resource description, with its timestamps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoredDescription {
    /// The content of the resource description.
    pub description: ResourceDescription,
    /// The time when the resource was first described.
    pub first_seen_ms: i64,
    /// The time when the description last changed, not counting changes to its times and depth.
    pub modified_ms: i64,
}

impl StoredDescription {
    /// Returns the position after this description in the given order.
    pub fn cursor(&self, order: DescriptionOrder) -> DescriptionCursor {
        let description = &self.description;
        let key = match order {
            DescriptionOrder::Url => String::new(),
            DescriptionOrder::Title => title_key(description),
        };
        DescriptionCursor::behind(key, description.url())
    }
}

/// The size in bytes of the cache for descriptions recently read by visitors, over all sites.
const RECENT_BYTES: u64 = 32 * 1024 * 1024;

/// A cache of descriptions recently read by visitors, for use while the database is unavailable.
#[derive(Debug)]
pub(in crate::store) struct RecentDescriptions(pub(super) Cache<String, Arc<StoredDescription>>);

impl Default for RecentDescriptions {
    fn default() -> Self {
        let cache = Cache::builder().max_capacity(RECENT_BYTES);
        let weigh = |key: &String, found: &Arc<StoredDescription>| {
            u32::try_from(key.len() + found.description.value_bytes()).unwrap_or(u32::MAX)
        };
        Self(cache.weigher(weigh).build())
    }
}

pub(super) fn recent_key(site: &str, url: &str) -> String {
    format!("{site} {url}")
}

columns! {
    /// The row of a description, as read from the database.
    #[derive(Debug)]
    pub(super) struct ReadRow {
        url: String,
        first_seen_ms: i64,
        modified_ms: i64,
        attributes: String,
        partial_text: Option<String>,
        full_text: Option<String>,
        contents: Option<String>,
        marks: Option<String>,
    }
}

impl ReadRow {
    pub(super) fn into_stored(
        self,
        place: &DatabaseLocation,
    ) -> Result<StoredDescription, StoreError> {
        let texts = [self.partial_text, self.full_text, self.contents, self.marks];
        match attributes_from_json(self.url.clone(), &self.attributes, texts) {
            Ok(description) => Ok(StoredDescription {
                description,
                first_seen_ms: self.first_seen_ms,
                modified_ms: self.modified_ms,
            }),
            Err(error) => Err(StoreError::new(
                StoreErrorKind::Corrupt,
                format!(
                    "cannot read the resource description of {:?} in {place}: {error}; \
                     remove the row and run the site robot",
                    self.url
                ),
            )),
        }
    }
}

/// The row of a description, as written to the database.
#[derive(Debug)]
pub(super) struct WriteRow<'d> {
    pub(super) url: &'d str,
    pub(super) fingerprint: String,
    title: &'d str,
    md5: Option<&'d str>,
    title_key: String,
    depth_key: String,
    attributes: String,
    texts: [Option<&'d str>; TEXTS.len()],
}

impl<'d> WriteRow<'d> {
    pub(super) fn new(description: &'d ResourceDescription) -> Self {
        let texts = stored_texts(description);
        Self {
            url: description.url(),
            fingerprint: fingerprint(description),
            title: description.title(),
            md5: description.value(name::MD5),
            title_key: title_key(description),
            depth_key: depth_key(description),
            attributes: attributes_to_json(description, &texts),
            texts,
        }
    }

    /// Returns the values in the column order of the `INSERT` statement.
    pub(super) fn values(&self) -> [Value<'_>; 11] {
        let [partial_text, full_text, contents, marks] = self.texts;
        [
            self.url.into(),
            (&self.fingerprint).into(),
            self.title.into(),
            (&self.title_key).into(),
            (&self.depth_key).into(),
            Value::Text(self.md5),
            (&self.attributes).into(),
            Value::Text(partial_text),
            Value::Text(full_text),
            Value::Text(contents),
            Value::Text(marks),
        ]
    }
}

/// Returns the hexadecimal SHA-256 hash of all attributes except [`VOLATILE_ATTRIBUTES`].
fn fingerprint(description: &ResourceDescription) -> String {
    let mut hash = Sha256::new();
    let lasting = |attribute: &&Attribute| !VOLATILE_ATTRIBUTES.contains(&attribute.name());
    for attribute in description.attributes().iter().filter(lasting) {
        for part in [attribute.name(), attribute.value()] {
            // The length is hashed too, so that `ab`, `c` and `a`, `bc` differ.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    let digest = hash.finalize();
    hex::encode(digest)
}

fn title_key(description: &ResourceDescription) -> String {
    cut(&folded(description, name::TITLE).to_lowercase())
}

fn depth_key(description: &ResourceDescription) -> String {
    let depth = description
        .value(name::DEPTH)
        .and_then(|depth| depth.parse::<u32>().ok());
    depth.map_or_else(String::new, |depth| format!("{:05}", depth.min(99_999)))
}

/// Returns an attribute's value with white space collapsed, truncated to the maximum key length.
fn folded(description: &ResourceDescription, name: &str) -> String {
    let value = description.value(name).unwrap_or_default();
    let mut folded = String::new();
    for word in value.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
        if folded.len() > KEY_BYTES {
            break;
        }
    }
    cut(&folded)
}

/// Truncates a sort key at a character boundary, and removes NUL bytes as the database does.
fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(KEY_BYTES);
    text.get(..end).unwrap_or(text).replace('\0', "")
}
