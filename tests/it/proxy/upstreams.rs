//! Protocols to the upstream: HTTP/2, TLS, Unix sockets, interim responses.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    convert::Infallible,
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::{future::join_all, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Version, header};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use robot_detection::proxy::{Proxy, ProxySettings};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::Notify,
};
use tokio_util::task::TaskTracker;

use crate::support::{
    eventually::eventually_async,
    front::{ProxyServer, listen_settings, proxy_with},
    program::{self, Server},
    raw::{RawClient, RawServer, body, exchange, header, soon, status},
    upstream::{Body, Certificate, Upstream, echo, text},
};

const GET: &str = "GET /a//b?c;d HTTP/1.1\r\nHost: site.example:81\r\n\r\n";

fn settings(url: String) -> ProxySettings {
    ProxySettings {
        servers: vec![url],
        connect_timeout: Duration::from_secs(10),
        response_timeout: Duration::from_secs(10),
        ..ProxySettings::default()
    }
}

fn h2c(upstream: &Upstream) -> Proxy {
    proxy_with(settings(format!("h2c://{}", upstream.addr)))
}

fn tls(upstream: &Upstream, certificate: &Certificate, http2: bool) -> Proxy {
    proxy_with(ProxySettings {
        http2,
        ca_file: Some(certificate.ca_file()),
        ..settings(format!("https://localhost:{}", upstream.addr.port()))
    })
}

async fn front(proxy: Proxy) -> ProxyServer {
    ProxyServer::serve_proxy(listen_settings(), proxy).await
}

#[tokio::test]
async fn http2_by_prior_knowledge_keeps_the_request_unchanged() {
    let upstream = Upstream::h2c(async |_| text("hello")).await;
    let front = front(h2c(&upstream)).await;
    let response = exchange(front.addr, GET).await;
    assert_eq!((status(&response), body(&response)), (200, "hello"));
    let seen = upstream.last();
    assert_eq!(seen.version, Version::HTTP_2);
    assert_eq!(seen.uri, "http://site.example:81/a//b?c;d");
    assert_eq!(seen.headers["x-forwarded-for"], "127.0.0.1");
    for name in [header::HOST, header::CONNECTION, header::TRANSFER_ENCODING] {
        assert!(!seen.headers.contains_key(&name), "{name}");
    }
}

#[tokio::test]
async fn the_servers_own_host_is_sent_over_http2_too() {
    let upstream = Upstream::h2c(async |_| text("hello")).await;
    let proxy = proxy_with(ProxySettings {
        preserve_host: false,
        ..settings(format!("h2c://{}/app", upstream.addr))
    });
    let front = front(proxy).await;
    assert_eq!(status(&exchange(front.addr, GET).await), 200);
    let expected = format!("http://{}/app/a//b?c;d", upstream.addr);
    assert_eq!(upstream.last().uri, expected.as_str());
}

#[tokio::test]
async fn many_requests_share_one_http2_connection() {
    let upstream = Upstream::h2c(echo).await;
    let front = front(h2c(&upstream)).await;
    let uploads = (0..50).map(|number| {
        let addr = front.addr;
        async move {
            let text = format!("{number} ").repeat(20_000);
            let len = text.len();
            let request =
                format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {len}\r\n\r\n{text}");
            let mut client = RawClient::connect(addr).await;
            client.send(request).await;
            assert!(body(&client.response().await) == text);
        }
    });
    soon(join_all(uploads)).await;
    assert_eq!(upstream.connections(), 1);
    assert_eq!(upstream.seen().len(), 50);
}

#[tokio::test]
async fn no_more_streams_are_opened_than_the_server_allows() {
    let go_on = Arc::new(Notify::new());
    let wait = Arc::clone(&go_on);
    let upstream = Upstream::h2c_with(Some(3), move |request| {
        let wait = Arc::clone(&wait);
        async move {
            wait.notified().await;
            echo(request).await
        }
    })
    .await;
    let proxy = h2c(&upstream);
    let front = front(proxy.clone()).await;
    let tasks = TaskTracker::new();
    for number in 0..40 {
        let addr = front.addr;
        tasks.spawn(async move {
            let request = if number % 2 == 0 {
                GET
            } else {
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok"
            };
            assert_eq!(status(&exchange(addr, request).await), 200);
        });
    }
    tasks.close();
    eventually_async("all requests have a response", async || {
        go_on.notify_waiters();
        tasks.is_empty()
    })
    .await;
    assert_eq!(upstream.busiest(), 3);
    assert!(upstream.connections() <= 4, "{}", upstream.connections());
    assert_eq!(upstream.seen().len(), 40);
}

#[tokio::test]
async fn a_server_that_sends_goaway_loses_no_request() {
    let upstream = Upstream::h2c(echo).await;
    let front = front(h2c(&upstream)).await;
    let mut client = RawClient::connect(front.addr).await;
    for number in 1..=40 {
        client.send(GET).await;
        assert_eq!(status(&client.response().await), 200, "request {number}");
        if number % 4 == 0 {
            upstream.leave();
        }
    }
    assert!(upstream.connections() > 5, "{}", upstream.connections());
}

#[tokio::test]
async fn trailers_pass_in_both_directions_over_http2() {
    let upstream = Upstream::h2c(async |request: Request<Incoming>| {
        let collected = request.into_body().collect().await.unwrap();
        let sent = collected.trailers().cloned().unwrap_or_default();
        let mut trailers = HeaderMap::new();
        trailers.insert(
            HeaderName::from_static("x-sum"),
            HeaderValue::from_static("7"),
        );
        for (name, value) in &sent {
            let name = format!("x-back-{name}");
            trailers.insert(HeaderName::try_from(name).unwrap(), value.clone());
        }
        let frames = [
            Ok::<_, Infallible>(Frame::data(collected.to_bytes())),
            Ok(Frame::trailers(trailers)),
        ];
        let mut response = Response::new(StreamBody::new(stream::iter(frames)).boxed_unsync());
        let announced = HeaderValue::from_static("x-sum, x-back-x-digest");
        response.headers_mut().insert(header::TRAILER, announced);
        response
    })
    .await;
    let front = front(h2c(&upstream)).await;
    let request = "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTrailer: X-Digest, X-Forwarded-For\r\n\
                   Transfer-Encoding: chunked\r\n\r\n2\r\nup\r\n0\r\nX-Digest: 9\r\nX-Silent: 1\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n";
    let response = exchange(front.addr, request).await;
    assert_eq!(
        body(&response).to_ascii_lowercase(),
        "2\r\nup\r\n0\r\nx-sum: 7\r\nx-back-x-digest: 9\r\n\r\n"
    );
    assert_eq!(upstream.last().headers["te"], "trailers");
}

#[tokio::test]
async fn a_grpc_call_keeps_its_status_and_nothing_is_added_to_its_response() {
    let upstream = Upstream::h2c(async |_| {
        let mut trailers = HeaderMap::new();
        for (name, value) in [
            ("grpc-status", "5"),
            ("grpc-message", "not found "),
            ("custom_key-bin", "AQ"),
            ("set-cookie", "a=b"),
            ("via", "1.1 a"),
        ] {
            trailers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        let frames = [
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"reply"))),
            Ok(Frame::trailers(trailers)),
        ];
        let mut response = Response::new(StreamBody::new(stream::iter(frames)).boxed_unsync());
        let value = HeaderValue::from_static(" value\t");
        response.headers_mut().insert("x-a", value);
        response
    })
    .await;
    let front = front(h2c(&upstream)).await;
    let stream = tokio::net::TcpStream::connect(front.addr).await.unwrap();
    let executor = hyper_util::rt::TokioExecutor::new();
    let connecting = hyper::client::conn::http2::handshake(executor, TokioIo::new(stream));
    let (mut sender, connection) = connecting.await.unwrap();
    TaskTracker::new().spawn(connection);
    let request = Request::post(format!("http://{}/Service/Call", front.addr))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("user_key.a", "1")
        .body(Full::new(Bytes::from_static(b"call")))
        .unwrap();
    let response = soon(sender.send_request(request)).await.unwrap();
    assert_eq!(response.headers()["x-a"], "value");
    let collected = soon(response.into_body().collect()).await.unwrap();
    let trailers = collected.trailers().unwrap();
    assert_eq!(trailers.len(), 3, "{trailers:?}");
    assert_eq!(trailers["grpc-status"], "5");
    assert_eq!(trailers["grpc-message"], "not found");
    assert_eq!(trailers["custom_key-bin"], "AQ");
    let seen = upstream.last();
    assert_eq!(seen.headers["te"], "trailers");
    assert_eq!(seen.headers["user_key.a"], "1");
}

/// Sends a notification when dropped.
struct DropNotice(Arc<Notify>);

impl Drop for DropNotice {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn events_are_streamed_over_http2() {
    let go_on = Arc::new(Notify::new());
    let wait = Arc::clone(&go_on);
    let upstream = Upstream::h2c(move |_| {
        let wait = Arc::clone(&wait);
        async move {
            let events = stream::unfold(0, move |number| {
                let wait = Arc::clone(&wait);
                async move {
                    // Each event except the first is sent only after the previous one has arrived.
                    if number > 0 {
                        wait.notified().await;
                    }
                    let event = Bytes::from(format!("data: {number}\n\n"));
                    (number < 3).then_some((Ok(Frame::data(event)), number + 1))
                }
            });
            Response::new(StreamBody::new(events).boxed_unsync())
        }
    })
    .await;
    let front = front(h2c(&upstream)).await;
    let mut client = RawClient::connect(front.addr).await;
    client.send(GET).await;
    for number in 0..3 {
        client.until(&format!("data: {number}\n\n")).await;
        go_on.notify_one();
    }
    client.until("0\r\n\r\n").await;
}

#[tokio::test]
async fn a_body_without_a_reachable_server_is_not_requested() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = listener.local_addr().unwrap();
    drop(listener);
    let front = front(proxy_with(settings(format!("http://{gone}")))).await;
    let request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    let mut client = RawClient::connect(front.addr).await;
    client.send(request).await;
    assert_eq!(status(&client.head().await), 502);
}

#[tokio::test]
async fn a_client_that_disconnects_ends_only_its_stream() {
    let (begun, ended) = (Arc::<Notify>::default(), Arc::<Notify>::default());
    let (came, went) = (Arc::clone(&begun), Arc::clone(&ended));
    let upstream = Upstream::h2c(move |request: Request<Incoming>| {
        let (came, went) = (Arc::clone(&came), Arc::clone(&went));
        async move {
            if request.uri().path() == "/slow" {
                let _gone = DropNotice(went);
                came.notify_one();
                std::future::pending::<()>().await;
            }
            text("hello")
        }
    })
    .await;
    let front = front(h2c(&upstream)).await;
    let mut client = RawClient::connect(front.addr).await;
    client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await;
    soon(begun.notified()).await;
    drop(client);
    soon(ended.notified()).await;
    assert_eq!(body(&exchange(front.addr, GET).await), "hello");
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn a_broken_body_over_http2_is_the_clients_fault() {
    let upstream = Upstream::h2c(echo).await;
    let proxy = h2c(&upstream);
    let front = front(proxy.clone()).await;
    let request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabXX\r\n";
    assert_eq!(status(&exchange(front.addr, request).await), 400);
    assert_eq!(proxy.servers()[0].failures, 0);
}

#[tokio::test]
async fn an_upstream_without_http2_is_a_bad_gateway() {
    let upstream = RawServer::start(|mut connection| async move {
        connection
            .send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            .await;
        connection.closed().await;
    })
    .await;
    let front = front(proxy_with(settings(format!("h2c://{}", upstream.addr)))).await;
    assert_eq!(status(&exchange(front.addr, GET).await), 502);
}

#[tokio::test]
async fn tls_uses_http2_only_if_configured() {
    let certificate = Certificate::new();
    for (protocols, http2, expected) in [
        (&["h2", "http/1.1"][..], true, Version::HTTP_2),
        (&["h2", "http/1.1"], false, Version::HTTP_11),
        (&["http/1.1"], true, Version::HTTP_11),
        (&[], true, Version::HTTP_11),
    ] {
        let upstream = Upstream::tls(&certificate, protocols, async |_| text("hello")).await;
        let front = front(tls(&upstream, &certificate, http2)).await;
        let mut client = RawClient::connect(front.addr).await;
        for _ in 0..3 {
            client.send(GET).await;
            assert_eq!(body(&client.response().await), "hello");
        }
        let seen = upstream.last();
        assert_eq!(seen.version, expected, "{protocols:?} {http2}");
        if expected == Version::HTTP_2 {
            assert_eq!(seen.uri, "https://site.example:81/a//b?c;d");
            assert_eq!(upstream.connections(), 1);
        } else {
            assert_eq!(seen.headers["host"], "site.example:81");
        }
    }
}

#[tokio::test]
async fn an_untrusted_certificate_is_a_bad_gateway() {
    let (right, wrong) = (Certificate::new(), Certificate::new());
    let upstream = Upstream::tls(&right, &["http/1.1"], async |_| text("hello")).await;
    tls(&upstream, &right, false).check().await.unwrap();
    let proxy = tls(&upstream, &wrong, false);
    let error = proxy.check().await.unwrap_err().to_string();
    assert!(error.contains("server.upstream_ca_file"), "{error}");
    assert!(
        !error.contains("check that the server is running"),
        "{error}"
    );
    let unknown = front(proxy).await;
    assert_eq!(status(&exchange(unknown.addr, GET).await), 502);
    // The certificate must have the URL's name.
    let other_name = proxy_with(ProxySettings {
        ca_file: Some(right.ca_file()),
        ..settings(format!("https://{}", upstream.addr))
    });
    let error = other_name.check().await.unwrap_err().to_string();
    assert!(error.contains("a name from the certificate"), "{error}");
    assert!(upstream.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trusted_authorities_also_apply_to_the_upstreams_robots_txt() {
    let (right, wrong) = (Certificate::new(), Certificate::new());
    let file = "User-agent: *\nDisallow: /theirs\n";
    let upstream = Upstream::tls(&right, &["http/1.1"], async move |_| text(file)).await;
    let port = upstream.addr.port();
    let home = tempfile::tempdir().unwrap();
    for (certificate, expected) in [
        (
            &right,
            format!("the upstream's file contains {} bytes", file.len()),
        ),
        (&wrong, "cannot connect securely".to_owned()),
    ] {
        let ca_file = certificate.ca_file();
        let config = format!(
            "web_robots_db = ''\n[server]\nupstream = 'https://localhost:{port}'\n\
             upstream_ca_file = '{}'\n[robots_txt]\nserve = 'merge'\n",
            ca_file.display()
        );
        fs::write(home.path().join("robot-detection.toml"), config).unwrap();
        let output = program::run(home.path(), &["doctor", "--offline"]);
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(report.contains(&expected), "{report}");
    }
}

/// Accepts an upgrade, and echoes received bytes.
fn upgrade(mut request: Request<Incoming>) -> Response<Body> {
    let upgraded = hyper::upgrade::on(&mut request);
    TaskTracker::new().spawn(async move {
        let mut io = TokioIo::new(upgraded.await.unwrap());
        let mut bytes = [0; 64];
        while let Ok(len @ 1..) = io.read(&mut bytes).await {
            io.write_all(&bytes[..len]).await.unwrap();
        }
    });
    Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .body(Full::new(Bytes::new()).boxed_unsync())
        .unwrap()
}

#[tokio::test]
async fn protocols_switch_over_tls_next_to_http2() {
    let certificate = Certificate::new();
    let upstream = Upstream::tls(
        &certificate,
        &["h2", "http/1.1"],
        async |request: Request<Incoming>| {
            if request.version() == Version::HTTP_2 {
                text("hello")
            } else {
                upgrade(request)
            }
        },
    )
    .await;
    let front = front(tls(&upstream, &certificate, true)).await;
    for _ in 0..2 {
        assert_eq!(body(&exchange(front.addr, GET).await), "hello");
        let mut client = RawClient::connect(front.addr).await;
        client
            .send(
                "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
            )
            .await;
        assert_eq!(status(&client.head().await), 101);
        client.send("ping").await;
        client.until("ping").await;
    }
    let versions: Vec<_> = upstream.seen().iter().map(|seen| seen.version).collect();
    let expected = [Version::HTTP_2, Version::HTTP_11];
    assert_eq!(versions, [expected, expected].concat());
}

#[tokio::test]
async fn a_server_behind_a_unix_socket_gets_requests_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.sock");
    let upstream = Upstream::unix(&path, async |request: Request<Incoming>| {
        if request.headers().contains_key("upgrade") {
            upgrade(request)
        } else {
            echo(request).await
        }
    });
    let url = format!("unix:{}", path.display());
    let own = proxy_with(ProxySettings {
        preserve_host: false,
        ..settings(url.clone())
    });
    own.check().await.unwrap();
    for (proxy, host) in [
        (proxy_with(settings(url)), "site.example:81"),
        (own, "localhost"),
    ] {
        let front = front(proxy).await;
        let mut client = RawClient::connect(front.addr).await;
        client
            .send(
                "POST /a//b?c;d HTTP/1.1\r\nHost: site.example:81\r\nContent-Length: 4\r\n\r\ndata",
            )
            .await;
        assert_eq!(body(&client.response().await), "data");
        let seen = upstream.last();
        assert_eq!(seen.uri, "/a//b?c;d");
        assert_eq!(seen.headers["host"], host);
        client
            .send(
                "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
            )
            .await;
        assert_eq!(status(&client.head().await), 101);
        client.send("ping").await;
        client.until("ping").await;
    }
    drop(upstream);
    fs::remove_file(&path).unwrap();
    let proxy = proxy_with(settings(format!("unix:{}", path.display())));
    let error = proxy.check().await.unwrap_err().to_string();
    assert!(error.contains("app.sock"), "{error}");
    assert_eq!(status(&exchange(front(proxy).await.addr, GET).await), 502);
}

#[tokio::test]
async fn endless_interim_responses_are_a_gateway_timeout() {
    let sent = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&sent);
    let upstream = RawServer::start(move |mut connection| {
        let count = Arc::clone(&count);
        async move {
            connection.request().await;
            let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
            while connection.stream.write_all(hint.as_bytes()).await.is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
    })
    .await;
    let proxy = proxy_with(ProxySettings {
        response_timeout: Duration::from_millis(300),
        ..settings(format!("http://{}", upstream.addr))
    });
    let front = front(proxy).await;
    let response = exchange(front.addr, GET).await;
    assert_eq!(status(&response), 504);
    assert!(header(&response, "link").is_empty(), "{response}");
    assert!(sent.load(Ordering::SeqCst) > 1);
}

#[test]
fn texts_for_visitors_are_those_of_the_site() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("texts");
    let settings = "[server]\nupstream = ['http://127.0.0.1:1']\ntexts_file = 'texts'\n";
    fs::write(directory.path().join("robot-detection.toml"), settings).unwrap();
    for (text, reason) in [
        ("[error-503]\nde Pause\n", "unknown text [error-503]"),
        (
            "[count]\nde Seiten\n",
            "[count] \"Seiten\" needs each {} of \"Pages for robots",
        ),
        (
            "[error-502]\nPause\n",
            "line 2: expected [KEY] or one of en, de",
        ),
    ] {
        fs::write(&file, text).unwrap();
        let refused = program::run(directory.path(), &["validate"]);
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(
            error.contains(&format!("server.texts_file: {reason}")),
            "{error}"
        );
    }
    fs::write(&file, "# Ours.\n[error-502]\nde Wir machen <eine> Pause.\n").unwrap();
    let server = Server::start(directory.path(), &["serve"]);
    for (language, text) in [
        ("de-CH", "Wir machen &lt;eine> Pause."),
        ("fr", "Le site ne répond pas."),
    ] {
        let headers = [("Accept", "text/html"), ("Accept-Language", language)];
        let page = program::request(server.addr, "GET", "/", &headers);
        assert_eq!(page.status, 502);
        assert!(page.text().contains(text), "{}", page.text());
    }
}
