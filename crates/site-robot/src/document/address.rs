//! URL normalization.

use std::fmt::Write as _;

use url::Url;

/// Maximum length of an accepted URL, in bytes.
pub const MAX_URL_BYTES: usize = 2048;

/// Resolves a link against a base URL and returns the target in normal form.
///
/// Returns `None` for an invalid URL, a scheme other than `http:` or `https:` (such as `mailto:` or
/// `javascript:`), or a URL longer than [`MAX_URL_BYTES`]. If the base is a `file:` URL, links to
/// `file:` URLs are accepted too. White space at both ends and line breaks are removed; `..` never
/// goes above the root. See [`normalise`] for the normal form.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::document::resolve;
///
/// let base = "http://h.example/a/b".parse().unwrap();
/// let url = resolve(&base, " HTTP://H.example:80/%7ex/../%c3%a4?q#top ").unwrap();
/// assert_eq!(url.as_str(), "http://h.example/%C3%A4?q");
/// assert!(resolve(&base, "mailto:me@h.example").is_none());
/// ```
pub fn resolve(base: &Url, link: &str) -> Option<Url> {
    // Links that far exceed the limit are not parsed at all. Shorter links are checked after they
    // are joined with the base.
    if link.len() > 4 * MAX_URL_BYTES {
        return None;
    }
    let url = base.join(link).ok()?;
    // A page from a server must not make the site robot read local files.
    if url.scheme() == "file" && base.scheme() != "file" {
        return None;
    }
    normalise(url)
}

/// Normalizes a URL (RFC 3986 §6.2.2). Returns `None` if the URL cannot be fetched.
///
/// The normal form has no fragment, user name, password, default port, `.` or `..` segments, or
/// trailing dot in the host. The scheme and host are in lower case. Percent-encodings are in upper
/// case, and letters, digits, `-`, `.`, `_` and `~` are not encoded; a stray `%` becomes `%25`. A
/// `file:` URL has no host.
pub fn normalise(mut url: Url) -> Option<Url> {
    url.set_fragment(None);
    match url.scheme() {
        "http" | "https" => normalise_authority(&mut url)?,
        "file" if url.host().is_none() => {}
        _ => return None,
    }
    // The URL parser treats `%2e%2e` as `..`, so unescaped dots cannot form a dot segment.
    let path = normal_escapes(url.path());
    if path != url.path() {
        url.set_path(&path);
    }
    if let Some(query) = url.query() {
        let normal = normal_escapes(query);
        if normal != query {
            url.set_query(Some(&normal));
        }
    }
    (url.as_str().len() <= MAX_URL_BYTES).then_some(url)
}

fn normalise_authority(url: &mut Url) -> Option<()> {
    // Neither call fails if the URL has a host, as all `http:` and `https:` URLs do.
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    let host = url.host_str()?;
    // DNS ignores a trailing dot, but the frontier would treat the two spellings as different
    // hosts.
    if host.ends_with('.') {
        let host = host.trim_end_matches('.').to_owned();
        url.set_host(Some(&host)).ok()?;
    }
    Some(())
}

/// Decodes unreserved characters, and writes all other percent-encodings in upper case.
fn normal_escapes(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        normal.push_str(before);
        let digits = behind.split_at_checked(2);
        if let Some((byte, after)) = digits.and_then(|(digits, after)| Some((hex(digits)?, after)))
        {
            push_byte(&mut normal, byte);
            rest = after;
        } else {
            normal.push_str("%25");
            rest = behind;
        }
    }
    normal.push_str(rest);
    normal
}

fn push_byte(text: &mut String, byte: u8) {
    // Unreserved characters (RFC 3986 §2.3) are equivalent whether escaped or not.
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
        text.push(char::from(byte));
    } else {
        // Writing to a string does not fail.
        let _ = write!(text, "%{byte:02X}");
    }
}

fn hex(digits: &str) -> Option<u8> {
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

/// Returns the URLs that follow `URL:` in plain text (`URL:.*` in Sun's
/// `enumerate-urls-from-text`).
///
/// A URL ends at white space or at a character that is not allowed in URLs (`<`, `>`, `"`). A full
/// stop, comma or parenthesis at the end is treated as part of the sentence.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::document::urls_in_text;
///
/// let text = "See <URL:http://h.example/a> and URL: http://h.example/b.";
/// let urls: Vec<_> = urls_in_text(text).collect();
/// assert_eq!(urls, ["http://h.example/a", "http://h.example/b"]);
/// ```
pub fn urls_in_text(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, behind) = rest.split_once("URL:")?;
            let behind = behind.trim_start_matches([' ', '\t']);
            let (url, after) =
                behind.split_at_checked(behind.find(ends).unwrap_or(behind.len()))?;
            rest = after;
            let url = url.trim_end_matches(['.', ',', ';', ')', '\'']);
            if !url.is_empty() {
                return Some(url);
            }
        }
    })
}

fn ends(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_follow_the_url_label() {
        for (text, urls) in [
            ("URL:http://h/a", &["http://h/a"][..]),
            (
                "URL:http://h/a URL:http://h/b",
                &["http://h/a", "http://h/b"],
            ),
            (
                "(URL: http://h/a).\nURL:\thttp://h/ü,",
                &["http://h/a", "http://h/ü"],
            ),
            ("URL:\nhttp://h/a", &[]),
            ("URL:<http://h/a>", &[]),
            ("url:http://h/a, Url:x", &[]),
            ("URL:URL:x", &["URL:x"]),
            ("", &[]),
        ] {
            assert_eq!(urls_in_text(text).collect::<Vec<_>>(), urls, "{text:?}");
        }
    }

    #[test]
    fn repeated_labels_are_scanned_only_once() {
        assert_eq!(urls_in_text(&"URL:".repeat(250_000)).count(), 1);
    }
}
