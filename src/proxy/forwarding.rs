use std::{fmt::Write as _, net::IpAddr};

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{Entry, FORWARDED},
};

use crate::listen::{ClientAddr, is_forwarding};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Removes the forwarding headers that the client sent.
pub(super) fn strip(headers: &mut HeaderMap) {
    if headers.keys().any(is_forwarding) {
        let names: Vec<_> = headers
            .keys()
            .filter(|name| is_forwarding(name))
            .cloned()
            .collect();
        for name in names {
            headers.remove(name);
        }
    }
}

/// Makes `X-Forwarded-For`, `-Proto`, `-Host` and `Forwarded` (RFC 7239).
///
/// `host` is what the client asked for, and fit for a quoted string.
pub(super) fn rewrite(headers: &mut HeaderMap, client: Option<&ClientAddr>, host: &HeaderValue) {
    if client.is_none_or(|client| !client.trusted) {
        strip(headers);
    } else {
        strip_misspelt(headers);
    }
    let Some(client) = client else {
        headers.insert(X_FORWARDED_HOST, host.clone());
        return;
    };
    let peer = client.peer.ip();
    let element = element(peer, client.https, host);
    // A chain that is missing begins with what the other one says.
    let began = (client.client != peer).then_some(client.client);
    let first = began.map(node);
    append(
        headers,
        FORWARDED,
        first.map(|node| format!("for={node}")),
        element,
    );
    append(
        headers,
        X_FORWARDED_FOR,
        began.map(|addr| addr.to_string()),
        peer.to_string(),
    );
    let proto = if client.https { "https" } else { "http" };
    headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(proto));
    if let Entry::Vacant(entry) = headers.entry(X_FORWARDED_HOST) {
        entry.insert(host.clone());
    }
}

/// A trusted proxy spells its headers right: other spellings are the client's.
fn strip_misspelt(headers: &mut HeaderMap) {
    let misspelt = |name: &&HeaderName| {
        is_forwarding(name)
            && name
                .as_str()
                .bytes()
                .any(|byte| !byte.is_ascii_alphanumeric() && byte != b'-')
    };
    let names: Vec<_> = headers.keys().filter(misspelt).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Appends to a list, as one line.
fn append(headers: &mut HeaderMap, name: HeaderName, first: Option<String>, last: String) {
    let lines: Vec<_> = headers
        .get_all(&name)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    let mut list = lines.join(&b", "[..]);
    if list.is_empty() {
        list.extend(first.unwrap_or_default().into_bytes());
    }
    if !list.is_empty() {
        list.extend(b", ");
    }
    list.extend(last.into_bytes());
    // Parts of header values and addresses make a header value.
    match HeaderValue::from_maybe_shared(bytes::Bytes::from(list)) {
        Ok(value) => headers.insert(name, value),
        Err(_) => headers.remove(name),
    };
}

fn element(peer: IpAddr, https: bool, host: &HeaderValue) -> String {
    let mut element = format!("for={}", node(peer));
    element.push_str(if https { ";proto=https" } else { ";proto=http" });
    if let Ok(host) = host.to_str() {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        // Writing to a `String` does not fail.
        let _ = if host.bytes().all(is_token) {
            write!(element, ";host={host}")
        } else {
            write!(element, ";host=\"{host}\"")
        };
    }
    element
}

fn node(addr: IpAddr) -> String {
    match addr {
        IpAddr::V4(addr) => addr.to_string(),
        IpAddr::V6(addr) => format!("\"[{addr}]\""),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        headers
    }

    fn client(client: &str, peer: &str, trusted: bool) -> ClientAddr {
        ClientAddr {
            client: client.parse().unwrap(),
            peer: SocketAddr::new(peer.parse().unwrap(), 4711),
            direct: client == peer,
            https: false,
            trusted,
        }
    }

    fn rewritten(lines: &[(&str, &str)], client: Option<ClientAddr>) -> Vec<String> {
        let mut headers = headers(lines);
        rewrite(
            &mut headers,
            client.as_ref(),
            &HeaderValue::from_static("site.example:8080"),
        );
        let mut lines: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        lines.sort();
        lines
    }

    const FORGED: &[(&str, &str)] = &[
        ("forwarded", "for=203.0.113.9"),
        ("x-forwarded", "203.0.113.9"),
        ("x-forwarded-for", "203.0.113.9"),
        ("x_forwarded_for", "203.0.113.9"),
        ("x.forwarded.for", "203.0.113.9"),
        ("x-forwarded_proto", "https"),
        ("x-forwarded-prefix", "/evil"),
        ("x-forwarded-port", "1"),
        ("x-real-ip", "203.0.113.9"),
        ("x_real.ip", "203.0.113.9"),
        ("x~forwarded~for", "203.0.113.9"),
        ("x!real+ip", "203.0.113.9"),
    ];

    #[test]
    fn forged_headers_of_every_spelling_are_replaced() {
        let lines = rewritten(FORGED, Some(client("192.0.2.1", "192.0.2.1", false)));
        assert_eq!(
            lines,
            [
                "forwarded: for=192.0.2.1;proto=http;host=\"site.example:8080\"",
                "x-forwarded-for: 192.0.2.1",
                "x-forwarded-host: site.example:8080",
                "x-forwarded-proto: http",
            ]
        );
    }

    #[test]
    fn without_a_known_client_nothing_forged_is_left() {
        assert_eq!(
            rewritten(FORGED, None),
            ["x-forwarded-host: site.example:8080"]
        );
    }

    #[test]
    fn the_chain_of_a_trusted_peer_is_kept_and_added_to() {
        let lines = rewritten(
            &[
                ("x-forwarded-for", "203.0.113.9"),
                ("x-forwarded-for", "198.51.100.7"),
                ("x-forwarded-host", "www.example"),
                ("x-forwarded-port", "443"),
                ("x_forwarded_for", "203.0.113.66"),
                ("x-forwarded~for", "203.0.113.66"),
            ],
            Some(client("198.51.100.7", "10.0.0.1", true)),
        );
        assert_eq!(
            lines,
            [
                "forwarded: for=198.51.100.7, for=10.0.0.1;proto=http;host=\"site.example:8080\"",
                "x-forwarded-for: 203.0.113.9, 198.51.100.7, 10.0.0.1",
                "x-forwarded-host: www.example",
                "x-forwarded-port: 443",
                "x-forwarded-proto: http",
            ]
        );
    }

    #[test]
    fn a_chain_in_the_newer_header_begins_the_older_one() {
        let lines = rewritten(
            &[("forwarded", "for=\"[2001:db8::1]\"")],
            Some(client("2001:db8::1", "::1", true)),
        );
        assert_eq!(
            lines[..2],
            [
                "forwarded: for=\"[2001:db8::1]\", for=\"[::1]\";proto=http;host=\"site.example:8080\"",
                "x-forwarded-for: 2001:db8::1, ::1",
            ]
        );
    }
}
