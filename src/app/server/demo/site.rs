//! The pages of the demonstration site; pages for members are shown only to members.

use std::fmt;
use std::sync::LazyLock;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Method, Request, Response, header};

use super::{
    super::pages::{self, CSS, HTML, Page},
    login,
};

/// The path of the demonstration site's members' area.
pub(super) const MEMBERS: &str = "/members-only-stuff/";

macro_rules! members_pages {
    ($($path:literal, $file:literal;)*) => {
        &[
            ("/", HTML, include_str!("index.html")),
            ("/about.html", HTML, include_str!("about.html")),
            ("/demo.css", CSS, include_str!("demo.css")),
            $((
                concat!("/members-only-stuff/", $path),
                HTML,
                include_str!(concat!("members-only-stuff/", $file)),
            )),*
        ]
    };
}

/// The source files of the demonstration site's pages, bundled with the program.
const FILES: &[Page] = members_pages! {
    "", "index.html";
    "cat.html", "cat.html";
    "charts.html", "charts.html";
    "logbooks/", "logbooks/index.html";
    "logbooks/petrel.html", "logbooks/petrel.html";
    "logbooks/saint-anne.html", "logbooks/saint-anne.html";
    "reports/", "reports/index.html";
    "restoration.html", "restoration.html";
    "tides.html", "tides.html";
};

/// Pages of the demonstration site as they are served; each is rendered once.
static PAGES: LazyLock<Vec<Page>> = LazyLock::new(|| {
    let files = FILES.iter().copied();
    let pages = files.map(|(path, kind, file)| match kind {
        // Leaked once for each page, so that all pages are `'static` like the files.
        HTML => (path, kind, &*DemoPage::html(file).leak()),
        _ => (path, kind, file),
    });
    pages.collect()
});

/// Answers a visitor's request; public pages contain the link to a trap if traps are active.
pub(in crate::app) async fn visit(
    request: Request<Body>,
    snippet: Option<String>,
) -> Response<Body> {
    let is_for_all = matches!(request.uri().path(), "/" | "/about.html");
    let snippet = snippet.filter(|_| is_for_all && *request.method() == Method::GET);
    let response = answer(request).await;
    let Some(snippet) = snippet else {
        return response;
    };
    let (parts, body) = response.into_parts();
    let page = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let page = String::from_utf8_lossy(&page);
    let page = page.replacen("</body>", &format!("{snippet}\n</body>"), 1);
    let mut response = Response::from_parts(parts, Body::empty());
    response.headers_mut().remove(header::CONTENT_LENGTH);
    *response.body_mut() = Body::from(page);
    response
}

/// Answers a request for a page of the demonstration site.
pub(in crate::app) async fn answer(request: Request<Body>) -> Response<Body> {
    let (method, path) = (request.method(), request.uri().path());
    match (method, path) {
        (&Method::POST, login::ENTER) => return login::enter(request).await,
        (&Method::POST, login::LEAVE) => return login::leave(),
        (&Method::GET | &Method::HEAD, login::ENTER) => return login::form(MEMBERS, ""),
        _ => {}
    }
    let page = members_page(path).filter(|_| method == Method::GET || method == Method::HEAD);
    if let Some(page) = page
        && !login::is_member(&request)
    {
        return login::form(page, "");
    }
    let mut response = pages::answer(&PAGES, method, path);
    if page.is_some() {
        // A shared cache could otherwise show members' pages to all visitors.
        let no_store = HeaderValue::from_static("private, no-store");
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, no_store);
    }
    response
}

/// Returns the path of a members' page as it appears in links; `None` for other paths.
pub(super) fn members_page(path: &str) -> Option<&'static str> {
    let path = path.strip_suffix("index.html").unwrap_or(path);
    let mut paths = FILES.iter().map(|(path, ..)| *path);
    paths.find(|known| known.starts_with(MEMBERS) && *known == path)
}

/// A page of the demonstration site.
///
/// The page is parsed from a bundled file: lines such as `title: …`, an empty line, and the markup
/// of the main part.
#[derive(Debug, Default, Template)]
#[template(path = "demo/page.html")]
pub(super) struct DemoPage {
    title: &'static str,
    /// The name and content of each META tag.
    metas: Vec<(&'static str, &'static str)>,
    /// A navigation link that points to this page.
    here: &'static str,
    content: OwnHtml,
}

/// HTML markup that is bundled with the program.
#[derive(Debug, Default)]
struct OwnHtml(&'static str);

impl DemoPage {
    const LINKS: [(&'static str, &'static str); 4] = [
        ("/", "Welcome"),
        ("/about.html", "About"),
        ("/members-only-stuff/", "Members"),
        ("/robot-heaven/", "Robot heaven"),
    ];

    /// Renders the demonstration page in a source file as HTML.
    pub(super) fn html(file: &'static str) -> String {
        let (head, content) = file.split_once("\n\n").unwrap_or(("", file));
        let mut page = Self {
            content: OwnHtml(content.trim_end()),
            ..Self::default()
        };
        for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            match name {
                "title" => page.title = value,
                "here" => page.here = value,
                _ => page.metas.push((name, value)),
            }
        }
        // Writing into a string never fails.
        page.render().unwrap_or_default()
    }
}

impl fmt::Display for OwnHtml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The markup is bundled with the program and contains no visitor input.
impl HtmlSafe for OwnHtml {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::server::demo::login::Member;

    async fn get(path: &str, cookie: &str) -> (u16, String) {
        let request = Request::get(path).header(header::COOKIE, cookie);
        read(answer(request.body(Body::empty()).unwrap()).await).await
    }

    async fn read(response: Response<Body>) -> (u16, String) {
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1 << 20).await;
        let text = String::from_utf8(body.unwrap().to_vec()).unwrap();
        (status, text)
    }

    #[tokio::test]
    async fn members_pages_are_for_members() {
        for (path, _, content) in PAGES.iter().filter(|page| page.0.starts_with(MEMBERS)) {
            let (status, text) = get(path, "harbour=wrong").await;
            assert_eq!(status, 200, "{path}");
            assert!(text.contains("type=\"password\"") && text.contains(path));
            let mut request = Request::get(*path).body(Body::empty()).unwrap();
            request.extensions_mut().insert(Member);
            let (status, text) = read(answer(request).await).await;
            assert_eq!((status, &*text), (200, *content), "{path}");
        }
    }

    #[tokio::test]
    async fn the_rest_is_for_everybody() {
        for (path, status) in [("/", 200), ("/about.html", 200), ("/nowhere", 404)] {
            assert_eq!(get(path, "").await.0, status, "{path}");
        }
        let moved = Request::get("/members-only-stuff/reports").body(Body::empty());
        let moved = answer(moved.unwrap()).await;
        assert_eq!(moved.status(), 301);
        assert_eq!(moved.headers()["location"], "reports/");
    }

    #[tokio::test]
    async fn every_link_between_the_pages_leads_somewhere() {
        let links = PAGES
            .iter()
            .flat_map(|(_, _, text)| text.split("href=\"/").skip(1));
        let links = links.filter_map(|rest| rest.split('"').next());
        let links = links.filter(|link| !link.starts_with("robot-"));
        for link in links.collect::<std::collections::BTreeSet<_>>() {
            assert_eq!(get(&format!("/{link}"), "").await.0, 200, "{link}");
        }
    }
}

#[cfg(test)]
mod page_tests {
    use super::*;

    #[test]
    fn a_page_stands_in_the_frame_that_all_share() {
        let page =
            DemoPage::html("title: A & B\nauthor: Me\nhere: /about.html\n\n<h1>A</h1>\n\n<p>b\n");
        for part in [
            "<title>A &#38; B</title>",
            "<meta name=\"author\" content=\"Me\">",
            "<a href=\"/about.html\" aria-current=\"page\">About</a>",
            "<a href=\"/\">Welcome</a>",
            "<main id=\"main\">\n<h1>A</h1>\n\n<p>b\n  </main>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
