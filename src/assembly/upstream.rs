//! Converts `[server]` into the settings for the upstream proxy.

use crate::check::{IDENTIFICATION_HEADER, PREFIX, VERDICT_HEADER};
use crate::config::{ConfigErrors, Loaded, ServerSection, Settings};
use crate::proxy::{HealthCheck, Proxy, ProxyError, ProxySettings};

pub(crate) fn proxy(loaded: &Loaded, settings: &Settings) -> Result<Proxy, ConfigErrors> {
    let health_check = (!settings.server.health_path.is_empty())
        .then(|| {
            HealthCheck::new(
                &settings.server.health_path,
                settings.server.health_interval,
            )
        })
        .transpose();
    health_check
        .and_then(|health_check| {
            Proxy::new(ProxySettings {
                servers: settings.server.upstream.clone(),
                connect_timeout: settings.server.connect_timeout,
                response_timeout: settings.server.response_timeout,
                idle_timeout: settings.server.upstream_idle_timeout,
                preserve_host: settings.server.preserve_host,
                http2: settings.server.upstream_http2,
                fast_path: settings.server.fast_path,
                ca_file: settings.server.upstream_ca_file.clone(),
                health_check,
            })
        })
        .map(|proxy| {
            // A client that names these headers in `Connection` would have them removed (RFC 9110
            // §7.6.1).
            proxy
                .keep_header(IDENTIFICATION_HEADER)
                .keep_header(VERDICT_HEADER)
                .hide_headers(PREFIX)
        })
        .map_err(|error| {
            let key = match &error {
                ProxyError::HealthPath(_) => &ServerSection::KEY.health_path,
                ProxyError::CaFile { .. } => &ServerSection::KEY.upstream_ca_file,
                _ => &ServerSection::KEY.upstream,
            };
            loaded.invalid(key, error)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    fn refusal(lines: &str) -> String {
        let text = format!("[server]\n{lines}");
        let loaded = Loader::new().file("c.toml", &text).load().unwrap();
        proxy(&loaded, loaded.settings()).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_their_place() {
        for (lines, expected) in [
            (
                "upstream = 'ftp://a'",
                "c.toml:2: server.upstream: upstream \"ftp://a\"",
            ),
            (
                "upstream = ['http://a', 'http://b/app']",
                "c.toml:2: server.upstream: upstream \"http://b/\" has a different path",
            ),
            (
                "upstream = 'http://a'\nhealth_path = 'up'",
                "c.toml:3: server.health_path: \"up\" is not a path",
            ),
            (
                "upstream = 'https://a'\nupstream_ca_file = '/nowhere/ca.pem'",
                "c.toml:3: server.upstream_ca_file: /nowhere/ca.pem: the file cannot be read",
            ),
        ] {
            let error = refusal(lines);
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn several_servers_can_be_a_list_or_a_string_with_commas() {
        for upstream in [
            "['http://a', 'unix:/run/b.sock']",
            "'http://a, unix:/run/b.sock'",
        ] {
            let text = format!("[server]\nupstream = {upstream}\nhealth_path = '/up'");
            let loaded = Loader::new().file("c.toml", &text).load().unwrap();
            let proxy = proxy(&loaded, loaded.settings()).unwrap();
            let urls: Vec<_> = proxy
                .servers()
                .into_iter()
                .map(|server| server.url)
                .collect();
            assert_eq!(urls, ["http://a/", "unix:/run/b.sock"]);
        }
    }
}
