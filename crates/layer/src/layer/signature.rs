//! Requests that are signed as robots sign theirs.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::detect::{Claim, Detector};

/// Header by which a robot says with whose key it signs (Web Bot Auth).
const SIGNATURE_AGENT: HeaderName = HeaderName::from_static("signature-agent");

/// Header that says what a signature covers, and what it is for (RFC 9421 §4.1).
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");

/// Tag of the signatures of robots (draft-ietf-webbotauth-httpsig-protocol).
const TAG: &[u8] = b"tag=\"web-bot-auth\"";

/// Bytes of one header that are looked at.
const MAX_HEADER_BYTES: usize = 8 << 10;

/// Returns the claim by the name, unless the request is signed.
#[inline]
pub fn signed_claim<'d>(
    detector: &'d Detector,
    headers: &HeaderMap,
    by_name: Option<Claim<'d>>,
) -> Option<Claim<'d>> {
    // One look-up is all that the requests of nearly everybody cost.
    if !headers.contains_key(SIGNATURE_AGENT) || !has_robot_signature(headers) {
        return by_name;
    }
    let agents = headers.get_all(SIGNATURE_AGENT).iter();
    detector.signed(by_name, agents.map(HeaderValue::as_bytes))
}

#[cold]
fn has_robot_signature(headers: &HeaderMap) -> bool {
    let mut inputs = headers.get_all(SIGNATURE_INPUT).iter();
    inputs.any(|input| has_robot_tag(input.as_bytes()))
}

/// Returns `true` if a `Signature-Input` header has a signature of a robot.
fn has_robot_tag(header: &[u8]) -> bool {
    let header = header.get(..MAX_HEADER_BYTES).unwrap_or(header);
    let mut rest = header;
    let mut is_text = false;
    while let Some((&byte, behind)) = rest.split_first() {
        let is_parameter = !is_text && byte == b';';
        if is_parameter && behind.trim_ascii_start().starts_with(TAG) {
            return true;
        }
        rest = match byte {
            // An escaped quotation mark does not end a string (RFC 9651 §3.3.3).
            b'\\' if is_text => behind.get(1..).unwrap_or_default(),
            b'"' => {
                is_text = !is_text;
                behind
            }
            _ => behind,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_a_parameter_and_no_text() {
        for (header, is_robot_s) in [
            (
                r#"sig1=("@authority");created=1;keyid="a";tag="web-bot-auth""#,
                true,
            ),
            (r#"sig1=("@authority"); tag="web-bot-auth";created=1"#, true),
            (r#"a=("x");tag="other", b=("y");tag="web-bot-auth""#, true),
            (r#"sig1=("@authority");tag="web-bot-auth-2""#, false),
            (
                r#"sig1=("@authority");nonce=";tag=\"web-bot-auth\"""#,
                false,
            ),
            (
                r#"sig1=("@authority");nonce="\";tag=\"web-bot-auth\"""#,
                false,
            ),
            (r#"sig1=("@authority");created=1"#, false),
            ("", false),
            (r#""\"#, false),
        ] {
            assert_eq!(has_robot_tag(header.as_bytes()), is_robot_s, "{header}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_octets_are_read_to_their_end(
            octets in proptest::collection::vec(
                proptest::prop_oneof![
                    proptest::prelude::Just(b'"'),
                    proptest::prelude::Just(b'\\'),
                    proptest::prelude::Just(b';'),
                    proptest::prelude::any::<u8>()
                ],
                0..200,
            ),
        ) {
            has_robot_tag(&octets);
            let behind = [br#"a="";tag="web-bot-auth","#, &octets[..]].concat();
            proptest::prop_assert!(has_robot_tag(&behind));
        }
    }
}
