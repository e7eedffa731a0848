//! Signatures on a request, parsed from its header fields.

use http::HeaderMap;
use sfv::{BareItem, InnerList, ListEntry};

use super::{
    base::dictionary,
    refusal::{Refusal, shown},
};

/// The tag of signatures that follow this protocol.
pub(super) const TAG: &str = "web-bot-auth";
/// The maximum number of signatures with this tag to check.
pub(super) const MAX_SIGNATURES: usize = 4;

/// A signature that has this protocol's tag.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) label: String,
    /// The covered components and the parameters of the signature.
    pub(super) input: InnerList,
    pub(super) bytes: Vec<u8>,
}

/// Signature parameters that the protocol requires (RFC 9421 §2.3).
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Parameters {
    pub(super) created_s: i64,
    pub(super) expires_s: i64,
    pub(super) keyid: String,
    pub(super) alg: Option<String>,
    pub(super) nonce: Option<String>,
}

/// Returns the signatures that have this protocol's tag; there is at least one.
pub(super) fn signatures(headers: &HeaderMap) -> Result<Vec<Signature>, Refusal> {
    signatures_with_tag(headers, TAG, MAX_SIGNATURES)
}

/// Returns the signatures with the given tag; there is at least one, and at most `most`.
pub(super) fn signatures_with_tag(
    headers: &HeaderMap,
    wanted: &str,
    most: usize,
) -> Result<Vec<Signature>, Refusal> {
    let inputs = dictionary(headers, "signature-input")?;
    let mut values = dictionary(headers, "signature")?;
    let mut found = Vec::new();
    for (label, input) in inputs {
        let ListEntry::InnerList(input) = input else {
            return Err(Refusal::Malformed("signature-input"));
        };
        let tag = input.params.get("tag").and_then(BareItem::as_string);
        if tag.is_none_or(|tag| tag.as_str() != wanted) {
            continue;
        }
        // Each signature may cost a fetch and a verification.
        if found.len() == most {
            return Err(Refusal::TooManySignatures);
        }
        let label = label.as_str().to_owned();
        let bytes = match values.swap_remove(label.as_str()) {
            Some(ListEntry::Item(item)) => item.bare_item,
            _ => return Err(Refusal::NoSignature(shown(&label))),
        };
        let BareItem::ByteSequence(bytes) = bytes else {
            return Err(Refusal::Malformed("signature"));
        };
        found.push(Signature {
            label,
            input,
            bytes,
        });
    }
    if found.is_empty() {
        return Err(Refusal::OtherTag);
    }
    Ok(found)
}

impl Signature {
    /// Returns `true` if the signature has a nonce and is therefore valid for a single request
    /// only.
    pub(super) fn has_nonce(&self) -> bool {
        self.input.params.contains_key("nonce")
    }

    /// Returns the parameters of the signature.
    pub(super) fn parameters(&self) -> Result<Parameters, Refusal> {
        Ok(Parameters {
            created_s: self.time("created")?,
            expires_s: self.time("expires")?,
            keyid: self.text("keyid")?.ok_or(Refusal::NoParameter("keyid"))?,
            alg: self.text("alg")?,
            nonce: self.text("nonce")?,
        })
    }

    /// Returns `true` if the signature covers the component with the given name and without
    /// parameters.
    pub(super) fn covers(&self, name: &str) -> bool {
        self.covered(name).any(sfv::Parameters::is_empty)
    }

    /// Returns the parameters of each covered component with the given name.
    pub(super) fn covered(&self, name: &str) -> impl Iterator<Item = &sfv::Parameters> {
        let items = self.input.items.iter();
        items
            .filter(move |item| {
                item.bare_item
                    .as_string()
                    .is_some_and(|it| it.as_str() == name)
            })
            .map(|item| &item.params)
    }

    fn time(&self, name: &'static str) -> Result<i64, Refusal> {
        match self.input.params.get(name) {
            Some(BareItem::Integer(time)) => Ok(i64::from(*time)),
            Some(_) => Err(Refusal::BadParameter(name)),
            None => Err(Refusal::NoParameter(name)),
        }
    }

    fn text(&self, name: &'static str) -> Result<Option<String>, Refusal> {
        match self.input.params.get(name) {
            Some(BareItem::String(text)) => Ok(Some(text.as_str().to_owned())),
            Some(_) => Err(Refusal::BadParameter(name)),
            None => Ok(None),
        }
    }
}
