//! Signatures of a directory, which prove that its publisher possesses the private keys.
//!
//! As in draft-meunier-webbotauth-httpsig-directory, the response has a signature by each key, with
//! a separate tag, that covers the requested host. Such signatures are only mentioned in the
//! evidence, as directories are fetched over TLS from hosts listed in the registry.

use http::HeaderMap;
use sfv::{BareItem, InnerList};

use super::{
    base::spell_item,
    base::{MAX_BASE_BYTES, MAX_COMPONENTS, add_line, last_line},
    component,
    key::{Key, MAX_KEYS},
    signature::{Signature, signatures_with_tag},
};

/// The tag of the signatures on a directory.
pub(super) const TAG: &str = "http-message-signatures-directory";

/// Whether the publisher of a key has proved possession of the key's private half.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Possession {
    /// The directory is not signed with the key.
    #[default]
    NotSigned,
    /// The publisher of the key has proved possession of the key's private half.
    Proven,
    /// The directory's signature by the key is invalid.
    Failed,
}

/// The host and time of the request for a directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirectoryRequest<'a> {
    /// The host, including the port unless it is the scheme's default.
    pub(super) authority: &'a str,
    pub(super) now_s: i64,
    pub(super) skew_s: i64,
}

/// Records for each key whether the response's signatures prove possession of the key's private
/// half.
pub(super) fn record(keys: &mut [Key], headers: &HeaderMap, asked: DirectoryRequest<'_>) {
    if !headers.contains_key("signature-input") {
        return;
    }
    let Ok(signatures) = signatures_with_tag(headers, TAG, MAX_KEYS) else {
        return;
    };
    for signature in signatures {
        let Ok(parameters) = signature.parameters() else {
            continue;
        };
        let key = keys.iter_mut().find(|key| key.keyid == parameters.keyid);
        if let Some(key) = key
            && key.possession != Possession::Proven
        {
            let times = (parameters.created_s, parameters.expires_s);
            key.possession = if holds(key, headers, &signature, times, asked) {
                Possession::Proven
            } else {
                Possession::Failed
            };
        }
    }
}

fn holds(
    key: &Key,
    headers: &HeaderMap,
    signature: &Signature,
    (created_s, expires_s): (i64, i64),
    asked: DirectoryRequest<'_>,
) -> bool {
    let DirectoryRequest { now_s, skew_s, .. } = asked;
    let has_begun = created_s <= now_s.saturating_add(skew_s);
    let is_over = expires_s < now_s.saturating_sub(skew_s);
    let base = base(headers, asked.authority, &signature.input);
    has_begun && !is_over && base.is_some_and(|base| key.verifies(&base, &signature.bytes))
}

/// Returns the signature base of a response, or `None` if it does not cover the requested host.
fn base(headers: &HeaderMap, authority: &str, input: &InnerList) -> Option<Vec<u8>> {
    if input.items.len() > MAX_COMPONENTS {
        return None;
    }
    let mut base = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut covers_host = false;
    for item in &input.items {
        let name = spell_item(item);
        if names.contains(&name) {
            return None;
        }
        let is_of_request = item.params.get("req") == Some(&BareItem::Boolean(true));
        let value = match item.bare_item.as_string()?.as_str() {
            "@authority" if is_of_request && item.params.len() == 1 => {
                covers_host = true;
                authority.as_bytes().to_vec()
            }
            // Only responses with status 200 are checked.
            "@status" if item.params.is_empty() => b"200".to_vec(),
            _ => component::field_value(headers, item).ok()?,
        };
        add_line(&mut base, &name, &value);
        if base.len() > MAX_BASE_BYTES {
            return None;
        }
        names.push(name);
    }
    base.extend_from_slice(last_line(input).as_bytes());
    covers_host.then_some(base)
}
