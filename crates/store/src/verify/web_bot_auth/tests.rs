use http::{HeaderMap, HeaderName, HeaderValue, Method};
use sfv::{Dictionary, InnerList, ListEntry, Parser};

use super::{
    SignedRequest,
    key::{self, Key},
};

mod agents;
mod components;
mod hostile;
mod keys;
mod schemes;
mod signer;
mod signing;
mod unlisted_signers;
mod vectors;

const RSA_KEY: &str = r#"{"kty":"RSA","e":"AQAB","n":"r4tmm3r20Wd_PbqvP1s2-QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct-Lh1GH45x28Rw3Ry53mm-oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHqgDsznjPFmTOtCEcN2Z1FpWgchwuYLPL-Wokqltd11nqqzi-bJ9cvSKADYdUAAN5WUtzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4aOT9v6d-nb4bnNkQVklLQ3fVAvJm-xdDOp9LCNCN48V2pnDOkFV6-U9nV5oyc6XI2w"}"#;
const EC_KEY: &str = r#"{"kty":"EC","crv":"P-256","x":"qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA","y":"Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0"}"#;
const ED_KEY: &str =
    r#"{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}"#;

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let lines = lines.iter().map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        (name, HeaderValue::from_str(value).unwrap())
    });
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(name, value);
    }
    headers
}

fn get<'r>(headers: &'r HeaderMap, target: &'r str) -> SignedRequest<'r> {
    SignedRequest {
        method: &Method::GET,
        scheme: Some("https"),
        authority: "example.com",
        target,
        headers,
    }
}

fn key(jwk: &str) -> Key {
    let json = format!(r#"{{"keys":[{jwk}]}}"#);
    key::keys(json.as_bytes()).unwrap().remove(0)
}

/// Returns the signature that a pair of header fields contains.
fn signature(input: &str, value: &str) -> (InnerList, Vec<u8>) {
    let one = |text: &str| {
        let members: Dictionary = Parser::new(text).parse().unwrap();
        members.into_values().next().unwrap()
    };
    let ListEntry::InnerList(input) = one(input) else {
        panic!("{input}");
    };
    let ListEntry::Item(value) = one(value) else {
        panic!("{value}");
    };
    let bytes = value.bare_item.as_byte_sequence().unwrap().to_vec();
    (input, bytes)
}
