//! An in-memory table of a site's canonical URLs.

use std::collections::HashMap;

/// Maximum number of steps from a URL to its final canonical URL.
///
/// A page's canonical URL may itself declare another canonical URL; a chain longer than this is
/// considered circular.
const MAX_STEPS: u32 = 5;

/// A table of canonical URLs by page URL; both URLs consist of host, path and query, without a
/// scheme.
#[derive(Debug, Default)]
pub(super) struct Table {
    urls: HashMap<Box<str>, Box<str>>,
}

impl Table {
    /// Creates the table; circular chains, long chains, links to other hosts, and paths that browsers
    /// take for another host are omitted.
    pub(super) fn new(named: impl IntoIterator<Item = (String, String)>, max: usize) -> Self {
        let named = named.into_iter().take(max);
        let named: HashMap<Box<str>, Box<str>> = named
            .filter(|(url, canonical)| host_of(url) == host_of(canonical) && is_path(canonical))
            .map(|(url, canonical)| (url.into(), canonical.into()))
            .collect();
        let urls = named.iter();
        let urls = urls.filter_map(|(url, canonical)| Some((url.clone(), end(canonical, &named)?)));
        Self {
            urls: urls.filter(|(url, end)| url != end).collect(),
        }
    }

    /// Returns the path and query of the canonical URL of a page.
    pub(super) fn find(&self, url: &str) -> Option<&str> {
        let canonical = self.urls.get(url)?;
        canonical.find('/').and_then(|at| canonical.get(at..))
    }

    /// Returns the number of pages that have a canonical URL.
    pub(super) fn len(&self) -> usize {
        self.urls.len()
    }
}

/// Returns the last URL in the chain of canonical URLs that starts at `url`; `None` if the chain is
/// circular or too long.
fn end(url: &str, named: &HashMap<Box<str>, Box<str>>) -> Option<Box<str>> {
    let mut url = url;
    for _ in 0..MAX_STEPS {
        match named.get(url) {
            Some(next) => url = next,
            None => return Some(url.into()),
        }
    }
    None
}

fn host_of(url: &str) -> Option<&str> {
    url.split_once('/').map(|(host, _)| host)
}

/// Returns `true` if the path of a URL can be used without its host. Browsers would read
/// `//a.example/` and `/\a.example/` as another host.
fn is_path(url: &str) -> bool {
    let path = url.split_once('/').map_or("", |(_, path)| path);
    // Browsers ignore tabs and newlines.
    !path
        .trim_start_matches(char::is_control)
        .starts_with(['/', '\\'])
}

/// Returns a URL in the form used as a key: the lowercase host without the default port, followed
/// by the path and query.
pub(super) fn known_as(host: &str, path_and_query: &str) -> String {
    let short = host.strip_suffix(":80").or(host.strip_suffix(":443"));
    let host = short.unwrap_or(host);
    format!("{}{path_and_query}", host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(named: &[(&str, &str)]) -> Table {
        let named = named.iter();
        let named = named.map(|(url, canonical)| ((*url).to_owned(), (*canonical).to_owned()));
        Table::new(named, 100)
    }

    #[test]
    fn chains_are_shortened_and_circles_are_left_out() {
        let table = table(&[
            ("h/a", "h/b"),
            ("h/b", "h/c?d"),
            ("h/x", "h/y"),
            ("h/y", "h/x"),
            ("h/self", "h/self"),
            ("h/other", "elsewhere/other"),
            ("h/to-circle", "h/x"),
            ("h/1", "h/2"),
            ("h/2", "h/3"),
            ("h/3", "h/4"),
            ("h/4", "h/5"),
            ("h/5", "h/6"),
            ("h/6", "h/7"),
        ]);
        for (url, canonical) in [
            ("h/a", Some("/c?d")),
            ("h/b", Some("/c?d")),
            ("h/c?d", None),
            ("h/x", None),
            ("h/y", None),
            ("h/self", None),
            ("h/other", None),
            ("h/to-circle", None),
            ("h/1", None),
            ("h/3", Some("/7")),
        ] {
            assert_eq!(table.find(url), canonical, "{url}");
        }
        assert_eq!(table.len(), 7);
    }

    #[test]
    fn canonical_url_never_leads_to_another_host() {
        for start in ["/", "/\t/", "//", "\\", "\\/", "\t/", "\n\\", "/\\", "\r//"] {
            for host in [
                "evil.example",
                "evil.example:80",
                "user@evil.example",
                "[::1]",
                "",
            ] {
                let canonical = format!("h/{start}{host}/a");
                let table = table(&[("h/a?b", &canonical)]);
                assert_eq!(table.find("h/a?b"), None, "{canonical:?}");
            }
        }
        let table = table(&[("h/a?b", "h/a//b")]);
        assert_eq!(table.find("h/a?b"), Some("/a//b"));
    }

    #[test]
    fn table_size_is_limited() {
        let named = (0..200).map(|number| (format!("h/{number}"), "h/".to_owned()));
        assert_eq!(Table::new(named, 100).len(), 100);
    }

    #[test]
    fn case_and_default_port_of_the_host_are_ignored() {
        assert_eq!(
            known_as("WWW.example.com:443", "/a?b"),
            "www.example.com/a?b"
        );
        assert_eq!(known_as("www.example.com", "/"), "www.example.com/");
        assert_eq!(known_as("h:8080", "/"), "h:8080/");
    }
}
