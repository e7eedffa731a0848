//! Resolution of the paths in rules against the URL of the robots.txt file, as in
//! `WWW::RobotRules`.

use super::{escapes, target::SplitUrl};

/// Returns the path and query of a rule, or `None` if the rule applies to another site.
///
/// A rule may contain an absolute URL; a path without a leading slash is relative to the directory
/// of /robots.txt.
pub(super) fn resolved(written: &[u8], base: Option<&str>) -> Option<Vec<u8>> {
    let safe = escapes::safe(unwrapped(written));
    let text = str::from_utf8(&safe).ok()?;
    let reference = text.split('#').next().unwrap_or_default();
    let path = if let Some(scheme) = scheme(reference) {
        same_site(reference, scheme, base)?
    } else if reference.starts_with("//") {
        let scheme = base
            .and_then(|base| base.split_once("://"))
            .map_or("http", |(scheme, _)| scheme);
        let url = format!("{scheme}:{reference}");
        return resolved(url.as_bytes(), base);
    } else if reference.starts_with('/') {
        reference.to_owned()
    // RFC 3986 §5.2.2: an empty reference or a query alone refers to the document itself.
    } else if reference.starts_with('?') {
        format!("/robots.txt{reference}")
    } else if reference.is_empty() {
        "/robots.txt".to_owned()
    } else {
        relative(reference)
    };
    Some(if path.is_empty() {
        b"/".to_vec()
    } else {
        path.into_bytes()
    })
}

/// Removes delimiters such as `<URL:…>` or quotation marks around a URL.
fn unwrapped(written: &[u8]) -> &[u8] {
    // RFC 2396 appendix E: `<URL:…>` or quotation marks delimit a URL in a text.
    let inner = match written {
        [b'<', inner @ .., b'>'] => inner.strip_prefix(b"URL:").unwrap_or(inner),
        written => written,
    };
    let unquoted = inner
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    let inner = unquoted.unwrap_or(inner);
    inner.trim_ascii()
}

/// Returns the scheme of a URL reference, if any.
fn scheme(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let rest = scheme.strip_prefix(|first: char| first.is_ascii_alphabetic())?;
    rest.bytes()
        .all(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'.' | b'+' | b'-'))
        .then_some(scheme)
}

/// Returns the path and query of a URL if it has the same scheme, host and port as the base.
fn same_site(url: &str, scheme: &str, base: Option<&str>) -> Option<String> {
    let here = base.map(SplitUrl::parse)?;
    let there = SplitUrl::parse(url);
    let (base_scheme, _) = here.origin?;
    let (host, port) = there.host_and_port()?;
    let (own_host, own_port) = here.host_and_port()?;
    (scheme.eq_ignore_ascii_case(base_scheme)
        && host.eq_ignore_ascii_case(own_host)
        && port == own_port)
        .then(|| there.rest.to_owned())
}

/// Resolves a path relative to the root and removes dot segments.
fn relative(reference: &str) -> String {
    let (path, query) = match reference.find('?') {
        Some(at) => reference.split_at_checked(at).unwrap_or((reference, "")),
        None => (reference, ""),
    };
    let mut parts: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." if is_last => parts.push(""),
            "." => {}
            // Keep `..` above the root, as Perl's URI does; RFC 2396 §5.2 permits both.
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
                if is_last {
                    parts.push("");
                }
            }
            other => parts.push(other),
        }
    }
    format!("/{}{query}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected results are those of `WWW::RobotRules` 6.02 and URI 5.17.
    #[test]
    fn rules_are_resolved_like_urls() {
        let base = Some("http://host.example/robots.txt");
        for (written, expected) in [
            ("/a b", Some("/a%20b")),
            ("a/b", Some("/a/b")),
            ("./a/../b", Some("/b")),
            ("?q", Some("/robots.txt?q")),
            ("http://host.example", Some("/")),
            ("HTTP://HOST.example:80/x", Some("/x")),
            ("http://other.example/x", None),
            ("https://host.example/x", None),
            ("//host.example/x", Some("/x")),
            ("//other.example/x", None),
            ("ftp:x", None),
            ("<URL:/x>", Some("/x")),
            ("/x[1]", Some("/x%5B1%5D")),
        ] {
            let resolved = resolved(written.as_bytes(), base);
            let text = resolved.map(|path| String::from_utf8(path).expect("UTF-8"));
            assert_eq!(text.as_deref(), expected, "{written}");
        }
    }
}
