//! The text that is signed (RFC 9421 §2.5).

use sfv::InnerList;

use super::{
    SignedRequest, component,
    fields::{spell_item, spell_list},
    refusal::{Refusal, shown},
};

/// Components of one signature.
pub(super) const MAX_COMPONENTS: usize = 64;
/// Bytes of a signature base.
pub(super) const MAX_BASE_BYTES: usize = 64 * 1024;

/// Signature base of a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Base {
    pub(super) bytes: Vec<u8>,
    /// The scheme that it is of, where that had to be supposed and makes a difference.
    pub(super) supposed: Option<&'static str>,
}

/// Returns the signature bases that a request may have.
///
/// There is one, or one for each scheme where nobody knows which it came by and the
/// signature covers something that depends on it.
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

/// Returns the signature base of a request that came by a scheme.
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
        // A component stands once in a base (RFC 9421 §2.5). Of 64 names at most, no set is needed.
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

/// Adds a component's line.
pub(super) fn add_line(base: &mut Vec<u8>, name: &str, value: &[u8]) {
    base.extend_from_slice(name.as_bytes());
    base.extend_from_slice(b": ");
    base.extend_from_slice(value);
    base.push(b'\n');
}

/// Returns the line of the signature's parameters, which ends the base.
pub(super) fn last_line(input: &InnerList) -> String {
    format!("\"@signature-params\": {}", spell_list(input))
}
