//! Cookies of a login, in memory.

use cookie_store::{CookieStore, RawCookie};
use http::{
    HeaderMap,
    header::{self, HeaderValue},
};
use url::Url;

/// Cookies of one answer that are kept.
const MAX_GIVEN: usize = 50;

/// Cookies that are kept in all; those beyond are left out.
const MAX_KEPT: usize = 500;

/// Bytes of a `Cookie` that is sent.
const MAX_COOKIE_BYTES: usize = 16 * 1024;

/// Cookies of one login, by the sites and paths that they are for (RFC 6265).
#[derive(Default)]
pub(super) struct Cookies(CookieStore);

impl Cookies {
    /// Keeps what an answer gives; a cookie that is for another site is refused.
    pub(super) fn keep(&mut self, url: &Url, headers: &HeaderMap) {
        let lines = headers.get_all(header::SET_COOKIE).iter().take(MAX_GIVEN);
        let lines = lines.filter_map(|line| line.to_str().ok());
        for cookie in lines.filter_map(|line| RawCookie::parse(line).ok()) {
            if self.0.iter_any().count() < MAX_KEPT {
                // Not by `store_response_cookies`, which logs what they hold.
                let _ = self.0.insert_raw(&cookie, url);
            }
        }
    }

    /// Returns the `Cookie` for a URL; none where there are too many.
    pub(super) fn header(&self, url: &Url) -> Option<HeaderValue> {
        let pairs = self.0.get_request_values(url);
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let cookie = pairs.join("; ");
        if cookie.is_empty() || cookie.len() > MAX_COOKIE_BYTES {
            return None;
        }
        let mut cookie = HeaderValue::from_str(&cookie).ok()?;
        // Kept out of debug output, and out of the tables of HTTP/2's compression.
        cookie.set_sensitive(true);
        Some(cookie)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter_unexpired().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    fn given(lines: &[String]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::SET_COOKIE, line.parse().unwrap());
        }
        headers
    }

    #[test]
    fn cookies_go_back_to_whom_they_are_for() {
        let mut cookies = Cookies::default();
        let from = url("https://www.h.example/login");
        cookies.keep(
            &from,
            &given(&[
                "s=1; Path=/; Secure; HttpOnly".to_owned(),
                "d=2; Domain=h.example; Path=/".to_owned(),
                "x=3; Domain=evil.example".to_owned(),
                "p=4; Path=/login".to_owned(),
            ]),
        );
        let sent = |text: &str| {
            let header = cookies.header(&url(text));
            header.map(|it| it.to_str().unwrap().to_owned())
        };
        let own = sent("https://www.h.example/a").unwrap();
        assert!(
            own.contains("s=1") && own.contains("d=2") && !own.contains("p=4"),
            "{own}"
        );
        assert_eq!(sent("https://h.example/").as_deref(), Some("d=2"));
        assert_eq!(sent("http://www.h.example/").as_deref(), Some("d=2"));
        assert_eq!(sent("https://evil.example/"), None);
        cookies.keep(&from, &given(&["s=; Path=/; Max-Age=0".to_owned()]));
        assert!(
            !cookies
                .header(&url("https://www.h.example/a"))
                .unwrap()
                .to_str()
                .unwrap()
                .contains("s=")
        );
    }

    #[test]
    fn no_server_fills_memory_with_cookies() {
        let mut cookies = Cookies::default();
        for number in 0..100 {
            let lines: Vec<_> = (0..100).map(|n| format!("c{number}-{n}=v")).collect();
            cookies.keep(&url("https://h.example/"), &given(&lines));
        }
        assert!(cookies.0.iter_any().count() <= MAX_KEPT);
    }
}
