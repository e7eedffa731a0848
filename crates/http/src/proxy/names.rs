//! Which headers of a request need a second look.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONNECTION, EXPECT},
};

use crate::listen::is_forwarding;

use super::headers;

/// What is there, found in one look at the names; most often there is little.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each header is there or not, whatever the others"
)]
pub(super) struct Names {
    pub(super) has_coding: bool,
    pub(super) has_forwarding: bool,
    pub(super) has_te: bool,
    pub(super) has_upgrade: bool,
    pub(super) has_via: bool,
    has_connection: bool,
    has_expect: bool,
    /// Others that are for one hop.
    has_hop: bool,
    has_proxy_fields: bool,
}

/// Values that are looked at in any case.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Values<'a> {
    pub(super) host: Option<&'a HeaderValue>,
    pub(super) has_several_hosts: bool,
    pub(super) accept: Option<&'a HeaderValue>,
}

impl Names {
    pub(super) fn of(headers: &HeaderMap) -> (Self, Values<'_>) {
        let (mut names, mut values) = (Self::default(), Values::default());
        for (name, value) in headers {
            names.add(name, value, &mut values);
        }
        (names, values)
    }

    /// Removes what is for one hop, or for a forward proxy.
    ///
    /// `kept` are headers of this house, which a client cannot name away.
    pub(super) fn strip(self, map: &mut HeaderMap, kept: &[HeaderName]) {
        let has_more = self.has_hop || self.has_te || self.has_upgrade || self.has_coding;
        if self.has_connection || has_more {
            // What browsers send names no header.
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
            // The listener sends "100 Continue" when the upstream is ready for the body.
            map.remove(EXPECT);
        }
    }

    fn add<'a>(&mut self, header: &HeaderName, value: &'a HeaderValue, values: &mut Values<'a>) {
        match Name::of(header, header.as_str()) {
            Name::Plain | Name::Length => {}
            Name::Host => {
                values.has_several_hosts = values.host.is_some();
                values.host = Some(value);
            }
            Name::Accept => values.accept = values.accept.or(Some(value)),
            Name::Te => self.has_te = true,
            Name::Via => self.has_via = true,
            Name::Proxy => self.has_proxy_fields = true,
            Name::Expect => self.has_expect = true,
            Name::Upgrade => self.has_upgrade = true,
            Name::Connection => self.has_connection = true,
            Name::Hop => self.has_hop = true,
            Name::Coding => self.has_coding = true,
            Name::Forwarding => self.has_forwarding = true,
        }
    }
}

/// What a header is for, by its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Name {
    /// It is for the upstream as it is.
    Plain,
    Host,
    Accept,
    Length,
    Te,
    Via,
    Proxy,
    Expect,
    Upgrade,
    Connection,
    /// Something else that is for one hop.
    Hop,
    Coding,
    Forwarding,
}

impl Name {
    /// `name` is the header's text, which is not asked for twice.
    pub(super) fn of(header: &HeaderName, name: &str) -> Self {
        match name.len() {
            2 if name == "te" => Self::Te,
            3 if name == "via" => Self::Via,
            4 if name == "host" => Self::Host,
            5 if name == "proxy" => Self::Proxy,
            6 if name == "accept" => Self::Accept,
            6 if name == "expect" => Self::Expect,
            7 if name == "upgrade" => Self::Upgrade,
            10 if name == "connection" => Self::Connection,
            10 if name == "keep-alive" => Self::Hop,
            14 if name == "content-length" => Self::Length,
            14 if name == "http2-settings" => Self::Proxy,
            16 if name == "proxy-connection" => Self::Hop,
            17 if name == "transfer-encoding" => Self::Coding,
            19 if name == "proxy-authorization" => Self::Proxy,
            _ if matches!(name.as_bytes(), [b'f' | b'x', ..]) && is_forwarding(header) => {
                Self::Forwarding
            }
            _ => Self::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_that_is_removed_is_seen() {
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
            let (names, _) = Names::of(&map);
            assert_ne!(names, Names::default(), "{name}");
            names.strip(&mut map, &[]);
            assert!(map.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_browser_has_nothing_to_look_at_but_its_connection() {
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
        assert_eq!(Names::of(&map).0, Names::default());
        map.insert(CONNECTION, HeaderValue::from_static("keep-alive"));
        Names::of(&map).0.strip(&mut map, &[]);
        assert_eq!(map.len(), 8);
    }

    #[test]
    fn headers_that_connection_names_go_too() {
        let mut map = HeaderMap::new();
        map.insert(CONNECTION, HeaderValue::from_static("keep-alive, x-hop"));
        map.insert(
            HeaderName::from_static("x-hop"),
            HeaderValue::from_static("1"),
        );
        Names::of(&map).0.strip(&mut map, &[]);
        assert!(map.is_empty());
    }
}
