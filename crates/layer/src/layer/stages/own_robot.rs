//! Recognition of our own site robot, which may pass where other robots are redirected.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderName, HeaderValue, Request};
use ring::hmac;

use crate::layer::header::host;

use super::own::OWN_ROBOT_HEADER;

/// Prefix of the signed text, which ensures that signatures are not valid for any other purpose.
const PURPOSE: &str = "robot-detection own robot 1";

const MINUTE_MS: i64 = 60_000;

/// The key by which layers recognise their sites' own site robot; clones share the key.
///
/// The robot signs its requests in the header [`SiteRobotKey::HEADER`] with an HMAC-SHA256 of the
/// method, the host, the path with the query, and the current minute. A signature is valid only for
/// its request, and expires: a layer accepts its current minute, the previous minute, and the next
/// minute in case the robot's clock is ahead. Ports are ignored because proxies in front of a site
/// change them.
///
/// Within a process, no signature is needed: a request passes if its extensions contain a
/// `SiteRobotKey`, which clients cannot insert.
#[derive(Clone)]
pub struct SiteRobotKey {
    key: Arc<ArcSwap<hmac::Key>>,
}

impl SiteRobotKey {
    /// The header that contains the signature; the layer removes the header before calling the
    /// inner service.
    pub const HEADER: HeaderName = HeaderName::from_static(OWN_ROBOT_HEADER);

    /// Creates the key of a site robot from random, secret bytes.
    ///
    /// # Example
    ///
    /// ```
    /// use http::Method;
    /// use robot_detection_layer::layer::SiteRobotKey;
    ///
    /// let own = SiteRobotKey::new(b"thirty-two random bytes, a secret");
    /// let signature = own.signature(&Method::GET, "www.example.com", "/a?b", 1_800_000_000_000);
    /// assert!(signature.is_sensitive());
    /// assert!(!format!("{own:?}").contains("secret"));
    /// ```
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        Self {
            key: Arc::new(ArcSwap::from_pointee(hmac_key(key))),
        }
    }

    /// Replaces the key in this object and all of its clones.
    pub fn replace_key(&self, key: &[u8]) {
        self.key.store(Arc::new(hmac_key(key)));
    }

    /// Returns the signature for a request that is sent at the given time.
    #[must_use]
    #[expect(
        clippy::missing_panics_doc,
        reason = "digits, a dot and Base64 form a valid header value"
    )]
    pub fn signature(
        &self,
        method: &http::Method,
        host: &str,
        path_and_query: &str,
        now_ms: i64,
    ) -> HeaderValue {
        let minute = now_ms.div_euclid(MINUTE_MS);
        let signed = signed(method, host, path_and_query, minute);
        let tag = hmac::sign(&self.key.load(), signed.as_bytes());
        let text = format!("{minute}.{}", URL_SAFE_NO_PAD.encode(tag));
        let mut value = HeaderValue::try_from(text)
            .expect("digits, a dot and Base64 form a valid header value");
        // Prevents HPACK from indexing the value, and `Debug` from showing the value.
        value.set_sensitive(true);
        value
    }

    /// Returns `true` if a request was sent by our own site robot.
    pub(super) fn has_sent<B>(&self, request: &Request<B>, now_ms: impl Fn() -> i64) -> bool {
        if request.extensions().get::<Self>().is_some() {
            return true;
        }
        let signature = request.headers().get(Self::HEADER);
        signature.is_some_and(|it| self.has_signed(request, it, now_ms()).is_some())
    }

    fn has_signed<B>(
        &self,
        request: &Request<B>,
        signature: &HeaderValue,
        now_ms: i64,
    ) -> Option<()> {
        let (minute, tag) = signature.to_str().ok()?.split_once('.')?;
        let minute: i64 = minute.parse().ok()?;
        let age = now_ms.div_euclid(MINUTE_MS).checked_sub(minute)?;
        // Limits the time in which an intercepted request can be replayed.
        if !(-1..=1).contains(&age) {
            return None;
        }
        let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
        let path = request.uri().path_and_query()?.as_str();
        let signed = signed(request.method(), host(request)?, path, minute);
        // Compares in constant time.
        hmac::verify(&self.key.load(), signed.as_bytes(), &tag).ok()
    }
}

impl fmt::Debug for SiteRobotKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnRobot(..)")
    }
}

fn hmac_key(key: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, key)
}

/// Returns the text to sign; no part of a request can contain a line break.
fn signed(method: &http::Method, host: &str, path_and_query: &str, minute: i64) -> String {
    let host = without_port(host).to_ascii_lowercase();
    format!("{PURPOSE}\n{method}\n{host}\n{path_and_query}\n{minute}")
}

/// Removes the port from a host, without removing a part of an IPv6 address.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|octet| octet.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, header::HOST};

    use super::*;

    const NOW_MS: i64 = 1_800_000_000_000;
    const KEY: &[u8] = &[7; 32];

    fn own() -> SiteRobotKey {
        SiteRobotKey::new(KEY)
    }

    fn signature(now_ms: i64) -> HeaderValue {
        own().signature(&Method::GET, "www.example.com", "/a?b=c", now_ms)
    }

    fn request(method: Method, host: &str, target: &str, value: HeaderValue) -> Request<()> {
        let request = Request::builder().method(method).uri(target);
        let request = request
            .header(HOST, host)
            .header(SiteRobotKey::HEADER, value);
        request.body(()).unwrap()
    }

    fn passes(request: &Request<()>, now_ms: i64) -> bool {
        own().has_sent(request, || now_ms)
    }

    #[test]
    fn signature_is_valid_for_one_request() {
        for (method, host, target, expected) in [
            (Method::GET, "www.example.com", "/a?b=c", true),
            (Method::GET, "WWW.example.com:8443", "/a?b=c", true),
            (
                Method::GET,
                "other.example",
                "https://www.example.com/a?b=c",
                true,
            ),
            (Method::HEAD, "www.example.com", "/a?b=c", false),
            (Method::GET, "other.example", "/a?b=c", false),
            (Method::GET, "www.example.com", "/a?b=d", false),
            (Method::GET, "www.example.com", "/a", false),
        ] {
            let asked = request(method, host, target, signature(NOW_MS));
            assert_eq!(passes(&asked, NOW_MS), expected, "{asked:?}");
        }
    }

    #[test]
    fn signature_expires_after_the_next_minute() {
        let asked = request(Method::GET, "www.example.com", "/a?b=c", signature(NOW_MS));
        for (later_ms, expected) in [
            (-MINUTE_MS - 1, false),
            (-MINUTE_MS, true),
            (0, true),
            (2 * MINUTE_MS - 1, true),
            (2 * MINUTE_MS, false),
            (i64::MAX - NOW_MS, false),
        ] {
            assert_eq!(passes(&asked, NOW_MS + later_ms), expected, "{later_ms}");
        }
    }

    #[test]
    fn malformed_signature_is_rejected() {
        let right = signature(NOW_MS);
        let (minute, tag) = right.to_str().unwrap().split_once('.').unwrap();
        let other = SiteRobotKey::new(b"another");
        let other = other.signature(&Method::GET, "www.example.com", "/a?b=c", NOW_MS);
        for wrong in [
            String::new(),
            ".".to_owned(),
            tag.to_owned(),
            format!("{minute}."),
            format!("{minute}.{}", tag.chars().skip(1).collect::<String>()),
            format!("{minute}.{tag}="),
            format!("{minute}.{}", tag.to_ascii_uppercase()),
            format!("9223372036854775807.{tag}"),
            format!("-9223372036854775808.{tag}"),
            other.to_str().unwrap().to_owned(),
        ] {
            let value = HeaderValue::try_from(&wrong).unwrap();
            let asked = request(Method::GET, "www.example.com", "/a?b=c", value);
            assert!(!passes(&asked, NOW_MS), "{wrong}");
        }
        assert!(!passes(&Request::new(()), NOW_MS));
    }

    #[test]
    fn replacing_the_key_affects_all_clones() {
        let (own, clone) = (own(), own());
        let shared = own.clone();
        shared.replace_key(b"another");
        let signature = own.signature(&Method::GET, "h", "/", NOW_MS);
        let asked = request(Method::GET, "h", "/", signature);
        assert!(shared.has_sent(&asked, || NOW_MS));
        assert!(!clone.has_sent(&asked, || NOW_MS));
    }

    #[test]
    fn extension_is_sufficient_within_a_process() {
        let mut asked = Request::new(());
        asked.extensions_mut().insert(SiteRobotKey::new(b"any"));
        assert!(passes(&asked, NOW_MS));
    }

    #[test]
    fn ports_are_ignored_but_ipv6_addresses_are_kept() {
        for (host, expected) in [
            ("a.example:80", "a.example"),
            ("a.example", "a.example"),
            ("[::1]:8080", "[::1]"),
            ("[::1]", "[::1]"),
        ] {
            assert_eq!(without_port(host), expected);
        }
    }
}
