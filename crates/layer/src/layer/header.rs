//! Headers that the layer reads, adds and removes.

use std::fmt::Write;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request,
    header::{AUTHORIZATION, COOKIE, HOST, USER_AGENT, VARY},
};

use crate::detect::{Claim, Detector, Verdict};
use crate::keys::AgentKey;
use crate::policy::{self, Policy};

use super::{own_robot::OwnRobot, signature::signed_claim};

/// Bytes of a robot's id that the header for the upstream holds, at most.
const MAX_ID_BYTES: usize = 128;

/// Headers that tell an upstream of a robot.
#[derive(Clone, Debug)]
pub(super) struct IdentificationHeaders {
    id: HeaderName,
    /// `None` where the name would be too long.
    verdict: Option<HeaderName>,
}

impl IdentificationHeaders {
    pub(super) fn new(id: HeaderName) -> Self {
        let verdict = HeaderName::try_from(format!("{id}-verdict")).ok();
        Self { id, verdict }
    }

    /// Removes what a client sent under these names, or ones that a server behind may take for them.
    ///
    /// CGI and what descends from it make one sign of `-`, `_`, `.` and others.
    ///
    /// The signature of our own robot goes with them: its name is compared like theirs.
    ///
    /// So does `word`, by which nobody but the application says who is a person.
    pub(super) fn remove_forged(&self, headers: &mut HeaderMap, word: Option<&HeaderName>) {
        let verdict = self.verdict.as_ref().map_or("", HeaderName::as_str);
        let word = word.map_or("", HeaderName::as_str);
        let names = [self.id.as_str(), verdict, OwnRobot::NAME, word].map(str::as_bytes);
        remove_spelled(headers, &names);
    }

    /// Adds a robot's id, and the verdict on its claim where there is one.
    pub(super) fn add(&self, headers: &mut HeaderMap, id: &str, verdict: Option<Verdict>) {
        if let Some(value) = id_value(id) {
            headers.insert(self.id.clone(), value);
        }
        if let (Some(name), Some(verdict)) = (&self.verdict, verdict) {
            headers.insert(name.clone(), HeaderValue::from_static(verdict.as_str()));
        }
    }
}

/// What a request claims.
pub(super) struct Claimed<'d, 'h> {
    pub(super) claim: Option<Claim<'d>>,
    /// The header by which it does, or the first one.
    pub(super) agent: Agent<'h>,
}

/// User-Agent, and its number.
#[derive(Clone, Copy)]
pub(super) struct Agent<'h> {
    pub(super) text: &'h [u8],
    pub(super) key: AgentKey,
}

/// Makes one line of several of `User-Agent`, which the application would read otherwise than the layer.
///
/// Some programs read the first one, and some all (RFC 9110 §5.3).
pub(super) fn join_agents(headers: &mut HeaderMap) {
    // Where no header is repeated, nothing is looked up.
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

impl<'d, 'h> Claimed<'d, 'h> {
    /// Finds it out.
    ///
    /// Who signs as robots do is one, whatever the User-Agent says: no browser sends these headers.
    pub(super) fn of(detector: &'d Detector, headers: &'h HeaderMap) -> Self {
        let agent = headers
            .get(USER_AGENT)
            .map_or(&b""[..], HeaderValue::as_bytes);
        let mut claimed = Self::by(detector, agent);
        claimed.claim = signed_claim(detector, headers, claimed.claim);
        claimed
    }

    fn by(detector: &'d Detector, text: &'h [u8]) -> Self {
        let key = AgentKey::of(text);
        Self {
            claim: detector.claim_by(text, key),
            agent: Agent { text, key },
        }
    }
}

/// Returns what the policy looks at.
pub(super) fn parts<B>(request: &Request<B>) -> policy::Request<'_> {
    policy::Request {
        method: request.method().as_str(),
        host: host(request),
        path: request.uri().path(),
    }
}

/// Returns what the policy looks at, without a host that it does not ask for.
pub(super) fn parts_for<'r, B>(policy: &Policy, request: &'r Request<B>) -> policy::Request<'r> {
    if policy.asks_for_host() {
        return parts(request);
    }
    policy::Request {
        method: request.method().as_str(),
        host: None,
        path: request.uri().path(),
    }
}

/// Returns `true` if a request only reads.
pub(super) fn is_read<B>(request: &Request<B>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

/// Returns `true` if a request has a cookie or a password: its answer may be for its sender alone.
pub(super) fn may_be_logged_in<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    headers.contains_key(COOKIE) || headers.contains_key(AUTHORIZATION)
}

/// Returns path and query as received.
pub(super) fn target<B>(request: &Request<B>) -> &str {
    let uri = request.uri();
    uri.path_and_query()
        .map_or(uri.path(), |path| path.as_str())
}

/// Returns the authority of the target, else `Host` (RFC 9112 §3.2.2).
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

/// Adds `Vary: User-Agent` unless that is said already.
pub(super) fn vary_by_user_agent(headers: &mut HeaderMap) {
    vary_by(headers, "User-Agent");
}

/// Adds a name to `Vary` unless it is said already.
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

/// Returns a robot's id as a header value: what is not visible ASCII is percent-encoded.
fn id_value(id: &str) -> Option<HeaderValue> {
    let mut value = String::with_capacity(id.len());
    for byte in id.bytes().take(MAX_ID_BYTES) {
        if byte.is_ascii_graphic() && byte != b'%' {
            value.push(char::from(byte));
        } else {
            let _ = write!(value, "%{byte:02X}");
        }
    }
    HeaderValue::try_from(value).ok()
}

/// Removes the headers that a server behind may take for one of these.
pub(super) fn remove_spelled(headers: &mut HeaderMap, names: &[&[u8]]) {
    // Most headers are told apart by their length.
    let is_forged = |key: &&HeaderName| {
        let key = key.as_str().as_bytes();
        names.iter().any(|name| is_taken_for(key, name))
    };
    // Several spellings may come at once; in nearly all requests there is none.
    while let Some(forged) = headers.keys().find(is_forged).cloned() {
        headers.remove(forged);
    }
}

fn is_taken_for(key: &[u8], name: &[u8]) -> bool {
    key.len() == name.len()
        && key
            .iter()
            .zip(name)
            .all(|(a, b)| a == b || !(a.is_ascii_alphanumeric() || b.is_ascii_alphanumeric()))
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
    fn vary_is_said_once() {
        assert_eq!(vary(&[]), ["User-Agent"]);
        assert_eq!(vary(&["accept"]), ["accept", "User-Agent"]);
        assert_eq!(vary(&["accept, user-AGENT"]), ["accept, user-AGENT"]);
        assert_eq!(vary(&["a", " User-Agent ,b"]), ["a", " User-Agent ,b"]);
        assert_eq!(vary(&["*"]), ["*"]);
        assert_eq!(vary(&["x-user-agent"]), ["x-user-agent", "User-Agent"]);
    }

    #[test]
    fn forged_headers_are_removed_however_spelled() {
        let names = IdentificationHeaders::new(HeaderName::from_static("x-robot-detection"));
        let mut headers = HeaderMap::new();
        for forged in [
            "X-Robot-Detection",
            "x-robot-detection",
            "X_Robot_Detection",
            "x.robot.detection",
            "x~robot-detection",
            "X-Robot-Detection-Verdict",
            "x_robot_detection_verdict",
            "X-Person",
            "x_person",
        ] {
            let forged: HeaderName = forged.parse().unwrap();
            headers.append(forged, HeaderValue::from_static("a"));
        }
        headers.append("x-robot-detections", HeaderValue::from_static("a"));
        headers.append("xarobot-detection", HeaderValue::from_static("a"));
        headers.append("x-robot-detection-verdicts", HeaderValue::from_static("a"));
        let word = HeaderName::from_static("x-person");
        names.remove_forged(&mut headers, Some(&word));
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(
            left,
            [
                "x-robot-detection-verdicts",
                "x-robot-detections",
                "xarobot-detection"
            ]
        );
    }

    #[test]
    fn id_is_made_safe() {
        assert_eq!(id_value("googlebot").unwrap(), "googlebot");
        assert_eq!(
            id_value("a b\r\nc: é%").unwrap(),
            "a%20b%0D%0Ac:%20%C3%A9%25"
        );
        assert_eq!(id_value("").unwrap(), "");
        assert_eq!(id_value(&"a".repeat(1000)).unwrap().len(), MAX_ID_BYTES);
    }

    #[test]
    fn host_is_the_target_s_before_the_header_s() {
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
}
