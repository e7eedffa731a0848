//! Lines exchanged between Apache's `RewriteMap` and the decision endpoint.
//!
//! Apache's key is one line of tab-separated fields: the number of fields that follow, the
//! visitor's address, the scheme, the original request line, `Host`, the server's name, and each
//! forwarded header as `Name: value`. A tab in a visitor's header changes the number of fields, so
//! the key is refused and no field can be forged.

use std::fmt;
use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, Method};
use ring::hmac;
use ring::rand::SystemRandom;

use super::{ANSWER, DECISION, Dialect, REQUEST};

/// Maximum length of a key in bytes; longer keys are refused.
pub const MAX_LINE_BYTES: usize = 16 << 10;

/// Maximum number of response headers that are parsed.
const MAX_HEADERS: usize = 64;

/// Returns the HTTP request that queries the decision endpoint for a key, or `None` if the key is
/// invalid.
pub fn question_from_line(line: &[u8], token: Option<&[u8]>) -> Option<Vec<u8>> {
    let is_control = |byte: &u8| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f;
    if line.len() > MAX_LINE_BYTES || line.iter().any(is_control) {
        return None;
    }
    let mut fields = line.split(|byte| *byte == b'\t');
    let number: usize = text(fields.next()?)?.parse().ok()?;
    if fields.clone().count() != number {
        return None;
    }
    let address: IpAddr = text(fields.next()?)?.parse().ok()?;
    let scheme = text(fields.next()?).filter(|scheme| is_token(scheme.as_bytes()))?;
    let (method, target) = method_and_target(fields.next()?)?;
    let (host, server_name) = (fields.next()?, fields.next()?);
    // Only an HTTP/1.0 request can lack a host.
    let host = if host.is_empty() { server_name } else { host };

    let mut question = format!("GET /check/{} HTTP/1.1\r\n", Dialect::Apache.as_str()).into_bytes();
    let mut add = |name: &[u8], value: &[&[u8]]| {
        question.extend_from_slice(name);
        question.extend_from_slice(b": ");
        question.extend_from_slice(&value.concat());
        question.extend_from_slice(b"\r\n");
    };
    add(b"Host", &[host]);
    let described = format!("{address} {scheme} {method} - ");
    add(REQUEST.as_str().as_bytes(), &[described.as_bytes(), target]);
    if let Some(token) = token {
        add(TOKEN.as_str().as_bytes(), &[token]);
    }
    for field in fields {
        let (name, value) = field.split_at_checked(memchr::memchr(b':', field)?)?;
        let value = value.get(1..)?.trim_ascii();
        if !is_token(name) {
            return None;
        }
        // Apache writes an empty value for a missing header.
        if !value.is_empty() {
            add(name, &[value]);
        }
    }
    question.extend_from_slice(b"\r\n");
    Some(question)
}

/// Returns the line for Apache from a response's head, and the length of the response's body.
///
/// If the endpoint refuses a query without returning a line, a line that refuses the request is
/// returned. A response without a decision yields no line.
pub fn line_from_answer(head: &[u8]) -> (Option<Vec<u8>>, u64) {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut answer = httparse::Response::new(&mut headers);
    if answer.parse(head).is_err() {
        return (None, 0);
    }
    let find = |name: &str| {
        let mut headers = answer.headers.iter();
        let found = headers.find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| header.value)
    };
    let length = find("content-length").and_then(|length| text(length)?.parse().ok());
    let line = find(ANSWER.as_str()).map(<[u8]>::to_vec);
    let refused = || {
        find(DECISION.as_str())?;
        let status = answer.code.filter(|status| (400..500).contains(status))?;
        Some(format!("{status}\tdecision=refuse").into_bytes())
    };
    (line.or_else(refused), length.unwrap_or_default())
}

/// Parses a request line; returns `None` if the HTTP version is missing or earlier than 1.0.
fn method_and_target(line: &[u8]) -> Option<(Method, &[u8])> {
    let end = memchr::memmem::rfind(line, b" HTTP/")?;
    let line = line.get(..end)?;
    let (method, target) = line.split_at_checked(memchr::memchr(b' ', line)?)?;
    let target = target.get(1..)?;
    let is_whole = !target.is_empty() && !target.contains(&b' ');
    is_whole.then_some((Method::from_bytes(method).ok()?, target))
}

fn is_token(text: &[u8]) -> bool {
    let is_sign = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    !text.is_empty() && text.iter().all(is_sign)
}

fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok()
}

/// Request header that contains the token. `Authorization` is not used, because visitors may send
/// that header.
pub(super) const TOKEN: HeaderName = HeaderName::from_static("x-robot-detection-token");

/// The decision endpoint's token, compared in constant time.
#[derive(Clone)]
pub struct CheckToken {
    /// Random key of this process, which prevents the time of a comparison from revealing the
    /// token.
    key: hmac::Key,
    tag: hmac::Tag,
}

impl CheckToken {
    /// Creates a `CheckToken` from the configured token.
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot provide random numbers.
    pub fn new(secret: &[u8]) -> std::io::Result<Self> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| std::io::Error::other("the system cannot provide random numbers"))?;
        let tag = hmac::sign(&key, secret);
        Ok(Self { key, tag })
    }

    /// Returns `true` if a request contains the token exactly once.
    pub fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(TOKEN).iter();
        let (Some(secret), None) = (given.next(), given.next()) else {
            return false;
        };
        hmac::verify(&self.key, secret.as_bytes(), self.tag.as_ref()).is_ok()
    }
}

impl fmt::Debug for CheckToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINE: &str = "7\t192.0.2.7\thttps\tGET /a%2fb?c HTTP/1.1\texample.org\tlocalhost\t\
        User-Agent: Googlebot/2.1\tAccept: ";

    fn question(line: &str) -> Option<String> {
        let question = question_from_line(line.as_bytes(), Some(b"secret"));
        question.map(|question| String::from_utf8(question).unwrap())
    }

    #[test]
    fn line_becomes_a_query_with_the_sent_headers() {
        let expected = "GET /check/apache HTTP/1.1\r\nHost: example.org\r\n\
            x-robot-detection-request: 192.0.2.7 https GET - /a%2fb?c\r\n\
            x-robot-detection-token: secret\r\nUser-Agent: Googlebot/2.1\r\n\r\n";
        assert_eq!(question(LINE).as_deref(), Some(expected));
        let without_host = LINE.replace("\texample.org\t", "\t\t");
        assert!(
            question(&without_host)
                .unwrap()
                .contains("Host: localhost\r\n")
        );
    }

    #[test]
    fn odd_lines_are_refused() {
        for (from, to) in [
            ("Googlebot", "Google\tbot"),
            ("Googlebot", "Firefox\tSignature: x"),
            ("Googlebot", "Google\rbot"),
            ("Googlebot", "Google\u{1}bot"),
            ("Googlebot", "Google\u{7f}bot"),
            ("7\t", "8\t"),
            ("7\t", "\t"),
            ("192.0.2.7", "192.0.2"),
            ("192.0.2.7", ""),
            ("https", ""),
            (" HTTP/1.1", ""),
            ("/a%2fb?c", "/a b"),
            ("GET ", ""),
            ("/a%2fb?c ", ""),
            ("Accept: ", "Accept"),
            ("Accept: ", "Acc ept: "),
        ] {
            assert_eq!(
                question(&LINE.replacen(from, to, 1)),
                None,
                "{from:?} {to:?}"
            );
        }
        let longest = |bytes| LINE.replace("/a%2fb?c", &format!("/{}", "a".repeat(bytes)));
        assert!(question(&longest(15_000)).is_some());
        assert_eq!(question(&longest(MAX_LINE_BYTES)), None);
        assert_eq!(question(""), None);
    }

    #[test]
    fn response_becomes_its_line_and_so_does_a_refusal() {
        let line = |head: &str| line_from_answer(format!("{head}\r\n\r\n").as_bytes());
        let answered =
            "HTTP/1.1 200 OK\r\nX-Robot-Detection-Answer: 200\tdecision=pass\r\nContent-Length: 0";
        assert_eq!(line(answered), (Some(b"200\tdecision=pass".to_vec()), 0));
        let parser =
            "HTTP/1.1 431 Large\r\nX-Robot-Detection-Decision: refuse\r\nContent-Length: 5";
        assert_eq!(line(parser), (Some(b"431\tdecision=refuse".to_vec()), 5));
        for other in [
            "HTTP/1.1 500 Failed\r\nX-Robot-Detection-Decision: refuse",
            "HTTP/1.1 404 Not Found",
            "HTTP/1.1 200 OK",
            "garbage",
            "",
        ] {
            assert_eq!(line(other).0, None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_a_bounded_query_or_refused(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            for line in [line.clone(), [LINE.as_bytes(), &line].concat()] {
                if let Some(question) = question_from_line(&line, None) {
                    prop_assert!(question.len() < line.len() + 200);
                    prop_assert!(question.windows(4).position(|end| end == b"\r\n\r\n") == Some(question.len() - 4));
                }
                let _ = line_from_answer(&line);
            }
        }
    }
}

#[cfg(test)]
mod token_tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_a_single_matching_token_is_accepted() {
        let token = CheckToken::new(b"secret").unwrap();
        let is_in = |given: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for secret in given {
                headers.append(TOKEN, HeaderValue::from_static(secret));
            }
            token.is_in(&headers)
        };
        assert!(is_in(&["secret"]));
        for given in [
            &[][..],
            &[""],
            &["Secret"],
            &["secre"],
            &["secrets"],
            &["secret", "secret"],
            &["x", "secret"],
        ] {
            assert!(!is_in(given), "{given:?}");
        }
        assert_eq!(format!("{token:?}"), "***");
    }
}
