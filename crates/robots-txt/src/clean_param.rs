//! `Clean-param`: parameters that change nothing about a page (Yandex).

use std::borrow::Cow;

use super::{
    Dialect,
    pattern::{PathPattern, matches},
    target::SplitUrl,
};

/// Returns a URL without the parameters that the values name on its path.
///
/// A value is `p1&p2 [path]`: names of parameters, in upper and lower case as
/// written, and the beginning of the paths on which they count.
pub(super) fn cleaned<'u, 'v>(
    url: &'u str,
    values: impl Iterator<Item = &'v [u8]>,
) -> Cow<'u, str> {
    let rest = SplitUrl::of(url).rest;
    let (before_fragment, fragment) = match rest.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (rest, None),
    };
    let Some((path, query)) = before_fragment.split_once('?') else {
        return Cow::Borrowed(url);
    };
    let names: Vec<&str> = values.filter_map(|value| names_on(value, path)).collect();
    let is_kept = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default();
        !names
            .iter()
            // Yandex tells upper from lower case in the names.
            .any(|names| names.split('&').any(|other| other == name))
    };
    let kept: Vec<&str> = query.split('&').filter(is_kept).collect();
    if kept.len() == query.split('&').count() {
        return Cow::Borrowed(url);
    }
    let origin = url.strip_suffix(rest).unwrap_or_default();
    // A query of which nothing is left takes its question mark along.
    let mark = if kept.is_empty() { "" } else { "?" };
    let hash = if fragment.is_some() { "#" } else { "" };
    Cow::Owned(format!(
        "{origin}{path}{mark}{query}{hash}{fragment}",
        query = kept.join("&"),
        fragment = fragment.unwrap_or_default(),
    ))
}

/// Returns the names of a value if it is about this path.
fn names_on<'v>(value: &'v [u8], path: &str) -> Option<&'v str> {
    let mut words = str::from_utf8(value).ok()?.split_ascii_whitespace();
    let names = words.next()?;
    let Some(prefix) = words.next() else {
        return Some(names);
    };
    // No other dialect has the field.
    let pattern = PathPattern::new(prefix.as_bytes(), &Dialect::yandex())?;
    let texts = pattern.texts.iter().map(AsRef::as_ref);
    let path = if path.is_empty() { "/" } else { path };
    matches(texts, pattern.ends, path.as_bytes()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yandex's documentation of the directive, restated.
    #[test]
    fn named_parameters_leave_the_url() {
        let clean = |url, values: &[&str]| {
            cleaned(url, values.iter().map(|value| value.as_bytes())).into_owned()
        };
        for (url, values, expected) in [
            (
                "http://a.example/some_dir/get_book.pl?ref=site_1&book_id=123",
                &["ref /some_dir/get_book.pl"][..],
                "http://a.example/some_dir/get_book.pl?book_id=123",
            ),
            ("/a?ref=1", &["ref"], "/a"),
            ("/a?ref=1#x", &["ref"], "/a#x"),
            ("/a?x=1&sid=2&sort=3", &["sid&sort /*"], "/a?x=1"),
            ("/b?sid=2", &["sid /a"], "/b?sid=2"),
            ("/a?SID=2", &["sid"], "/a?SID=2"),
            ("/a?x=1&sid=2&y", &["y /", "sid"], "/a?x=1"),
            ("/a", &["sid"], "/a"),
        ] {
            assert_eq!(clean(url, values), expected, "{url}");
        }
    }
}
