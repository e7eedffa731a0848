//! The kinds of request headers that a proxy has to handle.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONNECTION, EXPECT},
};

use crate::listen::is_forwarding;

use super::headers;

/// The kinds of headers that occur in a request, found in one pass over the names.
///
/// Usually none of them occur, so that the header map need not be searched for each kind.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each header may be present independently of the others"
)]
pub(super) struct HeaderPresence {
    pub(super) has_coding: bool,
    pub(super) has_forwarding: bool,
    pub(super) has_te: bool,
    pub(super) has_upgrade: bool,
    pub(super) has_via: bool,
    has_connection: bool,
    has_expect: bool,
    /// Whether the request has other hop-by-hop headers.
    has_hop: bool,
    has_proxy_fields: bool,
}

/// The header values that are needed for every request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FieldValues<'a> {
    pub(super) host: Option<&'a HeaderValue>,
    pub(super) has_several_hosts: bool,
    pub(super) accept: Option<&'a HeaderValue>,
    pub(super) accept_language: Option<&'a HeaderValue>,
}

impl HeaderPresence {
    pub(super) fn scan(headers: &HeaderMap) -> (Self, FieldValues<'_>) {
        let (mut names, mut values) = (Self::default(), FieldValues::default());
        for (name, value) in headers {
            names.add(name, value, &mut values);
        }
        (names, values)
    }

    /// Removes hop-by-hop headers and those for a forward proxy (RFC 9110 §7.6.1, §11.7.2).
    ///
    /// `kept` contains headers set by this program, which a client's `Connection` header cannot
    /// remove.
    pub(super) fn strip(self, map: &mut HeaderMap, kept: &[HeaderName]) {
        let has_more = self.has_hop || self.has_te || self.has_upgrade || self.has_coding;
        if self.has_connection || has_more {
            // The option `keep-alive`, which browsers send, names no header.
            let is_plain = !has_more && headers::is_keep_alive(map);
            if is_plain {
                map.remove(CONNECTION);
            } else {
                headers::strip_hop_by_hop(map, kept);
            }
        }
        if self.has_proxy_fields {
            headers::strip_proxy_fields(map);
        }
        if self.has_expect {
            // The listener sends "100 Continue" when the body is first polled, at which time there
            // is a connection to the upstream (RFC 9110 §10.1.1).
            map.remove(EXPECT);
        }
    }

    fn add<'a>(
        &mut self,
        header: &HeaderName,
        value: &'a HeaderValue,
        values: &mut FieldValues<'a>,
    ) {
        let name = header.as_str();
        // The length is compared first, so that most names cost only one comparison of a number.
        match name.len() {
            2 if name == "te" => self.has_te = true,
            3 if name == "via" => self.has_via = true,
            4 if name == "host" => {
                values.has_several_hosts = values.host.is_some();
                values.host = Some(value);
            }
            5 if name == "proxy" => self.has_proxy_fields = true,
            6 if name == "accept" => values.accept = values.accept.or(Some(value)),
            6 if name == "expect" => self.has_expect = true,
            7 if name == "upgrade" => self.has_upgrade = true,
            10 if name == "connection" => self.has_connection = true,
            10 if name == "keep-alive" => self.has_hop = true,
            15 if name == "accept-language" => {
                values.accept_language = values.accept_language.or(Some(value));
            }
            14 if name == "http2-settings" => self.has_proxy_fields = true,
            16 if name == "proxy-connection" => self.has_hop = true,
            17 if name == "transfer-encoding" => self.has_coding = true,
            19 if name == "proxy-authorization" => self.has_proxy_fields = true,
            _ if matches!(name.as_bytes(), [b'f' | b'x', ..]) && is_forwarding(header) => {
                self.has_forwarding = true;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_removed_header_is_detected() {
        for name in [
            "connection",
            "keep-alive",
            "proxy-connection",
            "te",
            "transfer-encoding",
            "upgrade",
            "proxy-authorization",
            "proxy",
            "http2-settings",
            "expect",
        ] {
            let mut map = HeaderMap::new();
            map.insert(HeaderName::from_static(name), HeaderValue::from_static("x"));
            let (names, _) = HeaderPresence::scan(&map);
            assert_ne!(names, HeaderPresence::default(), "{name}");
            names.strip(&mut map, &[]);
            assert!(map.is_empty(), "{name}");
        }
    }

    #[test]
    fn only_connection_of_a_browser_is_examined() {
        let mut map = HeaderMap::new();
        for name in [
            "host",
            "user-agent",
            "accept",
            "accept-encoding",
            "accept-language",
            "content-length",
            "x-requested-with",
            "sec-fetch-mode",
        ] {
            map.insert(HeaderName::from_static(name), HeaderValue::from_static("x"));
        }
        assert_eq!(HeaderPresence::scan(&map).0, HeaderPresence::default());
        map.insert(CONNECTION, HeaderValue::from_static("keep-alive"));
        HeaderPresence::scan(&map).0.strip(&mut map, &[]);
        assert_eq!(map.len(), 8);
    }

    #[test]
    fn headers_named_by_connection_are_removed() {
        let mut map = HeaderMap::new();
        map.insert(CONNECTION, HeaderValue::from_static("keep-alive, x-hop"));
        map.insert(
            HeaderName::from_static("x-hop"),
            HeaderValue::from_static("1"),
        );
        HeaderPresence::scan(&map).0.strip(&mut map, &[]);
        assert!(map.is_empty());
    }
}
