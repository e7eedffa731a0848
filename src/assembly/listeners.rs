//! Converts `[server]`, `[[listener]]` and `[[certificate]]` into listeners.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::check::REFUSAL_LINE;
use crate::config::{CheckSection, ConfigErrors, ListenerSettings, Loaded, ServerSection};
use crate::listen::{ListenAddr, ListenSettings, TrustedProxies};

use super::{certificates::tls, origins::trusted_proxies};

/// Returns the addresses in `server.listen`; if a `[[listener]]` exists, only if they are set
/// explicitly.
fn server_addresses(loaded: &Loaded) -> &[ListenAddr] {
    let settings = loaded.settings();
    if settings.tables.listeners.is_empty() || loaded.is_set(&ServerSection::KEY.listen) {
        &settings.server.listen
    } else {
        &[]
    }
}

/// Returns the addresses of public listeners without TLS and without PROXY headers.
pub(crate) fn plain_addresses(loaded: &Loaded) -> impl Iterator<Item = &ListenAddr> {
    let listeners = loaded.settings().tables.listeners.iter();
    let plain = listeners.filter(|it| !it.is_tls() && !it.proxy_protocol.unwrap_or_default());
    let all = server_addresses(loaded).iter();
    all.chain(plain.map(|it| &it.listen))
}

/// Returns the address at which a listener is reached from its own machine.
pub(crate) fn local_address(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => {}
        IpAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
    }
    address
}

/// Returns the settings of all public listeners.
pub(crate) fn listeners(loaded: &Loaded) -> Result<Vec<ListenSettings>, ConfigErrors> {
    let settings = loaded.settings();
    let tls = tls(settings)?;
    let addresses = server_addresses(loaded).iter();
    let mut listeners: Vec<_> = addresses.map(|addr| listen(loaded, addr)).collect();
    for listener in &settings.tables.listeners {
        if listener.is_tls() && tls.is_none() {
            return Err(listener.wrong(
                &ListenerSettings::KEY.tls,
                "a listener with TLS needs a [[certificate]] or acme",
            ));
        }
        let proxy_protocol = listener.proxy_protocol.unwrap_or_default();
        // Only trusted proxies may connect to such a listener; without a trusted proxy, it rejects
        // all clients.
        if proxy_protocol && settings.server.trusted_proxies.is_empty() {
            let reason = "no proxy is trusted to send PROXY headers; add the proxies to server.trusted_proxies";
            return Err(listener.wrong(&ListenerSettings::KEY.proxy_protocol, reason));
        }
        listeners.push(ListenSettings {
            tls: tls.clone().filter(|_| listener.is_tls()),
            proxy_protocol,
            ..listen(loaded, &listener.listen)
        });
    }
    if listeners.is_empty() {
        return Err(loaded.invalid(&ServerSection::KEY.listen, "the list contains no address"));
    }
    Ok(listeners)
}

/// Returns the listener for health checks and metrics; `None` if `admin.listen` serves them.
pub(crate) fn operation_listener(loaded: &Loaded) -> Option<ListenSettings> {
    let settings = loaded.settings();
    let addr = settings.operation.listen.as_ref()?;
    let is_shared = match (addr, &settings.admin.listen) {
        (ListenAddr::Tcp(own), Some(ListenAddr::Tcp(admin))) => {
            own.port() != 0 && own.port() == admin.port()
        }
        (own, admin) => admin.as_ref() == Some(own),
    };
    (!is_shared).then(|| listen(loaded, addr))
}

/// The maximum size of a query to the decision endpoint; request heads are limited to 32 KiB by
/// nginx, 60 KiB by Envoy, and 16 KiB by HAProxy.
const MAX_QUESTION_BYTES: usize = 128 * 1_024;
const MAX_QUESTION_LINE_BYTES: usize = 64 * 1_024;
const MAX_QUESTION_HEADERS: usize = 8_192;
/// The minimum length of a token for the decision endpoint; shorter tokens could be guessed.
const MIN_TOKEN_BYTES: usize = 16;

/// Returns the listener for the decision endpoint.
pub(crate) fn check_listener(loaded: &Loaded) -> Result<Option<ListenSettings>, ConfigErrors> {
    let settings = loaded.settings();
    let Some(addr) = &settings.check.listen else {
        return Ok(None);
    };
    let token = settings.check.token.as_ref();
    if matches!(addr, ListenAddr::Tcp(_)) && token.is_none() {
        let reason = "any client that can reach the address could send queries: set check.token, or listen on unix:PATH";
        return Err(loaded.invalid(&CheckSection::KEY.listen, reason));
    }
    if let Some(token) = token
        && !is_good_token(token.bytes())
    {
        let reason = format!(
            "use {MIN_TOKEN_BYTES} or more letters, digits and - . _ ~ + / =, as `openssl rand -hex 16` prints them"
        );
        return Err(loaded.invalid(&CheckSection::KEY.token, reason));
    }
    let server = &settings.server;
    Ok(Some(ListenSettings {
        // No peer is trusted, because a header of the query specifies the visitor.
        trusted_proxies: match server.client_address_header.clone() {
            Some(name) => TrustedProxies::default().client_header(name),
            None => TrustedProxies::default(),
        },
        max_headers: server.max_headers.max(MAX_QUESTION_HEADERS),
        max_header_bytes: server.max_header_bytes.max(MAX_QUESTION_BYTES),
        max_header_line_bytes: server.max_header_line_bytes.max(MAX_QUESTION_LINE_BYTES),
        refusal_line: Some(REFUSAL_LINE),
        // All queries come from a few proxies.
        max_connections_per_address: 0,
        ..listen(loaded, addr)
    }))
}

/// Returns `true` if a token is long enough and contains no characters that are special in proxies'
/// files (RFC 6750 §2.1).
fn is_good_token(token: &[u8]) -> bool {
    let is_good = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
    token.len() >= MIN_TOKEN_BYTES && token.iter().all(is_good)
}

/// Returns the settings for a listener without TLS.
pub(crate) fn listen(loaded: &Loaded, addr: &ListenAddr) -> ListenSettings {
    let settings = &loaded.settings().server;
    ListenSettings {
        addr: addr.clone(),
        unix_mode: settings.unix_socket_mode.bits(),
        trusted_proxies: trusted_proxies(loaded),
        header_timeout: settings.header_timeout,
        idle_timeout: settings.idle_timeout,
        max_headers: settings.max_headers,
        max_header_bytes: settings.max_header_bytes,
        max_header_line_bytes: settings.max_header_line_bytes,
        max_body_bytes: settings.max_body_bytes,
        max_connections: settings.max_connections,
        max_connections_per_address: settings.max_connections_per_address,
        fast_path: settings.fast_path,
        drain_timeout: settings.drain_timeout,
        ..ListenSettings::default()
    }
}
