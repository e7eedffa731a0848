//! Types of addresses, URLs and socket permissions.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use http::HeaderName;
use url::Url;

use crate::config::{
    Kind, Value,
    setting::{Item, Setting},
};
use crate::fetch::shown_url;
use crate::listen::{ListenAddr, TrustedProxies};
use crate::origins::{PRESETS, ProxyPreset};
use crate::verify::RangeSet;

const DNS_PORT: u16 = 53;

/// The prefix of a `[[list]]` name in a list of addresses.
const LIST: &str = "list:";

impl Item for ListenAddr {
    fn read_item(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|error: <Self as std::str::FromStr>::Err| error.to_string())
    }
}

impl Setting for ListenAddr {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Result<Self, String> {
        Self::read_item(value.text()?)
    }
}

/// Trusted proxies, specified as networks, presets and lists.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProxyNetworks {
    named: TrustedProxies,
    presets: Vec<&'static ProxyPreset>,
    lists: Vec<String>,
}

impl ProxyNetworks {
    /// Returns the trusted networks in the setting.
    #[must_use]
    pub fn named(&self) -> &TrustedProxies {
        &self.named
    }

    /// Returns the presets of proxies in the setting.
    #[must_use]
    pub fn presets(&self) -> &[&'static ProxyPreset] {
        &self.presets
    }

    /// Returns the names of the address lists in the setting.
    #[must_use]
    pub fn lists(&self) -> &[String] {
        &self.lists
    }

    /// Returns `true` if no proxy is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Setting for ProxyNetworks {
    const KIND: Kind = Kind::List;

    fn read(value: &Value) -> Result<Self, String> {
        let (mut proxies, mut named) = (Self::default(), Vec::new());
        for text in value.items()?.iter().map(|text| text.trim()) {
            if let Some(list) = list_name(text)? {
                proxies.lists.push(list);
            } else if let Some(preset) = ProxyPreset::find(text) {
                proxies.presets.push(preset);
            } else {
                named.push(text);
            }
        }
        proxies.named = TrustedProxies::parse(named).map_err(|error| {
            let presets: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
            let presets = presets.join(", ");
            format!("{error}; also {presets}, and list:NAME for the addresses of a [[list]]")
        })?;
        Ok(proxies)
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

/// Returns the name of a list if the text has the form `list:NAME`.
fn list_name(text: &str) -> Result<Option<String>, String> {
    match text.strip_prefix(LIST).map(str::trim) {
        Some("") => Err("\"list:\" contains no name; write list:NAME".to_owned()),
        name => Ok(name.map(str::to_owned)),
    }
}

impl Setting for HeaderName {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Result<Self, String> {
        let text = value.text()?;
        Self::from_bytes(text.as_bytes())
            .map_err(|_| format!("{text:?} is not a header name such as CF-Connecting-IP"))
    }
}

/// An autonomous system number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Asn(u32);

impl Asn {
    /// Returns the autonomous system number.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

impl Setting for Vec<Asn> {
    const KIND: Kind = Kind::Numbers;

    fn read(value: &Value) -> Result<Self, String> {
        let numbers = match value {
            Value::Numbers(numbers) => numbers,
            other => return Err(format!("{other} is not {}", Self::KIND.describe())),
        };
        let asn = |number: &i64| {
            let asn = u32::try_from(*number).ok().filter(|asn| *asn > 0);
            asn.map(Asn)
                .ok_or_else(|| format!("{number} is not an autonomous system number such as 64496"))
        };
        numbers.iter().map(asn).collect()
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

/// Networks and addresses, both as written and as a lookup set, and the names of address lists.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Networks {
    written: Vec<String>,
    set: Arc<RangeSet>,
    lists: Vec<String>,
}

impl Networks {
    /// Returns the networks and addresses as written.
    #[must_use]
    pub fn written(&self) -> &[String] {
        &self.written
    }

    /// Returns the names of the address lists.
    #[must_use]
    pub fn lists(&self) -> &[String] {
        &self.lists
    }

    /// Returns the set of networks, for looking up addresses.
    #[must_use]
    pub fn set(&self) -> &Arc<RangeSet> {
        &self.set
    }
}

impl Setting for Networks {
    const KIND: Kind = Kind::List;

    fn read(value: &Value) -> Result<Self, String> {
        let (mut written, mut lists) = (Vec::new(), Vec::new());
        for text in value.items()?.iter().map(|text| text.trim()) {
            match list_name(text)? {
                Some(list) => lists.push(list),
                None => written.push(text.to_owned()),
            }
        }
        let set = RangeSet::parse(written.iter().map(String::as_str)).map_err(|text| {
            format!("{text:?} is neither an address nor a network; write 192.0.2.1, 2001:db8::1, 10.0.0.0/8, or list:NAME for a [[list]]")
        })?;
        Ok(Self {
            set: Arc::new(set),
            written,
            lists,
        })
    }
}

/// File permissions of a Unix socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UnixMode(u32);

impl UnixMode {
    /// Returns the permission bits of the socket.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl Setting for UnixMode {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Result<Self, String> {
        let text = value.text()?;
        let mode = u32::from_str_radix(text, 8).ok();
        mode.filter(|mode| *mode <= 0o777)
            .map(Self)
            .ok_or_else(|| format!("{text:?} is not a file mode such as \"660\" or \"666\""))
    }
}

/// The address of a DNS resolver; the default port is 53.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Resolver(SocketAddr);

impl Resolver {
    /// Returns the resolver's address with its port.
    #[must_use]
    pub fn addr(self) -> SocketAddr {
        self.0
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let address = |text: &str| Some(SocketAddr::new(text.parse::<IpAddr>().ok()?, DNS_PORT));
        let bracketed = || address(text.strip_prefix('[')?.strip_suffix(']')?);
        let addr = text.parse().ok();
        addr.or_else(|| address(text)).or_else(bracketed).map(Self)
    }
}

impl Item for Resolver {
    fn read_item(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| {
            format!("{text:?} is not a resolver address such as 9.9.9.9 or [::1]:5353")
        })
    }
}

/// A URL at which the site robot starts a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StartingPoint(Url);

impl StartingPoint {
    /// Parses a starting point.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the valid values and does not contain the password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text.trim()).map_err(|error| error.to_string());
        let url = url.and_then(|url| match url.scheme() {
            "http" | "https" => Ok(Self(url)),
            "file" if url.host().is_none() => Ok(Self(url)),
            scheme => Err(format!("{scheme}: is not supported")),
        });
        url.map_err(|reason| {
            // The text may contain a password, and errors are logged.
            let text = shown_url(text);
            format!("{text:?}: {reason}; write it as http://…, https://… or file:///…")
        })
    }

    /// Returns the URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }
}

impl Item for StartingPoint {
    fn read_item(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

/// A URL of a site, without a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SiteUrl(Url);

impl SiteUrl {
    /// Returns the site of an HTTP URL.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text.trim()).ok()?;
        let is_http = matches!(url.scheme(), "http" | "https");
        is_http.then(|| url.join("/").ok()).flatten().map(Self)
    }

    /// Returns the URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Converts the value into the URL of the site.
    #[must_use]
    pub fn into_url(self) -> Url {
        self.0
    }
}

impl Setting for SiteUrl {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Result<Self, String> {
        let text = value.text()?;
        Self::parse(text)
            .ok_or_else(|| format!("{text:?} is not a URL such as https://www.example.com"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolvers_have_a_port_or_the_default() {
        for (text, expected) in [
            ("9.9.9.9", Some("9.9.9.9:53")),
            (" 127.0.0.1:5353 ", Some("127.0.0.1:5353")),
            ("::1", Some("[::1]:53")),
            ("[::1]", Some("[::1]:53")),
            ("[::1]:5353", Some("[::1]:5353")),
            ("dns.example", None),
            ("9.9.9.9:x", None),
            ("[9.9.9.9", None),
        ] {
            let found = Resolver::parse(text).map(|resolver| resolver.addr().to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
