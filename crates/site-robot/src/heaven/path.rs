//! Paths of pages in robot heaven, derived from the URLs of the originals.

use std::{fmt, ops::ControlFlow};

use sha2::{Digest, Sha256};

/// Maximum length of a path segment that is kept unchanged, in bytes.
// File systems allow names of up to 255 bytes, and an extension is appended.
const MAX_PLAIN_BYTES: usize = 180;
/// Maximum length of the readable part of a shortened path segment, in bytes.
const MAX_SLUG_BYTES: usize = 60;
/// Maximum length of a path, in bytes; longer paths are replaced with a name at the top level.
const MAX_PATH_BYTES: usize = 900;
/// Maximum number of directories in a path.
const MAX_DIRECTORIES: usize = 30;
/// Number of hexadecimal digits (80 bits) in the digest that is part of a name.
const DIGEST_DIGITS: usize = 20;

/// Name of the heaven page for the site's `/`; `index.html` is already the start page of robot
/// heaven.
const FRONT_PAGE: &str = "front-page~.html";

/// Names reserved at the top level of robot heaven.
const RESERVED: [&str; 7] = [
    "by",
    "heaven.css",
    "llms-full.txt",
    "llms.txt",
    "feed.atom",
    "rd.soif",
    "rd.jsonl",
];

/// Path of a page below robot heaven, which is safe as a file name and unique for each URL.
///
/// Simple URL paths are preserved: `/a/` becomes `a/index.html`, `/a.html` is unchanged, and `/a`
/// becomes `a.htm`. Segments that are unsafe for file systems (upper case, escapes, dots, long
/// names) are simplified, and a digest is added after `~`. A query is represented only by a digest.
/// Pages from other hosts are below `~HOST`.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::heaven::HeavenPath;
///
/// let path = HeavenPath::for_url("https://www.example.com/a/b", "https://www.example.com");
/// assert_eq!(path.as_str(), "a/b.htm");
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HeavenPath {
    path: String,
}

impl HeavenPath {
    /// Returns the path of the heaven page for a URL; `site` is an origin such as
    /// `https://www.example.com`.
    pub fn for_url(url: &str, site: &str) -> Self {
        let made = Parts::split(url, site).and_then(|parts| parts.path(url));
        Self {
            path: made.unwrap_or_else(|| hashed("page", url, ".htm")),
        }
    }

    /// Returns the path, with segments separated by `/` and without a leading `/`.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// Returns the path for use in links, without `index.html`.
    pub fn link(&self) -> &str {
        match self.path.strip_suffix("index.html") {
            Some(directory) if directory.ends_with('/') => directory,
            _ => &self.path,
        }
    }

    /// Returns the path of the Markdown rendition.
    pub fn markdown(&self) -> String {
        format!("{}.md", self.path)
    }
}

impl fmt::Display for HeavenPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

/// Parts of a URL that determine the path of its page in robot heaven.
struct Parts<'u> {
    /// Directory name for a host other than the site's.
    host: Option<String>,
    /// Path of the URL, including the leading slash.
    path: &'u str,
    /// Whether the URL has a query or fragment.
    has_more: bool,
}

impl<'u> Parts<'u> {
    fn split(url: &'u str, site: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at_checked(end)?;
        let is_own = site.split_once("://") == Some((scheme, authority));
        let end = rest.find(['?', '#']).unwrap_or(rest.len());
        let (path, more) = rest.split_at_checked(end)?;
        path.starts_with('/').then(|| Self {
            host: (!is_own).then(|| host(scheme, authority)),
            path,
            has_more: !more.is_empty(),
        })
    }

    fn path(&self, url: &str) -> Option<String> {
        let mut path = String::with_capacity(self.path.len() + 8);
        if let Some(host) = &self.host {
            path.push_str(host);
            path.push('/');
        }
        let (directories, file) = self.path.strip_prefix('/')?.rsplit_once('/').map_or(
            (None, self.path.get(1..).unwrap_or_default()),
            |(directories, file)| (Some(directories), file),
        );
        let segments = directories.into_iter().flat_map(|all| all.split('/'));
        let walked = segments.enumerate().try_for_each(|(at, segment)| {
            push_directory(&mut path, segment, at == 0);
            if at < MAX_DIRECTORIES && path.len() < MAX_PATH_BYTES {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        let is_top = self.host.is_none() && directories.is_none();
        let file = self.file(url, file, is_top);
        if walked.is_break() || path.len() + file.len() > MAX_PATH_BYTES {
            return None;
        }
        path.push_str(&file);
        Some(path)
    }

    fn file(&self, url: &str, name: &str, is_top: bool) -> String {
        match name {
            // The query distinguishes pages that have the same path, and may contain any character.
            _ if self.has_more => hashed(name, url, ".htm"),
            "" if is_top => FRONT_PAGE.to_owned(),
            "" => "index.html".to_owned(),
            // The directory itself already uses `index.html`, so this page needs another name.
            "index.html" => hashed(name, url, ".htm"),
            _ if !is_plain(name) => hashed(name, url, ".htm"),
            _ if has_extension(name, ".html") => name.to_owned(),
            _ => format!("{name}.htm"),
        }
    }
}

fn host(scheme: &str, authority: &str) -> String {
    if scheme == "https" && is_plain(authority) {
        format!("~{authority}")
    } else {
        format!(
            "~{}",
            hashed(authority, &format!("{scheme}://{authority}"), "")
        )
    }
}

fn push_directory(path: &mut String, segment: &str, is_first: bool) {
    // Heaven pages are files with these extensions, so a directory with such a name could conflict
    // with a file.
    let is_like_file = [".html", ".htm", ".md"]
        .iter()
        .any(|extension| has_extension(segment, extension));
    let is_ours = is_first && (RESERVED.contains(&segment) || segment.starts_with("sitemap"));
    if is_plain(segment) {
        path.push_str(segment);
        if is_like_file || is_ours {
            path.push('~');
        }
    } else {
        path.push_str(&hashed(segment, segment, ""));
    }
    path.push('/');
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.ends_with(extension)
}

/// Returns `true` if every file system preserves a name.
fn is_plain(name: &str) -> bool {
    let is_kept = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
    let stem = name.split('.').next().unwrap_or_default();
    !name.is_empty()
        && name.len() <= MAX_PLAIN_BYTES
        && name.bytes().all(is_kept)
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !is_device(stem)
}

/// Returns `true` for device names reserved by Windows, which ignores extensions in such names.
fn is_device(stem: &str) -> bool {
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|digit| {
            digit.len() == 1 && digit.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    matches!(stem, "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

/// Returns a name that consists of its readable part and the digest of a text.
fn hashed(name: &str, digested: &str, extension: &str) -> String {
    let mut made = slug(name);
    made.push('~');
    made.extend(
        hex::encode(Sha256::digest(digested))
            .chars()
            .take(DIGEST_DIGITS),
    );
    made.push_str(extension);
    made
}

/// Returns the readable part of a name, that is, letters and digits separated by dashes.
fn slug(name: &str) -> String {
    let mut slug = String::with_capacity(MAX_SLUG_BYTES);
    let mut bytes = name.bytes();
    while let Some(byte) = bytes.next() {
        if slug.len() == MAX_SLUG_BYTES {
            break;
        }
        if byte == b'%' {
            // The two digits of an escape have no meaning on their own.
            bytes.nth(1);
        }
        if byte.is_ascii_alphanumeric() {
            slug.push(char::from(byte.to_ascii_lowercase()));
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    while slug.ends_with('-') {
        slug.pop();
    }
    if slug.is_empty() {
        slug.push_str("page");
    }
    slug
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const SITE: &str = "https://www.example.com";

    fn path(url: &str) -> String {
        let path = HeavenPath::for_url(url, SITE);
        assert_safe(&path);
        path.as_str().to_owned()
    }

    fn assert_safe(path: &HeavenPath) {
        let text = path.as_str();
        assert!(text.len() <= 1_000, "{text}");
        let extension = text.rsplit('.').next();
        assert!(matches!(extension, Some("html" | "htm")), "{text}");
        assert!(!RESERVED.contains(&text) && text != "index.html", "{text}");
        for segment in text.split('/') {
            assert!(!segment.is_empty() && segment.len() <= 200, "{text}");
            assert!(!segment.starts_with('.') && !segment.ends_with('.'));
            let is_safe = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_~".contains(&byte)
            };
            assert!(segment.bytes().all(is_safe), "{text}");
        }
    }

    #[test]
    fn ordinary_paths_are_preserved() {
        for (url, expected) in [
            ("/", "front-page~.html"),
            ("/a", "a.htm"),
            ("/a/", "a/index.html"),
            ("/a.html", "a.html"),
            (
                "/members-only-stuff/reports/2026_q1.html",
                "members-only-stuff/reports/2026_q1.html",
            ),
            ("/report.pdf", "report.pdf.htm"),
            ("/a.htm", "a.htm.htm"),
            ("/a.html/b", "a.html~/b.htm"),
            ("/by/title", "by~/title.htm"),
            ("/a/by/title", "a/by/title.htm"),
            ("/sitemap.xml/", "sitemap.xml~/index.html"),
        ] {
            assert_eq!(path(&format!("{SITE}{url}")), expected);
        }
        assert_eq!(path("https://other.example/a"), "~other.example/a.htm");
        assert_eq!(path("https://other.example/"), "~other.example/index.html");
    }

    #[test]
    fn hostile_paths_stay_below_heaven() {
        for url in [
            "https://www.example.com/../../etc/passwd",
            "https://www.example.com/%2e%2e/%2e%2e/etc/passwd",
            "https://www.example.com/a\\..\\b",
            "https://www.example.com//etc/passwd",
            "https://www.example.com/.git/config",
            "https://www.example.com/con.html",
            "https://www.example.com/a\0b",
            "https://../a",
            "https://www.example.com",
            "https://www.example.com@evil.example/x",
            "javascript:alert(1)",
            "",
        ] {
            path(url);
        }
        path(&format!("{SITE}/{}", "a".repeat(300)));
        path(&format!("{SITE}/{}", "a/".repeat(3_000)));
        path(&format!("{SITE}/{}/é", "é".repeat(300)));
    }

    #[test]
    fn links_point_to_directories_and_renditions_to_files() {
        let path = HeavenPath::for_url("https://www.example.com/a/", SITE);
        assert_eq!(path.link(), "a/");
        assert_eq!(path.markdown(), "a/index.html.md");
        let path = HeavenPath::for_url("https://www.example.com/a.html", SITE);
        assert_eq!(path.link(), "a.html");
    }

    fn urls() -> impl Strategy<Value = Vec<String>> {
        let segment = prop::sample::select(vec![
            "",
            "a",
            "A",
            "a.html",
            "a.htm",
            "a.html.md",
            "index.html",
            ".",
            "..",
            "%61",
            "~a",
            "~other.example",
            "other.example",
            "by",
            "a~",
            "front-page~.html",
            "é",
            "%C3%A9",
            "%c3%a9",
            "con",
        ]);
        let host = prop::sample::select(vec![
            "https://www.example.com",
            "http://www.example.com",
            "https://other.example",
            "https://other.example:8443",
            "http://other.example",
            "https://WWW.example.com",
        ]);
        let more = prop::sample::select(vec!["", "", "?", "?a", "#a", "?a=b/c"]);
        let path = prop::collection::vec(segment, 0..4);
        let url = (host, path, more)
            .prop_map(|(host, path, more)| format!("{host}/{}{more}", path.join("/")));
        prop::collection::vec(url, 2..40)
    }

    proptest! {
        #[test]
        fn urls_have_distinct_paths_without_conflicts(urls in urls()) {
            let mut taken = BTreeMap::new();
            for url in &urls {
                let path = HeavenPath::for_url(url, SITE);
                assert_safe(&path);
                for file in [path.as_str().to_owned(), path.markdown()] {
                    let other = taken.insert(file.clone(), url);
                    prop_assert!(other.is_none_or(|other| other == url), "{other:?} {url} {file}");
                }
            }
            for file in taken.keys() {
                let below = format!("{file}/");
                prop_assert!(!taken.keys().any(|other| other.starts_with(&below)), "{file}");
            }
        }

        #[test]
        fn every_url_has_a_safe_path(url in "\\PC{0,80}", path in "[ -~]{0,400}") {
            assert_safe(&HeavenPath::for_url(&url, SITE));
            assert_safe(&HeavenPath::for_url(&format!("{SITE}/{path}"), SITE));
        }
    }
}
