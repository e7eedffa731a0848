//! Structured fields of a request (RFC 9651).

use http::HeaderMap;
use sfv::{Dictionary, FieldType as _, InnerList, Item, ListEntry, Parser};

use super::refusal::Refusal;

/// Bytes of all lines of a field that are read.
pub(super) const MAX_FIELD_BYTES: usize = 8 * 1024;

/// Returns all lines of a field as one, as structured fields are (RFC 9651 §4.2).
pub(super) fn combined(
    headers: &HeaderMap,
    name: &'static str,
) -> Result<Option<Vec<u8>>, Refusal> {
    let mut text: Option<Vec<u8>> = None;
    for line in headers.get_all(name) {
        let text = match &mut text {
            Some(text) => {
                text.extend_from_slice(b", ");
                text
            }
            None => text.insert(Vec::new()),
        };
        text.extend_from_slice(line.as_bytes());
        if text.len() > MAX_FIELD_BYTES {
            return Err(Refusal::TooLong(name));
        }
    }
    Ok(text)
}

/// Reads a field that is a dictionary; empty where there is none.
pub(super) fn dictionary(headers: &HeaderMap, name: &'static str) -> Result<Dictionary, Refusal> {
    let text = combined(headers, name)?.unwrap_or_default();
    let parsed = Parser::new(&text).parse();
    parsed.map_err(|_| Refusal::Malformed(name))
}

/// Returns a member of a dictionary or list as it is spelled strictly.
pub(super) fn spell(member: ListEntry) -> String {
    vec![member].serialize().unwrap_or_default()
}

/// Returns an item as it is spelled strictly.
pub(super) fn spell_item(item: &Item) -> String {
    item.serialize()
}

/// Returns an inner list as it is spelled strictly.
pub(super) fn spell_list(list: &InnerList) -> String {
    spell(ListEntry::InnerList(list.clone()))
}
