//! Pages fetched over HTTP, from the application itself, and from files.

use std::{
    fs,
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::Extension,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::Redirect,
    routing::get,
};
use flate2::{Compression, write::GzEncoder};
use robot_detection::{
    fetch::{Conditions, FetchError},
    site_robot::source::{
        ApplicationSource, Credentials, FileSource, HttpSettings, HttpSource, PageRequest,
        PageResponse, PageSource, RequestSigner, SiteAccess, SourceError, SourceLimits,
    },
};
use url::Url;

use crate::support::{
    eventually::eventually_async,
    http::{Reply, TestServer},
};

fn url(text: &str) -> Url {
    text.parse().expect("valid URL")
}

fn http(settings: HttpSettings) -> PageSource {
    HttpSource::new(settings).expect("a source").into()
}

async fn get_page(source: &PageSource, address: &str) -> Result<PageResponse, SourceError> {
    source.fetch(&PageRequest::get(&url(address))).await
}

fn limits(max_body_bytes: u64) -> SourceLimits {
    SourceLimits {
        max_body_bytes,
        ..SourceLimits::default()
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn conditions(etag: &str) -> Conditions {
    Conditions {
        etag: Some(etag.to_owned()),
        last_modified: None,
    }
}

#[tokio::test]
async fn a_request_names_its_sender_and_referrer() {
    let server = TestServer::new(Reply::typed("text/html", "<p>a").with("X-ROBOTS-TAG", "none"));
    let source = http(HttpSettings {
        user_agent: Some("test/1".to_owned()),
        email: Some("me@h.example".to_owned()),
        referrer: Some("http://h.example/".to_owned()),
        ..HttpSettings::default()
    });
    let answer = get_page(&source, &server.url("/a?b")).await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (200, &b"<p>a"[..]));
    assert_eq!(answer.media_type().as_deref(), Some("text/html"));
    assert_eq!(answer.x_robots_tags().collect::<Vec<_>>(), ["none"]);
    assert!(answer.peer.is_some_and(|peer| peer.is_loopback()));
    let seen = server.seen();
    assert_eq!(seen[0].path, "/a?b");
    assert_eq!(seen[0].header("user-agent"), Some("test/1 (me@h.example)"));
    assert_eq!(seen[0].header("from"), Some("me@h.example"));
    assert_eq!(seen[0].header("referer"), Some("http://h.example/"));
    assert!(seen[0].header("accept").unwrap().starts_with("text/html"));
    assert_eq!(seen[0].header("cookie"), None);
    assert_eq!(seen[0].header("authorization"), None);
}

#[tokio::test]
async fn an_unmodified_page_is_not_sent_again() {
    let server = TestServer::with(|seen| match seen.header("if-none-match") {
        Some("\"1\"") => Reply::status(304),
        _ => Reply::text("a").with("etag", "\"1\""),
    });
    let source = http(HttpSettings::default());
    let address = url(&server.url("/"));
    let first = source.fetch(&PageRequest::get(&address)).await.unwrap();
    let again = PageRequest::get(&address).if_changed(first.conditions());
    let again = source.fetch(&again).await.unwrap();
    assert_eq!((again.status, again.body.len()), (304, 0));
}

#[tokio::test]
async fn redirects_are_not_followed_and_statuses_are_not_errors() {
    let server = TestServer::new(Reply::redirect("/b"));
    let source = http(HttpSettings::default());
    let answer = get_page(&source, &server.url("/a")).await.unwrap();
    assert!(answer.is_redirect());
    assert_eq!(answer.location().as_deref(), Some("/b"));
    server.set(Reply::status(503).with("Retry-After", "7"));
    let answer = get_page(&source, &server.url("/a")).await.unwrap();
    assert_eq!(answer.status, 503);
    assert_eq!(answer.text(&header::RETRY_AFTER).as_deref(), Some("7"));
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_head_request_has_no_body() {
    let server = TestServer::new(Reply::text("a"));
    let source = http(HttpSettings::default());
    let address = url(&server.url("/"));
    let answer = source.fetch(&PageRequest::head(&address)).await.unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    assert_eq!(answer.text(&header::CONTENT_LENGTH).as_deref(), Some("1"));
}

#[tokio::test]
async fn a_body_is_cut_at_the_limit() {
    let source = http(HttpSettings {
        limits: limits(100_000),
        ..HttpSettings::default()
    });
    let endless = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
    let bomb = gzip(&vec![b' '; 10_000_000]);
    for reply in [
        // The rest of a gigabyte is never sent: the announced length decides.
        Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\nabc".to_vec()),
        Reply::Raw([endless, vec![b'a'; 500_000]].concat()),
        Reply::text(bomb).with("Content-Encoding", "gzip"),
    ] {
        let server = TestServer::new(reply);
        let error = get_page(&source, &server.url("/")).await.unwrap_err();
        let is_size = matches!(error, SourceError::Http(FetchError::TooLarge { .. }));
        assert!(is_size && !error.is_temporary(), "{error}");
    }
    let server = TestServer::new(Reply::text(gzip(b"robots")).with("Content-Encoding", "gzip"));
    let answer = get_page(&source, &server.url("/")).await.unwrap();
    assert_eq!(&answer.body[..], b"robots");
    assert_eq!(answer.text(&header::CONTENT_ENCODING), None);
}

#[tokio::test]
async fn a_slow_or_silent_server_times_out() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n";
    let body = [&head[..], &vec![b'a'; 90_000]].concat();
    let drip = Reply::Drip(body, Duration::from_millis(20));
    let cases = [
        (drip, Duration::from_mins(1), Duration::from_millis(400)),
        (
            Reply::Hang,
            Duration::from_millis(200),
            Duration::from_mins(1),
        ),
    ];
    for (reply, idle_timeout, timeout) in cases {
        let server = TestServer::new(reply);
        let source = http(HttpSettings {
            limits: SourceLimits {
                idle_timeout,
                timeout,
                ..SourceLimits::default()
            },
            ..HttpSettings::default()
        });
        let error = get_page(&source, &server.url("/")).await.unwrap_err();
        let is_time = matches!(error, SourceError::Http(FetchError::Timeout { .. }));
        assert!(is_time && error.is_temporary(), "{error}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_a_temporary_error() {
    let server = TestServer::new(Reply::Reset);
    let source = http(HttpSettings::default());
    let error = get_page(&source, &server.url("/")).await.unwrap_err();
    assert!(error.is_temporary(), "{error}");
    let address = server.url("/");
    drop(server);
    let error = get_page(&source, &address).await.unwrap_err();
    assert!(error.is_temporary(), "{error}");
    let error = get_page(&source, "file:///etc/passwd").await.unwrap_err();
    assert!(!error.is_temporary(), "{error}");
}

#[tokio::test]
async fn a_page_is_requested_again_if_the_connection_ends() {
    let silent = TestServer::new(Reply::Reset);
    let resets = AtomicUsize::new(1);
    let shaky = TestServer::with(move |_| {
        let left = resets.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |it| it.checked_sub(1));
        left.map_or_else(|_| Reply::text("a"), |_| Reply::Reset)
    });
    let source = HttpSource::new(HttpSettings::default()).unwrap();
    let source = PageSource::from(source);
    let answer = get_page(&source, &shaky.url("/")).await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(shaky.seen().len(), 2);
    get_page(&source, &silent.url("/")).await.unwrap_err();
    assert_eq!(silent.seen().len(), 2, "expected exactly one retry");
}

#[tokio::test]
async fn an_upstream_is_requested_instead_of_the_public_site() {
    let server = TestServer::new(Reply::text("a"));
    let site = SiteAccess::new(&url("https://public.example/"))
        .and_then(|it| it.upstream(url(&server.url("/ignored"))))
        .unwrap();
    let pass = RequestSigner::new(|_, _, headers| {
        headers.insert("x-token", "t0ken".parse().unwrap());
    });
    let source = http(HttpSettings {
        sites: vec![site],
        pass: Some(pass),
        ..HttpSettings::default()
    });
    get_page(&source, "https://public.example/a/?b=c")
        .await
        .unwrap();
    let seen = server.seen();
    assert_eq!(seen[0].path, "/a/?b=c");
    assert_eq!(seen[0].header("host"), Some("public.example"));
    assert_eq!(seen[0].header("x-forwarded-proto"), Some("https"));
    assert_eq!(
        seen[0].header("x-token"),
        None,
        "the upstream needs no pass"
    );
    get_page(&source, &server.url("/b")).await.unwrap();
    assert_eq!(server.seen()[1].header("x-token"), Some("t0ken"));
}

#[tokio::test]
async fn credentials_are_sent_only_to_their_own_site() {
    let own = TestServer::new(Reply::text("a"));
    let other = TestServer::new(Reply::text("a"));
    for (credentials, name, value) in [
        (
            Credentials::Basic {
                username: "me".to_owned(),
                password: "secret".to_owned(),
            },
            "authorization",
            "Basic bWU6c2VjcmV0",
        ),
        (
            Credentials::Bearer("secret".to_owned()),
            "authorization",
            "Bearer secret",
        ),
        (
            Credentials::Cookie("s=secret".to_owned()),
            "cookie",
            "s=secret",
        ),
    ] {
        let site = SiteAccess::new(&url(&own.url("/")))
            .and_then(|it| it.credentials(&credentials))
            .unwrap();
        let source = http(HttpSettings {
            sites: vec![site],
            ..HttpSettings::default()
        });
        assert!(!format!("{source:?} {credentials:?}").contains("secret"));
        get_page(&source, &own.url("/")).await.unwrap();
        get_page(&source, &other.url("/")).await.unwrap();
        assert_eq!(own.seen().last().unwrap().header(name), Some(value));
        assert_eq!(other.seen().last().unwrap().header(name), None);
    }
    let broken = Credentials::Bearer("a\nb".to_owned());
    let site = SiteAccess::new(&url(&own.url("/"))).unwrap();
    assert!(site.credentials(&broken).is_err());
    assert!(SiteAccess::new(&url("ftp://h.example/")).is_err());
}

#[derive(Clone)]
struct Member(&'static str);

fn application(limits: SourceLimits) -> PageSource {
    let app = Router::new()
        .route(
            "/members",
            get(|Extension(it): Extension<Member>| async move { it.0 }),
        )
        .route("/old", get(|| async { Redirect::permanent("/members") }))
        .route("/panic", get(|| async { panics() }))
        .route("/large", get(|| async { "a".repeat(2_000) }))
        .route("/hang", get(std::future::pending::<()>))
        .route("/silent", get(|| async { Body::from_stream(silence()) }))
        .route("/zipped", get(async || zipped(b"robots")))
        .route("/bomb", get(async || zipped(&vec![0; 100_000])))
        .route("/echo", get(echo));
    let source = ApplicationSource::new(app, |request| {
        request.extensions_mut().insert(Member("site robot"));
    });
    let name = HeaderValue::from_static("test/1");
    source
        .limits(limits)
        .header(header::USER_AGENT, name)
        .into()
}

fn panics() {
    panic!("panics on demand");
}

fn silence() -> impl futures_util::Stream<Item = Result<&'static str, std::io::Error>> {
    futures_util::stream::pending()
}

fn zipped(bytes: &[u8]) -> ([(header::HeaderName, &'static str); 1], Vec<u8>) {
    ([(header::CONTENT_ENCODING, "gzip")], gzip(bytes))
}

async fn echo(headers: HeaderMap, uri: Uri) -> (StatusCode, String) {
    if headers.contains_key(header::IF_NONE_MATCH) {
        return (StatusCode::NOT_MODIFIED, String::new());
    }
    let text = |name| {
        headers
            .get(name)
            .and_then(|it| it.to_str().ok())
            .unwrap_or_default()
    };
    let (host, agent) = (text(header::HOST), text(header::USER_AGENT));
    (StatusCode::OK, format!("{uri} {host} {agent}"))
}

#[tokio::test]
async fn the_application_is_requested_as_a_member() {
    let source = application(limits(1_000));
    let body = async |path: &str| {
        let answer = get_page(&source, &format!("http://h.example:81{path}"))
            .await
            .unwrap();
        String::from_utf8(answer.body.to_vec()).unwrap()
    };
    assert_eq!(body("/members").await, "site robot");
    assert_eq!(body("/echo?a").await, "/echo?a h.example:81 test/1");
    assert_eq!(body("/zipped").await, "robots");
    let answer = get_page(&source, "https://h.example/old").await.unwrap();
    assert_eq!(
        (answer.status, answer.location().as_deref()),
        (308, Some("/members"))
    );
    let address = url("http://h.example/echo");
    let request = PageRequest::get(&address).if_changed(conditions("\"1\""));
    assert_eq!(source.fetch(&request).await.unwrap().status, 304);
    let head = source.fetch(&PageRequest::head(&address)).await.unwrap();
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(
        get_page(&source, "http://h.example/none")
            .await
            .unwrap()
            .status,
        404
    );
}

#[tokio::test]
async fn a_misbehaving_application_is_an_error() {
    let source = application(SourceLimits {
        max_body_bytes: 1_000,
        idle_timeout: Duration::from_millis(50),
        timeout: Duration::from_millis(500),
        ..SourceLimits::default()
    });
    let error = async |address: &str| get_page(&source, address).await.unwrap_err();
    for path in ["large", "bomb"] {
        let error = error(&format!("http://h.example/{path}")).await;
        assert!(matches!(error, SourceError::TooLarge { .. }), "{error}");
    }
    for path in ["hang", "silent"] {
        let error = error(&format!("http://h.example/{path}")).await;
        assert!(matches!(error, SourceError::Timeout { .. }), "{error}");
    }
    let panicked = error("http://h.example/panic").await;
    assert!(
        matches!(panicked, SourceError::Application { .. }),
        "{panicked}"
    );
    let file = error("file:///etc/passwd").await;
    assert!(matches!(file, SourceError::NotServed { .. }), "{file}");
}

#[tokio::test]
async fn a_cancelled_request_is_dropped_in_the_application() {
    struct Guard(Arc<AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let ended = Arc::new(AtomicUsize::new(0));
    let (started, mut starts) = tokio::sync::mpsc::unbounded_channel();
    let counter = Arc::clone(&ended);
    let app = Router::new().route(
        "/",
        get(move || {
            let guard = Guard(Arc::clone(&counter));
            started.send(()).unwrap();
            async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            }
        }),
    );
    let source = PageSource::from(ApplicationSource::new(app, |_| ()));
    tokio::select! {
        _ = get_page(&source, "http://h.example/") => panic!("the request must not get a response"),
        _ = starts.recv() => {}
    }
    eventually_async("the request is dropped", async || {
        ended.load(Ordering::SeqCst) > 0
    })
    .await;
}

#[tokio::test]
async fn only_files_below_the_directory_are_read() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.html"), "secret").unwrap();
    let inside = tempfile::tempdir().unwrap();
    let directory = inside.path().canonicalize().unwrap();
    fs::create_dir(directory.join("sub")).unwrap();
    for (name, text) in [
        ("a b.html", "page"),
        ("sub/index.html", "index"),
        ("large.txt", "too large"),
        (".hidden.html", "hidden"),
    ] {
        fs::write(directory.join(name), text).unwrap();
    }
    std::os::unix::fs::symlink(outside.path(), directory.join("out")).unwrap();
    std::os::unix::fs::symlink("a b.html", directory.join("link.html")).unwrap();
    let source = PageSource::from(FileSource::new(&directory, limits(5)).unwrap());
    let base = Url::from_directory_path(&directory).unwrap();
    let ask = async |path: &str| get_page(&source, base.join(path).unwrap().as_str()).await;

    let page = ask("a%20b.html").await.unwrap();
    assert_eq!((page.status, &page.body[..]), (200, &b"page"[..]));
    assert_eq!(page.media_type().as_deref(), Some("text/html"));
    assert_eq!(&ask("sub/").await.unwrap().body[..], b"index");
    let redirect = ask("sub").await.unwrap();
    let to = directory.join("sub/").to_str().unwrap().to_owned();
    assert_eq!((redirect.status, redirect.location()), (301, Some(to)));
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    for path in [
        "none.html",
        "a%20b.html/x",
        "out/secret.html",
        "link.html",
        ".hidden.html",
        &format!("..%2F{name}/secret.html"),
        &format!("/tmp/{name}/secret.html"),
        "/etc/passwd",
        "/dev/zero",
        "x%00y",
        &"x".repeat(300),
        ".",
    ] {
        let answer = ask(path).await.unwrap();
        assert_eq!((answer.status, answer.body.len()), (404, 0), "{path}");
    }
    assert!(matches!(
        ask("large.txt").await,
        Err(SourceError::TooLarge { .. })
    ));
    assert!(matches!(
        ask("http://h.example/").await,
        Err(SourceError::NotServed { .. })
    ));

    let address = base.join("a%20b.html").unwrap();
    let again = PageRequest::get(&address).if_changed(page.conditions());
    assert_eq!(source.fetch(&again).await.unwrap().status, 304);
    let head = source.fetch(&PageRequest::head(&address)).await.unwrap();
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(FileSource::new(&directory.join("a b.html"), limits(5)).is_err());
    assert!(FileSource::new(&directory.join("none"), limits(5)).is_err());
}

#[test]
fn settings_that_cannot_be_sent_are_rejected() {
    let refused = |settings| HttpSource::new(settings).unwrap_err().to_string();
    let broken = || Some("a\nb".to_owned());
    let error = refused(HttpSettings {
        user_agent: broken(),
        ..HttpSettings::default()
    });
    assert!(error.contains("user-agent"), "{error}");
    let error = refused(HttpSettings {
        email: broken(),
        ..HttpSettings::default()
    });
    assert!(
        error.contains("contains a character not allowed"),
        "{error}"
    );
    let error = refused(HttpSettings {
        limits: limits(0),
        ..HttpSettings::default()
    });
    assert!(error.contains("max_body_bytes"), "{error}");
}
