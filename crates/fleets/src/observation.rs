//! What is told of a request.

use std::net::{IpAddr, Ipv4Addr};

/// Bytes of a User-Agent that tell it from others.
pub const MAX_USER_AGENT_BYTES: usize = 184;

/// Bytes of a path with its query that tell it from others.
pub const MAX_TARGET_BYTES: usize = 184;

/// Segments of a path that is deep.
const DEEP: usize = 3;

/// Request for a page by somebody who says that he is a person: GET or HEAD.
///
/// Requests of robots and forms that were sent are told by nobody.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// When, in seconds since 1970.
    pub at_s: i64,
    /// User-Agent, of which the first [`MAX_USER_AGENT_BYTES`] count.
    pub user_agent: &'a [u8],
    /// Number of what else tells clients apart, 0 where nothing does.
    pub fingerprint: u64,
    /// Address of the client.
    pub address: IpAddr,
    /// Path and query as the request names them, of which the first [`MAX_TARGET_BYTES`] count.
    pub target: &'a [u8],
    /// Status of the answer, 0 where it is not known.
    pub status: u16,
    /// Whether the request names the page that it was linked from.
    pub has_referrer: bool,
    /// Whether it asks for what it has in a cache.
    pub is_conditional: bool,
    /// How robots.txt closes the path to robots that it does not name, if it does.
    pub closed: Option<Closed>,
}

/// Path that robots.txt closes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Closed {
    /// One that people may be shown.
    Path,
    /// A trap, which no person is shown.
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

    /// Returns `true` if the path has many segments, or a query.
    pub(crate) fn is_deep(&self) -> bool {
        let path = path(self.target);
        let segments = path.split(|byte| *byte == b'/');
        path.len() < self.target.len() || segments.filter(|one| !one.is_empty()).count() >= DEEP
    }

    /// Returns `true` if the answer was, or may be, that the cache is right.
    pub(crate) fn is_of_cache(&self) -> bool {
        self.is_conditional || self.status == 304
    }
}

/// What a path is for, as far as its name tells.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PathKind {
    /// What somebody reads.
    Page,
    /// What pages are made with: pictures, styles, scripts.
    Asset,
    /// What programs ask for by right, and which is not counted: feeds, robots.txt, sitemaps.
    Apart,
}

/// Endings of assets' names.
const ASSETS: [&str; 25] = [
    "css", "js", "mjs", "map", "json", "wasm", "png", "jpg", "jpeg", "gif", "webp", "avif", "svg",
    "ico", "woff", "woff2", "ttf", "otf", "mp3", "mp4", "m4a", "m4s", "ogg", "webm", "ts",
];

/// Endings, and last segments, of what is apart.
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
    /// Returns the kind of a path, with a query or without.
    #[must_use]
    pub fn of(target: &[u8]) -> Self {
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

/// Returns a target without its query.
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
    fn a_path_tells_what_it_is_for() {
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
            assert_eq!(PathKind::of(target.as_bytes()), kind, "{target}");
        }
    }

    #[test]
    fn deep_is_what_has_many_segments_or_a_query() {
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
