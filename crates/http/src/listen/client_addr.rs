use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use http::{HeaderMap, HeaderName, HeaderValue, header::FORWARDED};
use ipnet::IpNet;

use super::{
    fields::{is_variant_of, starts_with_variant},
    forwarded::{self, Element},
    peer_table::PeerTable,
    proxy_set::ProxySet,
    stream::Peer,
};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The mark for a trusted proxy that has sent `X-Forwarded-For` without `Forwarded`.
const X_FORWARDED_ALONE: u32 = 1;
const FORWARDED_ALONE: u32 = 2;

/// The address of the client: the address of the TCP peer, or the address that trusted proxies
/// report.
///
/// A listener adds this address to the extensions of each request. IPv4-mapped IPv6 addresses
/// (`::ffff:192.0.2.1`) are converted to IPv4. The peer of a Unix socket has no address and is
/// represented as `0.0.0.0:0`, which no TCP peer has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the facts are independent of each other"
)]
pub struct ClientAddr {
    /// The address of the client.
    pub client: IpAddr,
    /// The address and port of the TCP peer, or the address and port in the peer's PROXY header.
    pub peer: SocketAddr,
    /// Whether the client is the TCP peer and the request has no forwarding header.
    pub direct: bool,
    /// Whether the client used HTTPS, as observed by the listener or reported by a trusted proxy.
    pub https: bool,
    /// Whether the TCP peer is a trusted proxy.
    pub trusted: bool,
    /// Whether the value of `https` was observed or reported by a trusted proxy, rather than
    /// assumed.
    pub(crate) is_scheme_known: bool,
    /// Whether `X-Forwarded-For` and `Forwarded` from a trusted proxy contain different client
    /// addresses.
    ///
    /// If so, one of the headers may come from the client, and `client` is the proxy's address.
    pub(crate) is_ambiguous: bool,
}

/// The networks whose forwarding headers are trusted; by default, no network is trusted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    sets: Vec<ProxySet>,
    unix: bool,
    client_header: Option<ClientHeader>,
}

/// The header in which trusted proxies report the client's address.
#[derive(Clone, Debug, Eq, PartialEq)]
enum ClientHeader {
    XForwardedFor,
    Forwarded,
    /// Any other header, which must contain a single address.
    Address(HeaderName),
}

/// The client found in a list of hops that is read from right to left.
struct NamedClient {
    addr: IpAddr,
    https: Option<bool>,
    /// Whether the whole list was read and contains only trusted proxies.
    is_proxy: bool,
}

/// The properties of a connection that are known before its first request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Origin {
    pub(super) peer: SocketAddr,
    pub(super) trusted: bool,
    pub(super) https: bool,
}

/// An error for a trusted proxy that is neither an address nor a network.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "trusted proxy {network:?} is neither an address nor a network; use a value such as 192.0.2.1, ::1 or 10.0.0.0/8, or unix: for peers on Unix sockets"
)]
pub struct TrustedProxyError {
    network: String,
}

impl TrustedProxies {
    /// Parses addresses and networks such as `::1` and `10.0.0.0/8`; `unix:` stands for the peers
    /// of Unix sockets.
    ///
    /// # Errors
    ///
    /// Returns an error for the first text that is none of these.
    pub fn parse<S: AsRef<str>>(
        networks: impl IntoIterator<Item = S>,
    ) -> Result<Self, TrustedProxyError> {
        let mut trusted = Self::default();
        for text in networks {
            match text.as_ref().trim() {
                "unix:" => trusted.unix = true,
                network => trusted.networks.push(parse_network(network)?),
            }
        }
        Ok(trusted)
    }

    /// Adds a set of proxy addresses that may change at run time.
    #[must_use]
    pub fn with_proxies(mut self, set: ProxySet) -> Self {
        self.sets.push(set);
        self
    }

    /// Sets the only header from which the client's address is read, if a trusted proxy sends it.
    ///
    /// `X-Forwarded-For` and `Forwarded` are lists, which are read from right to left. Any other
    /// header must contain a single address; if the header is missing, invalid or duplicated, the
    /// peer is treated as the client.
    #[must_use]
    pub fn client_header(mut self, name: HeaderName) -> Self {
        self.client_header = Some(if name == X_FORWARDED_FOR {
            ClientHeader::XForwardedFor
        } else if name == FORWARDED {
            ClientHeader::Forwarded
        } else {
            ClientHeader::Address(name)
        });
        self
    }

    /// Returns `true` if no proxy is trusted and no [`ProxySet`] can add one later.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty() && self.sets.is_empty() && !self.unix
    }

    /// Returns `true` if the address belongs to a trusted proxy.
    pub fn contains(&self, addr: IpAddr) -> bool {
        let addr = addr.to_canonical();
        self.networks.iter().any(|network| network.contains(&addr))
            || self.sets.iter().any(|set| set.contains(addr))
    }

    /// Returns the client's address, given the peer and the headers of its request.
    ///
    /// If the peer is trusted, the lines of `X-Forwarded-For` are read as one list, from right to
    /// left, and trusted addresses are skipped. An entry that is not an address (`unknown`, an
    /// obfuscated name, garbage) ends the search at the last address found. If there is no
    /// `X-Forwarded-For`, `Forwarded` (RFC 7239) is read in the same way. If both headers exist and
    /// contain different clients, the request is attributed to the peer, because the client may
    /// have sent one of them. If a [client header](Self::client_header) is set, no other header is
    /// read. A listener also learns which of the two headers each proxy sets, which is the header
    /// that the proxy has sent without the other.
    pub fn resolve(&self, peer: SocketAddr, headers: &HeaderMap) -> ClientAddr {
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let origin = Origin {
            peer,
            trusted: self.contains(peer.ip()),
            https: false,
        };
        self.resolve_from(origin, headers, None)
    }

    /// Returns `true` if the peer is a trusted proxy.
    pub(super) fn trusts(&self, peer: Peer) -> bool {
        match peer {
            Peer::Tcp(addr) => self.contains(addr.ip()),
            Peer::Unix => self.unix,
        }
    }

    /// Returns the client's address; `learnt` contains the marks of proxies and is updated.
    pub(super) fn resolve_from(
        &self,
        origin: Origin,
        headers: &HeaderMap,
        learnt: Option<&PeerTable>,
    ) -> ClientAddr {
        let forwards = headers.keys().any(is_forwarding) || self.has_client_header(headers);
        self.resolve_forwarded(origin, forwards.then_some(headers), learnt)
    }

    /// Returns `true` if a client header is configured and present in the request.
    #[inline]
    pub(super) fn has_client_header(&self, headers: &HeaderMap) -> bool {
        matches!(&self.client_header, Some(ClientHeader::Address(name)) if headers.contains_key(name))
    }

    /// Removes misspelt variants of the client header, and the header itself if the peer is not
    /// trusted. Returns `true` if there was a misspelt variant.
    #[inline]
    pub(super) fn clean_client_header(&self, is_trusted: bool, headers: &mut HeaderMap) -> bool {
        let Some(ClientHeader::Address(wanted)) = &self.client_header else {
            return false;
        };
        let mut is_misspelt = false;
        let is_wrong = |name: &&HeaderName| {
            is_variant_of(name.as_str().as_bytes(), wanted.as_str().as_bytes())
                && !(is_trusted && *name == wanted)
        };
        while let Some(name) = headers.keys().find(is_wrong).cloned() {
            is_misspelt |= name != wanted;
            headers.remove(name);
        }
        is_misspelt
    }

    /// Returns the client's address; `headers` is `None` if no header can contain another client's
    /// address.
    pub(super) fn resolve_forwarded(
        &self,
        origin: Origin,
        headers: Option<&HeaderMap>,
        learnt: Option<&PeerTable>,
    ) -> ClientAddr {
        let Origin {
            peer,
            trusted,
            https,
        } = origin;
        let mut addr = ClientAddr {
            client: peer.ip(),
            peer,
            direct: headers.is_none(),
            https,
            trusted,
            is_scheme_known: https,
            is_ambiguous: false,
        };
        if let Some(headers) = headers.filter(|_| trusted) {
            match self.named_client(peer.ip(), headers, learnt) {
                Some(named) => {
                    addr.client = named.addr;
                    addr.https = named.https.unwrap_or(addr.https);
                    addr.is_scheme_known |= named.https.is_some();
                }
                None => addr.is_ambiguous = true,
            }
        }
        addr
    }

    /// Returns the client that a trusted proxy reports, or `None` if two headers report different
    /// clients.
    ///
    /// A client can send a forwarding header that its proxy neither sets nor removes.
    fn named_client(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        learnt: Option<&PeerTable>,
    ) -> Option<NamedClient> {
        match &self.client_header {
            Some(ClientHeader::XForwardedFor) => return Some(self.x_forwarded(peer, headers)),
            Some(ClientHeader::Forwarded) => return Some(self.forwarded(peer, headers)),
            Some(ClientHeader::Address(name)) => {
                return Some(NamedClient {
                    addr: one_address(headers, name).unwrap_or(peer),
                    https: is_https(headers, 0),
                    is_proxy: false,
                });
            }
            None => {}
        }
        let has = |name: &HeaderName| headers.contains_key(name);
        let alone = match (has(&X_FORWARDED_FOR), has(&FORWARDED)) {
            (true, false) => X_FORWARDED_ALONE,
            (false, true) => FORWARDED_ALONE,
            (true, true) => 0,
            (false, false) => return Some(self.forwarded(peer, headers)),
        };
        // A proxy adds its header to every request, so a header that was missing before does not
        // come from the proxy.
        let marks = learnt.map(|learnt| learnt.update(peer, |marks| marks | alone).1);
        match (alone, marks) {
            (X_FORWARDED_ALONE, _) | (0, Some(X_FORWARDED_ALONE)) => {
                return Some(self.x_forwarded(peer, headers));
            }
            (FORWARDED_ALONE, _) | (0, Some(FORWARDED_ALONE)) => {
                return Some(self.forwarded(peer, headers));
            }
            _ => {}
        }
        let (older, newer) = (
            self.x_forwarded(peer, headers),
            self.forwarded(peer, headers),
        );
        // A list that contains only proxies names no client and contradicts no other list.
        match (older.is_proxy, newer.is_proxy) {
            (_, true) => Some(older),
            (true, false) => Some(newer),
            (false, false) => (older.addr == newer.addr).then_some(NamedClient {
                https: older.https.or(newer.https),
                ..older
            }),
        }
    }

    fn x_forwarded(&self, peer: IpAddr, headers: &HeaderMap) -> NamedClient {
        let (mut addr, mut hops, mut is_proxy) = (peer, 0_usize, true);
        // Each proxy appends the address of its peer, so only entries to the right of an untrusted
        // entry are reliable (RFC 7239 §8.1).
        for entry in from_the_right(headers, &X_FORWARDED_FOR) {
            let hop = forwarded::parse_node(entry);
            addr = hop.unwrap_or(addr);
            is_proxy = hop.is_some_and(|hop| self.contains(hop));
            if !is_proxy {
                break;
            }
            hops += 1;
        }
        NamedClient {
            addr,
            https: is_https(headers, hops),
            is_proxy,
        }
    }

    fn forwarded(&self, peer: IpAddr, headers: &HeaderMap) -> NamedClient {
        let (mut elements, mut is_broken) = (Vec::new(), false);
        for line in headers.get_all(FORWARDED) {
            if let Some(line) = forwarded::parse(line.as_bytes()) {
                elements.extend(line);
            } else {
                // A malformed line hides the hops to its left, so only later lines are used.
                elements.clear();
                is_broken = true;
            }
        }
        let (mut addr, mut https, mut is_proxy) = (peer, None, !is_broken);
        for Element { node, https: told } in elements.into_iter().rev() {
            // `unknown` or an obfuscated name (RFC 7239 §6.2, §6.3): the hops to its left are
            // unknown too.
            let Some(hop) = node else {
                is_proxy = false;
                break;
            };
            (addr, https) = (hop, told);
            if !self.contains(hop) {
                is_proxy = false;
                break;
            }
        }
        NamedClient {
            addr,
            https: https.or_else(|| is_https(headers, 0)),
            is_proxy,
        }
    }
}

impl ClientAddr {
    /// Creates a client address that was reported by a trusted party.
    ///
    /// `https` specifies whether the client used HTTPS, if this is known.
    pub fn reported(client: IpAddr, https: Option<bool>) -> Self {
        let client = client.to_canonical();
        Self {
            client,
            // The client's port is unknown, and the peer is not the client.
            peer: SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0),
            direct: false,
            https: https.unwrap_or_default(),
            trusted: true,
            is_scheme_known: https.is_some(),
            is_ambiguous: false,
        }
    }

    /// Returns the scheme that the client used, if it is known for certain.
    ///
    /// The scheme is known if the connection uses TLS or if a trusted proxy reports the scheme. A
    /// request received without TLS may have passed through a TLS terminator that adds no header.
    pub fn scheme(&self) -> Option<&'static str> {
        let scheme = if self.https { "https" } else { "http" };
        self.is_scheme_known.then_some(scheme)
    }

    /// Returns `true` if it is certain that the client used HTTPS.
    pub fn is_https(&self) -> bool {
        self.https && self.is_scheme_known
    }

    /// Returns the client's address, or `None` if the address is that of an intermediary.
    ///
    /// An intermediary's address stands for all of its visitors. Intermediaries are trusted proxies
    /// that report no client, untrusted proxies on this machine, and peers of Unix sockets.
    pub fn network(&self) -> Option<IpAddr> {
        let is_proxy_s = self.trusted && self.client == self.peer.ip()
            || self.client.is_loopback() && !self.direct && !self.trusted;
        (!is_proxy_s && !self.client.is_unspecified()).then_some(self.client)
    }
}

/// Returns the address in a header if the header occurs once and contains nothing else.
fn one_address(headers: &HeaderMap, name: &HeaderName) -> Option<IpAddr> {
    let mut lines = headers.get_all(name).iter();
    let line = lines.next().filter(|_| lines.next().is_none())?;
    forwarded::parse_node(line.as_bytes().trim_ascii())
}

/// Returns whether a hop, counted from the right, used HTTPS; if the header has a single value, the
/// value applies to all hops.
fn is_https(headers: &HeaderMap, hop: usize) -> Option<bool> {
    from_the_right(headers, &X_FORWARDED_PROTO)
        .take(hop.saturating_add(1))
        .last()
        .map(|proto| proto.eq_ignore_ascii_case(b"https") || proto.eq_ignore_ascii_case(b"wss"))
}

/// Returns the members of a comma-separated header from all of its lines, from last to first.
fn from_the_right<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    headers
        .get_all(name)
        .iter()
        .rev()
        .flat_map(|line: &HeaderValue| line.as_bytes().rsplit(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|entry| !entry.is_empty())
}

/// Returns `true` if a server might treat the header as a forwarding header.
///
/// CGI and its descendants map `-`, `_`, `.` and other characters to one character (RFC 3875
/// §4.1.18).
pub(crate) fn is_forwarding(name: &HeaderName) -> bool {
    let name = name.as_str().as_bytes();
    match name.first() {
        // The first byte is checked first, because this function is called for each header of each
        // request.
        Some(b'f') => name == b"forwarded",
        Some(b'x') => {
            starts_with_variant(name, b"x-forwarded")
                || starts_with_variant(name, b"x-original-")
                || is_variant_of(name, b"x-real-ip")
        }
        _ => false,
    }
}

fn parse_network(text: &str) -> Result<IpNet, TrustedProxyError> {
    let network = match text.parse::<IpAddr>() {
        Ok(addr) => Ok(IpNet::from(addr.to_canonical())),
        Err(_) => text.parse::<IpNet>().map(canonical_network),
    };
    network.map_err(|_| TrustedProxyError {
        network: text.to_owned(),
    })
}

/// Converts `::ffff:10.0.0.0/104` to `10.0.0.0/8`, because addresses are compared as IPv4.
fn canonical_network(network: IpNet) -> IpNet {
    let addr = network.addr().to_canonical();
    if network.addr().is_ipv6() && addr.is_ipv4() && network.prefix_len() >= 96 {
        IpNet::new(addr, network.prefix_len() - 96).unwrap_or(network)
    } else {
        network
    }
}

#[cfg(test)]
mod tests;
