//! Links in plain text.

/// Returns the URLs in plain text: what follows `URL:` (`URL:.*` of Sun's
/// `enumerate-urls-from-text`).
///
/// A URL goes to the next white space, or sign that no URL holds (`<`, `>`,
/// `"`); a full stop, comma or parenthesis at its end belongs to the sentence.
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
    fn what_follows_the_word_is_the_url() {
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
    fn a_text_of_nothing_else_is_read_once() {
        assert_eq!(urls_in_text(&"URL:".repeat(250_000)).count(), 1);
    }
}
