//! Request headers: none is forwarded that an upstream could mistake for another.
//!
//! `cargo +nightly fuzz run request_headers fuzz/corpus -- -dict=fuzz/request_headers.dict`: one
//! header per line, with a colon after the name.

use http::{HeaderMap, HeaderName, HeaderValue};
use robot_detection::listen::clean_headers;

/// CGI variables by which programs interpret a request.
const DECIDING: &[&str] = &[
    "HTTP_ACCEPT_ENCODING",
    "HTTP_CONTENT_LENGTH",
    "HTTP_CONTENT_TYPE",
    "HTTP_IF_NONE_MATCH",
    "HTTP_PROXY_AUTHORIZATION",
    "HTTP_SEC_FETCH_MODE",
    "HTTP_SIGNATURE_AGENT",
    "HTTP_SIGNATURE_INPUT",
    "HTTP_TRANSFER_ENCODING",
    "HTTP_USER_AGENT",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
    "HTTP_X_ROBOT_DETECTION",
    "HTTP_X_ROBOT_DETECTION_VERDICT",
];

fn variable(name: &str) -> String {
    let sign = |byte: u8| match byte {
        b'a'..=b'z' => char::from(byte.to_ascii_uppercase()),
        b'0'..=b'9' => char::from(byte),
        _ => '_',
    };
    "HTTP_".chars().chain(name.bytes().map(sign)).collect()
}

fn is_right(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte == b'-' || byte.is_ascii_alphanumeric())
}

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts
            .next()
            .and_then(|name| HeaderName::from_bytes(name).ok());
        let value = parts
            .next()
            .and_then(|value| HeaderValue::from_bytes(value).ok());
        if let (Some(name), Some(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let before = headers.clone();
    clean_headers(&mut headers);
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    for (name, value) in &headers {
        let name = name.as_str();
        assert!(
            is_right(name) || !DECIDING.contains(&variable(name).as_str()),
            "{name}"
        );
        assert!(!is_blank(value.as_bytes().first()) && !is_blank(value.as_bytes().last()));
    }
    for name in before.keys() {
        let values = |headers: &HeaderMap| {
            let values = headers.get_all(name).iter();
            values
                .map(|value| value.as_bytes().trim_ascii().to_vec())
                .collect::<Vec<_>>()
        };
        let (left, sent) = (values(&headers), values(&before));
        assert!(
            left == sent || (left.is_empty() && !is_right(name.as_str())),
            "{name}"
        );
    }
}
