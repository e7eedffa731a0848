//! From `[server]`, `[[listener]]` and `[[certificate]]` to listeners.

use crate::config::{ConfigErrors, ListenerSettings, Loaded, ServerSection};
use crate::listen::{ListenAddr, ListenSettings, TrustedProxies};

use super::certificates::tls;

/// Returns all listeners for visitors.
///
/// With a `[[listener]]` the address of `server.listen` counts only where it is set.
pub(crate) fn listeners(loaded: &Loaded) -> Result<Vec<ListenSettings>, ConfigErrors> {
    let settings = loaded.settings();
    let tls = tls(settings)?;
    let mut listeners = Vec::new();
    if settings.tables.listeners.is_empty() || loaded.is_set(&ServerSection::KEY.listen) {
        let addrs = settings.server.listen.iter();
        listeners.extend(addrs.map(|addr| listen(&settings.server, addr)));
    }
    for listener in &settings.tables.listeners {
        if listener.is_tls() && tls.is_none() {
            return Err(listener.wrong(
                &ListenerSettings::KEY.tls,
                "a listener with TLS needs a [[certificate]], or acme",
            ));
        }
        let proxy_protocol = listener.proxy_protocol.unwrap_or_default();
        // Only trusted proxies may connect to such a listener, which would turn everybody away.
        if proxy_protocol && settings.server.trusted_proxies == TrustedProxies::default() {
            let reason =
                "nobody's PROXY headers are believed; name the proxies in server.trusted_proxies";
            return Err(listener.wrong(&ListenerSettings::KEY.proxy_protocol, reason));
        }
        listeners.push(ListenSettings {
            tls: tls.clone().filter(|_| listener.is_tls()),
            proxy_protocol,
            ..listen(&settings.server, &listener.listen)
        });
    }
    if listeners.is_empty() {
        return Err(loaded.wrong(&ServerSection::KEY.listen, "it names no address"));
    }
    Ok(listeners)
}

/// Returns the settings of a plain listener.
pub(crate) fn listen(settings: &ServerSection, addr: &ListenAddr) -> ListenSettings {
    ListenSettings {
        addr: addr.clone(),
        unix_mode: settings.unix_socket_mode.bits(),
        trusted_proxies: settings.trusted_proxies.clone(),
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
