//! WebSocket connections over HTTP/2 (RFC 8441) to an HTTP/1.1 server (RFC 6455).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderMap, HeaderValue, Method,
    header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE},
    request::Parts,
};
use hyper::ext::Protocol;
use sha1::{Digest as _, Sha1};

use super::headers;

/// The text that a server appends to the WebSocket key before it hashes the key (RFC 6455 §1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The key of a WebSocket handshake on behalf of an HTTP/2 client, which does not send a key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Key {
    answer: String,
}

/// Converts an extended `CONNECT` for a WebSocket into the HTTP/1.1 handshake (RFC 8441 §5).
///
/// Returns `None` for another protocol, and for a `CONNECT` without a protocol, which would request
/// a tunnel to an arbitrary server.
pub(super) fn from_connect(parts: &mut Parts) -> Option<Key> {
    let protocol = parts.extensions.remove::<Protocol>()?;
    if parts.method != Method::CONNECT || !protocol.as_str().eq_ignore_ascii_case("websocket") {
        return None;
    }
    // RFC 6455 §4.1: the key consists of 16 random bytes. It proves that the server supports
    // WebSocket, but does not protect a secret.
    let mut nonce = [0; 16];
    fastrand::fill(&mut nonce);
    let key = STANDARD.encode(nonce);
    // RFC 6455 §4.1: GET, `Connection`, `Upgrade`, key, version 13.
    parts.method = Method::GET;
    let map = &mut parts.headers;
    headers::set(map, CONNECTION, "upgrade");
    headers::set(map, UPGRADE, "websocket");
    map.insert(SEC_WEBSOCKET_KEY, HeaderValue::try_from(&key).ok()?);
    if !map.contains_key(SEC_WEBSOCKET_VERSION) {
        headers::set(map, SEC_WEBSOCKET_VERSION, "13");
    }
    Some(Key {
        answer: answer(&key),
    })
}

impl Key {
    /// Returns `true` if the server's proof is correct (RFC 6455 §4.2.2), and removes the proof,
    /// which does not exist in HTTP/2 (RFC 8441 §5).
    pub(super) fn accepts(&self, headers: &mut HeaderMap) -> bool {
        let answer = headers.remove(SEC_WEBSOCKET_ACCEPT);
        answer.is_some_and(|answer| answer.as_bytes() == self.answer.as_bytes())
    }
}

/// Returns the proof that a server has to send for a key (RFC 6455 §4.2.2).
fn answer(key: &str) -> String {
    let mut hash = Sha1::new();
    hash.update(key.as_bytes());
    hash.update(GUID);
    STANDARD.encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn parts(method: Method, protocol: Option<&'static str>) -> Parts {
        let mut request = Request::builder()
            .method(method)
            .uri("https://site.example/chat")
            .body(())
            .unwrap();
        if let Some(protocol) = protocol {
            let protocol = Protocol::from_static(protocol);
            request.extensions_mut().insert(protocol);
        }
        request.into_parts().0
    }

    #[test]
    fn rfc_example_is_answered() {
        // RFC 6455 §1.3.
        assert_eq!(
            answer("dGhlIHNhbXBsZSBub25jZQ=="),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
    }

    #[test]
    fn only_websockets_are_requested() {
        let mut websocket = parts(Method::CONNECT, Some("websocket"));
        let key = from_connect(&mut websocket).unwrap();
        assert_eq!(websocket.method, Method::GET);
        assert_eq!(websocket.headers[UPGRADE], "websocket");
        assert_eq!(websocket.headers[SEC_WEBSOCKET_VERSION], "13");
        let sent = websocket.headers[SEC_WEBSOCKET_KEY].to_str().unwrap();
        assert_eq!(STANDARD.decode(sent).unwrap().len(), 16);
        assert_eq!(key.answer, answer(sent));
        for (method, protocol) in [
            (Method::CONNECT, None),
            (Method::CONNECT, Some("connect-udp")),
            (Method::GET, Some("websocket")),
        ] {
            assert_eq!(from_connect(&mut parts(method, protocol)), None);
        }
    }

    #[test]
    fn server_with_a_wrong_proof_is_not_accepted() {
        let key = from_connect(&mut parts(Method::CONNECT, Some("websocket"))).unwrap();
        for (value, expected) in [
            (Some(key.answer.as_str()), true),
            (Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), false),
            (None, false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(SEC_WEBSOCKET_ACCEPT, value.parse().unwrap());
            }
            assert_eq!(key.accepts(&mut headers), expected, "{value:?}");
            assert!(headers.is_empty());
        }
    }
}
