//! The outbound HTTP client with misbehaving servers.

use std::{
    io::{Read, Write},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use robot_detection::fetch::{Conditions, FetchError, FetchLimits, FetchResponse, Fetcher};

use super::house::dozen;
use crate::support::{
    http::{Reply, TestServer},
    program::command,
};

fn fetcher(timeout: Duration) -> Fetcher {
    Fetcher::new(FetchLimits {
        timeout,
        ..FetchLimits::default()
    })
    .expect("no limit is zero")
}

async fn fetch(url: &str) -> Result<FetchResponse, FetchError> {
    fetcher(Duration::from_secs(20))
        .fetch(url, &Conditions::default(), &|_, _| ())
        .await
}

async fn body_of(reply: Reply) -> Result<Vec<u8>, FetchError> {
    let server = TestServer::new(reply);
    match fetch(&server.url("/all.txt")).await? {
        FetchResponse::Body { bytes, .. } => Ok(bytes),
        FetchResponse::NotModified => panic!("the request had no condition"),
    }
}

async fn failure_of(reply: Reply) -> FetchError {
    body_of(reply).await.expect_err("this reply is a failure")
}

#[tokio::test]
async fn a_body_is_returned_with_its_validators() {
    let reply = Reply::text("robot-id: a\n")
        .with("ETag", "\"v1\"")
        .with("Last-Modified", "Sat, 01 Nov 2025 00:00:00 GMT");
    let server = TestServer::new(reply);
    let fetched = fetch(&server.url("/all.txt")).await.unwrap();
    let expected = FetchResponse::Body {
        bytes: b"robot-id: a\n".to_vec(),
        content_type: Some("text/plain".to_owned()),
        etag: Some("\"v1\"".to_owned()),
        last_modified: Some("Sat, 01 Nov 2025 00:00:00 GMT".to_owned()),
    };
    assert_eq!(fetched, expected);
    let seen = server.seen();
    assert!(
        seen[0]
            .header("user-agent")
            .unwrap()
            .starts_with("robot-detection/")
    );
    assert_eq!(seen[0].header("if-none-match"), None);
}

#[tokio::test]
async fn validators_are_sent_back_and_304_is_supported() {
    let server = TestServer::with(|seen| match seen.header("If-None-Match") {
        Some("\"v1\"") => Reply::status(304),
        _ => Reply::text("new"),
    });
    let conditions = Conditions {
        etag: Some("\"v1\"".to_owned()),
        last_modified: Some("Sat, 01 Nov 2025 00:00:00 GMT".to_owned()),
    };
    let fetched = fetcher(Duration::from_secs(20))
        .fetch(&server.url("/"), &conditions, &|_, _| ())
        .await;
    assert_eq!(fetched.unwrap(), FetchResponse::NotModified);
    assert_eq!(
        server.seen()[0].header("If-Modified-Since"),
        Some("Sat, 01 Nov 2025 00:00:00 GMT")
    );
}

#[tokio::test]
async fn an_unrequested_304_is_an_error() {
    let error = failure_of(Reply::status(304)).await;
    assert!(
        matches!(error, FetchError::Status { status: 304, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn statuses_other_than_200_are_errors() {
    for code in [201, 204, 206, 403, 404, 410, 500, 503] {
        let error = failure_of(Reply::status(code)).await;
        assert!(
            matches!(error, FetchError::Status { status, .. } if status == code),
            "{error}"
        );
    }
}

#[tokio::test]
async fn gzip_is_decompressed() {
    let packed = include_bytes!("../../data/refresh/hello.gz");
    let reply = Reply::text(packed.as_slice()).with("Content-Encoding", "gzip");
    assert_eq!(body_of(reply).await.unwrap(), b"hello, robots\n");
}

#[tokio::test]
async fn a_gzip_bomb_is_stopped_at_the_limit() {
    let packed = include_bytes!("../../data/refresh/bomb.gz");
    assert!(packed.len() < 50_000);
    let reply = Reply::text(packed.as_slice()).with("Content-Encoding", "gzip");
    let error = failure_of(reply).await;
    assert!(matches!(error, FetchError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn invalid_gzip_is_an_error() {
    let reply = Reply::text("this is not gzip at all").with("Content-Encoding", "gzip");
    let error = failure_of(reply).await;
    assert!(matches!(error, FetchError::Encoding { .. }), "{error:?}");
}

#[tokio::test]
async fn six_megabytes_are_rejected_announced_or_not() {
    let error = failure_of(Reply::text(vec![b'x'; 6_000_000])).await;
    assert!(matches!(error, FetchError::TooLarge { .. }), "{error}");

    let mut unannounced = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n".to_vec();
    unannounced.resize(6_000_000, b'x');
    let error = failure_of(Reply::Raw(unannounced)).await;
    assert!(matches!(error, FetchError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn a_body_shorter_than_announced_is_truncated() {
    let reply = Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nrobot-id: a\n".to_vec());
    let error = failure_of(reply).await;
    assert!(matches!(error, FetchError::Truncated { .. }), "{error:?}");

    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nrobot\r\n";
    let error = failure_of(Reply::Raw(chunked.to_vec())).await;
    assert!(matches!(error, FetchError::Truncated { .. }), "{error:?}");
}

#[tokio::test]
async fn a_closed_connection_is_distinguished_from_a_refused_one() {
    let error = failure_of(Reply::Reset).await;
    assert!(matches!(error, FetchError::Reset { .. }), "{error:?}");
    let error = failure_of(Reply::Raw(Vec::new())).await;
    assert!(matches!(error, FetchError::Reset { .. }), "{error:?}");

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let error = fetch(&url).await.unwrap_err();
    assert!(matches!(error, FetchError::Connect { .. }), "{error:?}");
}

#[tokio::test]
async fn invalid_http_is_an_error() {
    let error = failure_of(Reply::Raw(b"220 mail.example ESMTP\r\n".to_vec())).await;
    assert!(matches!(error, FetchError::Other { .. }), "{error:?}");
}

#[tokio::test]
async fn tls_with_a_server_without_tls_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        // Read until the client gives up.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = fetch(&url).await.unwrap_err();
    assert!(matches!(error, FetchError::Tls { .. }), "{error:?}");
    server.join().unwrap();
}

#[tokio::test]
async fn silent_and_slow_servers_time_out() {
    let drip = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n".repeat(100);
    for reply in [Reply::Hang, Reply::Drip(drip, Duration::from_millis(20))] {
        let server = TestServer::new(reply);
        let error = fetcher(Duration::from_millis(500))
            .fetch(&server.url("/"), &Conditions::default(), &|_, _| ())
            .await
            .unwrap_err();
        assert!(matches!(error, FetchError::Timeout { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_few_redirects_are_followed() {
    let server = TestServer::with(|seen| match seen.path.as_str() {
        "/4" => Reply::text("here"),
        path => {
            let step: u32 = path.trim_start_matches('/').parse().unwrap();
            Reply::redirect(format!("/{}", step + 1))
        }
    });
    // A private server may redirect to another one.
    let elsewhere = TestServer::new(Reply::redirect(server.url("/2")));
    for url in [server.url("/0"), elsewhere.url("/")] {
        let fetched = fetch(&url).await.unwrap();
        assert!(matches!(fetched, FetchResponse::Body { bytes, .. } if bytes == b"here"));
    }
}

#[test]
fn a_public_source_cannot_redirect_to_a_private_address() {
    let inner = TestServer::new(Reply::text(dozen()));
    let url = inner.url("/");
    let targets = [
        url.clone(),
        url.replace("127.0.0.1", "localhost"),
        url.replace("127.0.0.1", "[::ffff:127.0.0.1]"),
        "http://169.254.169.254/latest/".to_owned(),
        "http://100.64.0.1/".to_owned(),
        "http://[fd00::1]/".to_owned(),
        "http://224.0.0.1/".to_owned(),
    ];
    let count = targets.len();
    let source = |at| format!("[[source]]\nname = 's{at}'\nurl = 'http://8.8.8.8/{at}'\n");
    let sources: String = (0..count).map(source).collect();
    let directory = tempfile::tempdir().unwrap();
    let config = format!("web_robots_db = ''\n{sources}");
    std::fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
    // Acts as a proxy that represents the Internet.
    let internet = TestServer::with(move |seen| {
        let (_, at) = seen.path.rsplit_once('/').unwrap();
        Reply::redirect(targets[at.parse::<usize>().unwrap()].clone())
    });
    let output = command(directory.path())
        .env("HTTP_PROXY", internet.url(""))
        .env("NO_PROXY", "127.0.0.1,localhost")
        .args(["registry", "refresh"])
        .output()
        .unwrap();
    let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let refused = told.matches("the target has a non-public address");
    assert_eq!(refused.count(), count, "{told}");
    assert_eq!(internet.seen().len(), count);
    assert!(inner.seen().is_empty(), "{told}");
}

#[tokio::test]
async fn endless_and_foreign_redirects_are_rejected() {
    let endless = TestServer::with(|seen| Reply::redirect(format!("{}x", seen.path)));
    let error = fetch(&endless.url("/")).await.unwrap_err();
    assert!(error.to_string().contains("more than 5"), "{error}");
    assert_eq!(endless.seen().len(), 6);

    let circle = TestServer::with(|seen| match seen.path.as_str() {
        "/a" => Reply::redirect("/b"),
        _ => Reply::redirect("/a"),
    });
    let error = fetch(&circle.url("/a")).await.unwrap_err();
    assert!(error.to_string().contains("redirect loop"), "{error}");

    for astray in [
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "javascript:alert(1)",
    ] {
        let error = failure_of(Reply::redirect(astray)).await;
        assert!(matches!(error, FetchError::Redirect { .. }), "{error:?}");
    }
    for status in [300, 302, 305] {
        let error = failure_of(Reply::status(status)).await;
        assert!(matches!(error, FetchError::Redirect { .. }), "{error:?}");
        let nowhere = format!("the {status} response has no valid Location header");
        assert!(error.to_string().contains(&nowhere), "{error}");
    }
}

#[tokio::test]
async fn unsupported_redirects_are_reported() {
    for status in [300, 305, 306] {
        let error = failure_of(Reply::status(status).with("Location", "/b")).await;
        assert!(matches!(error, FetchError::Redirect { .. }), "{error:?}");
        let reason = format!("{status} responses are not followed");
        assert!(error.to_string().contains(&reason), "{error}");
    }
}

#[tokio::test]
async fn progress_is_reported_up_to_the_last_byte() {
    let server = TestServer::new(Reply::text(vec![b'x'; 300_000]));
    let last = AtomicU64::new(0);
    fetcher(Duration::from_secs(20))
        .fetch(
            &server.url("/"),
            &Conditions::default(),
            &|so_far, total| {
                assert_eq!(total, Some(300_000));
                assert!(last.swap(so_far, Ordering::Relaxed) < so_far);
            },
        )
        .await
        .unwrap();
    assert_eq!(last.load(Ordering::Relaxed), 300_000);
}

#[tokio::test]
async fn credentials_are_sent_but_never_shown() {
    let server = TestServer::new(Reply::status(404));
    let url = server.url("/x").replace("http://", "http://me:s3cret@");
    let error = fetch(&url).await.unwrap_err();
    assert!(
        !format!("{error} {error:?}").contains("s3cret"),
        "{error:?}"
    );
    assert!(server.seen()[0].header("authorization").is_some());
}
