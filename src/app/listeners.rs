//! From `[server]`, `[[listener]]` and `[[certificate]]` to listeners.

use std::time::Duration;

use crate::config::{ConfigErrors, Loaded, Settings};
use crate::listen::{ListenAddr, ListenSettings, TrustedProxies};

use super::certificates::tls;

/// Returns all listeners for visitors.
///
/// With a `[[listener]]` the address of `server.listen` counts only where it is set.
pub(super) fn listeners(
    loaded: &Loaded,
    settings: &Settings,
) -> Result<Vec<ListenSettings>, ConfigErrors> {
    let common = common(loaded, settings)?;
    let tls = tls(settings)?;
    let mut listeners = Vec::new();
    if settings.listeners.is_empty() || loaded.origin("server.listen") != "default" {
        for addr in &settings.listen {
            listeners.push(with_addr(loaded, "server.listen", addr, &common)?);
        }
    }
    for listener in &settings.listeners {
        let addr: ListenAddr = listener
            .listen
            .parse()
            .map_err(|error| listener.wrong("listen", error))?;
        if listener.tls && tls.is_none() {
            return Err(listener.wrong(
                "tls",
                "a listener with TLS needs a [[certificate]], or acme",
            ));
        }
        if listener.proxy_protocol && settings.trusted_proxies.is_empty() {
            let reason =
                "nobody's PROXY headers are believed; name the proxies in server.trusted_proxies";
            return Err(listener.wrong("proxy_protocol", reason));
        }
        listeners.push(ListenSettings {
            addr,
            tls: tls.clone().filter(|_| listener.tls),
            proxy_protocol: listener.proxy_protocol,
            ..common.clone()
        });
    }
    if listeners.is_empty() {
        return Err(loaded.wrong("server.listen", "it names no address"));
    }
    Ok(listeners)
}

/// Returns the settings of a plain listener.
pub(super) fn listen(
    loaded: &Loaded,
    settings: &Settings,
    key: &str,
    addr: &str,
) -> Result<ListenSettings, ConfigErrors> {
    with_addr(loaded, key, addr, &common(loaded, settings)?)
}

fn with_addr(
    loaded: &Loaded,
    key: &str,
    addr: &str,
    common: &ListenSettings,
) -> Result<ListenSettings, ConfigErrors> {
    Ok(ListenSettings {
        addr: addr.parse().map_err(|error| loaded.wrong(key, error))?,
        ..common.clone()
    })
}

fn common(loaded: &Loaded, settings: &Settings) -> Result<ListenSettings, ConfigErrors> {
    let trusted_proxies = TrustedProxies::parse(&settings.trusted_proxies)
        .map_err(|error| loaded.wrong("server.trusted_proxies", error))?;
    let mode = &settings.unix_socket_mode;
    let unix_mode = u32::from_str_radix(mode, 8)
        .ok()
        .filter(|mode| *mode <= 0o777);
    Ok(ListenSettings {
        unix_mode: unix_mode.ok_or_else(|| {
            let reason = format!("{mode:?} are no permissions such as \"660\" or \"666\"");
            loaded.wrong("server.unix_socket_mode", reason)
        })?,
        trusted_proxies,
        header_timeout: settings.header_timeout,
        idle_timeout: settings.idle_timeout,
        max_headers: settings.max_headers,
        max_header_bytes: settings.max_header_bytes,
        max_header_line_bytes: settings.max_header_line_bytes,
        max_body_bytes: settings.max_body_bytes,
        max_connections: settings.max_connections,
        max_connections_per_address: settings.max_connections_per_address,
        fast_path: settings.fast_path,
        drain_timeout: settings.drain_timeout.max(Duration::from_secs(1)),
        ..ListenSettings::default()
    })
}
