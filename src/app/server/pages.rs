//! Pages served by the program: robot heaven and its bundled page.

use axum::{
    body::Body,
    http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use tower_http::services::ServeDir;

use crate::layer::{ServedDirectly, prefers_markdown};
use crate::policy::is_own_path;
use crate::store::Store;

use super::{made_pages::MadePages, process_services::ProcessServices};

/// A page as a tuple: path below the root, content type, content.
pub(super) type Page = (&'static str, &'static str, &'static str);

pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const CSS: &str = "text/css; charset=utf-8";

const HEAVEN: &[Page] = &[
    ("/", HTML, include_str!("../../../robot-heaven/index.html")),
    (
        "/heaven.css",
        CSS,
        include_str!("../../../robot-heaven/heaven.css"),
    ),
];

/// Robot heaven, served from the bundled page or from the site's directory.
#[derive(Clone, Debug)]
pub(super) struct Heaven {
    /// The path of robot heaven, with a slash at both ends.
    path: String,
    directory: Option<ServeDir>,
    /// Heaven pages generated from page descriptions, if configured.
    made: Option<MadePages>,
}

impl Heaven {
    pub(super) fn new(path: &str, directory: &str) -> Self {
        Self {
            path: format!("/{}/", path.trim_matches('/')),
            directory: (!directory.is_empty()).then(|| ServeDir::new(directory)),
            made: None,
        }
    }

    /// Adds heaven pages generated from page descriptions.
    pub(super) fn with_generated(mut self, made: Option<MadePages>) -> Self {
        self.made = made;
        self
    }

    /// Adds pages generated from page descriptions, unless the configuration specifies other pages.
    pub(super) fn set_default_generated(&mut self, made: &MadePages) {
        if self.made.is_none() && self.directory.is_none() {
            self.made = Some(made.clone());
        }
    }

    /// Starts to track changes to a site's page descriptions; tracking ends when all clones are
    /// dropped.
    pub(super) fn start(
        &mut self,
        store: &Store,
        site: &str,
        services: &ProcessServices,
        stop: &CancellationToken,
    ) {
        if let Some(made) = &mut self.made {
            let followed = made.start(store, site, stop);
            services.tasks.spawn_on(followed, &services.runtime);
        }
    }

    /// Loads the list of pages generated from a site's page descriptions once.
    pub(super) async fn load_once(&mut self, store: &Store, site: &str) {
        if let Some(made) = &mut self.made {
            made.load_once(store, site).await;
        }
    }

    /// Reloads the list of generated heaven pages.
    pub(super) async fn reload(&self) {
        if let Some(made) = &self.made {
            made.reload().await;
        }
    }

    /// Returns the heaven pages to which robots are redirected, if such redirects are enabled.
    pub(super) fn redirected_to(&self) -> Option<&MadePages> {
        self.made.as_ref().filter(|made| made.is_redirect_target())
    }

    /// Returns a clone of the heaven pages to which robots are redirected, if such redirects are
    /// enabled.
    pub(super) fn own_pages(&self) -> Option<MadePages> {
        self.redirected_to().cloned()
    }

    /// Returns the heaven pages generated from pages of the site.
    pub(super) fn copies(&self) -> Option<&MadePages> {
        self.made.as_ref()
    }

    /// Returns the pages whose Markdown is served at the URLs of their originals.
    pub(super) fn at_originals(&self) -> Option<MadePages> {
        let made = self.made.as_ref();
        made.filter(|made| made.serves_markdown_at_originals())
            .cloned()
    }

    /// Returns the copy of a page in HTML; `None` if the copy no longer exists.
    pub(super) async fn copy(&self, method: &Method, asked: &Uri) -> Option<Response<Body>> {
        let made = self.made.as_ref()?;
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method.clone();
        let html = HeaderValue::from_static("text/html");
        request.headers_mut().insert(header::ACCEPT, html);
        let copy = match &self.directory {
            None => made.copy(method, asked, request.headers()).await?,
            Some(directory) => {
                let pages = made.files_in_place(asked, request.headers());
                self.answer_first(directory, request, pages).await
            }
        };
        (copy.status() == StatusCode::OK).then_some(copy)
    }

    /// Returns the URL to which the confirmation form on copies is submitted.
    pub(super) fn way_out(&self) -> String {
        format!("{}person", self.path)
    }

    /// Returns `true` if a path is the path of robot heaven or below it.
    pub(super) fn contains(&self, path: &str) -> bool {
        is_own_path(path, self.path.trim_end_matches('/'))
    }

    pub(super) async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        if let Some(made) = &self.made
            && let Some(response) = made.answer(&head, &self.path).await
        {
            return response;
        }
        let request = Request::from_parts(head, body);
        let below = request
            .uri()
            .path()
            // The path of heaven ends with the slash that begins the remaining path.
            .get(self.path.len() - 1..)
            .unwrap_or_default();
        let served = request.extensions().get::<ServedDirectly>();
        if below.is_empty() && served.is_none() {
            // Without the slash, relative links on the page would have wrong targets.
            return redirect(&self.path);
        }
        match (&self.directory, served) {
            (None, None) => answer(HEAVEN, request.method(), below),
            (None, Some(_)) => answer(HEAVEN, request.method(), "/"),
            (Some(directory), None) => {
                let below = below.to_owned();
                if self.negotiates() && prefers_markdown(request.headers()) {
                    return self.answer_either(directory, request, &below).await;
                }
                self.answer_from(directory.clone(), request, &below).await
            }
            (Some(directory), Some(served)) => {
                let own = |made: &MadePages| made.files_in_place(served.uri(), request.headers());
                let mut pages = self.made.as_ref().map_or_else(Vec::new, own);
                pages.extend(candidates(below, served.uri().path()));
                self.answer_first(directory, request, pages).await
            }
        }
    }

    fn negotiates(&self) -> bool {
        self.made.as_ref().is_some_and(MadePages::negotiates)
    }

    /// Answers with the page's Markdown file, or with the page if the Markdown file does not exist.
    async fn answer_either(
        &self,
        directory: &ServeDir,
        request: Request<Body>,
        below: &str,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        let markdown = Request::from_parts(head.clone(), Body::empty());
        let file = markdown_of(below);
        let markdown = self.answer_from(directory.clone(), markdown, &file).await;
        // A 304 or 206 for the Markdown file is a valid answer too.
        if markdown.status() != StatusCode::NOT_FOUND {
            return markdown;
        }
        let request = Request::from_parts(head, body);
        self.answer_from(directory.clone(), request, below).await
    }

    /// Answers with the first of the pages that exists, never with a redirect.
    async fn answer_first(
        &self,
        directory: &ServeDir,
        request: Request<Body>,
        pages: Vec<String>,
    ) -> Response<Body> {
        let (head, _) = request.into_parts();
        for page in pages {
            let request = Request::from_parts(head.clone(), Body::empty());
            let response = self.answer_from(directory.clone(), request, &page).await;
            let is_known = response.status() == StatusCode::NOT_MODIFIED;
            if response.status().is_success() || is_known {
                return response;
            }
        }
        status(StatusCode::NOT_FOUND)
    }

    async fn answer_from(
        &self,
        directory: ServeDir,
        mut request: Request<Body>,
        below: &str,
    ) -> Response<Body> {
        let Ok(uri) = below.parse::<Uri>() else {
            return status(StatusCode::BAD_REQUEST);
        };
        *request.uri_mut() = uri;
        match directory.oneshot(request).await {
            Ok(response) => {
                let mut response = self.with_prefix(response.map(Body::new));
                if self.negotiates() {
                    let accept = HeaderValue::from_static("Accept");
                    // `Vary` is also set on HTML responses: a cache must not serve them to clients
                    // that prefer Markdown (RFC 9110 §12.5.5).
                    response.headers_mut().append(header::VARY, accept);
                }
                response
            }
            Err(never) => match never {},
        }
    }

    /// Adds heaven's path to `ServeDir`'s redirects from `/sub` to `/sub/`.
    fn with_prefix(&self, mut response: Response<Body>) -> Response<Body> {
        if !response.status().is_redirection() {
            return response;
        }
        let prefixed = response
            .headers()
            .get(header::LOCATION)
            .and_then(|location| location.to_str().ok())
            .filter(|location| location.starts_with('/'))
            .and_then(|location| {
                let prefix = self.path.trim_end_matches('/');
                HeaderValue::from_str(&format!("{prefix}{location}")).ok()
            });
        if let Some(location) = prefixed {
            response.headers_mut().insert(header::LOCATION, location);
        }
        response
    }
}

/// Returns the path of the Markdown file for a page or directory.
fn markdown_of(page: &str) -> String {
    let file = if page.ends_with('/') {
        "index.html"
    } else {
        ""
    };
    format!("{page}{file}.md")
}

/// Returns the pages that may be served for a URL, the best match first.
///
/// The page with the same path below heaven's directory comes first, then the page at `below`.
/// Either may be a directory.
fn candidates(below: &str, original: &str) -> Vec<String> {
    let mut pages = Vec::with_capacity(4);
    let mut add = |page: String| {
        if !page.is_empty() && !page.ends_with('/') {
            pages.push(page.clone());
        }
        pages.push(format!("{}/", page.trim_end_matches('/')));
    };
    if let Some(directory) = below.strip_suffix('/')
        && original != "/"
    {
        add(format!("{directory}{original}"));
    }
    add(below.to_owned());
    pages
}

/// Answers with the page at the requested path, or with an error.
pub(super) fn answer(pages: &[Page], method: &Method, path: &str) -> Response<Body> {
    if method != Method::GET && method != Method::HEAD {
        return demo_post(method);
    }
    let path = path.strip_suffix("index.html").unwrap_or(path);
    if let Some((_, content_type, content)) = pages.iter().find(|(page, ..)| *page == path) {
        return page(StatusCode::OK, content_type, content);
    }
    let with_slash = format!("{path}/");
    if pages.iter().any(|(page, ..)| *page == with_slash) {
        return redirect(&format!("{}/", path.rsplit('/').next().unwrap_or_default()));
    }
    status(StatusCode::NOT_FOUND)
}

fn demo_post(method: &Method) -> Response<Body> {
    if method == Method::POST {
        return page(StatusCode::OK, "text/plain; charset=utf-8", "received\n");
    }
    let mut response = status(StatusCode::METHOD_NOT_ALLOWED);
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
    response
}

fn redirect(location: &str) -> Response<Body> {
    let mut response = status(StatusCode::MOVED_PERMANENTLY);
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// Returns a short plain-text response whose text is the status.
pub(super) fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{status}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

fn page(status: StatusCode, content_type: &'static str, content: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(content));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str) -> Request<Body> {
        Request::get(path).body(Body::empty()).unwrap()
    }

    #[tokio::test]
    async fn heaven_contains_only_its_own_paths() {
        let heaven = Heaven::new("/robot-heaven", "");
        assert!(heaven.contains("/robot-heaven"));
        assert!(heaven.contains("/robot-heaven/a"));
        assert!(!heaven.contains("/robot-heavenly"));
        assert_eq!(heaven.answer(get("/robot-heaven/")).await.status(), 200);
        assert_eq!(
            heaven
                .answer(get("/robot-heaven/heaven.css"))
                .await
                .status(),
            200
        );
        let moved = heaven.answer(get("/robot-heaven")).await;
        assert_eq!(moved.headers()["location"], "/robot-heaven/");
    }

    #[test]
    fn page_of_the_same_path_comes_first() {
        for (below, original, expected) in [
            ("/", "/m/a.html", "/m/a.html /m/a.html/ /"),
            ("/", "/m/", "/m/ /"),
            ("/", "/", "/"),
            ("", "/m/a", "/"),
            ("/ai/", "/m/a", "/ai/m/a /ai/m/a/ /ai/"),
            ("/page.html", "/m/a", "/page.html /page.html/"),
        ] {
            let pages = candidates(below, original);
            assert_eq!(pages.join(" "), expected, "{below} {original}");
        }
    }

    #[tokio::test]
    async fn directory_of_the_site_replaces_the_bundled_page() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("sub")).unwrap();
        std::fs::write(directory.path().join("index.html"), "our own").unwrap();
        std::fs::write(directory.path().join("sub/index.html"), "below").unwrap();
        let heaven = Heaven::new("/h/", &directory.path().to_string_lossy());
        assert_eq!(heaven.answer(get("/h/")).await.status(), 200);
        assert_eq!(heaven.answer(get("/h/sub/")).await.status(), 200);
        assert_eq!(
            heaven.answer(get("/h/sub")).await.headers()["location"],
            "/h/sub/"
        );
        assert_eq!(
            heaven.answer(get("/h/../../etc/passwd")).await.status(),
            404
        );
        assert_eq!(
            heaven
                .answer(get("/h/%2e%2e/%2e%2e/etc/passwd"))
                .await
                .status(),
            404
        );
    }
}
