//! URLs as they may be shown and logged.

use url::Url;

/// Returns a URL without its password, for logs, pages and the database.
///
/// A user name stays, the password becomes `***`. Control characters are
/// removed; text that is no URL loses all that stands before an `@`.
///
/// # Example
///
/// ```
/// use robot_detection_store::fetch::shown_url;
///
/// let shown = shown_url("https://me:secret@lists.example/all.txt");
/// assert_eq!(shown, "https://me:***@lists.example/all.txt");
/// ```
#[must_use]
pub fn shown_url(url: &str) -> String {
    let text: String = url.chars().filter(|c| !c.is_control()).collect();
    let Ok(mut parsed) = Url::parse(&text) else {
        return without_userinfo(text);
    };
    if parsed.password().is_none() {
        return text;
    }
    match parsed.set_password(Some("***")) {
        Ok(()) => parsed.into(),
        Err(()) => without_userinfo(text),
    }
}

fn without_userinfo(text: String) -> String {
    match text.split_once("://") {
        // The last `@`: a password that is not escaped may hold one too.
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((_, place)) => format!("{scheme}://***@{place}"),
            None => text,
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("http://h/x", "http://h/x"),
            ("http://u@h/x", "http://u@h/x"),
            ("http://u:p@h/x?q=1", "http://u:***@h/x?q=1"),
            ("http://:p@h/", "http://:***@h/"),
            ("http://u:p@@h/", "http://u:***@h/"),
            ("http://u:p@h:99999/x", "http://***@h:99999/x"),
            ("/var/lib/robots@home.txt", "/var/lib/robots@home.txt"),
            ("file:///srv/all.txt", "file:///srv/all.txt"),
            ("http://h/a\r\nb", "http://h/ab"),
        ] {
            assert_eq!(shown_url(url), shown);
        }
    }
}
