//! Parsing of `Host` lines, which specify the main host name of a site that has several names.

use std::borrow::Cow;

use super::target::SplitUrl;

/// Returns `true` if a value is a host name (not an IP address), with or without a port.
pub(super) fn is_host(value: &[u8]) -> bool {
    str::from_utf8(value).is_ok_and(|value| host_and_port(value).is_some())
}

/// Returns `true` if a valid `Host` value specifies the given host and port (80 if omitted).
pub(super) fn names_host(value: &[u8], host: &str, port: u16) -> bool {
    let named = str::from_utf8(value).ok().and_then(host_and_port);
    named.is_some_and(|named| named.0.eq_ignore_ascii_case(host) && named.1 == port)
}

fn host_and_port(value: &str) -> Option<(&str, u16)> {
    let (host, port) = match value.split_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => {
            (host, port.parse().ok().filter(|port| *port > 0)?)
        }
        Some(_) => return None,
        None => (value, 80),
    };
    let is_address = host
        .bytes()
        .all(|octet| octet.is_ascii_digit() || octet == b'.');
    // A DNS name of 255 octets (RFC 1035 §2.3.4) has 253 characters as text, without the first
    // length octet and the root label.
    let is_name = host.len() <= 253 && host.split('.').all(is_label);
    (is_name && !is_address).then_some((host, port))
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|octet| octet.is_ascii_alphanumeric() || octet == b'-')
}

/// Returns a URL with the scheme, host and port of a Geoportal `Host` line.
///
/// Parts of the URL that the `Host` line omits are not changed, except that a host without a port
/// removes the URL's port.
pub(super) fn rewritten<'u>(url: &'u str, host_line: &str) -> Cow<'u, str> {
    let split = SplitUrl::parse(url);
    let Some((scheme, authority)) = split.origin else {
        return Cow::Borrowed(url);
    };
    let (new_scheme, rest) = match host_line.split_once("://") {
        Some((scheme, rest)) => (Some(scheme).filter(|scheme| !scheme.is_empty()), rest),
        None => (None, host_line),
    };
    let (host, port) = match rest.split_once(':') {
        Some((host, port)) => (host, port.parse::<u16>().ok()),
        None => (rest, None),
    };
    if new_scheme.is_none() && host.is_empty() {
        return Cow::Borrowed(url);
    }
    let scheme = new_scheme.unwrap_or(scheme);
    let rest = split.rest;
    Cow::Owned(match port {
        _ if host.is_empty() => format!("{scheme}://{authority}{rest}"),
        Some(port) => format!("{scheme}://{host}:{port}{rest}"),
        None => format!("{scheme}://{host}{rest}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_a_name_with_an_optional_port() {
        for (value, valid) in [
            ("www.myhost.ru", true),
            ("www.myhost.ru:8081", true),
            ("localhost", true),
            ("", false),
            ("http://www.myhost.ru", false),
            ("www.myhost.ru/", false),
            ("a b", false),
            ("-a.ru", false),
            ("a..ru", false),
            ("a_b.ru", false),
            ("127.0.0.1", false),
            ("a.ru:", false),
            ("a.ru:0", false),
            ("a.ru:65536", false),
        ] {
            assert_eq!(is_host(value.as_bytes()), valid, "{value}");
        }
    }

    #[test]
    fn omitted_port_is_80() {
        assert!(names_host(b"WWW.myhost.ru", "www.MYhost.ru", 80));
        assert!(names_host(b"www.myhost.ru:8081", "www.myhost.ru", 8081));
        assert!(!names_host(b"www.myhost.ru", "www.myhost.ru", 8081));
    }

    #[test]
    fn host_line_rewrites_the_parts_it_contains() {
        let url = "http://a.example:81/x?y#z";
        for (line, expected) in [
            ("https://myhost:8443", "https://myhost:8443/x?y#z"),
            ("myhost", "http://myhost/x?y#z"),
            ("https://", "https://a.example:81/x?y#z"),
            (":8443", url),
            ("", url),
        ] {
            assert_eq!(rewritten(url, line), expected, "{line}");
        }
        assert_eq!(rewritten("/x", "myhost"), "/x");
    }
}
