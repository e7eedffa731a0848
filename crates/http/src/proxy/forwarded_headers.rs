use std::{
    io::Write as _,
    net::{IpAddr, Ipv4Addr},
};

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{Entry, FORWARDED},
};

use crate::listen::{ClientAddr, is_forwarding};

use super::headers::{is_host_name_byte, remove_where};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Removes the forwarding headers that the client has sent.
pub(super) fn strip(headers: &mut HeaderMap) {
    remove_where(headers, is_forwarding);
}

/// The headers that report the client's address, scheme and host to the upstream:
/// `X-Forwarded-For`, `X-Forwarded-Proto`, `X-Forwarded-Host` and `Forwarded` (RFC 7239).
#[derive(Clone, Debug)]
pub(super) struct ForwardedHeaders {
    client: Option<ClientAddr>,
    /// The requested host, which is valid inside a quoted string.
    host: HeaderValue,
}

impl ForwardedHeaders {
    pub(super) fn new(client: Option<ClientAddr>, host: HeaderValue) -> Self {
        Self { client, host }
    }

    /// Removes the forwarding headers of an untrusted client, or appends to the headers of a
    /// trusted proxy.
    ///
    /// Returns `Some(self)` if the headers still have to be written.
    pub(super) fn replace(self, headers: &mut HeaderMap) -> Option<Self> {
        if self.client.is_none_or(|client| !client.trusted) {
            // Any client can send these headers (RFC 7239 §8.1).
            strip(headers);
            return Some(self);
        }
        if !headers.keys().any(is_forwarding) {
            return Some(self);
        }
        self.insert(headers);
        None
    }

    /// Adds the forwarding headers to the existing headers.
    pub(super) fn insert(&self, headers: &mut HeaderMap) {
        let Some(client) = &self.client else {
            headers.insert(X_FORWARDED_HOST, self.host.clone());
            return;
        };
        let mut text = Vec::with_capacity(64 + self.host.len());
        let first_len = push_elements(&mut text, client, &self.host);
        append(headers, FORWARDED, &text, first_len);
        text.clear();
        let first_len = push_chain(&mut text, client);
        append(headers, X_FORWARDED_FOR, &text, first_len);
        // The header is overwritten, because applications read it as a single value.
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(proto(client)));
        // The trusted proxy saw the host that the client requested, and may have sent a different
        // host to us.
        if let Entry::Vacant(entry) = headers.entry(X_FORWARDED_HOST) {
            entry.insert(self.host.clone());
        }
    }

    /// Writes the forwarding headers as HTTP/1.1 header lines.
    pub(super) fn write(&self, output: &mut Vec<u8>) {
        let Self { client, host } = self;
        let before_host: &[u8] = match client {
            None => b"x-forwarded-host: ",
            Some(client) => {
                output.extend_from_slice(b"forwarded: ");
                push_elements(output, client, host);
                output.extend_from_slice(b"\r\nx-forwarded-for: ");
                push_chain(output, client);
                if client.https {
                    b"\r\nx-forwarded-proto: https\r\nx-forwarded-host: "
                } else {
                    b"\r\nx-forwarded-proto: http\r\nx-forwarded-host: "
                }
            }
        };
        output.extend_from_slice(before_host);
        output.extend_from_slice(host.as_bytes());
        output.extend_from_slice(b"\r\n");
    }
}

fn proto(client: &ClientAddr) -> &'static str {
    if client.https { "https" } else { "http" }
}

/// Returns the client's address if it differs from the peer's; a new chain then begins with the
/// client.
fn began(client: &ClientAddr) -> Option<IpAddr> {
    (client.client != client.peer.ip()).then_some(client.client)
}

/// Appends the value of `Forwarded` (RFC 7239 §4), and returns the size of the part that is needed
/// only in a new list.
fn push_elements(text: &mut Vec<u8>, client: &ClientAddr, host: &HeaderValue) -> usize {
    let start = text.len();
    if let Some(addr) = began(client) {
        text.extend_from_slice(b"for=");
        push_node(text, addr);
        text.extend_from_slice(b", ");
    }
    let first_len = text.len() - start;
    push_element(text, client.peer.ip(), client.https, host);
    first_len
}

/// Appends the value of `X-Forwarded-For`, and returns the size of the part that is needed only in
/// a new list.
fn push_chain(text: &mut Vec<u8>, client: &ClientAddr) -> usize {
    let start = text.len();
    if let Some(addr) = began(client) {
        push_addr(text, addr);
        text.extend_from_slice(b", ");
    }
    let first_len = text.len() - start;
    push_addr(text, client.peer.ip());
    first_len
}

/// Appends a text to the list in a header, on one line; a new list begins with the whole text.
///
/// The first `first_len` bytes of the text are used only for a new list.
fn append(headers: &mut HeaderMap, name: HeaderName, text: &[u8], first_len: usize) {
    let mut list = Vec::new();
    // Several lines are equivalent to one list (RFC 9110 §5.3), but a single line cannot be
    // reordered or cut.
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
    // The value is built from header values and addresses, so this does not fail.
    match value {
        Ok(value) => headers.insert(name, value),
        Err(_) => headers.remove(name),
    };
}

fn push_element(text: &mut Vec<u8>, peer: IpAddr, https: bool, host: &HeaderValue) {
    text.extend_from_slice(b"for=");
    push_node(text, peer);
    text.extend_from_slice(if https {
        b";proto=https;host="
    } else {
        b";proto=http;host="
    });
    let host = host.as_bytes();
    // A token need not be quoted (RFC 7239 §4, RFC 9110 §5.6.2), but a value with a colon or
    // bracket must be.
    if host.iter().all(|byte| is_host_name_byte(*byte)) {
        text.extend_from_slice(host);
    } else {
        text.push(b'"');
        text.extend_from_slice(host);
        text.push(b'"');
    }
}

/// Appends an address; for the peer of a Unix socket, appends `unknown` (RFC 7239 §6.2).
fn push_addr(text: &mut Vec<u8>, addr: IpAddr) {
    match addr {
        addr if addr.is_unspecified() => text.extend_from_slice(b"unknown"),
        IpAddr::V4(addr) => push_ipv4(text, addr),
        // Writing to a `Vec` does not fail.
        IpAddr::V6(addr) => drop(write!(text, "{addr}")),
    }
}

fn push_node(text: &mut Vec<u8>, addr: IpAddr) {
    if addr.is_ipv6() && !addr.is_unspecified() {
        // IPv6 addresses are in brackets and therefore quoted (RFC 7239 §6.1).
        text.extend_from_slice(b"\"[");
        push_addr(text, addr);
        text.extend_from_slice(b"]\"");
    } else {
        push_addr(text, addr);
    }
}

/// Appends an address in the format of [`Ipv4Addr`]'s `Display`, without a formatter for each
/// number.
fn push_ipv4(text: &mut Vec<u8>, addr: Ipv4Addr) {
    let (mut dotted, mut len) = ([0; 16], 0);
    for octet in addr.octets() {
        let (digits, digits_len) = OCTETS.get(usize::from(octet)).copied().unwrap_or_default();
        // Always copy four bytes, because a copy of fixed size is faster; the next octet overwrites
        // the excess.
        if let Some(slot) = dotted.get_mut(len..len + digits.len()) {
            slot.copy_from_slice(&digits);
        }
        len += digits_len;
    }
    // Remove the last dot.
    text.extend_from_slice(dotted.get(..len.saturating_sub(1)).unwrap_or_default());
}

/// The decimal text of each octet value, with a trailing dot and the length of the text.
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an error would be reported"
)]
static OCTETS: [([u8; 4], usize); 256] = {
    let mut octets = [([b'.'; 4], 0); 256];
    let mut octet = 0;
    while octet < octets.len() {
        let mut digits = [b'.'; 4];
        let mut len = match octet {
            0..10 => 1,
            10..100 => 2,
            _ => 3,
        };
        octets[octet].1 = len + 1;
        let mut left = octet;
        while len > 0 {
            len -= 1;
            digits[len] = b"0123456789"[left % 10];
            left /= 10;
        }
        octets[octet].0 = digits;
        octet += 1;
    }
    octets
};

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
            is_scheme_known: true,
            is_ambiguous: false,
        }
    }

    fn rewritten(lines: &[(&str, &str)], client: Option<ClientAddr>) -> Vec<String> {
        let mut headers = headers(lines);
        let host = HeaderValue::from_static("site.example:8080");
        let written = ForwardedHeaders::new(client, host).replace(&mut headers);
        let mut output = Vec::new();
        if let Some(forwarded_headers) = &written {
            forwarded_headers.write(&mut output);
        }
        let lines = |headers: &HeaderMap, written: &[u8]| {
            let written = String::from_utf8(written.to_vec()).unwrap();
            let kept = headers
                .iter()
                .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
            let mut lines: Vec<_> = kept.chain(written.lines().map(ToOwned::to_owned)).collect();
            lines.sort();
            lines
        };
        let sent = lines(&headers, &output);
        if let Some(forwarded_headers) = written {
            forwarded_headers.insert(&mut headers);
        }
        assert_eq!(lines(&headers, b""), sent, "HTTP/2 sends the same");
        sent
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
    fn addresses_are_written_in_the_usual_form() {
        for octet in 0..=255 {
            let (mut text, addr) = (Vec::new(), Ipv4Addr::new(octet, 1, octet, octet));
            push_ipv4(&mut text, addr);
            assert_eq!(String::from_utf8(text).unwrap(), addr.to_string());
        }
        for addr in ["0.0.0.1", "9.10.99.100", "255.0.200.109", "2001:db8::1"] {
            let mut text = Vec::new();
            push_addr(&mut text, addr.parse().unwrap());
            assert_eq!(String::from_utf8(text).unwrap(), addr);
        }
    }

    #[test]
    fn forged_headers_are_replaced_in_every_spelling() {
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
    fn forged_headers_are_removed_without_a_known_client() {
        assert_eq!(
            rewritten(FORGED, None),
            ["x-forwarded-host: site.example:8080"]
        );
    }

    #[test]
    fn chain_of_a_trusted_peer_is_extended() {
        let lines = rewritten(
            &[
                ("x-forwarded-for", "203.0.113.9"),
                ("x-forwarded-for", "198.51.100.7"),
                ("x-forwarded-host", "www.example"),
                ("x-forwarded-port", "443"),
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
    fn chain_in_the_newer_header_starts_the_older_one() {
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
