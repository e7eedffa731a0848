//! Redirect URLs, and the pages of robot heaven that redirect URLs cover.

use std::fmt::Write;

use super::{
    host::Host,
    path::{PathReading, decode, has_odd_segments, hex_digit},
    subtree::Subtree,
};

/// Maximum number of bytes of a redirect URL.
const MAX_URL_BYTES: usize = 2048;

/// The target and status of a redirect.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Redirect {
    /// The status of the response: 301, 302, 303, 307 or 308.
    pub status: u16,
    /// The value of `Location` in visible ASCII: a path with one leading slash, or an http(s) URL.
    pub location: String,
}

/// Parses a redirect URL into a `Location` value and a guard that recognizes the URL's pages.
///
/// Errors contain the reason and a correction.
pub(super) fn parse(url: &str, own_hosts: &[Host]) -> Result<(String, Guard), String> {
    check_characters(url)?;
    if url.starts_with("//") {
        return Err(
            "two leading slashes refer to another site; write one slash, or https:// and the host"
                .to_owned(),
        );
    }
    if url.starts_with('/') {
        let location = encode(url)?;
        let pages = pages(&location)?;
        return Ok((location, Guard { site: None, pages }));
    }
    parse_absolute(url, own_hosts)
}

fn parse_absolute(url: &str, own_hosts: &[Host]) -> Result<(String, Guard), String> {
    let (scheme, default_port, rest) = split_scheme(url)?;
    let path_start = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(path_start).unwrap_or((rest, ""));
    if authority.contains('@') {
        return Err("the URL contains a user name; remove everything before the @".to_owned());
    }
    let host = Host::parse(authority)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let path = format!("{slash}{}", encode(path)?);
    let is_own = own_hosts
        .iter()
        .any(|own| is_same_site(own, &host, default_port));
    let guard = Guard {
        pages: pages(&path)?,
        site: Some(Site {
            host,
            default_port,
            is_own,
        }),
    };
    let authority = authority.to_ascii_lowercase();
    Ok((format!("{scheme}://{authority}{path}"), guard))
}

/// A guard against redirect loops, which recognizes the pages of robot heaven.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    site: Option<Site>,
    pages: Subtree,
}

/// The site to which an absolute redirect URL refers.
#[derive(Clone, Debug)]
struct Site {
    host: Host,
    default_port: u16,
    /// Whether the host is one of this site's own hosts.
    is_own: bool,
}

impl Guard {
    pub(super) fn read_as(&mut self, reading: PathReading) {
        self.pages.read_as(reading);
    }

    /// Returns `true` if a request already targets a page of robot heaven.
    ///
    /// If the redirect URL is absolute, the host must match too; a request without a host is
    /// treated as a match.
    pub(super) fn covers(&self, host: Option<&str>, path: &[u8]) -> bool {
        self.pages.contains(path)
            && self.site.as_ref().is_none_or(|site| {
                // A request without a `Host` may be for heaven: allowing the request is better than
                // a redirect loop.
                site.is_own
                    || host.is_none_or(|host| site.host.matches_port(host, site.default_port))
            })
    }

    /// Returns `true` if a path that starts with `text` may be in robot heaven, on any host.
    pub(super) fn may_cover(&self, text: &[u8]) -> bool {
        self.pages.may_contain(text)
    }

    /// Returns `true` if the guard is limited to certain hosts.
    pub(super) fn has_host(&self) -> bool {
        self.site.as_ref().is_some_and(|site| !site.is_own)
    }

    /// Returns `true` if all paths that start with `text` are in robot heaven, on all hosts of this
    /// site.
    pub(super) fn covers_all(&self, text: &[u8]) -> bool {
        let is_here = self.site.as_ref().is_none_or(|site| site.is_own);
        is_here && self.pages.contains_all(text)
    }
}

/// Compares one of the site's own hosts with the URL's host. An own host without a port matches
/// every port.
fn is_same_site(own: &Host, host: &Host, default_port: u16) -> bool {
    own.name() == host.name()
        && own
            .port()
            .is_none_or(|port| port == host.port().unwrap_or(default_port))
}

fn check_characters(url: &str) -> Result<(), String> {
    let problem = if url.len() > MAX_URL_BYTES {
        return Err(format!("the URL is longer than {MAX_URL_BYTES} bytes"));
    } else if url.chars().any(char::is_control) {
        "the URL contains a control character"
    } else if url.chars().any(char::is_whitespace) {
        "the URL contains a space; write %20"
    } else if url.contains('\\') {
        "the URL contains a backslash, which browsers treat as a slash; write / or %5C"
    } else if url.contains('#') {
        "the URL contains a fragment, which robots ignore; remove the # and the text after it"
    } else {
        return Ok(());
    };
    Err(problem.to_owned())
}

/// Splits a URL into its scheme and the rest. Returns the scheme in lower case and its default
/// port.
fn split_scheme(url: &str) -> Result<(&'static str, u16, &str), String> {
    for (scheme, default_port) in [("http", 80), ("https", 443)] {
        if let Some((start, rest)) = url.split_once("://")
            && start.eq_ignore_ascii_case(scheme)
        {
            return Ok((scheme, default_port, rest));
        }
    }
    Err(
        "neither a path nor an http or https URL; write /robot-heaven/ or https://example.com/robot-heaven/"
            .to_owned(),
    )
}

/// Returns the path and query, with all characters percent-encoded that a header cannot contain.
fn encode(path: &str) -> Result<String, String> {
    let mut encoded = String::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte == b'%' && !starts_with_two_digits(behind) {
            return Err("the URL contains a % that is not an escape; write %25".to_owned());
        }
        // These are graphic characters, but not allowed in a URI (RFC 3986 §2).
        if byte.is_ascii_graphic() && !b"\"<>^`{|}".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    Ok(encoded)
}

fn starts_with_two_digits(bytes: &[u8]) -> bool {
    matches!(bytes, [high, low, ..] if hex_digit(*high).is_some() && hex_digit(*low).is_some())
}

/// Returns the pages that the path of a redirect URL covers.
fn pages(path_and_query: &str) -> Result<Subtree, String> {
    let path = path_and_query.split('?').next().unwrap_or_default();
    let decoded: Vec<u8> = decode(path.as_bytes()).collect();
    if has_odd_segments(&decoded) {
        return Err("the URL contains //, /./ or /../; write the resulting path".to_owned());
    }
    Ok(Subtree::new(path.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! covers {
        ($($name:ident: $url:expr, $host:expr, $path:expr => $covers:expr;)*) => {
            $(#[test] fn $name() {
                let (_, guard) = parse($url, &[]).unwrap();
                assert_eq!(guard.covers($host, $path.as_bytes()), $covers);
            })*
        };
    }

    covers! {
        heaven_covers_itself: "/heaven/", None, "/heaven/" => true;
        heaven_covers_what_is_below: "/heaven/", None, "/heaven/a/b" => true;
        heaven_covers_itself_without_slash: "/heaven/", None, "/heaven" => true;
        heaven_ends_at_a_segment: "/heaven", None, "/heavenly" => false;
        heaven_without_slash_covers_what_is_below: "/heaven", None, "/heaven/a" => true;
        page_covers_itself: "/heaven/index.html", None, "/heaven/index.html" => true;
        page_covers_not_its_directory: "/heaven/index.html", None, "/heaven/a.html" => false;
        script_is_covered_without_its_query: "/heaven?from=robot", None, "/heaven" => true;
        escaped_heaven_is_covered: "/h%65aven/", None, "/heaven/a" => true;
        root_covers_the_root_page: "/", None, "/" => true;
        root_covers_nothing_else: "/", None, "/a" => false;
        path_is_covered_on_every_host: "/heaven/", Some("a.example"), "/heaven/" => true;
        url_is_covered_on_its_host: "https://a.example/heaven/", Some("A.example."), "/heaven/x" => true;
        url_is_covered_on_its_default_port: "https://a.example/heaven/", Some("a.example:443"), "/heaven/" => true;
        url_is_not_covered_on_another_port: "https://a.example/heaven/", Some("a.example:8443"), "/heaven/" => false;
        url_is_not_covered_on_another_host: "https://a.example/heaven/", Some("b.example"), "/heaven/" => false;
        url_is_covered_without_a_host: "https://a.example/heaven/", None, "/heaven/" => true;
        url_without_path_covers_the_root_page: "https://a.example", Some("a.example"), "/" => true;
        url_without_path_covers_nothing_else: "https://a.example", Some("a.example"), "/a" => false;
    }

    #[test]
    fn a_url_on_an_own_host_is_covered_on_every_host() {
        for (own, url, covers) in [
            ("a.example", "https://a.example/heaven/", true),
            ("A.Example.", "http://a.example:8080/heaven/", true),
            ("a.example:443", "https://a.example/heaven/", true),
            ("a.example:80", "https://a.example/heaven/", false),
            ("b.example", "https://a.example/heaven/", false),
        ] {
            let own = Host::parse(own).unwrap();
            let (_, guard) = parse(url, &[own]).unwrap();
            assert_eq!(
                guard.covers(Some("127.0.0.1:3000"), b"/heaven/a"),
                covers,
                "{url}"
            );
        }
    }

    #[test]
    fn location_is_visible_ascii() {
        for (url, location) in [
            ("/robot-heaven/", "/robot-heaven/"),
            ("/a?b=c&d", "/a?b=c&d"),
            ("/café/<x>", "/caf%C3%A9/%3Cx%3E"),
            ("HTTPS://Example.COM/A", "https://example.com/A"),
            ("http://example.com", "http://example.com/"),
            ("http://example.com?a", "http://example.com/?a"),
            ("http://[::1]:3000/a", "http://[::1]:3000/a"),
            ("/%C3%A9", "/%C3%A9"),
        ] {
            assert_eq!(parse(url, &[]).unwrap().0, location);
        }
    }

    #[test]
    fn invalid_urls_are_rejected_with_a_hint() {
        for (url, hint) in [
            ("//evil.example/", "one slash"),
            ("///a", "one slash"),
            ("/\\evil.example", "backslash"),
            ("\\\\evil.example", "backslash"),
            ("/a\\b", "backslash"),
            ("/a\r\nSet-Cookie: b", "control"),
            ("/a\u{0}", "control"),
            ("/a b", "%20"),
            ("/a\u{a0}b", "%20"),
            ("/a#b", "fragment"),
            ("/a%zz", "%25"),
            ("/a/../b", "the resulting path"),
            ("/a//b", "the resulting path"),
            ("/%2e%2e/b", "the resulting path"),
            ("/%2fevil.example", "the resulting path"),
            ("javascript:alert(1)", "neither"),
            ("JAVASCRIPT://a/%0aalert(1)", "neither"),
            ("data:text/html,a", "neither"),
            ("ftp://example.com/", "neither"),
            ("http:/example.com", "neither"),
            ("https:example.com", "neither"),
            ("robot-heaven/", "neither"),
            ("http://", "host name"),
            ("http:///a", "host name"),
            ("http://user@example.com/", "user name"),
            ("http://user:pw@example.com/", "user name"),
            ("http://example.com@evil.example/", "user name"),
            ("http://é.example/", "xn--"),
            ("http://example.com:0/", "65535"),
            ("http://example.com:99999/", "65535"),
            ("http://exa%6dple.com/", "host name"),
        ] {
            let reason = parse(url, &[]).unwrap_err();
            assert!(reason.contains(hint), "{url:?}: {reason}");
        }
        assert!(parse(&format!("/{}", "a".repeat(MAX_URL_BYTES)), &[]).is_err());
    }
}
