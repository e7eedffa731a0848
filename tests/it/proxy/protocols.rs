//! HTTP/2 from clients, and protocol switches.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::{Request, Version};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use robot_detection::listen::ListenSettings;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::task::TaskTracker;

use crate::support::{
    front::{ProxyServer, listen_settings, proxy},
    raw::{RawClient, RawServer, body, exchange, header, soon, status},
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

async fn http2<B>(front: &ProxyServer) -> http2::SendRequest<B>
where
    B: hyper::body::Body<Data = Bytes, Error = std::convert::Infallible> + Send + Unpin + 'static,
{
    let stream = TcpStream::connect(front.addr).await.unwrap();
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    TaskTracker::new().spawn(connection);
    sender
}

#[tokio::test]
async fn http2_by_prior_knowledge_becomes_http_1_1() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = http2(&front).await;
    let request = Request::get("http://site.example:81/a//b?c;d")
        .header("cookie", "a=1")
        .header("cookie", "b=2")
        .header("x-forwarded-for", "203.0.113.9")
        .body(Empty::new())
        .unwrap();
    let response = soon(client.send_request(request)).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), response.version()),
        (200, Version::HTTP_2)
    );
    assert_eq!(response.collect().await.unwrap().to_bytes(), "ok");
    let received = upstream.last_request();
    assert!(
        received.starts_with("GET /a//b?c;d HTTP/1.1\r\n"),
        "{received}"
    );
    assert_eq!(header(&received, "host"), ["site.example:81"]);
    assert_eq!(header(&received, "cookie"), ["a=1; b=2"]);
    assert_eq!(header(&received, "x-forwarded-for"), ["127.0.0.1"]);
    assert!(
        header(&received, "via")[0].starts_with("2.0 "),
        "{received}"
    );
}

#[tokio::test]
async fn http2_uploads_and_streams_share_a_connection() {
    let upstream = RawServer::start(|mut connection| async move {
        while let Some(request) = connection.request().await {
            let text = body(&request);
            let len = text.len();
            connection
                .send(format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n{text}"
                ))
                .await;
        }
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let client = http2(&front).await;
    let uploads = (0..20).map(|number| {
        let mut client = client.clone();
        async move {
            let text = format!("{number} ").repeat(50_000);
            let request = Request::post("http://site.example/")
                .header("content-length", text.len())
                .body(Full::new(Bytes::from(text.clone())))
                .unwrap();
            let response = client.send_request(request).await.unwrap();
            assert_eq!(response.collect().await.unwrap().to_bytes(), text);
        }
    });
    soon(futures_util::future::join_all(uploads)).await;
}

/// A server that never responds, and signals when its request arrives and ends.
async fn silent() -> (RawServer, Arc<Notify>, Arc<Notify>) {
    let (begun, ended) = (Arc::<Notify>::default(), Arc::<Notify>::default());
    let (came, went) = (Arc::clone(&begun), Arc::clone(&ended));
    let upstream = RawServer::start(move |mut connection| {
        let (came, went) = (Arc::clone(&came), Arc::clone(&went));
        async move {
            connection.request().await;
            came.notify_one();
            connection.closed().await;
            went.notify_one();
        }
    })
    .await;
    (upstream, begun, ended)
}

#[tokio::test]
async fn a_reset_stream_cancels_the_upstreams_request() {
    let (upstream, begun, ended) = silent().await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = http2(&front).await;
    let request = Request::get("http://a/")
        .body(Empty::<Bytes>::new())
        .unwrap();
    let waiting = TaskTracker::new().spawn(client.send_request(request));
    soon(begun.notified()).await;
    waiting.abort();
    soon(ended.notified()).await;
}

#[tokio::test]
async fn shutdown_closes_endless_streams() {
    let (upstream, begun, ended) = silent().await;
    let settings = ListenSettings {
        drain_timeout: Duration::from_millis(100),
        ..listen_settings()
    };
    let mut front = ProxyServer::serve_proxy(settings, proxy(upstream.addr)).await;
    let mut client = http2(&front).await;
    let request = Request::get("http://a/")
        .body(Empty::<Bytes>::new())
        .unwrap();
    let waiting = TaskTracker::new().spawn(client.send_request(request));
    soon(begun.notified()).await;
    front.stop.cancel();
    soon(&mut front.done).await.unwrap();
    soon(ended.notified()).await;
    assert!(soon(waiting).await.unwrap().is_err());
}

#[tokio::test]
async fn a_host_that_differs_from_the_authority_is_refused() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = http2(&front).await;
    let request = Request::get("http://site.example/")
        .header("host", "other.example")
        .body(Empty::<Bytes>::new())
        .unwrap();
    assert_eq!(
        soon(client.send_request(request)).await.unwrap().status(),
        400
    );
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn websocket_messages_pass_in_both_directions() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let tasks = TaskTracker::new();
    tasks.spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        while let Some(Ok(message)) = socket.next().await {
            if message.is_text() || message.is_binary() {
                socket.send(message).await.unwrap();
            }
        }
    });
    let front = ProxyServer::proxy(addr).await;
    let url = format!("ws://{}/chat?room=1", front.addr);
    let (mut socket, response) = tokio_tungstenite::connect_async(url).await.unwrap();
    assert_eq!(response.status(), 101);
    let large = "y".repeat(200_000);
    for text in ["hello", "", &large] {
        socket.send(Message::text(text)).await.unwrap();
        let echo = soon(socket.next()).await.unwrap().unwrap();
        assert_eq!(echo.into_text().unwrap().as_str(), text);
    }
    socket.close(None).await.unwrap();
    soon(async { while socket.next().await.is_some_and(|message| message.is_ok()) {} }).await;
    tasks.close();
    soon(tasks.wait()).await;
}

const WEBSOCKET: &str =
    "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n";

#[tokio::test]
async fn bytes_after_the_switch_pass_unchanged_up_to_the_end() {
    let upstream = RawServer::start(|mut connection| async move {
        connection.request().await;
        // The first bytes of the new protocol arrive with the head.
        connection
            .send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-A: 1\r\n\r\nGET hello\r\n\r\n")
            .await;
        connection.closed().await;
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    client.send(WEBSOCKET).await;
    let head = client.head().await;
    assert_eq!(status(&head), 101);
    assert_eq!(header(&head, "upgrade"), ["websocket"]);
    assert_eq!(header(&head, "connection"), ["upgrade"]);
    assert_eq!(header(&head, "x-a"), ["1"]);
    client.until("GET hello\r\n\r\n").await;
    let received = upstream.last_request();
    assert_eq!(header(&received, "connection"), ["upgrade"]);
    assert_eq!(header(&received, "upgrade"), ["websocket"]);
    // When the client ends, so does the upstream's side, and then the client's.
    tokio::io::AsyncWriteExt::shutdown(&mut client.stream)
        .await
        .unwrap();
    assert_eq!(client.rest().await, b"");
}

#[tokio::test]
async fn without_a_101_the_protocol_is_not_switched() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    // The following bytes are the next request, not the new protocol.
    client
        .send(format!(
            "{WEBSOCKET}GET /next HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n"
        ))
        .await;
    for _ in 0..2 {
        let response = client.response().await;
        assert_eq!((status(&response), body(&response)), (200, "ok"));
    }
    let received = upstream.requests();
    assert_eq!(received.len(), 2);
    assert_eq!(header(&received[1], "x-forwarded-for"), ["127.0.0.1"]);
}

#[tokio::test]
async fn an_upgrade_that_would_hide_requests_is_not_forwarded() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    for lines in [
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
        "Connection: Upgrade\r\nUpgrade: websocket, H2C",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c",
        "Connection: Upgrade\r\nUpgrade: HTTP/2.0",
        "Connection: keep-alive\r\nUpgrade: websocket",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked",
    ] {
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n0\r\n\r\n");
        assert_eq!(status(&exchange(front.addr, request).await), 200, "{lines}");
        let received = upstream.last_request();
        for name in ["upgrade", "connection", "http2-settings"] {
            assert!(header(&received, name).is_empty(), "{lines}: {received}");
        }
    }
}

#[tokio::test]
async fn an_unrequested_switch_is_a_bad_gateway() {
    for asked in ["", "Connection: Upgrade\r\nUpgrade: foo\r\n"] {
        let upstream = RawServer::answering(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        )
        .await;
        let front = ProxyServer::proxy(upstream.addr).await;
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{asked}\r\n");
        assert_eq!(status(&exchange(front.addr, request).await), 502, "{asked}");
    }
}

#[tokio::test]
async fn closing_the_proxy_closes_its_tunnels() {
    let upstream = RawServer::start(|mut connection| async move {
        connection.request().await;
        connection
            .send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            .await;
        connection.closed().await;
    })
    .await;
    let proxy = proxy(upstream.addr);
    let front = ProxyServer::serve_proxy(listen_settings(), proxy.clone()).await;
    let mut client = RawClient::connect(front.addr).await;
    client.send(WEBSOCKET).await;
    assert_eq!(status(&client.head().await), 101);
    soon(proxy.close()).await;
    assert_eq!(client.rest().await, b"");
}
