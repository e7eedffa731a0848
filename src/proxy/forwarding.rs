use std::{
    io::Write as _,
    net::{IpAddr, Ipv4Addr},
};

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{Entry, FORWARDED},
};

use crate::listen::{ClientAddr, is_forwarding};

use super::headers::remove_where;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Removes the forwarding headers that the client sent.
pub(super) fn strip(headers: &mut HeaderMap) {
    remove_where(headers, is_forwarding);
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
    // A chain that is missing begins with what the other one says.
    let began = (client.client != peer).then_some(client.client);
    let mut text = Vec::with_capacity(64 + host.len());
    if let Some(addr) = began {
        text.extend(b"for=");
        push_node(&mut text, addr);
        text.extend(b", ");
    }
    let first_len = text.len();
    push_element(&mut text, peer, client.https, host);
    append(headers, FORWARDED, &text, first_len);
    text.clear();
    if let Some(addr) = began {
        push_addr(&mut text, addr);
        text.extend(b", ");
    }
    let first_len = text.len();
    push_addr(&mut text, peer);
    append(headers, X_FORWARDED_FOR, &text, first_len);
    let proto = if client.https { "https" } else { "http" };
    headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(proto));
    if let Entry::Vacant(entry) = headers.entry(X_FORWARDED_HOST) {
        entry.insert(host.clone());
    }
}

/// A trusted proxy spells its headers right: other spellings are the client's.
fn strip_misspelt(headers: &mut HeaderMap) {
    let is_misspelt = |byte: u8| !byte.is_ascii_alphanumeric() && byte != b'-';
    remove_where(headers, |name| {
        is_forwarding(name) && name.as_str().bytes().any(is_misspelt)
    });
}

/// Appends to a list, as one line; where there is none, from the start of the text.
///
/// `first_len` is how much of the text begins a list.
fn append(headers: &mut HeaderMap, name: HeaderName, text: &[u8], first_len: usize) {
    let mut list = Vec::new();
    for line in headers.get_all(&name) {
        if !line.is_empty() {
            list.extend(line.as_bytes());
            list.extend(b", ");
        }
    }
    let value = if list.is_empty() {
        HeaderValue::from_bytes(text)
    } else {
        list.extend(text.get(first_len..).unwrap_or_default());
        HeaderValue::from_maybe_shared(bytes::Bytes::from(list))
    };
    // Parts of header values and addresses make a header value.
    match value {
        Ok(value) => headers.insert(name, value),
        Err(_) => headers.remove(name),
    };
}

fn push_element(text: &mut Vec<u8>, peer: IpAddr, https: bool, host: &HeaderValue) {
    text.extend(b"for=");
    push_node(text, peer);
    text.extend(if https {
        &b";proto=https"[..]
    } else {
        b";proto=http"
    });
    let host = host.as_bytes();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let quote = if host.iter().all(is_token) {
        &b""[..]
    } else {
        b"\""
    };
    for part in [b";host=", quote, host, quote] {
        text.extend(part);
    }
}

/// The peer of a Unix socket has no address (RFC 7239 §6.2).
fn push_addr(text: &mut Vec<u8>, addr: IpAddr) {
    match addr {
        addr if addr.is_unspecified() => text.extend(b"unknown"),
        IpAddr::V4(addr) => push_ipv4(text, addr),
        // Writing into memory does not fail.
        IpAddr::V6(addr) => drop(write!(text, "{addr}")),
    }
}

fn push_node(text: &mut Vec<u8>, addr: IpAddr) {
    let is_quoted = addr.is_ipv6() && !addr.is_unspecified();
    text.extend(if is_quoted { &b"\"["[..] } else { b"" });
    push_addr(text, addr);
    text.extend(if is_quoted { &b"]\""[..] } else { b"" });
}

/// As [`Ipv4Addr`]'s `Display`, which asks a formatter for each number.
fn push_ipv4(text: &mut Vec<u8>, addr: Ipv4Addr) {
    for (at, octet) in addr.octets().into_iter().enumerate() {
        if at > 0 {
            text.push(b'.');
        }
        if octet >= 100 {
            text.push(b'0' + octet / 100);
        }
        if octet >= 10 {
            text.push(b'0' + octet / 10 % 10);
        }
        text.push(b'0' + octet % 10);
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
    fn addresses_are_written_as_everywhere() {
        for addr in ["0.0.0.1", "9.10.99.100", "255.0.200.109", "2001:db8::1"] {
            let mut text = Vec::new();
            push_addr(&mut text, addr.parse().unwrap());
            assert_eq!(String::from_utf8(text).unwrap(), addr);
        }
    }

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
