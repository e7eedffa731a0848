//! The pages served at trap paths, generated in advance.

use axum::http::{HeaderName, HeaderValue, Method, Response, header};
use bytes::Bytes;

use super::TrapPaths;

const ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// The pages served at a site's trap paths.
#[derive(Clone, Debug)]
pub struct TrapPages {
    paths: TrapPaths,
    pages: Vec<(String, Bytes)>,
}

impl TrapPages {
    /// Generates the pages for the given trap paths.
    pub fn new(paths: TrapPaths) -> Self {
        let pages = paths
            .iter()
            .map(|path| (path.to_owned(), page(&paths, path)));
        Self {
            pages: pages.collect(),
            paths,
        }
    }

    /// Returns the paths at which the trap pages are served.
    pub fn paths(&self) -> &TrapPaths {
        &self.paths
    }

    /// Returns the response to a GET or HEAD request for a trap page; `None` for all other
    /// requests.
    pub fn answer(&self, method: &Method, path: &str) -> Option<Response<Bytes>> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return None;
        }
        let (_, page) = self.pages.iter().find(|(trap, _)| trap == path)?;
        let is_head = *method == Method::HEAD;
        let mut response = Response::new(if is_head { Bytes::new() } else { page.clone() });
        let headers = response.headers_mut();
        for (name, value) in [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CACHE_CONTROL, "no-store"),
            (ROBOTS_TAG, "noindex"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Some(response)
    }
}

/// Returns a trap page, which contains a notice for human visitors and a link to the next trap.
fn page(paths: &TrapPaths, path: &str) -> Bytes {
    let next = paths.next(path).unwrap_or_default();
    Bytes::from(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"robots\" content=\"noindex\">\n<title>Nothing here</title>\n</head>\n<body>\n\
         <h1>Nothing here</h1>\n<p>This page is intentionally empty: no visible link leads here, and robots.txt asks robots to stay away.</p>\n\
         <p><a href=\"{next}\" rel=\"nofollow\">Next empty page</a></p>\n</body>\n</html>\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trap_page_is_neither_cached_nor_indexed() {
        let paths = TrapPaths::new([1, 2], "default");
        let pages = TrapPages::new(paths.clone());
        for path in paths.iter() {
            let answer = pages.answer(&Method::GET, path).unwrap();
            assert_eq!(answer.headers()["cache-control"], "no-store");
            assert_eq!(answer.headers()["x-robots-tag"], "noindex");
            let text = String::from_utf8(answer.body().to_vec()).unwrap();
            assert_eq!(text.matches("href=").count(), 1);
            assert!(text.contains(paths.next(path).unwrap()));
            assert!(pages.answer(&Method::HEAD, path).unwrap().body().is_empty());
            assert!(pages.answer(&Method::POST, path).is_none());
        }
        assert!(pages.answer(&Method::GET, "/").is_none());
    }
}
