//! Pagination of lists with a limit and a cursor.

use std::cmp::Ordering;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};

use crate::{Invalid, Refusal};

/// Default number of entries on a page.
const LIMIT: usize = 100;

/// Maximum number of entries on a page.
pub const MAX_LIMIT: usize = 1_000;

/// The requested page of a list.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Paging {
    /// Maximum number of entries, from 1 to 1,000; 100 by default.
    #[serde(deserialize_with = "filled")]
    pub limit: Option<usize>,
    /// Cursor of the page: the value of `next` on the previous page.
    #[serde(deserialize_with = "filled")]
    pub cursor: Option<String>,
}

impl Paging {
    /// Returns the maximum number of entries on the page.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit is out of range.
    pub fn limit(&self) -> Result<usize, Refusal> {
        let limit = self.limit.unwrap_or(LIMIT);
        let message = || format!("must be a number from 1 to {MAX_LIMIT}");
        let is_right = (1..=MAX_LIMIT).contains(&limit);
        is_right
            .then_some(limit)
            .ok_or_else(|| Refusal::invalid("limit", message()))
    }

    /// Returns the key of the entry after which the page starts.
    ///
    /// # Errors
    ///
    /// Returns an error if the cursor belongs to another list.
    pub fn after<K: DeserializeOwned>(&self) -> Result<Option<K>, Refusal> {
        let Some(cursor) = &self.cursor else {
            return Ok(None);
        };
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
        let key = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let message = "use the value of `next` from the previous page, with the same parameters";
        key.map(Some)
            .ok_or_else(|| Invalid::new("cursor", message).into())
    }

    /// Returns one page of a list that is sorted by keys, and the cursor of the next page.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit or the cursor is invalid.
    pub fn page<T, K: DeserializeOwned + Ord + Serialize>(
        &self,
        mut list: Vec<T>,
        is_descending: bool,
        key: impl Fn(&T) -> K,
    ) -> Result<(Vec<T>, Option<String>), Refusal> {
        let limit = self.limit()?;
        if let Some(after) = self.after::<K>()? {
            let is_before = |entry: &T| match key(entry).cmp(&after) {
                Ordering::Less => !is_descending,
                Ordering::Equal => true,
                Ordering::Greater => is_descending,
            };
            list.drain(..list.partition_point(is_before));
        }
        let has_more = list.len() > limit;
        list.truncate(limit);
        let last = list.last().filter(|_| has_more);
        let next = last.map(|last| cursor(&key(last)));
        Ok((list, next))
    }
}

/// Returns the cursor with which a list continues after a key.
pub fn cursor(key: &impl Serialize) -> String {
    // Keys are texts and numbers, which can always be serialised to JSON.
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(key).unwrap_or_default())
}

/// Deserialises a query parameter; an empty value is treated as missing.
///
/// # Errors
///
/// Returns an error if the value cannot be parsed.
pub fn filled<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let text = String::deserialize(deserializer)?;
    let text = Some(text.trim()).filter(|text| !text.is_empty());
    text.map(str::parse)
        .transpose()
        .map_err(serde::de::Error::custom)
}
