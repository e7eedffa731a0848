//! The pages that a robots.txt file lists for robots.

use robot_detection_robots_txt::RobotsTxt;

use super::{
    host::Host,
    path::{is_odd, normal_path, path_part, with_normal_path},
};

/// Maximum number of pages that one file can exempt.
///
/// The file may be written by an upstream, which must not be able to exempt the whole site.
const MAX_NAMED: usize = 100;

/// Maximum length in bytes of the URLs that are considered.
const MAX_URL_BYTES: usize = 2048;

/// The pages that a robots.txt file lists for robots: sitemaps and licenses (RSL 1.0 §4.1).
///
/// Each entry stands for exactly one page, including its query.
#[derive(Debug, Default)]
pub(super) struct NamedPages {
    pages: Box<[Page]>,
}

#[derive(Debug)]
struct Page {
    /// The host of the page; `None` if the file specifies the page without a host.
    host: Option<Host>,
    /// The normalized path of the page.
    pub path: Box<[u8]>,
    query: Option<Box<str>>,
}

impl NamedPages {
    pub(super) fn new(file: &RobotsTxt) -> Self {
        // Licenses come first, because a file may list more sitemaps than are stored.
        let named = file.licenses().chain(file.sitemaps());
        let pages = named.filter_map(|url| Page::parse(url.trim()));
        Self {
            pages: pages.take(MAX_NAMED).collect(),
        }
    }

    /// Checks whether a request's path and query, as received, match a listed page.
    pub(super) fn contains(&self, host: Option<&str>, target: &str) -> bool {
        if self.pages.is_empty() {
            return false;
        }
        let query = query_of(target);
        // A server may interpret an odd target as a page other than the listed page.
        with_normal_path(target, |path| {
            self.pages.iter().any(|page| {
                *page.path == *path && page.query.as_deref() == query && page.is_on(host)
            })
        }) && !is_odd(target)
    }
}

impl Page {
    fn parse(url: &str) -> Option<Self> {
        if url.len() > MAX_URL_BYTES || is_odd(url) {
            return None;
        }
        let url = url.split('#').next()?;
        let host = match url.split_once("://") {
            Some((_, rest)) if !url.starts_with('/') => {
                Some(Host::parse(rest.split(['/', '?']).next()?).ok()?)
            }
            _ => None,
        };
        let path = path_part(url.as_bytes());
        path.starts_with(b"/").then(|| Self {
            host,
            path: normal_path(path).into(),
            query: query_of(url).map(Box::from),
        })
    }

    fn is_on(&self, host: Option<&str>) -> bool {
        match (&self.host, host) {
            (Some(own), Some(host)) => own.matches(host),
            _ => true,
        }
    }
}

fn query_of(target: &str) -> Option<&str> {
    target.split_once('?').map(|(_, query)| query)
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_robots_txt::Dialect;

    fn named(text: &str) -> NamedPages {
        NamedPages::new(&RobotsTxt::parse(text.as_bytes(), Dialect::default()))
    }

    #[test]
    fn only_the_exact_pages_match() {
        let named = named(
            "Sitemap: https://www.example.com/members/map.xml\nlicense: /terms/l.xml\n\
             Sitemap: /index.php?map=1\nSitemap: https://cdn.example/a.xml\n\
             Sitemap: http://www.example.com:8080/port.xml\nLicense: /a/../b\nSitemap: nonsense\n",
        );
        let host = Some("WWW.example.com");
        for (target, is_named) in [
            ("/members/map.xml", true),
            ("/members/%6Dap.xml", true),
            ("/members/map.xml?a", false),
            ("/members/", false),
            ("/members/map.xml/a", false),
            ("/members/x/../map.xml", false),
            ("//members/map.xml", false),
            ("/terms/l.xml", true),
            ("/index.php?map=1", true),
            ("/index.php", false),
            ("/index.php?map=2", false),
            ("/a.xml", false),
            ("/port.xml", false),
            ("/b", false),
            ("/", false),
        ] {
            assert_eq!(named.contains(host, target), is_named, "{target}");
        }
        assert!(named.contains(Some("www.example.com:8080"), "/port.xml"));
        assert!(!named.contains(Some("example.com"), "/members/map.xml"));
        assert!(named.contains(Some("example.com"), "/terms/l.xml"));
    }

    #[test]
    fn the_number_of_named_pages_is_limited() {
        let lines = (0..1_000).map(|number| format!("Sitemap: /{number}.xml\n"));
        let named = named(&lines.collect::<String>());
        assert!(named.contains(None, "/99.xml") && !named.contains(None, "/100.xml"));
    }
}
