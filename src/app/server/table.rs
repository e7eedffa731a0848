//! Finds the site for a request, first by host, then by path.

use std::{borrow::Cow, collections::HashMap};

use http::Request;

use crate::layer::host;
use crate::policy::{HostName, PathReading, is_below};

/// The maximum length of a host name (RFC 1035 §2.3.4); an address in brackets is shorter.
const MAX_NAME_BYTES: usize = 253;

/// A table of sites, indexed by host and path.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    exact: HashMap<Box<str>, Paths<T>>,
    /// Sites, keyed by the part of a host pattern after the `*`, including the dot.
    patterns: HashMap<Box<str>, Paths<T>>,
    /// The site that serves all other hosts.
    other: Option<T>,
}

/// The sites of one host, longest path first.
#[derive(Clone, Debug)]
struct Paths<T>(Vec<(SitePath, T)>);

/// The result of looking up a host and a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SiteMatch<'t, T> {
    Site(&'t T),
    /// The host has sites, but none at the requested path.
    NoPath,
    NoHost,
}

/// A host of a site: a name, or a pattern for all subdomains of a name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SiteHost {
    name: String,
    is_pattern: bool,
}

/// The path of a site, normalized as by the site's server, without a trailing slash. The default
/// path includes all paths.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct SitePath {
    top: Box<[u8]>,
    reading: PathReading,
}

impl<T> Table<T> {
    pub(super) fn new(other: Option<T>) -> Self {
        Self {
            exact: HashMap::new(),
            patterns: HashMap::new(),
            other,
        }
    }

    /// Sets the site that serves all other hosts.
    pub(super) fn set_other(&mut self, site: T) {
        self.other = Some(site);
    }

    /// Adds a site; returns `false` if another site already uses this host and path.
    pub(super) fn add(&mut self, host: &SiteHost, path: &SitePath, site: T) -> bool {
        let hosts = if host.is_pattern {
            &mut self.patterns
        } else {
            &mut self.exact
        };
        let paths = hosts.entry(host.name.as_str().into());
        paths.or_insert_with(|| Paths(Vec::new())).add(path, site)
    }

    /// Finds the site for a requested host, with or without a port, and a path.
    ///
    /// The most specific host that has a matching path is used: an exact name, then the longest
    /// pattern, then the site for all other hosts.
    pub(super) fn find(&self, host: Option<&str>, path: &str) -> SiteMatch<'_, T> {
        let found = match host {
            Some(host) => with_name(host, |name| self.at(name, path)),
            None => SiteMatch::NoHost,
        };
        match (found, &self.other) {
            (SiteMatch::Site(site), _) | (_, Some(site)) => SiteMatch::Site(site),
            (nothing, None) => nothing,
        }
    }

    /// Finds the site for a request.
    pub(super) fn find_for<B>(&self, request: &Request<B>) -> SiteMatch<'_, T> {
        // Most servers have a single site, which needs no lookup by host and path.
        match self.only() {
            Some(site) => SiteMatch::Site(site),
            None => self.find(host(request), request.uri().path()),
        }
    }

    /// Returns the site that serves all requests, if there is only one.
    fn only(&self) -> Option<&T> {
        let has_hosts = !self.exact.is_empty() || !self.patterns.is_empty();
        self.other.as_ref().filter(|_| !has_hosts)
    }

    fn at(&self, name: &str, path: &str) -> SiteMatch<'_, T> {
        let mut is_known = false;
        for paths in self.exact.get(name).into_iter().chain(self.above(name)) {
            if let Some(site) = paths.find(path) {
                return SiteMatch::Site(site);
            }
            is_known = true;
        }
        if is_known {
            SiteMatch::NoPath
        } else {
            SiteMatch::NoHost
        }
    }

    /// Returns the sites with patterns that match a name, longest pattern first.
    fn above<'t>(&'t self, name: &str) -> impl Iterator<Item = &'t Paths<T>> {
        let dots = name.match_indices('.').map(|(at, _)| at);
        // From left to right suffixes get shorter, so the first matching pattern is the longest.
        let dots = dots.filter(|at| *at > 0 && !self.patterns.is_empty());
        dots.filter_map(|at| self.patterns.get(name.get(at..)?))
    }
}

impl<T> Paths<T> {
    fn add(&mut self, path: &SitePath, site: T) -> bool {
        if self.0.iter().any(|(known, _)| known.top == path.top) {
            return false;
        }
        let at = self
            .0
            // Longest first, so that the first match is the most specific.
            .partition_point(|(known, _)| known.top.len() > path.top.len());
        self.0.insert(at, (path.clone(), site));
        true
    }

    fn find(&self, path: &str) -> Option<&T> {
        // Most hosts have one site, at every path.
        match self.0.first() {
            Some((prefix, site)) if prefix.top.is_empty() => Some(site),
            _ => {
                let found = self.0.iter().find(|(prefix, _)| prefix.contains(path));
                found.map(|(_, site)| site)
            }
        }
    }
}

impl SiteHost {
    /// Parses a host name, or `*.` followed by a host name.
    ///
    /// # Errors
    ///
    /// Returns an error message that describes valid values.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (name, is_pattern) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        if without_port(name) != name {
            return Err("sites are selected by host name only; remove the port".to_owned());
        }
        let name = HostName::parse(name)?.to_string();
        Ok(Self {
            name: if is_pattern { format!(".{name}") } else { name },
            is_pattern,
        })
    }
}

impl SitePath {
    /// Parses a path such as `/` or `/shop`; `/shop/` is equivalent to `/shop`.
    ///
    /// # Errors
    ///
    /// Returns an error message that describes valid values.
    pub(super) fn parse(text: &str, reading: PathReading) -> Result<Self, String> {
        if !text.starts_with('/') || text.contains(['?', '#', '*']) {
            return Err(format!("{text:?} is not a path such as / or /shop"));
        }
        // Compared in normalized form, so that `/%73hop` cannot bypass the site at `/shop`.
        let normal = reading.with_path(text, <[u8]>::to_vec);
        let end = normal.iter().rposition(|octet| *octet != b'/');
        let normal = normal.get(..end.map_or(0, |end| end + 1));
        Ok(Self {
            top: normal.unwrap_or_default().into(),
            reading,
        })
    }

    /// Returns `true` if a requested path equals this path or is below it.
    fn contains(&self, path: &str) -> bool {
        let is_below = |path: &[u8]| is_below(path, &self.top);
        self.reading.with_path(path, is_below)
    }
}

/// Calls `look` with the host name in lower case, without a port or trailing dot.
fn with_name<T>(host: &str, look: impl FnOnce(&str) -> T) -> T {
    let name = without_port(host);
    // `example.com.` is the same host, written as absolute (RFC 1034 §3.1).
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.len() > MAX_NAME_BYTES {
        // No site has such a long host name, and long names should not be converted to lower case.
        return look("");
    }
    // Nearly all names are in lower case.
    let name = if name.bytes().any(|octet| octet.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    };
    look(&name)
}

/// Removes a port after the last colon; the groups of an IPv6 address are not removed.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|octet| octet.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITES: &[(&str, &str)] = &[
        ("www.example.com", "/"),
        ("www.example.com", "/shop/"),
        ("www.example.com", "/shop/old"),
        ("*.example.org", "/"),
        ("*.b.example.org", "/"),
        ("a.example.org", "/only"),
        ("[::1]", "/"),
        ("example.net", "/x"),
    ];

    fn table(other: Option<&'static str>) -> Table<&'static str> {
        let mut table = Table::new(other);
        for (number, (host, path)) in SITES.iter().enumerate() {
            let site = ["www", "shop", "old", "org", "b", "only", "v6", "net"][number];
            let host = SiteHost::parse(host).unwrap();
            assert!(table.add(
                &host,
                &SitePath::parse(path, PathReading::default()).unwrap(),
                site
            ));
        }
        table
    }

    #[test]
    fn most_specific_host_with_a_matching_path_wins() {
        let table = table(None);
        for (host, path, site) in [
            ("www.example.com", "/", Some("www")),
            ("WWW.Example.COM.:8443", "/a", Some("www")),
            ("www.example.com", "/shop", Some("shop")),
            ("www.example.com", "/shop/", Some("shop")),
            ("www.example.com", "/shopping", Some("www")),
            ("www.example.com", "/shop/old/x", Some("old")),
            ("www.example.com", "/%73hop/./old/", Some("old")),
            ("www.example.com", "/a/../shop/x?y=/../", Some("shop")),
            ("www.example.com", "/?x=/shop/", Some("www")),
            ("x.example.org", "/", Some("org")),
            ("x.y.example.org", "/", Some("org")),
            ("x.b.example.org", "/", Some("b")),
            ("b.example.org", "/", Some("org")),
            ("a.example.org", "/only", Some("only")),
            ("a.example.org", "/else", Some("org")),
            ("[::1]:80", "/", Some("v6")),
            ("example.org", "/", None),
            (".example.org", "/", None),
            ("evil.example", "/", None),
            ("www.example.com.evil.example", "/", None),
            ("www.example.com:x", "/", None),
            ("", "/", None),
        ] {
            let expected = site.as_ref().map_or(SiteMatch::NoHost, SiteMatch::Site);
            assert_eq!(table.find(Some(host), path), expected, "{host} {path}");
        }
        assert_eq!(table.find(Some("example.net"), "/y"), SiteMatch::NoPath);
        assert_eq!(table.find(None, "/"), SiteMatch::NoHost);
        let long = format!("{}.example.org", "a.".repeat(40_000));
        assert_eq!(table.find(Some(&long), "/"), SiteMatch::NoHost);
    }

    #[test]
    fn site_of_all_other_hosts_gets_the_rest() {
        let table = table(Some("other"));
        for (host, path) in [
            (Some("evil.example"), "/"),
            (Some("example.net"), "/y"),
            (None, "/"),
        ] {
            assert_eq!(table.find(host, path), SiteMatch::Site(&"other"));
        }
        let lone = Table::new(Some(1));
        assert_eq!(lone.find(Some("a"), "/"), SiteMatch::Site(&1));
        assert_eq!((lone.only(), table.only()), (Some(&1), None));
    }

    #[test]
    fn duplicate_sites_are_refused_in_any_spelling() {
        let mut table = table(None);
        for (host, path) in [
            ("WWW.example.com.", "/"),
            ("www.example.com", "/sh%6Fp"),
            ("*.EXAMPLE.org", "//"),
        ] {
            let host = SiteHost::parse(host).unwrap();
            let path = SitePath::parse(path, PathReading::default()).unwrap();
            assert!(!table.add(&host, &path, "twice"), "{host:?} {path:?}");
        }
    }

    #[test]
    fn invalid_hosts_and_paths_are_refused() {
        for host in [
            "", "*", "*.", "a.*", "a*.b", "http://a", "a/b", "a:80", "a:80.", "é.b", "a b",
        ] {
            assert!(SiteHost::parse(host).is_err(), "{host}");
        }
        for path in ["", "shop", "/a?b", "/a#b", "/a*", "http://a/"] {
            assert!(
                SitePath::parse(path, PathReading::default()).is_err(),
                "{path}"
            );
        }
    }

    #[test]
    fn finding_a_site_allocates_nothing() {
        let table = table(None);
        let found = allocation_counter::measure(|| {
            for host in ["www.example.com:80", "x.y.b.example.org.", "evil.example"] {
                let _ = table.find(Some(host), "/shop/old/page.html?x=1");
            }
        });
        assert_eq!(found.count_total, 0);
    }
}
