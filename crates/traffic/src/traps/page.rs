//! What is served in a trap: a page that was made before anybody came.

use axum::http::{HeaderName, HeaderValue, Method, Response, header};
use bytes::Bytes;

use super::TrapPaths;

const ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// Pages of a site's traps.
#[derive(Clone, Debug)]
pub struct TrapPages {
    paths: TrapPaths,
    pages: Vec<(String, Bytes)>,
}

impl TrapPages {
    /// Makes them.
    pub fn new(paths: TrapPaths) -> Self {
        let pages = paths
            .iter()
            .map(|path| (path.to_owned(), page(&paths, path)));
        Self {
            pages: pages.collect(),
            paths,
        }
    }

    /// Returns the paths at which the pages are served.
    pub fn paths(&self) -> &TrapPaths {
        &self.paths
    }

    /// Returns the page at a path, for GET and HEAD.
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

/// Returns a page that tells a person who comes all the same what it is; a program that follows each link shows itself again.
fn page(paths: &TrapPaths, path: &str) -> Bytes {
    let next = paths.next(path).unwrap_or_default();
    Bytes::from(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"robots\" content=\"noindex\">\n<title>Nothing here</title>\n</head>\n<body>\n\
         <h1>Nothing here</h1>\n<p>This page is for nobody: no link that people see leads here, and robots.txt asks robots not to come.</p>\n\
         <p><a href=\"{next}\" rel=\"nofollow\">More of the same</a></p>\n</body>\n</html>\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_it_is_and_keeps_out_of_caches_and_indexes() {
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
