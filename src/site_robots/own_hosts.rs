//! Hosts of our own sites; the site robot identifies itself only to these hosts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::Url;

use crate::clock::Clock;
use crate::config::Settings;
use crate::layer::SiteRobotKey;
use crate::listen::ListenAddr;
use crate::site_robot::source::RequestSigner;

use super::starts::Start;

/// The default ports of HTTP without and with TLS, which are treated as the same site.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// Hosts of our own sites; an entry with a port matches only this port.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnHosts(Vec<(String, Option<u16>)>);

impl OwnHosts {
    /// Returns the hosts of the configured starting points, the sites and our listeners.
    pub(super) fn from_settings(settings: &Settings, starts: &[Start]) -> Self {
        let configured = settings.site_robot.starting_points.iter();
        let configured = configured.map(|point| point.url().clone());
        let starts = starts.iter().filter(|start| start.is_configured);
        let starts = configured.chain(starts.map(|start| start.url.clone()));
        let mut hosts: Vec<_> = starts
            .filter_map(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default())))
            .collect();
        let named = settings.server.hosts.iter();
        hosts.extend(named.map(|host| (host.to_ascii_lowercase(), None)));
        hosts.extend(settings.server.listen.iter().flat_map(listener));
        Self(hosts)
    }

    /// Returns a signer that identifies requests to these hosts as requests from our site robot.
    pub(super) fn pass(self, own: SiteRobotKey, clock: Clock) -> RequestSigner {
        RequestSigner::new(move |method, url, headers| {
            // Another site could forward a signature to our site and impersonate our robot while
            // the signature is valid.
            let Some(host) = url.host_str().filter(|_| self.contains(url)) else {
                return;
            };
            let (path, now_ms) = (path_and_query(url), clock.now_ms());
            let signature = own.signature(method, host, path, now_ms);
            headers.insert(SiteRobotKey::HEADER, signature);
        })
    }

    /// Returns `true` if a URL's host is one of our own hosts.
    pub(super) fn contains(&self, url: &Url) -> bool {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return false;
        };
        self.0.iter().any(|(own, own_port)| {
            let is_port = own_port.is_none_or(|own| {
                own == port || USUAL_PORTS.contains(&own) && USUAL_PORTS.contains(&port)
            });
            // The URL parser has converted the host to lower case (URL Standard, host parsing).
            own == host && is_port
        })
    }
}

/// Returns the hosts through which this machine can reach one of our listeners.
fn listener(listen: &ListenAddr) -> Vec<(String, Option<u16>)> {
    let ListenAddr::Tcp(addr) = listen else {
        return Vec::new();
    };
    let local: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    // `0.0.0.0` is an address to listen on, not to connect to.
    let is_local = addr.ip().is_unspecified() || local.contains(&addr.ip());
    let hosts = match addr {
        _ if is_local => ["127.0.0.1", "localhost", "[::1]"]
            .map(str::to_owned)
            .into(),
        SocketAddr::V4(addr) => vec![addr.ip().to_string()],
        SocketAddr::V6(addr) => vec![format!("[{}]", addr.ip())],
    };
    hosts
        .into_iter()
        .map(|host| (host, Some(addr.port())))
        .collect()
}

/// Returns the part of the URL that a request line contains: path and query.
fn path_and_query(url: &Url) -> &str {
    &url[url::Position::BeforePath..url::Position::AfterQuery]
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::*;
    use crate::config::Loader;
    use crate::site_robots::{SiteRobotChanges, SiteRobotSettings};

    #[test]
    fn only_requests_to_our_own_hosts_are_signed() {
        let text = "[server]\nlisten = '0.0.0.0:8080'\nhosts = ['shop.example']\n\
                    [site_robot]\nstarting_points = 'https://www.example.com/a'";
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        let changes = SiteRobotChanges {
            urls: vec!["http://foreign.example/".to_owned()],
            ..SiteRobotChanges::default()
        };
        let settings = SiteRobotSettings::new(&loaded, "default", &changes);
        let hosts = settings.unwrap().unwrap().own_hosts;
        let pass = hosts.pass(SiteRobotKey::new(b"key"), Clock::system());
        for (url, expected) in [
            ("https://www.example.com/b", true),
            ("http://www.example.com/b", true),
            ("https://www.example.com:8443/b", false),
            ("http://shop.example:8080/", true),
            ("http://127.0.0.1:8080/", true),
            ("http://127.0.0.1:3000/", false),
            ("http://foreign.example/", false),
            ("http://www.example.com.foreign.example/", false),
        ] {
            let mut headers = HeaderMap::new();
            pass.sign(&Method::GET, &url.parse().unwrap(), &mut headers);
            assert_eq!(
                headers.contains_key(SiteRobotKey::HEADER),
                expected,
                "{url}"
            );
        }
    }
}
