//! Host names of sites and their ports, compared as HTTP specifies.

use std::{borrow::Cow, net::Ipv6Addr};

/// Maximum length of an accepted `Host` value with a name and a port.
// A name of 253 octets, a trailing dot, a colon, and five digits.
const MAX_BYTES: usize = 260;

/// The host and port of a URL or of this site.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Host {
    /// The host name in lower case, without a trailing dot; IPv6 addresses are in brackets.
    name: Box<str>,
    port: Option<u16>,
}

impl Host {
    /// Parses `name` or `name:port`. Errors contain the reason and a correction.
    pub(super) fn parse(host: &str) -> Result<Self, String> {
        let (name, port) = split(host);
        if host.contains('/') || !is_name(name) {
            return Err(
                "invalid host name; use letters, digits, - and ., and write names in other scripts as xn--…"
                    .to_owned(),
            );
        }
        let port = port
            .map(|digits| match parse_port(digits) {
                Some(port) if port > 0 => Ok(port),
                _ => Err(format!("{digits:?} is not a port; write 1 to 65535")),
            })
            .transpose()?;
        Ok(Self {
            name: without_dot(name).to_ascii_lowercase().into(),
            port,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn port(&self) -> Option<u16> {
        self.port
    }

    /// Checks whether a `Host` value matches this host. A host without a port matches every port.
    ///
    /// If the `Host` value has no port, the default port of `http` or `https` is assumed.
    pub(super) fn matches(&self, host: &str) -> bool {
        let (name, port) = split(host);
        let is_port = self.port.is_none_or(|own| match port {
            None | Some("") => matches!(own, 80 | 443),
            Some(digits) => parse_port(digits) == Some(own),
        });
        is_port && without_dot(name).eq_ignore_ascii_case(&self.name)
    }

    /// Checks whether a `Host` value matches this host. For a value without a port, `default_port`
    /// is assumed.
    pub(super) fn matches_port(&self, host: &str, default_port: u16) -> bool {
        let (name, port) = split(host);
        let port = match port {
            None | Some("") => Some(default_port),
            Some(digits) => parse_port(digits),
        };
        without_dot(name).eq_ignore_ascii_case(&self.name)
            && port == Some(self.port.unwrap_or(default_port))
    }
}

/// Returns the canonical spelling of a `Host` value: lower case, without the default port of `http`
/// or `https`; `None` if the value is invalid.
///
/// Behind a server that handles TLS, the scheme of a request is often unknown, so the default ports
/// of both schemes are removed.
pub(super) fn canonical_host(host: &str) -> Option<Cow<'_, str>> {
    if host.len() > MAX_BYTES {
        return None;
    }
    let (name, port) = split(host);
    let name = without_dot(name);
    let port = match port {
        None | Some("") => None,
        Some(digits) => Some(parse_port(digits)?).filter(|port| !matches!(port, 80 | 443)),
    };
    let name = if name.bytes().any(|octet| octet.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    };
    Some(match port {
        None => name,
        Some(port) => Cow::Owned(format!("{name}:{port}")),
    })
}

/// Splits a host at the colon before the port, not at a colon within an IPv6 address.
fn split(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    }
}

fn without_dot(name: &str) -> &str {
    // A name with the root's dot is the same name (RFC 1034 §3.1), and some clients send the dot.
    name.strip_suffix('.').unwrap_or(name)
}

fn parse_port(digits: &str) -> Option<u16> {
    // `parse` alone would accept a sign: `+80`.
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| digits.parse().ok()).flatten()
}

fn is_name(name: &str) -> bool {
    if let Some(address) = name.strip_prefix('[') {
        return address
            .strip_suffix(']')
            .is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let labels = without_dot(name);
    labels.len() <= 253
        && labels.split('.').all(|label| {
            !label.is_empty()
                && label
                    .bytes()
                    // RFC 1123 §2.1 does not allow underscores, but hosts in internal networks have
                    // such names.
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! cases {
        ($($name:ident: $host:expr, $port:expr, $header:expr => $is:expr;)*) => {
            $(#[test] fn $name() {
                assert_eq!(Host::parse($host).unwrap().matches_port($header, $port), $is);
            })*
        };
    }

    cases! {
        same_name: "example.com", 443, "example.com" => true;
        case_does_not_matter: "Example.COM", 443, "eXample.com" => true;
        dot_at_the_end_does_not_matter: "example.com.", 443, "example.com" => true;
        dot_at_the_end_of_the_header_does_not_matter: "example.com", 443, "example.com.:443" => true;
        other_name: "example.com", 443, "www.example.com" => false;
        default_port_goes_without_saying: "example.com:443", 443, "example.com" => true;
        default_port_may_be_said: "example.com", 80, "example.com:80" => true;
        empty_port_is_the_default: "example.com", 80, "example.com:" => true;
        other_port_is_another_site: "example.com", 443, "example.com:8443" => false;
        port_that_is_not_said_is_the_default: "example.com:8080", 80, "example.com" => false;
        same_port: "example.com:8080", 80, "example.com:8080" => true;
        port_that_is_none: "example.com", 80, "example.com:80x" => false;
        port_with_a_sign_is_none: "example.com", 80, "example.com:+80" => false;
        ipv6_address: "[::1]:3000", 80, "[::1]:3000" => true;
        ipv6_address_without_port: "[::1]", 80, "[::1]" => true;
        empty_header: "example.com", 80, "" => false;
    }

    #[test]
    fn a_name_without_a_port_matches_every_port() {
        for (own, header, is) in [
            ("a.example", "A.example.:8080", true),
            ("a.example", "a.example", true),
            ("a.example", "b.example", false),
            ("a.example", "a.example.evil", false),
            ("a.example:443", "a.example", true),
            ("a.example:443", "a.example:", true),
            ("a.example:8080", "a.example", false),
            ("a.example:8080", "a.example:8080", true),
            ("a.example:8080", "a.example:x", false),
            ("[::1]", "[::1]:3000", true),
        ] {
            assert_eq!(
                Host::parse(own).unwrap().matches(header),
                is,
                "{own} {header}"
            );
        }
    }

    #[test]
    fn a_host_has_one_canonical_spelling() {
        for (host, spelled) in [
            ("www.example.com", Some("www.example.com")),
            ("WWW.Example.com.", Some("www.example.com")),
            ("www.example.com:80", Some("www.example.com")),
            ("www.example.com:443", Some("www.example.com")),
            ("www.example.com:", Some("www.example.com")),
            ("www.example.com:08081", Some("www.example.com:8081")),
            ("www.example.com:x", None),
            ("[::1]:8080", Some("[::1]:8080")),
            ("", Some("")),
        ] {
            assert_eq!(canonical_host(host).as_deref(), spelled, "{host}");
        }
        assert_eq!(canonical_host(&"a".repeat(261)), None);
    }

    #[test]
    fn invalid_names_are_rejected() {
        for host in [
            "",
            ".",
            "a..b",
            "exa mple",
            "a@b",
            "é.example",
            "[::1",
            "[x]",
            "::1",
            "a:0",
            "a:65536",
            "a:",
            "a:b",
            "a/b",
            "a%41",
        ] {
            assert!(Host::parse(host).is_err(), "{host:?}");
        }
    }
}
