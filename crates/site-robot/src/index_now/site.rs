//! A site that uses `IndexNow`, and the check of whether the site can be announced.

use std::{net::IpAddr, sync::Arc};

use url::{Host, Url};

use robot_detection_store::fetch::is_public;

/// Top-level domains that cannot be resolved on the Internet (RFC 6761, 6762, 8375, 9476).
const LOCAL_NAMES: [&str; 7] = [
    "localhost",
    "local",
    "internal",
    "home.arpa",
    "lan",
    "test",
    "invalid",
];

/// A site whose pages are announced to search engines.
#[derive(Clone)]
pub struct IndexedSite {
    origin: String,
    host: String,
    is_open: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl IndexedSite {
    /// Creates a site from its origin, such as `https://www.example.com`, and a predicate that
    /// returns whether a path is public.
    pub fn new(origin: &str, is_open: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let host = origin.split_once("://").map_or(origin, |(_, host)| host);
        Self {
            origin: origin.to_owned(),
            host: host.to_owned(),
            is_open: Arc::new(is_open),
        }
    }

    /// Returns the host and port of the site.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the absolute URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Returns `true` for the URL of a public page on the site.
    pub fn contains_public(&self, url: &str) -> bool {
        let rest = url.strip_prefix(&self.origin);
        let rest = rest.filter(|rest| rest.starts_with('/'));
        let path = rest.and_then(|rest| rest.split(['?', '#']).next());
        path.is_some_and(|path| (self.is_open)(path))
    }
}

impl std::fmt::Debug for IndexedSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut site = f.debug_struct("IndexedSite");
        site.field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Returns the reason why a site cannot be announced, if its host cannot be reached on the
/// Internet.
pub fn announcement_obstacle(site: &Url) -> Option<String> {
    let address = match site.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            let is_end = |end: &&str| {
                let rest = name.strip_suffix(*end);
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            let is_local = !name.contains('.') || LOCAL_NAMES.iter().any(is_end);
            return is_local.then(|| format!("{name} is a local name"));
        }
        None => return Some("the site has no host".to_owned()),
    };
    (!is_public(address)).then(|| format!("{address} is not a public address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_not_on_the_internet_are_not_announced() {
        for (url, is_told) in [
            ("https://www.example.com", true),
            ("https://localhost.example.com", true),
            ("https://mylocal", false),
            ("http://localhost:8080", false),
            ("http://app.localhost", false),
            ("http://wiki.internal", false),
            ("http://nas.home.arpa", false),
            ("http://printer.local.", false),
            ("http://127.0.0.1", false),
            ("http://10.1.2.3", false),
            ("http://192.168.0.1", false),
            ("http://[::1]", false),
            ("http://[::ffff:10.0.0.1]", false),
            ("http://93.184.216.34", true),
        ] {
            let obstacle = announcement_obstacle(&url.parse().unwrap());
            assert_eq!(obstacle.is_none(), is_told, "{url}: {obstacle:?}");
        }
    }

    #[test]
    fn only_public_pages_are_announced() {
        let site = IndexedSite::new("https://www.example.com", |path| path != "/members");
        assert_eq!(site.host(), "www.example.com");
        for (url, is_told) in [
            ("https://www.example.com/", true),
            ("https://www.example.com/a?b=c", true),
            ("https://www.example.com/members?a", false),
            ("https://www.example.com.evil.example/", false),
            ("http://www.example.com/", false),
            ("https://other.example/", false),
        ] {
            assert_eq!(site.contains_public(url), is_told, "{url}");
        }
    }
}
