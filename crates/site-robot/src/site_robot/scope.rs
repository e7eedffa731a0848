//! Scope of the site robot: the hosts and paths that the robot may visit.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use url::Url;

use super::{Rejection, Step};

/// Ports of HTTP without and with TLS, which are treated as the same site.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// Hosts and paths that a run may visit.
///
/// A host is a name and a port; ports 80 and 443 are treated as the same site.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    hosts: Vec<(String, u16)>,
    prefixes: Vec<String>,
    excluded: Vec<String>,
    /// Whether a starting point is a file.
    has_files: bool,
}

impl Scope {
    /// Adds the host of a URL to the scope; returns `true` if the URL has a host.
    pub(super) fn add_host_of(&mut self, url: &Url) -> bool {
        let Some(host) = host_of(url) else {
            self.has_files |= url.scheme() == "file";
            return false;
        };
        if !self.hosts.contains(&host) {
            self.hosts.push(host);
        }
        true
    }

    /// Restricts the scope to paths that start with a prefix; if no prefix is added, all paths are
    /// in scope.
    pub(super) fn add_prefix(&mut self, prefix: &str) {
        self.prefixes.push(prefix.to_owned());
    }

    /// Excludes all paths that start with a prefix.
    pub(super) fn exclude(&mut self, prefix: &str) {
        self.excluded.push(prefix.to_owned());
    }

    /// Checks whether a URL is in scope.
    pub(super) fn check(&self, url: &Url) -> Result<(), Rejection> {
        self.check_host(url)?;
        let path = url.path();
        let served = as_served(path);
        // A server that ignores case or decodes twice serves robot heaven under many spellings, all
        // of which are excluded.
        let is_out = |prefix: &&String| begins(path, prefix) || begins_in_any_case(&served, prefix);
        if let Some(prefix) = self.excluded.iter().find(is_out) {
            return Err(reject(format!("paths below {prefix} are never visited")));
        }
        // The path must match as written, and also as a server may decode it: `/members/..%2Fadmin`
        // fails.
        let is_below = |prefix: &String| {
            begins(path, prefix) && (path == served || begins(&served, &as_served(prefix)))
        };
        let is_in = self.prefixes.is_empty() || self.prefixes.iter().any(is_below);
        if is_in {
            return Ok(());
        }
        Err(reject(format!(
            "the path is not below {}",
            self.prefixes.join(" or ")
        )))
    }

    /// Checks only whether the host of a URL is in scope.
    pub(super) fn check_host(&self, url: &Url) -> Result<(), Rejection> {
        let host = host_of(url);
        let is_same = |known: &(String, u16), host: &(String, u16)| {
            known.0 == host.0
                && (known.1 == host.1
                    || USUAL_PORTS.contains(&known.1) && USUAL_PORTS.contains(&host.1))
        };
        match host {
            Some(host) if self.hosts.iter().any(|known| is_same(known, &host)) => Ok(()),
            Some((host, port)) => Err(reject(format!("the host {host}:{port} is not in scope"))),
            None if url.scheme() == "file" && self.has_files => Ok(()),
            None => Err(reject("the URL has no host".to_owned())),
        }
    }
}

/// Returns the key under which a URL's host is scheduled.
pub(super) fn host_key(url: &Url) -> String {
    host_of(url).map_or_else(
        || format!("{}:", url.scheme()),
        |(host, port)| format!("{host}:{port}"),
    )
}

fn host_of(url: &Url) -> Option<(String, u16)> {
    Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
}

/// Returns `true` if a path starts with a prefix; a prefix that ends with `/` also matches the
/// directory without the slash.
fn begins(path: &str, prefix: &str) -> bool {
    path.starts_with(prefix) || prefix.strip_suffix('/') == Some(path)
}

fn begins_in_any_case(path: &str, prefix: &str) -> bool {
    let is_prefix = |prefix: &str| {
        let start = path.as_bytes().get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
    };
    let directory = prefix.strip_suffix('/');
    is_prefix(prefix) || directory.is_some_and(|it| path.len() == it.len() && is_prefix(it))
}

/// Returns a path as it is interpreted by a server that decodes it first.
///
/// Checking this path prevents `%2F`, `%5C` and doubled slashes from leading out of the scope or to
/// excluded paths.
fn as_served(path: &str) -> Cow<'_, str> {
    if !path.contains('%') && !path.contains("//") {
        return Cow::Borrowed(path);
    }
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split(['/', '\\']) {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    let is_directory = decoded.ends_with(['/', '\\']) && !segments.is_empty();
    let end = if is_directory { "/" } else { "" };
    Cow::Owned(format!("/{}{end}", segments.join("/")))
}

fn reject(reason: String) -> Rejection {
    Rejection::new(Step::Scope, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(prefixes: &[&str]) -> Scope {
        let mut scope = Scope::default();
        for url in ["http://www.example.com/a", "http://127.0.0.1:8080/"] {
            assert!(scope.add_host_of(&url.parse().unwrap()));
        }
        for prefix in prefixes {
            scope.add_prefix(prefix);
        }
        scope.exclude("/robot-heaven/");
        scope
    }

    fn reason(scope: &Scope, url: &str) -> Option<String> {
        let rejection = scope.check(&url.parse().unwrap()).err()?;
        Some(rejection.to_string())
    }

    #[test]
    fn other_hosts_are_out_of_scope() {
        let scope = scope(&[]);
        for url in [
            "http://www.example.com/b?c",
            "https://WWW.example.com/",
            "http://127.0.0.1:8080/a",
        ] {
            assert_eq!(reason(&scope, url), None, "{url}");
        }
        for url in [
            "http://example.com/",
            "http://www.example.com:8080/",
            "https://127.0.0.1/",
            "http://www.example.com.evil.example/",
            "http://www.example.com@evil.example/",
        ] {
            assert!(
                reason(&scope, url).unwrap().contains("not in scope"),
                "{url}"
            );
        }
        assert!(reason(&scope, "mailto:a@www.example.com").is_some());
        assert!(reason(&scope, "file:///etc/passwd").is_some());
    }

    #[test]
    fn paths_are_in_scope_by_prefix() {
        let scope = scope(&["/docs/", "/img"]);
        for (path, is_in) in [
            ("docs", true),
            ("docs/", true),
            ("docs/a", true),
            ("docsb", false),
            ("images", false),
            ("imgs", true),
            ("", false),
            ("DOCS/", false),
        ] {
            let url = format!("http://www.example.com/{path}");
            assert_eq!(reason(&scope, &url).is_none(), is_in, "{path}");
        }
    }

    #[test]
    fn heaven_is_never_visited() {
        let scope = scope(&["/"]);
        for path in ["robot-heaven", "robot-heaven/", "robot-heaven/a?b"] {
            let url = format!("http://www.example.com/{path}");
            assert!(
                reason(&scope, &url).unwrap().contains("never visited"),
                "{path}"
            );
        }
        assert_eq!(reason(&scope, "http://www.example.com/robot-heavens"), None);
    }

    #[test]
    fn no_spelling_reaches_heaven_or_leaves_the_prefix() {
        let all = scope(&[]);
        for path in [
            "//robot-heaven/a",
            "/a/..%2frobot-heaven/a",
            "/robot-heaven%2Fa",
            "/%5Crobot-heaven%5Ca",
            "/ROBOT-HEAVEN/a",
            "/Robot-Heaven",
            "/a%2F..%2F%2Frobot-heaven%2Fa",
        ] {
            let url = format!("http://www.example.com{path}");
            assert!(reason(&all, &url).is_some(), "{path}");
        }
        let docs = scope(&["/docs/", "/a%20b/"]);
        for (path, is_in) in [
            ("/docs/a%20b", true),
            ("/docs//a", true),
            ("/docs/a%2Fb", true),
            ("/a%20b/c", true),
            ("/docs/..%2fsecret", false),
            ("/docs/%5C..%5C..%5Csecret", false),
        ] {
            let url = format!("http://www.example.com{path}");
            assert_eq!(reason(&docs, &url).is_none(), is_in, "{path}");
        }
    }
}
