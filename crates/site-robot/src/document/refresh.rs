//! META refresh.

use super::attributes::is_html_space;

/// Returns the URL that a META refresh leads to (WHATWG HTML §4.2.4.2).
///
/// `0; url=/a`, `5;URL='/a'`, `0,/a` and `0 /a` all lead to `/a`; a bare time
/// leads nowhere.
pub(super) fn refresh_url(content: &str) -> Option<&str> {
    let content = content.trim_start_matches(is_html_space);
    let rest = content.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let first = rest.chars().next()?;
    let has_time = rest.len() < content.len();
    if !has_time || !(is_html_space(first) || matches!(first, ';' | ',')) {
        return None;
    }
    let rest = rest.trim_start_matches(is_html_space);
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest);
    let rest = rest.trim_start_matches(is_html_space);
    let url = after_name(rest).unwrap_or(rest);
    let url = match url.chars().next()? {
        quote @ ('"' | '\'') => url.split(quote).nth(1)?,
        _ => url,
    };
    let url = url.trim_matches(is_html_space);
    (!url.is_empty()).then_some(url)
}

/// Returns what stands behind `url =`.
fn after_name(text: &str) -> Option<&str> {
    let (name, rest) = text.split_at_checked(3)?;
    let rest = rest.trim_start_matches(is_html_space);
    let rest = name.eq_ignore_ascii_case("url").then_some(rest)?;
    let rest = rest.strip_prefix('=')?;
    Some(rest.trim_start_matches(is_html_space))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_is_read_in_all_its_spellings() {
        for (content, url) in [
            ("0; url=/a", Some("/a")),
            ("5;URL='/a b'", Some("/a b")),
            ("0;url=\"/a\" x", Some("/a")),
            (" 1.5 , Url = /a ", Some("/a")),
            ("0 /a", Some("/a")),
            ("0;/a", Some("/a")),
            (".5;/a", Some("/a")),
            ("0;url=url=/a", Some("url=/a")),
            ("0; urls", Some("urls")),
            ("0; url", Some("url")),
            ("30", None),
            ("30;", None),
            ("30; url=", None),
            ("30; url=''", None),
            ("url=/a", None),
            ("5x; url=/a", None),
            ("", None),
            ("0;ürl=/a", Some("ürl=/a")),
        ] {
            assert_eq!(refresh_url(content), url, "{content:?}");
        }
    }
}
