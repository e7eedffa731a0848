//! Subtrees of paths, and paths intended for robots.

use super::path::{PathReading, normal_path};

/// A path and everything below it. The root contains only the root page.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Subtree {
    /// The normalized path without a trailing slash; empty for the root.
    top: Box<[u8]>,
}

impl Subtree {
    pub(super) fn new(path: &[u8]) -> Self {
        let path = normal_path(path);
        Self {
            top: path.strip_suffix(b"/").unwrap_or(&path).into(),
        }
    }

    pub(super) fn read_as(&mut self, reading: PathReading) {
        self.top = reading.folded(&self.top).into();
    }

    pub(super) fn is_root(&self) -> bool {
        self.top.is_empty()
    }

    /// Returns `true` if a normalized path is in the subtree.
    pub(super) fn contains(&self, path: &[u8]) -> bool {
        match path.strip_prefix(&*self.top) {
            Some([]) => true,
            Some([b'/', below @ ..]) => below.is_empty() || !self.is_root(),
            _ => false,
        }
    }

    /// Returns `true` if a path that starts with `text` may be in the subtree.
    pub(super) fn may_contain(&self, text: &[u8]) -> bool {
        let top = if self.is_root() { b"/" } else { &*self.top };
        may_meet(top, text)
    }

    /// Returns `true` if every path that starts with `text` is in the subtree.
    pub(super) fn contains_all(&self, text: &[u8]) -> bool {
        // A text that ends inside a name may continue as a longer name.
        !self.is_root()
            && text
                .iter()
                .rposition(|&byte| byte == b'/')
                .and_then(|slash| text.get(..slash))
                .is_some_and(|directory| self.contains(directory))
    }
}

/// Returns `true` if a path is intended for robots, so that a redirect would be harmful.
///
/// Such paths are robots.txt (RFC 9309 §2.3), sitemaps at the root, well-known URIs (RFC 8615),
/// llms.txt, the icon in result pages, and a site's statements about AI (ai.txt), sellers of
/// advertisements (ads.txt and app-ads.txt, IAB Tech Lab) and security contacts (security.txt, RFC
/// 9116 §3). humans.txt is intended for people.
pub(super) fn is_for_robots(path: &[u8]) -> bool {
    match path {
        b"/robots.txt" | b"/llms.txt" | b"/llms-full.txt" | b"/ai.txt" | b"/ads.txt"
        | b"/app-ads.txt" | b"/security.txt" | b"/favicon.ico" | b"/.well-known" => true,
        _ => path.starts_with(b"/.well-known/") || is_sitemap(path),
    }
}

/// Returns `true` if a path that starts with `text` may be intended for robots.
pub(super) fn may_be_for_robots(text: &[u8]) -> bool {
    let starts = [
        &b"/robots.txt"[..],
        b"/llms",
        b"/ai.txt",
        b"/ads.txt",
        b"/app-ads.txt",
        b"/security.txt",
        b"/favicon.ico",
        b"/.well-known",
        b"/sitemap",
    ];
    starts.iter().any(|start| may_meet(start, text))
}

/// Returns `true` if one of the texts starts with the other.
fn may_meet(a: &[u8], b: &[u8]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

fn is_sitemap(path: &[u8]) -> bool {
    path.strip_prefix(b"/sitemap").is_some_and(|rest| {
        let rest = rest.strip_suffix(b".gz").unwrap_or(rest);
        !rest.contains(&b'/') && (rest.ends_with(b".xml") || rest.ends_with(b".txt"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subtree_ends_at_a_slash() {
        for top in ["/heaven", "/heaven/", "//%68eaven/x/.."] {
            let subtree = Subtree::new(top.as_bytes());
            assert!(subtree.contains(b"/heaven"));
            assert!(subtree.contains(b"/heaven/"));
            assert!(subtree.contains(b"/heaven/a/b"));
            assert!(!subtree.contains(b"/heavenly"));
            assert!(!subtree.contains(b"/heave"));
            assert!(!subtree.contains(b"/"));
        }
    }

    #[test]
    fn the_root_subtree_contains_the_root_page_only() {
        let root = Subtree::new(b"/");
        assert!(root.is_root());
        assert!(root.contains(b"/"));
        assert!(!root.contains(b"/a"));
    }

    #[test]
    fn files_for_robots_are_recognized() {
        for path in [
            "/robots.txt",
            "/sitemap.xml",
            "/sitemap_index.xml",
            "/sitemap-1.xml.gz",
            "/sitemap.txt",
            "/.well-known/acme-challenge/x",
            "/favicon.ico",
            "/llms.txt",
            "/ai.txt",
            "/ads.txt",
            "/app-ads.txt",
            "/security.txt",
        ] {
            assert!(is_for_robots(path.as_bytes()), "{path}");
        }
        for path in [
            "/a/robots.txt",
            "/robots.txt/a",
            "/sitemap",
            "/sitemap/a.xml",
            "/sitemap.html",
            "/.well-knowns/a",
            "/humans.txt",
            "/a/ads.txt",
        ] {
            assert!(!is_for_robots(path.as_bytes()), "{path}");
        }
    }
}
