//! Observations of requests for fleet detection.

use std::net::IpAddr;

use axum::http::{
    HeaderMap, Method, Request, Uri, Version,
    header::{ACCEPT_ENCODING, ACCEPT_LANGUAGE, REFERER, USER_AGENT},
};
use robot_detection_fleets::Observation;

/// A multiplier, derived from the golden ratio, that spreads the bits of a word.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the observation of a request, or `None` if the request's method is neither GET nor HEAD.
///
/// Conditional request headers are ignored, because a 304 response shows that the page is in the
/// client's cache.
pub(super) fn observation<B>(request: &Request<B>, client: IpAddr) -> Option<Observation<'_>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return None;
    }
    observe_any_method(request.uri(), request.headers(), request.version(), client)
}

/// Returns the observation of a request with any method, or `None` if the request has no
/// User-Agent.
pub(super) fn observe_any_method<'r>(
    uri: &'r Uri,
    headers: &'r HeaderMap,
    version: Version,
    client: IpAddr,
) -> Option<Observation<'r>> {
    let target = uri
        .path_and_query()
        .map_or(uri.path(), |both| both.as_str());
    let said = HeaderValues::of(headers);
    Some(Observation {
        user_agent: said.user_agent?,
        fingerprint: said.fingerprint(version),
        address: client,
        target: target.as_bytes(),
        has_referrer: said.has_referrer,
        ..Observation::default()
    })
}

/// Returns a client's User-Agent and fingerprint, or `None` if the client sends no User-Agent.
pub(super) fn client_identity(headers: &HeaderMap, version: Version) -> Option<(&[u8], u64)> {
    let said = HeaderValues::of(headers);
    Some((said.user_agent?, said.fingerprint(version)))
}

/// The values of the request headers that characterize a client.
#[derive(Default)]
struct HeaderValues<'h> {
    user_agent: Option<&'h [u8]>,
    encodings: Option<&'h [u8]>,
    has_languages: bool,
    has_referrer: bool,
}

impl<'h> HeaderValues<'h> {
    /// Reads all headers in a single pass; requests have few headers, and lookups by name are
    /// slower.
    fn of(headers: &'h HeaderMap) -> Self {
        let mut said = Self::default();
        for (name, value) in headers {
            match *name {
                USER_AGENT => said.user_agent = said.user_agent.or(Some(value.as_bytes())),
                ACCEPT_ENCODING => {
                    said.encodings = said.encodings.or(Some(value.as_bytes()));
                }
                ACCEPT_LANGUAGE => said.has_languages = true,
                REFERER => said.has_referrer = true,
                _ => {}
            }
        }
        said
    }

    /// Returns a hash of the properties that are the same in all requests from a browser: the
    /// accepted encodings, the presence of `Accept-Language`, and the HTTP version.
    ///
    /// A browser requests videos without accepting any encoding, and therefore has a second
    /// fingerprint.
    fn fingerprint(&self, version: Version) -> u64 {
        let (words, rest) = self.encodings.unwrap_or_default().as_chunks::<8>();
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let rest = rest
            .iter()
            .fold(0, |rest, byte| rest << 8 | u64::from(*byte));
        let more = u64::from(self.has_languages) << 1 | u64::from(version == Version::HTTP_2);
        words.chain([rest, more]).fold(1, |number, word| {
            (number ^ word).wrapping_mul(SPREAD).rotate_left(29)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    fn request(headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder()
            .uri("/a?b")
            .header("User-Agent", "Chrome/152");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    fn fingerprint(headers: &[(&str, &str)]) -> u64 {
        observation(&request(headers), CLIENT).unwrap().fingerprint
    }

    #[test]
    fn page_requests_are_observed_and_form_submissions_are_not() {
        let asked = request(&[("Referer", "/")]);
        let seen = observation(&asked, CLIENT).unwrap();
        assert_eq!(
            (seen.user_agent, seen.target),
            (&b"Chrome/152"[..], &b"/a?b"[..])
        );
        assert!(seen.has_referrer && seen.closed.is_none());
        let mut sent = request(&[]);
        *sent.method_mut() = Method::POST;
        assert!(observation(&sent, CLIENT).is_none());
        assert!(
            observation(&Request::new(()), CLIENT).is_none(),
            "no User-Agent"
        );
    }

    #[test]
    fn clients_with_different_headers_have_different_fingerprints() {
        let all = ("Accept-Encoding", "gzip, deflate, br, zstd");
        let german = ("Accept-Language", "de");
        let numbers = [
            fingerprint(&[]),
            fingerprint(&[all]),
            fingerprint(&[("Accept-Encoding", "gzip")]),
            fingerprint(&[german]),
            fingerprint(&[all, german]),
        ];
        let apart: std::collections::BTreeSet<_> = numbers.into_iter().collect();
        assert_eq!(apart.len(), numbers.len());
        let french = ("Accept-Language", "fr");
        assert_eq!(fingerprint(&[all, french]), fingerprint(&[all, german]));
    }
}
