//! URLs in prose and in Markdown links.

use crate::registry::text::{clean, starts_with_ignore_case};

/// Bytes of the longest URL that is kept.
const MAX_URL_BYTES: usize = 2048;

/// Returns the first `http:` or `https:` URL in a text.
pub(super) fn first_url(text: &str) -> Option<String> {
    let text = clean(text);
    text.split(|c: char| c.is_whitespace() || "<>\"'`\\()[]{}".contains(c))
        // At the end these belong to the sentence around the URL.
        .map(|word| word.trim_end_matches(['.', ',', ';', ':', '!', '?']))
        .find_map(url_at_the_end)
}

/// Returns the longest URL that ends a word.
fn url_at_the_end(word: &str) -> Option<String> {
    // In lower case once for the whole word: it can have many beginnings that are none of a URL.
    let lower = word.to_ascii_lowercase();
    let mut ends = lower
        .match_indices("http")
        .filter_map(|(at, _)| word.get(at..));
    ends.find(|url| is_http(url)).map(str::to_owned)
}

/// Returns the text of a Markdown link, or the text itself.
pub(super) fn link_text(text: &str) -> &str {
    text.trim()
        .strip_prefix('[')
        .and_then(|text| text.split_once("]("))
        .map_or(text.trim(), |(name, _)| name)
}

fn is_http(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        starts_with_ignore_case(url, scheme)
            && url
                .get(scheme.len()..)
                .is_some_and(|host| host.starts_with(char::is_alphanumeric))
    }) && url.len() <= MAX_URL_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_url_of_a_text_is_found() {
        let found = |text| first_url(text).unwrap_or_default();
        assert_eq!(
            found("[Acme](https://acme.example/about)"),
            "https://acme.example/about"
        );
        assert_eq!(
            found("See http: or HTTP://acme.example/x?y=1."),
            "HTTP://acme.example/x?y=1"
        );
        assert_eq!(found("https://acme.example"), "https://acme.example");
        assert_eq!(
            first_url("javascript:alert(1) http https:// http:///x"),
            None
        );
    }

    #[test]
    fn words_that_begin_no_url_are_looked_at_once() {
        // It would take minutes if each one had the rest of the text copied or searched.
        for (word, bytes) in [("http", 0), ("http ", 0), ("http://a", MAX_URL_BYTES)] {
            let found = first_url(&word.repeat((1 << 20) / word.len()));
            assert_eq!(found.map_or(0, |url| url.len()), bytes, "{word:?}");
        }
        let text = format!("{} https://acme.example/.", "http".repeat(1 << 18));
        assert_eq!(first_url(&text).as_deref(), Some("https://acme.example/"));
    }

    #[test]
    fn the_longest_url_that_is_kept_has_2_kib() {
        let longest = format!("http://{}", "a".repeat(MAX_URL_BYTES - 7));
        assert_eq!(first_url(&format!("({longest}...)")), Some(longest.clone()));
        assert_eq!(first_url(&format!("{longest}a")), None);
        let inner = format!("{}http://acme.example", "a".repeat(MAX_URL_BYTES));
        let found = first_url(&format!("http://{inner}"));
        assert_eq!(found.as_deref(), Some("http://acme.example"));
    }

    #[test]
    fn a_link_has_a_text() {
        assert_eq!(link_text("[Acme](https://acme.example)"), "Acme");
        assert_eq!(link_text(" Acme "), "Acme");
    }
}
