//! Signed requests of ACME clients (RFC 7515, RFC 8555 §6).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Request with decoded parts.
pub(super) struct Jws {
    pub(super) protected: Value,
    /// Null in a request without a body (POST-as-GET).
    pub(super) payload: Value,
    signed: Vec<u8>,
    signature: Vec<u8>,
}

impl Jws {
    pub(super) fn read(body: &[u8]) -> Self {
        let whole: Value = serde_json::from_slice(body).unwrap();
        let part = |name: &str| whole[name].as_str().unwrap();
        let (protected, payload) = (part("protected"), part("payload"));
        Self {
            protected: serde_json::from_slice(&decoded(protected)).unwrap(),
            payload: match payload {
                "" => Value::Null,
                payload => serde_json::from_slice(&decoded(payload)).unwrap(),
            },
            signed: format!("{protected}.{payload}").into_bytes(),
            signature: decoded(part("signature")),
        }
    }

    /// Returns `true` if the key's signature is valid.
    pub(super) fn is_signed_by(&self, key: &Value) -> bool {
        let mut point = vec![4];
        point.extend(
            ["x", "y"]
                .iter()
                .flat_map(|c| decoded(key[c].as_str().unwrap())),
        );
        let (r, s) = self.signature.split_at(32);
        let numbers = [integer(r), integer(s)].concat();
        let signature = [&[0x30, u8::try_from(numbers.len()).unwrap()], &*numbers].concat();
        let known = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        known.all.iter().any(|algorithm| {
            algorithm
                .verify_signature(&point, &self.signed, &signature)
                .is_ok()
        })
    }
}

/// Encodes a number in DER.
fn integer(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let mut number = bytes[zeros..].to_vec();
    if number.first().is_none_or(|first| *first > 127) {
        number.insert(0, 0);
    }
    [&[2, u8::try_from(number.len()).unwrap()], &*number].concat()
}

/// Returns the thumbprint of a key (RFC 7638).
pub(super) fn thumbprint(key: &Value) -> String {
    let part = |name: &str| key[name].as_str().unwrap();
    let canonical = format!(
        r#"{{"crv":"{}","kty":"{}","x":"{}","y":"{}"}}"#,
        part("crv"),
        part("kty"),
        part("x"),
        part("y")
    );
    encoded(&Sha256::digest(canonical))
}

pub(super) fn decoded(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

pub(super) fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
