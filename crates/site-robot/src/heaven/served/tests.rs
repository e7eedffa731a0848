use axum::{
    body::to_bytes,
    http::{HeaderMap, HeaderName, Method, header},
};

use super::ServedHeaven;
use crate::heaven::{
    publish,
    tests::{SITE, description, descriptions, library, settings, tree},
};

async fn heaven() -> ServedHeaven {
    let (_, library) = library(&descriptions()).await;
    let heaven = ServedHeaven::new(library, settings());
    heaven.reload().await.unwrap();
    heaven
}

/// Returns the status, headers and body of a response.
async fn get(
    heaven: &ServedHeaven,
    below: &str,
    headers: &[(HeaderName, &str)],
) -> (u16, HeaderMap, String) {
    ask(heaven, &Method::GET, below, headers).await
}

async fn ask(
    heaven: &ServedHeaven,
    method: &Method,
    below: &str,
    headers: &[(HeaderName, &str)],
) -> (u16, HeaderMap, String) {
    let headers = headers
        .iter()
        .map(|(name, value)| (name.clone(), value.parse().unwrap()));
    let response = heaven.answer(method, below, &headers.collect()).await;
    let (head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (
        head.status.as_u16(),
        head.headers,
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

#[tokio::test]
async fn served_pages_equal_published_pages() {
    let (_store, library) = library(&descriptions()).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("heaven");
    let settings = settings().markdown_files(true);
    publish(&library, &path, &settings).await.unwrap();
    let heaven = ServedHeaven::new(library, settings);
    heaven.reload().await.unwrap();
    for (below, content) in tree(&path) {
        if below.starts_with('.') {
            continue;
        }
        let (status, _, body) = get(&heaven, &below, &[]).await;
        assert_eq!(status, 200, "{below}");
        // Only the served robot heaven has a file that contains all pages.
        let lines = body.split_inclusive('\n');
        let body: String = lines.filter(|line| !line.contains("llms-full")).collect();
        assert!(body.as_bytes() == content, "{below} differs");
    }
}

#[tokio::test]
async fn directory_serves_its_index() {
    let heaven = heaven().await;
    for below in [
        "",
        "members/",
        "by/title/",
        "by/title/2.html",
        "members%2findex.html",
    ] {
        assert_eq!(get(&heaven, below, &[]).await.0, 200, "{below}");
    }
    for below in ["members", "by/title"] {
        let (status, headers, _) = get(&heaven, below, &[]).await;
        assert_eq!(status, 301, "{below}");
        assert_eq!(headers[header::LOCATION], format!("/robot-heaven/{below}/"));
    }
}

#[tokio::test]
async fn missing_page_links_to_the_start() {
    let heaven = heaven().await;
    for below in [
        "nowhere",
        "hidden.htm",
        "../etc/passwd",
        "by/title/1.html",
        "by/title/02.html",
        "by/x/",
        "by/title/99.html",
        "%ff",
        "sitemap-1.xml",
    ] {
        let (status, _, body) = get(&heaven, below, &[]).await;
        assert_eq!(status, 404, "{below}");
        assert!(body.contains("href=\"/robot-heaven/\""), "{below}");
    }
    let (status, headers, _) = ask(&heaven, &Method::POST, "", &[]).await;
    assert_eq!(
        (status, &headers[header::ALLOW]),
        (405, &"GET, HEAD".parse().unwrap())
    );
}

#[tokio::test]
async fn markdown_is_served_on_request() {
    let heaven = heaven().await;
    let accept = [(header::ACCEPT, "text/markdown, */*;q=0.1")];
    let (_, headers, markdown) = get(&heaven, "members/1.html", &accept).await;
    assert_eq!(
        headers[header::CONTENT_TYPE],
        "text/markdown; charset=utf-8"
    );
    assert_eq!(headers[header::VARY], "Accept");
    assert!(markdown.starts_with("# Page 1\n"));
    let (_, headers, named) = get(&heaven, "members/1.html.md", &[]).await;
    assert_eq!(named, markdown);
    assert!(!headers.contains_key(header::VARY));
    let (_, headers, html) = get(&heaven, "members/1.html", &[]).await;
    assert_eq!(headers[header::VARY], "Accept");
    assert!(html.starts_with("<!DOCTYPE html>"));
}

#[tokio::test]
async fn cached_content_is_not_sent_again() {
    let heaven = heaven().await;
    let (_, headers, body) = get(&heaven, "members/1.html", &[]).await;
    assert_eq!(
        headers[header::LAST_MODIFIED],
        "Sun, 01 Mar 2026 12:01:05 GMT"
    );
    let etag = headers[header::ETAG].to_str().unwrap();
    let (status, known, nothing) =
        get(&heaven, "members/1.html", &[(header::IF_NONE_MATCH, etag)]).await;
    assert_eq!((status, nothing.as_str()), (304, ""));
    assert_eq!(known[header::ETAG], etag);
    let since = [(header::IF_MODIFIED_SINCE, "Sun, 01 Mar 2026 12:01:05 GMT")];
    assert_eq!(get(&heaven, "members/1.html", &since).await.0, 304);
    let (status, headers, nothing) = ask(&heaven, &Method::HEAD, "members/1.html", &[]).await;
    assert_eq!((status, nothing.as_str()), (200, ""));
    assert_eq!(
        headers[header::CONTENT_LENGTH],
        body.len().to_string().as_str()
    );
}

#[tokio::test]
async fn page_removed_from_the_database_is_not_found() {
    let (store, library) = library(&[description("/a", &[]), description("/b", &[])]).await;
    let heaven = ServedHeaven::new(library, settings());
    heaven.reload().await.unwrap();
    let url = format!("{SITE}/a");
    store.descriptions().delete("s", &[&url]).await.unwrap();
    assert_eq!(get(&heaven, "a.htm", &[]).await.0, 404);
    assert!(heaven.link("/a").is_some());
    heaven.reload().await.unwrap();
    assert_eq!(heaven.link("/a"), None);
    assert_eq!(heaven.link("/b").as_deref(), Some("/robot-heaven/b.htm"));
}

#[tokio::test]
async fn page_is_served_at_the_url_of_its_original() {
    let heaven = heaven().await;
    let answer = heaven
        .answer_in_place(&Method::GET, "/members/1.html", &HeaderMap::new())
        .await;
    assert_eq!(answer.unwrap().status(), 200);
    for none in ["/hidden", "/members/1.html?a", "/nowhere"] {
        assert!(
            heaven
                .answer_in_place(&Method::GET, none, &HeaderMap::new())
                .await
                .is_none(),
            "{none}"
        );
    }
}
