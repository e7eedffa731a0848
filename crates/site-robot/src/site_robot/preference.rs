//! Selects the URL that represents a page if it has several URLs.

use url::Url;

use crate::document::{Page, resolve};

/// Query parameters that specify a language.
const LANGUAGE_PARAMETERS: [&str; 4] = ["hl", "lang", "language", "locale"];

/// Returns the canonical URL of a page, as specified in the page or a `Link` header.
///
/// A canonical URL of `/` on any page other than `/` is a common mistake and is ignored.
pub fn canonical(page: Option<&Page>, header: Option<&str>, own: &Url) -> Option<Url> {
    let of_page = || {
        let page = page?;
        resolve(&page.base_url(own), page.canonical.as_deref()?)
    };
    let url = header
        .and_then(|link| resolve(own, link))
        .or_else(of_page)?;
    let is_start = url.path() == "/" && url.query().is_none();
    (!is_start || own.path() == "/").then_some(url)
}

/// Returns the rank of a URL among all URLs with the same content; the lowest rank is the best.
///
/// The canonical URL comes first, followed by URLs marked with the page's language, unmarked URLs,
/// and URLs marked with other languages. Within each class, URLs that a sitemap lists come first.
pub(super) fn preference(
    page: Option<&Page>,
    canonical: Option<&Url>,
    own: &Url,
    is_listed: bool,
) -> u8 {
    let class = match canonical {
        Some(canonical) if canonical == own => 0,
        Some(_) => 4,
        None => 2 + page.map_or(0, |page| by_language(page, own)),
    };
    let class = u8::try_from(class).unwrap_or(4);
    class * 2 + u8::from(!is_listed)
}

/// Returns -1 if the URL is marked with the page's language, 1 if it is marked with another
/// language, or else 0.
fn by_language(page: &Page, own: &Url) -> i8 {
    let Some(language) = page.language.as_deref().map(primary) else {
        return 0;
    };
    let base = page.base_url(own);
    let is_same = |told: &str| primary(told) == language;
    let mut named = page.links.iter().filter(|link| {
        let told = link.language.as_deref();
        told.is_some_and(is_same) && resolve(&base, &link.url).is_some_and(|url| url == *own)
    });
    if named.next().is_some() {
        return -1;
    }
    let marks = marks(own);
    if marks.iter().any(|mark| is_same(mark)) {
        -1
    } else {
        i8::from(!marks.is_empty())
    }
}

/// Returns the parts of a URL that look like languages: `/en/a`, `/a.html.en`, `/a?lang=en`.
fn marks(url: &Url) -> Vec<String> {
    let segments: Vec<&str> = url.path().split('/').collect();
    let (file, folders) = segments.split_last().unwrap_or((&"", &[]));
    let endings = file.split('.').skip(1);
    let parts = folders.iter().copied().chain(endings).map(str::to_owned);
    let values = url.query_pairs().filter_map(|(name, value)| {
        let is_language = LANGUAGE_PARAMETERS.contains(&name.as_ref());
        is_language.then(|| value.into_owned())
    });
    parts
        .chain(values)
        .filter(|part| is_language(part))
        .collect()
}

/// Returns `true` for two letters followed by an optional region.
fn is_language(part: &str) -> bool {
    let is_short = |part: &str, longest: usize| {
        (2..=longest).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    match part.split_once(['-', '_']) {
        Some((language, region)) => is_short(language, 2) && is_short(region, 4),
        None => is_short(part, 2),
    }
}

fn primary(language: &str) -> String {
    let primary = language.split(['-', '_']).next().unwrap_or_default();
    primary.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(html: &str, url: &str) -> u8 {
        let (page, own) = (Page::read(html), url.parse().unwrap());
        let canonical = canonical(Some(&page), None, &own);
        preference(Some(&page), canonical.as_ref(), &own, false) / 2
    }

    #[test]
    fn canonical_url_ranks_first_then_the_language() {
        let html = "<html lang=en-GB><link rel=canonical href=/p>";
        assert_eq!(rank(html, "https://a.example/p"), 0);
        assert_eq!(rank(html, "https://a.example/en/p"), 4);
        let html = "<html lang=en-GB><a href=/x hreflang=en>English</a>";
        for (url, told) in [
            ("https://a.example/en/p", 1),
            ("https://a.example/p.html.en", 1),
            ("https://a.example/p?lang=en-US", 1),
            ("https://a.example/x", 1),
            ("https://a.example/p", 2),
            ("https://a.example/en-de/p", 1),
            ("https://a.example/da/p", 3),
            ("https://a.example/manual/p.html", 2),
        ] {
            assert_eq!(rank(html, url), told, "{url}");
        }
        assert_eq!(rank("<p>a", "https://a.example/da/p"), 2);
    }

    #[test]
    fn listed_url_ranks_before_unlisted_url() {
        let own: Url = "https://a.example/p".parse().unwrap();
        assert!(preference(None, None, &own, true) < preference(None, None, &own, false));
    }

    #[test]
    fn canonical_url_of_the_front_page_is_ignored() {
        let page = Page::read("<link rel=canonical href=/>");
        let at = |url: &str| canonical(Some(&page), None, &url.parse().unwrap());
        assert_eq!(at("https://a.example/p"), None);
        assert!(at("https://a.example/?a=b").is_some());
        let header = canonical(
            Some(&page),
            Some("/q"),
            &"https://a.example/p".parse().unwrap(),
        );
        assert_eq!(header.unwrap().path(), "/q");
    }
}
