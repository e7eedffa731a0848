//! Tests for keys: names, validity, and unusable keys.

use super::{ED_KEY, key};
use crate::verify::web_bot_auth::key::keys;

#[test]
fn thumbprint_matches_rfc_7638() {
    let key = key(
        r#"{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB"}"#,
    );
    assert_eq!(key.keyid, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
}

#[test]
fn unusable_key_is_skipped() {
    let good = ED_KEY.trim_end_matches('}');
    let json = format!(
        r#"{{"keys":[1, {{}}, {{"kty":"oct","k":"AA"}}, {{"kty":"OKP","crv":"Ed25519","x":"AA"}},
        {good},"use":"enc"}}, {good},"alg":"HS256"}}, {good},"d":"AA"}}, {{"kty":"RSA","n":"AQ","e":"AQAB"}},
        {{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}}, {good},"kid":"other","alg":"EdDSA","use":"sig"}}]}}"#
    );
    let found = keys(json.as_bytes()).unwrap();
    let ids: Vec<_> = found.iter().map(|key| key.keyid.as_str()).collect();
    assert_eq!(ids, ["poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"]);
    assert!(keys(b"[]").is_none() && keys(b"").is_none());
    let many = format!(r#"{{"keys":[{}]}}"#, vec![ED_KEY; 33].join(","));
    assert!(keys(many.as_bytes()).is_none());
}

#[test]
fn keys_are_only_valid_within_their_time() {
    let good = ED_KEY.trim_end_matches('}');
    let key = key(&format!(r#"{good},"nbf":1000,"exp":2000.5}}"#));
    for (now_s, expected) in [(969, false), (970, true), (2029, true), (2030, false)] {
        assert_eq!(key.is_valid(now_s, 30), expected, "{now_s}");
    }
}
