//! Rewriting of the upstream's responses for the client.

use http::{
    HeaderValue, Response, StatusCode, Version,
    header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE},
};

use crate::listen::trim_values;

use super::headers;

/// Removes hop-by-hop headers, and makes the length unambiguous.
///
/// Returns `false` if the response must not be passed on.
pub(super) fn clean<B>(response: &mut Response<B>) -> bool {
    // The proxy sends no `TE` but `trailers`, so only `chunked` is allowed (RFC 9112 §7.4).
    if headers::has_unknown_coding(response.headers()) {
        return false;
    }
    // "Upgrade Required" is about the client's next request (RFC 9110 §15.5.22).
    let upgrade = (response.status() == StatusCode::UPGRADE_REQUIRED)
        .then(|| response.headers().get(UPGRADE).cloned())
        .flatten();
    // RFC 9110 §15.3.5, §15.4.5.
    let is_bodiless = matches!(
        response.status(),
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    // The chunks say where the body ends (RFC 9112 §6.3). Without a body no
    // length is needed (RFC 9110 §8.6).
    if is_bodiless || response.headers().contains_key(TRANSFER_ENCODING) {
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    if !headers::make_length_one(response.headers_mut()) {
        return false;
    }
    headers::strip_hop_by_hop(response.headers_mut(), &[]);
    if let Some(protocol) = upgrade {
        set_upgrade(response, protocol);
    }
    // Over HTTP/2 values may have come with blanks, which RFC 9113 §8.2.1 forbids.
    trim_values(response.headers_mut());
    *response.version_mut() = Version::HTTP_11;
    true
}

/// Returns the protocol of a 101 if the request has asked for it (RFC 9110 §7.8).
pub(super) fn switched_to<B>(response: &Response<B>, asked: &HeaderValue) -> Option<HeaderValue> {
    let mut lines = response.headers().get_all(UPGRADE).iter();
    // One protocol: a list would be a stack of layers (RFC 9110 §15.2.2), for which nobody asked.
    let protocol = lines.next().filter(|_| lines.next().is_none())?;
    asked
        .as_bytes()
        .split(|byte| *byte == b',')
        .any(|asked| asked.trim_ascii().eq_ignore_ascii_case(protocol.as_bytes()))
        .then(|| protocol.clone())
}

/// Adds `Upgrade` and its connection option (RFC 9110 §7.8).
pub(super) fn set_upgrade<B>(response: &mut Response<B>, protocol: HeaderValue) {
    headers::set(response.headers_mut(), CONNECTION, "upgrade");
    response.headers_mut().insert(UPGRADE, protocol);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_switched_to() {
        let asked = HeaderValue::from_static("websocket, foo/2");
        for (answer, expected) in [
            (&["WebSocket"][..], true),
            (&["foo/2"], true),
            (&["foo"], false),
            (&["h2c"], false),
            (&["websocket", "foo/2"], false),
            (&[], false),
        ] {
            let mut response = Response::new(());
            for protocol in answer {
                response
                    .headers_mut()
                    .append(UPGRADE, HeaderValue::from_static(protocol));
            }
            assert_eq!(
                switched_to(&response, &asked).is_some(),
                expected,
                "{answer:?}"
            );
        }
    }
}
