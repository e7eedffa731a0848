//! Headers that the layer reads, adds and removes.

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request,
    header::{AUTHORIZATION, COOKIE, HOST, USER_AGENT, VARY},
};

use crate::detect::{Claim, Detector};
use crate::keys::AgentKey;
use crate::policy::{self, Policy};

/// The claim made by a request, with its User-Agent.
pub(super) struct RequestClaim<'d, 'h> {
    pub(super) claim: Option<Claim<'d>>,
    /// The User-Agent header that makes the claim; the first header if there are several.
    pub(super) agent: Agent<'h>,
}

/// A User-Agent and its hash key.
#[derive(Clone, Copy)]
pub(super) struct Agent<'h> {
    pub(super) text: &'h [u8],
    pub(super) key: AgentKey,
}

/// Joins several `User-Agent` headers into one, so that the layer and the application read the same
/// value.
///
/// Some programs read only the first header, while other programs read all headers (RFC 9110 §5.3).
pub(super) fn join_agents(headers: &mut HeaderMap) {
    // Fast path: no header is repeated.
    if headers.len() == headers.keys_len() {
        return;
    }
    let lines: Vec<_> = headers
        .get_all(USER_AGENT)
        .iter()
        .map(HeaderValue::as_bytes)
        .filter(|line| !line.is_empty())
        .collect();
    if !lines.is_empty()
        && let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b", "[..]))
    {
        headers.insert(USER_AGENT, joined);
    }
}

impl<'d, 'h> RequestClaim<'d, 'h> {
    /// Returns the claim made by a request.
    ///
    /// A request with a robot's signature comes from a robot, whatever its User-Agent: browsers do
    /// not sign requests.
    pub(super) fn from_headers(detector: &'d Detector, headers: &'h HeaderMap) -> Self {
        let agent = headers
            .get(USER_AGENT)
            .map_or(&b""[..], HeaderValue::as_bytes);
        let mut claimed = Self::by(detector, agent);
        claimed.claim = signed_claim(detector, headers, claimed.claim);
        claimed
    }

    fn by(detector: &'d Detector, text: &'h [u8]) -> Self {
        let key = AgentKey::parse(text);
        Self {
            claim: detector.claim_cached(text, key),
            agent: Agent { text, key },
        }
    }
}

/// Returns the parts of a request that the policy evaluates.
pub(super) fn request_parts<B>(request: &Request<B>) -> policy::Request<'_> {
    policy::Request {
        method: request.method().as_str(),
        host: host(request),
        path: request.uri().path(),
        query: request.uri().query(),
    }
}

/// Returns the parts of a request that the policy evaluates; the host is omitted if no rule needs
/// it.
pub(super) fn needed_parts<'r, B>(policy: &Policy, request: &'r Request<B>) -> policy::Request<'r> {
    if policy.depends_on_host() {
        return request_parts(request);
    }
    policy::Request {
        method: request.method().as_str(),
        host: None,
        path: request.uri().path(),
        query: request.uri().query(),
    }
}

/// Returns `true` if the request's method is GET or HEAD.
pub(super) fn is_read<B>(request: &Request<B>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

/// Returns `true` if a request has a cookie or credentials, which means that its response may be
/// private.
pub(super) fn may_be_logged_in<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    headers.contains_key(COOKIE) || headers.contains_key(AUTHORIZATION)
}

/// Returns the request's path and query as received.
pub(super) fn target<B>(request: &Request<B>) -> &str {
    let uri = request.uri();
    uri.path_and_query()
        .map_or(uri.path(), |path| path.as_str())
}

/// Returns the authority of the request target, or the `Host` header (RFC 9112 §3.2.2).
pub fn host<B>(request: &Request<B>) -> Option<&str> {
    match request.uri().authority() {
        Some(authority) => {
            let authority = authority.as_str();
            Some(
                authority
                    .rsplit_once('@')
                    .map_or(authority, |(_, host)| host),
            )
        }
        None => request.headers().get(HOST)?.to_str().ok(),
    }
}

/// Adds `Vary: User-Agent` unless the header is already present.
pub(super) fn vary_by_user_agent(headers: &mut HeaderMap) {
    vary_by(headers, "User-Agent");
}

/// Adds a header name to `Vary` unless the name is already present.
pub(super) fn vary_by(headers: &mut HeaderMap, varies_by: &'static str) {
    let is_said = headers
        .get_all(VARY)
        .iter()
        .flat_map(|value| value.as_bytes().split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
        .any(|name| name == b"*" || name.eq_ignore_ascii_case(varies_by.as_bytes()));
    if !is_said {
        headers.append(VARY, HeaderValue::from_static(varies_by));
    }
}

/// Removes headers with the given names, and with spellings that an upstream server may confuse
/// with these names.
///
/// CGI and similar interfaces map `-`, `_`, `.` and other punctuation to the same character.
pub(super) fn remove_variants(headers: &mut HeaderMap, names: &[Box<str>]) {
    if names.is_empty() {
        return;
    }
    // Comparing the lengths rules out most headers.
    let is_forged = |key: &&HeaderName| {
        let key = key.as_str().as_bytes();
        names.iter().any(|name| is_confusable(key, name.as_bytes()))
    };
    // A request may contain several spellings, but nearly all requests contain no such header.
    while let Some(forged) = headers.keys().find(is_forged).cloned() {
        headers.remove(forged);
    }
}

fn is_confusable(key: &[u8], name: &[u8]) -> bool {
    key.len() == name.len()
        && key
            .iter()
            .zip(name)
            .all(|(a, b)| a == b || !(a.is_ascii_alphanumeric() || b.is_ascii_alphanumeric()))
}

/// The header that identifies the owner of a robot's signing key (Web Bot Auth).
const SIGNATURE_AGENT: HeaderName = HeaderName::from_static("signature-agent");

/// The header that lists the covered components and the tag of a signature (RFC 9421 §4.1).
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");

/// The tag of robot signatures (draft-ietf-webbotauth-httpsig-protocol).
const TAG: &[u8] = b"tag=\"web-bot-auth\"";

/// Maximum number of bytes of a header that are examined.
const MAX_HEADER_BYTES: usize = 8 << 10;

/// Returns the claim made by a robot's signature, or `by_name` if the request is unsigned.
#[inline]
pub fn signed_claim<'d>(
    detector: &'d Detector,
    headers: &HeaderMap,
    by_name: Option<Claim<'d>>,
) -> Option<Claim<'d>> {
    // Nearly all requests cost only this one look-up.
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

/// Returns `true` if a `Signature-Input` header contains a robot signature.
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

    fn vary(values: &[&'static str]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(VARY, HeaderValue::from_static(value));
        }
        vary_by_user_agent(&mut headers);
        headers
            .get_all(VARY)
            .iter()
            .map(|value| value.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn vary_is_added_once() {
        assert_eq!(vary(&[]), ["User-Agent"]);
        assert_eq!(vary(&["accept"]), ["accept", "User-Agent"]);
        assert_eq!(vary(&["accept, user-AGENT"]), ["accept, user-AGENT"]);
        assert_eq!(vary(&["a", " User-Agent ,b"]), ["a", " User-Agent ,b"]);
        assert_eq!(vary(&["*"]), ["*"]);
        assert_eq!(vary(&["x-user-agent"]), ["x-user-agent", "User-Agent"]);
    }

    #[test]
    fn authority_of_the_target_takes_precedence_over_the_host_header() {
        let request = |target: &str| {
            Request::builder()
                .uri(target)
                .header(HOST, "header.example")
                .body(())
                .unwrap()
        };
        assert_eq!(host(&request("/a")), Some("header.example"));
        assert_eq!(
            host(&request("http://a.example:81/a")),
            Some("a.example:81")
        );
        assert_eq!(host(&request("http://u:p@a.example/a")), Some("a.example"));
        assert_eq!(host(&Request::new(())), None);
    }

    #[test]
    fn tag_must_be_a_parameter_outside_of_strings() {
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
        fn arbitrary_octets_are_parsed_to_the_end(
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
