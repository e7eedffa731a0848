//! Signature base: the text that is signed (RFC 9421 §2.5).

use http::HeaderMap;
use sfv::{Dictionary, FieldType as _, InnerList, Item, ListEntry, Parser};

use super::{
    SignedRequest, component,
    refusal::{Refusal, shown},
};

/// The maximum number of components that a signature may cover.
pub(super) const MAX_COMPONENTS: usize = 64;
/// The maximum size of a signature base in bytes.
pub(super) const MAX_BASE_BYTES: usize = 64 * 1024;

/// The signature base of a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Base {
    pub(super) bytes: Vec<u8>,
    /// The assumed scheme, if the actual scheme is unknown and affects the base.
    pub(super) supposed: Option<&'static str>,
}

/// Returns the possible signature bases of a request.
///
/// There is usually one base. If the scheme is unknown and the signature covers a component that
/// depends on the scheme, there is one base for each scheme.
pub(super) fn signature_bases(
    request: &SignedRequest<'_>,
    input: &InnerList,
) -> Result<Vec<Base>, Refusal> {
    let one = |bytes| Base {
        bytes,
        supposed: None,
    };
    if let Some(scheme) = request.scheme {
        return Ok(vec![one(signature_base(request, scheme, input)?)]);
    }
    let https = signature_base(request, "https", input)?;
    let http = signature_base(request, "http", input)?;
    if https == http {
        return Ok(vec![one(https)]);
    }
    let supposed = |scheme, bytes| Base {
        bytes,
        supposed: Some(scheme),
    };
    Ok(vec![supposed("https", https), supposed("http", http)])
}

/// Returns the signature base of a request with the given scheme.
fn signature_base(
    request: &SignedRequest<'_>,
    scheme: &str,
    input: &InnerList,
) -> Result<Vec<u8>, Refusal> {
    if input.items.len() > MAX_COMPONENTS {
        return Err(Refusal::TooMuchCovered);
    }
    let mut base = Vec::new();
    let mut names: Vec<String> = Vec::with_capacity(input.items.len());
    for item in &input.items {
        let name = spell_item(item);
        // A component may occur only once in a base (RFC 9421 §2.5). There are few names.
        if names.contains(&name) {
            return Err(Refusal::RepeatedComponent(shown(&name)));
        }
        let value = component::value(request, scheme, item)?;
        add_line(&mut base, &name, &value);
        if base.len() > MAX_BASE_BYTES {
            return Err(Refusal::TooMuchCovered);
        }
        names.push(name);
    }
    base.extend_from_slice(last_line(input).as_bytes());
    Ok(base)
}

/// Appends the line of a component to the signature base.
pub(super) fn add_line(base: &mut Vec<u8>, name: &str, value: &[u8]) {
    base.extend_from_slice(name.as_bytes());
    base.extend_from_slice(b": ");
    base.extend_from_slice(value);
    base.push(b'\n');
}

/// Returns the line with the signature's parameters, which is the last line of the signature base.
pub(super) fn last_line(input: &InnerList) -> String {
    format!("\"@signature-params\": {}", spell_list(input))
}

/// The maximum combined size of all lines of a header field, in bytes.
pub(super) const MAX_FIELD_BYTES: usize = 8 * 1024;

/// Returns all lines of a header field combined into one, as for structured fields (RFC 9651 §4.2).
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

/// Parses a header field that is a dictionary. A missing field is treated as empty.
pub(super) fn dictionary(headers: &HeaderMap, name: &'static str) -> Result<Dictionary, Refusal> {
    let text = combined(headers, name)?.unwrap_or_default();
    let parsed = Parser::new(&text).parse();
    parsed.map_err(|_| Refusal::Malformed(name))
}

/// Serializes a member of a dictionary or list strictly (RFC 9421 §2.1.1).
pub(super) fn spell(member: ListEntry) -> String {
    vec![member].serialize().unwrap_or_default()
}

/// Serializes an item strictly (RFC 9421 §2.1.1).
pub(super) fn spell_item(item: &Item) -> String {
    item.serialize()
}

/// Serializes an inner list strictly (RFC 9421 §2.1.1).
pub(super) fn spell_list(list: &InnerList) -> String {
    spell(ListEntry::InnerList(list.clone()))
}
