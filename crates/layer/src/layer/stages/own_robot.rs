//! The site robot of our own sites, which passes where others are sent away.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderName, HeaderValue, Request};
use ring::hmac;

use crate::layer::header::host;

use super::own::OWN_ROBOT_HEADER;

/// What a signature is about, so that the key signs nothing else.
const PURPOSE: &str = "robot-detection own robot 1";

const MINUTE_MS: i64 = 60_000;

/// Key by which layers know the site robot of their own sites; clones share it.
///
/// A request of the robot has a signature in the header [`OwnRobot::HEADER`]: HMAC-SHA256
/// over its method, its host, its path with the query, and the minute. It is worth nothing for
/// another request, and nothing two minutes later: a layer takes the minute that it has
/// itself, the one before, and the next one, for a robot whose clock is ahead. Ports do not count, because proxies
/// in front of a site change them.
///
/// Within one process no signature is needed: a request passes that has an `OwnRobot`
/// as an extension, where nobody outside can put it.
#[derive(Clone)]
pub struct OwnRobot {
    key: Arc<ArcSwap<hmac::Key>>,
}

impl OwnRobot {
    /// Header of the signature; the layer takes it off before the inner service sees it.
    pub const HEADER: HeaderName = HeaderName::from_static(OWN_ROBOT_HEADER);

    /// Creates one with a key, which is to be random, and a secret.
    ///
    /// # Example
    ///
    /// ```
    /// use http::Method;
    /// use robot_detection_layer::layer::OwnRobot;
    ///
    /// let own = OwnRobot::new(b"thirty-two random bytes, a secret");
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

    /// Replaces the key, for all clones.
    pub fn replace_key(&self, key: &[u8]) {
        self.key.store(Arc::new(hmac_key(key)));
    }

    /// Returns the signature of a request that is sent now.
    #[must_use]
    #[expect(
        clippy::missing_panics_doc,
        reason = "digits, a dot and Base64 are a header"
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
        let mut value = HeaderValue::try_from(text).expect("digits, a dot and Base64 are a header");
        // HPACK does not index it then, and `Debug` does not show it.
        value.set_sensitive(true);
        value
    }

    /// Returns `true` if a request comes from our own robot.
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
        // Who reads a request on the way can replay it for that long, and no longer.
        if !(-1..=1).contains(&age) {
            return None;
        }
        let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
        let path = request.uri().path_and_query()?.as_str();
        let signed = signed(request.method(), host(request)?, path, minute);
        // Takes as long for a tag that differs in its first byte.
        hmac::verify(&self.key.load(), signed.as_bytes(), &tag).ok()
    }
}

impl fmt::Debug for OwnRobot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnRobot(..)")
    }
}

fn hmac_key(key: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, key)
}

/// Returns what is signed; no part of a request can hold a line's end.
fn signed(method: &http::Method, host: &str, path_and_query: &str, minute: i64) -> String {
    let host = without_port(host).to_ascii_lowercase();
    format!("{PURPOSE}\n{method}\n{host}\n{path_and_query}\n{minute}")
}

/// Cuts at the colon before a port, not at one of an IPv6 address.
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

    fn own() -> OwnRobot {
        OwnRobot::new(KEY)
    }

    fn signature(now_ms: i64) -> HeaderValue {
        own().signature(&Method::GET, "www.example.com", "/a?b=c", now_ms)
    }

    fn request(method: Method, host: &str, target: &str, value: HeaderValue) -> Request<()> {
        let request = Request::builder().method(method).uri(target);
        let request = request.header(HOST, host).header(OwnRobot::HEADER, value);
        request.body(()).unwrap()
    }

    fn passes(request: &Request<()>, now_ms: i64) -> bool {
        own().has_sent(request, || now_ms)
    }

    #[test]
    fn a_signature_is_for_one_request() {
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
    fn a_signature_ends_with_the_minute_after_its_own() {
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
    fn what_is_no_signature_is_none() {
        let right = signature(NOW_MS);
        let (minute, tag) = right.to_str().unwrap().split_once('.').unwrap();
        let other = OwnRobot::new(b"another");
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
    fn another_key_is_in_force_for_all_clones() {
        let (own, clone) = (own(), own());
        let shared = own.clone();
        shared.replace_key(b"another");
        let signature = own.signature(&Method::GET, "h", "/", NOW_MS);
        let asked = request(Method::GET, "h", "/", signature);
        assert!(shared.has_sent(&asked, || NOW_MS));
        assert!(!clone.has_sent(&asked, || NOW_MS));
    }

    #[test]
    fn within_a_process_the_extension_is_enough() {
        let mut asked = Request::new(());
        asked.extensions_mut().insert(OwnRobot::new(b"any"));
        assert!(passes(&asked, NOW_MS));
    }

    #[test]
    fn ports_do_not_count_and_addresses_are_no_ports() {
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
