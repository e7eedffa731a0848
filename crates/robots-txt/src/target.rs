//! Conversion of a URL to the octets that rules are compared with.

use std::borrow::Cow;

use memchr::memchr;

use super::{dialect::Escapes, escapes, octets};

/// The parts of a URL: the origin and the rest.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct SplitUrl<'u> {
    /// The scheme and authority of the URL, if it is absolute.
    pub(super) origin: Option<(&'u str, &'u str)>,
    /// The path, query and fragment of the URL.
    pub(super) rest: &'u str,
}

impl<'u> SplitUrl<'u> {
    /// Splits an absolute URL into origin and rest; any other text is treated as a path.
    pub(super) fn parse(url: &'u str) -> Self {
        let path = Self {
            origin: None,
            rest: url,
        };
        // Most checked URLs are paths.
        let colon = memchr(b':', url.as_bytes()).filter(|_| !url.starts_with('/'));
        let Some((scheme, behind)) = colon.and_then(|colon| url.split_at_checked(colon)) else {
            return path;
        };
        let Some(behind) = behind.strip_prefix("://").filter(|_| is_scheme(scheme)) else {
            return path;
        };
        let end = behind.find(['/', '?', '#']).unwrap_or(behind.len());
        match behind.split_at_checked(end) {
            Some((authority, rest)) => Self {
                origin: Some((scheme, authority)),
                rest,
            },
            None => path,
        }
    }

    /// Returns the host and port of the URL, with the scheme's default port if the port is omitted.
    pub(super) fn host_and_port(&self) -> Option<(&'u str, u16)> {
        let (scheme, authority) = self.origin?;
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let default = if scheme.eq_ignore_ascii_case("https") {
            443
        } else {
            80
        };
        match host.rsplit_once(':') {
            Some((name, "")) => Some((name, default)),
            Some((name, port)) if !port.ends_with(']') => Some((name, port.parse().ok()?)),
            _ => Some((host, default)),
        }
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'+' | b'-' | b'.'))
}

/// Returns the octets that rules are compared with, or `None` if no rule can match.
///
/// The octets start with a slash and include the query. The fragment, which is not part of
/// requests, is included only if the program that the dialect is based on keeps it.
pub(super) fn target(url: &str, reading: Escapes) -> Option<Cow<'_, [u8]>> {
    let stands = match reading {
        Escapes::Normalised | Escapes::RuleOnly | Escapes::Decoded => is_simple(url),
        Escapes::Resolved | Escapes::FormDecoded => false,
    };
    if stands {
        return Some(Cow::Borrowed(url.as_bytes()));
    }
    Some(match reading {
        Escapes::RuleOnly => google_path(url),
        Escapes::Normalised => map(path(url), escapes::normalised),
        Escapes::Decoded => map(path(url), escapes::decoded),
        Escapes::Resolved => map(Cow::Borrowed(perl_path(url)), escapes::safe),
        Escapes::FormDecoded => {
            let rooted = rooted(SplitUrl::parse(url).rest.as_bytes());
            Cow::Owned(escapes::form_decoded(&rooted)?)
        }
    })
}

/// Returns `true` if a URL is a path that needs no normalisation, which is the usual case.
fn is_simple(url: &str) -> bool {
    let path = url.as_bytes();
    // In Google's parser, a host may follow two slashes; spaces, escapes and fragments must be
    // parsed.
    matches!(path, [b'/'] | [b'/', b'!'..=b'.' | b'0'..=b'~', ..]) && !octets::has(path, b'%', b'#')
}

/// Returns `true` if the URL is that of /robots.txt.
pub(super) fn is_robots_txt(url: &str, any_case: bool) -> bool {
    const PATH: &[u8] = b"/robots.txt";
    let begins_otherwise = |octet: &u8| !matches!(octet, b'r' | b'R' | b'%');
    // This function is called for every URL, and comparing one octet rules out nearly all of them.
    if url.starts_with('/') && url.as_bytes().get(1).is_none_or(begins_otherwise) {
        return false;
    }
    let path = path(url);
    let plain = if memchr(b'%', &path).is_some() {
        escapes::normalised(&path)
    } else {
        Cow::Borrowed(&*path)
    };
    if any_case {
        plain.eq_ignore_ascii_case(PATH)
    } else {
        *plain == *PATH
    }
}

fn path(url: &str) -> Cow<'_, [u8]> {
    let rest = SplitUrl::parse(url).rest.as_bytes();
    let end = memchr(b'#', rest).unwrap_or(rest.len());
    rooted(rest.get(..end).unwrap_or(rest))
}

fn rooted(path: &[u8]) -> Cow<'_, [u8]> {
    if path.starts_with(b"/") {
        Cow::Borrowed(path)
    } else {
        Cow::Owned([b"/", path].concat())
    }
}

/// Returns a URL's path and query as Perl's URI module does: an empty path stays empty.
fn perl_path(url: &str) -> &[u8] {
    let rest = SplitUrl::parse(url.trim_ascii()).rest.as_bytes();
    let end = memchr(b'#', rest).unwrap_or(rest.len());
    rest.get(..end).unwrap_or(rest)
}

/// Returns a URL's path, parameters and query as Google's parser does: two slashes at the beginning
/// are followed by a host.
fn google_path(url: &str) -> Cow<'_, [u8]> {
    let url = url.as_bytes();
    let start = if url.starts_with(b"//") { 2 } else { 0 };
    let find = |from: usize, wanted: &[u8]| {
        let rest = url.get(from..)?;
        let at = rest.iter().position(|octet| wanted.contains(octet))?;
        Some(from + at)
    };
    let early = find(start, b"/?;").unwrap_or(usize::MAX);
    let protocol = url
        .get(start..)
        .and_then(|rest| memchr::memmem::find(rest, b"://"))
        .map(|at| start + at);
    let authority = match protocol {
        Some(at) if early >= at => at + 3,
        _ => start,
    };
    let Some(path) = find(authority, b"/?;") else {
        return Cow::Borrowed(b"/");
    };
    let hash = find(start, b"#").unwrap_or(url.len());
    match url.get(path..hash) {
        Some(found) => rooted(found),
        None => Cow::Borrowed(b"/"),
    }
}

fn map<'t>(
    text: Cow<'t, [u8]>,
    change: impl for<'a> Fn(&'a [u8]) -> Cow<'a, [u8]>,
) -> Cow<'t, [u8]> {
    match text {
        Cow::Borrowed(text) => change(text),
        Cow::Owned(text) => Cow::Owned(change(&text).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str, reading: Escapes) -> String {
        let target = target(url, reading).expect("comparable");
        String::from_utf8(target.into_owned()).expect("UTF-8")
    }

    #[test]
    fn scheme_host_and_fragment_are_ignored() {
        for (url, path) in [
            ("http://h/a?b=c#d", "/a?b=c"),
            ("https://h:8/", "/"),
            ("http://h", "/"),
            ("http://h?q", "/?q"),
            ("/a/b", "/a/b"),
            ("/a?u=http://h/b", "/a?u=http://h/b"),
            ("//a/b", "//a/b"),
            ("", "/"),
        ] {
            assert_eq!(of(url, Escapes::Normalised), path, "{url}");
        }
    }

    /// The cases are from the test of google/robotstxt's path function.
    #[test]
    fn google_paths_follow_its_parser() {
        for (url, path) in [
            ("", "/"),
            ("http://www.example.com", "/"),
            ("http://www.example.com/a", "/a"),
            (
                "http://www.example.com/a/b?c=http://d.e/",
                "/a/b?c=http://d.e/",
            ),
            ("example.com/a/b", "/a/b"),
            ("//a/b/c", "/b/c"),
            ("//a?x", "/?x"),
            ("a;b#c", "/;b"),
            ("http://h#x/y", "/"),
        ] {
            assert_eq!(of(url, Escapes::RuleOnly), path, "{url}");
        }
    }

    #[test]
    fn default_ports_may_be_omitted() {
        for (url, expected) in [
            ("http://h/", Some(("h", 80))),
            ("https://u@h/", Some(("h", 443))),
            ("http://h:8080", Some(("h", 8080))),
            ("http://[::1]/", Some(("[::1]", 80))),
            ("http://h:99999/", None),
            ("/h", None),
        ] {
            assert_eq!(SplitUrl::parse(url).host_and_port(), expected, "{url}");
        }
    }
}
