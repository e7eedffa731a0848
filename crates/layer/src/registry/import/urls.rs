//! URLs in prose and in Markdown links.

use crate::registry::text::{clean, starts_with_ignore_case};

/// Bytes of the longest URL that is kept.
const MAX_URL_BYTES: usize = 2048;

/// Returns the first `http:` or `https:` URL in a text.
pub(super) fn first_url(text: &str) -> Option<String> {
    let text = clean(text);
    let mut rest = text.as_str();
    while let Some(at) = rest.to_ascii_lowercase().find("http") {
        rest = rest.get(at..)?;
        let end = rest
            .find(|c: char| c.is_whitespace() || "<>\"'`\\()[]{}".contains(c))
            .unwrap_or(rest.len());
        let url = rest
            .get(..end)?
            // At the end these belong to the sentence around the URL.
            .trim_end_matches(['.', ',', ';', ':', '!', '?']);
        if is_http(url) {
            return Some(url.to_owned());
        }
        rest = rest.get("http".len()..)?;
    }
    None
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
    fn a_link_has_a_text() {
        assert_eq!(link_text("[Acme](https://acme.example)"), "Acme");
        assert_eq!(link_text(" Acme "), "Acme");
    }
}
