//! Observations of requests, from which fleets are detected.

use std::net::{IpAddr, Ipv4Addr};

/// Number of bytes at the start of a User-Agent that are significant.
pub const MAX_USER_AGENT_BYTES: usize = 184;

/// Number of bytes at the start of a path and its query that are significant.
pub const MAX_TARGET_BYTES: usize = 184;

/// Minimum number of segments for a path to be considered deep.
const DEEP: usize = 3;

/// A GET or HEAD request from a client that claims to be a browser.
///
/// Do not report requests from declared robots, or requests that submit a form.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// The time of the request, in seconds since 1970.
    pub at_s: i64,
    /// The User-Agent; only its first [`MAX_USER_AGENT_BYTES`] bytes are significant.
    pub user_agent: &'a [u8],
    /// A number that distinguishes clients with the same User-Agent; 0 if no such number is
    /// available.
    pub fingerprint: u64,
    /// The client's address.
    pub address: IpAddr,
    /// The path and query as received; only the first [`MAX_TARGET_BYTES`] bytes are significant.
    pub target: &'a [u8],
    /// The HTTP status of the response, or 0 if unknown.
    pub status: u16,
    /// Whether the request has a referrer.
    pub has_referrer: bool,
    /// Whether the request is conditional on a cached response.
    pub is_conditional: bool,
    /// The kind of the path if robots.txt disallows it for robots without a group of their own.
    pub closed: Option<Closed>,
}

/// The kind of a path that robots.txt disallows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Closed {
    /// A path that may be shown to human visitors.
    Path,
    /// A trap: a path that is never shown to human visitors.
    Trap,
}

impl Default for Observation<'_> {
    fn default() -> Self {
        Self {
            at_s: 0,
            user_agent: b"",
            fingerprint: 0,
            address: Ipv4Addr::UNSPECIFIED.into(),
            target: b"/",
            status: 0,
            has_referrer: false,
            is_conditional: false,
            closed: None,
        }
    }
}

impl<'a> Observation<'a> {
    pub(crate) fn user_agent(&self) -> &'a [u8] {
        cut(self.user_agent, MAX_USER_AGENT_BYTES)
    }

    pub(crate) fn target(&self) -> &'a [u8] {
        cut(self.target, MAX_TARGET_BYTES)
    }

    /// Returns `true` if the path has at least three segments, or a query.
    pub(crate) fn is_deep(&self) -> bool {
        let path = path(self.target);
        let segments = path.split(|byte| *byte == b'/');
        path.len() < self.target.len() || segments.filter(|one| !one.is_empty()).count() >= DEEP
    }

    /// Returns `true` if the client has the response in its cache.
    pub(crate) fn is_from_cache(&self) -> bool {
        self.is_conditional || self.status == 304
    }
}

/// The purpose of a path, determined by its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PathKind {
    /// A page that visitors read.
    Page,
    /// An asset of a page, such as an image, a style sheet or a script.
    Asset,
    /// A path that is not counted because programs request it legitimately: a feed, robots.txt or a
    /// sitemap.
    Apart,
}

/// File extensions of assets.
const ASSETS: [&str; 25] = [
    "css", "js", "mjs", "map", "json", "wasm", "png", "jpg", "jpeg", "gif", "webp", "avif", "svg",
    "ico", "woff", "woff2", "ttf", "otf", "mp3", "mp4", "m4a", "m4s", "ogg", "webm", "ts",
];

/// File extensions and last path segments of paths that are not counted.
const APART: [&str; 7] = [
    "rss",
    "atom",
    "xml",
    "rdf",
    "feed",
    "robots.txt",
    "webmanifest",
];

impl PathKind {
    /// Returns the kind of a path, with or without a query.
    #[must_use]
    pub fn from_target(target: &[u8]) -> Self {
        let path = path(target);
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let ending = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        let is_one = |of: &[&str], word: &[u8]| {
            let mut of = of.iter();
            of.any(|one| word.eq_ignore_ascii_case(one.as_bytes()))
        };
        if path.starts_with(b"/.well-known/") || is_one(&APART, ending) || is_one(&APART, name) {
            Self::Apart
        } else if ending.len() < name.len() && is_one(&ASSETS, ending) {
            Self::Asset
        } else {
            Self::Page
        }
    }
}

/// Returns a request target without its query.
pub(crate) fn path(target: &[u8]) -> &[u8] {
    let mut parts = target.split(|byte| matches!(byte, b'?' | b'#'));
    parts.next().unwrap_or_default()
}

fn cut(text: &[u8], most: usize) -> &[u8] {
    text.get(..most).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_depends_on_the_name_of_the_path() {
        for (target, kind) in [
            ("/", PathKind::Page),
            ("/a/b.html?x=y.css", PathKind::Page),
            ("/css", PathKind::Page),
            ("/a.CSS?v=3", PathKind::Asset),
            ("/a/b.min.js", PathKind::Asset),
            ("/feed/", PathKind::Apart),
            ("/blog/index.xml", PathKind::Apart),
            ("/rss?tag=a", PathKind::Apart),
            ("/robots.txt", PathKind::Apart),
            ("/.well-known/security.txt", PathKind::Apart),
            ("", PathKind::Page),
        ] {
            assert_eq!(PathKind::from_target(target.as_bytes()), kind, "{target}");
        }
    }

    #[test]
    fn paths_with_many_segments_or_a_query_are_deep() {
        for (target, is_deep) in [
            ("/a/b", false),
            ("//a//b/", false),
            ("/a/b/c", true),
            ("/?a", true),
        ] {
            let observation = Observation {
                target: target.as_bytes(),
                ..Observation::default()
            };
            assert_eq!(observation.is_deep(), is_deep, "{target}");
        }
    }
}
