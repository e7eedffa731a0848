//! Heads of requests that pass through unchanged, with our own headers behind theirs.
//!
//! Nearly all requests of people are like this: each header is classified and written in one
//! pass, which saves an eighth of a proxied page's instructions. All others are left to
//! [`request::rewrite`], and a property test holds that it writes the same for these.

use std::{cell::Cell, mem};

use http::{HeaderValue, Method, Version, request::Parts};

use crate::listen::ClientAddr;

use super::{
    forwarded_headers,
    header_kinds::HeaderKind,
    http1::write_line,
    request::{self, Rules},
};

/// Largest buffer that a thread keeps for a head.
const KEPT_BYTES: usize = 16 * 1024;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Head of a request without a body, as it is sent.
#[derive(Debug)]
pub(super) struct PassthroughHead {
    /// Goes back to the thread when dropped.
    pub(super) head: Vec<u8>,
    /// `Accept` of the client, for an error page.
    pub(super) accept: Option<HeaderValue>,
}

impl PassthroughHead {
    /// Writes the head of a request.
    ///
    /// `None` where more has to be done or decided than to add our headers.
    pub(super) fn new(rules: &Rules, parts: &Parts, client: Option<&ClientAddr>) -> Option<Self> {
        let mut passthrough = Self {
            head: BUFFER.take(),
            accept: None,
        };
        let Self { head, accept } = &mut passthrough;
        write(rules, parts, client, head, accept).then_some(passthrough)
    }
}

impl Drop for PassthroughHead {
    fn drop(&mut self) {
        let mut buffer = mem::take(&mut self.head);
        if buffer.capacity() <= KEPT_BYTES {
            buffer.clear();
            BUFFER.try_with(|kept| kept.set(buffer)).ok();
        }
    }
}

/// Writes the head, and notes `Accept`; returns `false` if the request has to be rewritten.
fn write(
    rules: &Rules,
    parts: &Parts,
    client: Option<&ClientAddr>,
    output: &mut Vec<u8>,
    accept: &mut Option<HeaderValue>,
) -> bool {
    let is_usual = rules.preserve_host
        && parts.version == Version::HTTP_11
        && parts.method != Method::CONNECT
        && parts.method != Method::TRACE
        && rules.upstream.keeps(&parts.uri)
        && request::has_usable_target(parts);
    if !is_usual {
        return false;
    }
    write_line(output, parts);
    let (mut host, mut has_connection) = (None, false);
    for (header, value) in &parts.headers {
        let name = header.as_str();
        match HeaderKind::of(header, name) {
            HeaderKind::EndToEnd => {}
            // A second or an invalid `Host` is refused by `rewrite` (RFC 9112 §3.2).
            HeaderKind::Host if host.is_none() && request::is_host(value) => host = Some(value),
            HeaderKind::Accept => {
                accept.get_or_insert_with(|| value.clone());
            }
            // `keep-alive` or `close`, as browsers send it, names no header; it is for one hop
            // (RFC 9110 §7.6.1).
            HeaderKind::Connection if !has_connection && is_of_hop_alone(value) => {
                has_connection = true;
                continue;
            }
            _ => return false,
        }
        for part in [name.as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            output.extend_from_slice(part);
        }
    }
    let Some(host) = host else {
        return false;
    };
    // RFC 9110 §7.6.3.
    for part in [b"via: ", rules.via.entry(parts.version).as_bytes(), b"\r\n"] {
        output.extend_from_slice(part);
    }
    forwarded_headers::write(client, host, output);
    output.extend_from_slice(b"\r\n");
    true
}

fn is_of_hop_alone(value: &HeaderValue) -> bool {
    let value = value.as_bytes();
    value.eq_ignore_ascii_case(b"keep-alive") || value.eq_ignore_ascii_case(b"close")
}

#[cfg(test)]
mod tests {
    use http::Request;
    use proptest::prelude::*;

    use super::*;
    use crate::proxy::{
        http1,
        request::{RequestFacts, Via},
        upstream::Upstream,
    };

    fn rules(upstream: &str, preserve_host: bool) -> Rules {
        Rules {
            upstream: Upstream::parse(upstream).unwrap(),
            preserve_host,
            kept: Vec::new(),
            via: Via::new(7),
        }
    }

    fn client(trusted: bool) -> ClientAddr {
        ClientAddr {
            client: [192, 0, 2, 1].into(),
            peer: ([10, 0, 0, 1], 4711).into(),
            direct: false,
            https: true,
            trusted,
            is_scheme_known: true,
        }
    }

    /// What is sent of a request that is rewritten; `None` where it is refused.
    fn rewritten(rules: &Rules, mut parts: Parts, client: Option<&ClientAddr>) -> Option<Vec<u8>> {
        let facts = RequestFacts {
            is_empty: true,
            has_known_length: true,
            can_upgrade: true,
        };
        let added = request::rewrite(rules, &mut parts, client, facts).ok()?;
        let mut output = Vec::new();
        http1::write_bodiless(&mut output, &parts, &added.added);
        Some(output)
    }

    /// Request line and headers, these by their names: the order of others does not matter.
    fn lines(head: &[u8]) -> Vec<String> {
        let head = String::from_utf8_lossy(head).into_owned();
        let mut lines: Vec<_> = head.split("\r\n").map(str::to_owned).collect();
        assert_eq!(lines.split_off(lines.len() - 2), ["", ""]);
        let name = |line: &String| line.split(':').next().map(str::to_owned);
        if let Some(headers) = lines.get_mut(1..) {
            headers.sort_by_key(name);
        }
        lines
    }

    fn parts(method: &str, version: Version, target: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.version(version).body(()).unwrap().into_parts().0
    }

    const BROWSER: &[(&str, &str)] = &[
        ("host", "site.example"),
        ("connection", "keep-alive"),
        ("user-agent", "Mozilla/5.0"),
        ("accept", "text/html"),
        ("accept-language", "en"),
        ("cookie", "a=1"),
    ];

    #[test]
    fn what_browsers_send_goes_as_it_came() {
        let rules = rules("http://origin.example", true);
        let parts = parts("GET", Version::HTTP_11, "/a?b=c", BROWSER);
        let mut passthrough = PassthroughHead::new(&rules, &parts, Some(&client(false))).unwrap();
        assert_eq!(passthrough.accept.take().unwrap(), "text/html");
        let sent = String::from_utf8(mem::take(&mut passthrough.head)).unwrap();
        assert!(sent.starts_with("GET /a?b=c HTTP/1.1\r\nhost: site.example\r\nuser-agent: M"));
        assert!(
            sent.contains("\r\nx-forwarded-host: site.example\r\n\r\n"),
            "{sent}"
        );
    }

    fn header() -> impl Strategy<Value = (&'static str, &'static str)> {
        let names = prop::sample::select(vec![
            "host",
            "accept",
            "accept",
            "user-agent",
            "x-a",
            "x-a",
            "cookie",
            "from",
            "connection",
            "connection",
            "keep-alive",
            "te",
            "via",
            "upgrade",
            "expect",
            "forwarded",
            "x-forwarded-for",
            "x_real_ip",
            "proxy",
            "proxy-authorization",
            "content-length",
            "content_length",
            "transfer-encoding",
            "transfer.encoding",
            "http2-settings",
            "proxy-connection",
        ]);
        let values = prop::sample::select(vec![
            "",
            "a",
            "site.example",
            "keep-alive",
            "Close",
            "x-a",
            "keep-alive, x-a",
            "trailers",
            "chunked",
            "1",
            "websocket",
            "1.1 robot-detection (1)",
        ]);
        (names, values)
    }

    proptest! {
        #[test]
        fn it_is_what_rewriting_makes_of_it(
            headers in prop::collection::vec(header(), 0..6),
            has_host in prop::bool::weighted(0.9),
            method in prop::sample::select(vec![
                "GET", "GET", "HEAD", "OPTIONS", "POST", "TRACE",
            ]),
            target in prop::sample::select(vec![
                "/", "/a%20b?c", "/?", "*", "http://b/", "http://b",
            ]),
            version in prop::sample::select(vec![
                Version::HTTP_10,
                Version::HTTP_11,
                Version::HTTP_11,
                Version::HTTP_11,
                Version::HTTP_2,
            ]),
            client in prop::sample::select(vec![None, Some(client(false)), Some(client(true))]),
            upstream in prop::sample::select(vec![
                "http://origin.example", "http://origin.example/app",
            ]),
            preserve_host in prop::bool::weighted(0.9),
        ) {
            let mut headers = headers;
            if has_host {
                headers.insert(0, ("host", "site.example"));
            }
            let rules = rules(upstream, preserve_host);
            let parts = parts(method, version, target, &headers);
            let passthrough = PassthroughHead::new(&rules, &parts, client.as_ref());
            if let Some(passthrough) = passthrough {
                let rewritten = rewritten(&rules, parts, client.as_ref());
                prop_assert_eq!(Some(lines(&passthrough.head)), rewritten.map(|head| lines(&head)));
            }
        }
    }
}
