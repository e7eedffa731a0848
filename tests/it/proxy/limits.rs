//! Idle connections, timeouts, upstream failures, shutdown.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use robot_detection::{
    listen::{ListenSettings, Listener},
    proxy::{ProxyError, ProxySettings},
};
use tokio::{net::TcpListener, sync::Notify};
use tokio_util::task::TaskTracker;

use crate::support::{
    eventually::eventually_async,
    front::{ProxyServer, listen_settings, proxy, proxy_settings, proxy_with},
    raw::{RawClient, RawServer, body, exchange, header, soon, status},
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\ndata";
const SHORT: Duration = Duration::from_millis(200);

/// Returns an address without a listener.
async fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    for number in 0..50 {
        client.send(if number % 2 == 0 { GET } else { POST }).await;
        assert_eq!(status(&client.response().await), 200);
    }
    assert_eq!(upstream.requests().len(), 50);
    // The connection becomes idle a moment after the response was sent.
    assert!(upstream.connections() <= 2, "{}", upstream.connections());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_share_few_connections() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let addr = front.addr;
    let clients = TaskTracker::new();
    for _ in 0..16 {
        clients.spawn(async move {
            let mut client = RawClient::connect(addr).await;
            for _ in 0..50 {
                client.send(GET).await;
                assert_eq!(status(&client.response().await), 200);
            }
        });
    }
    clients.close();
    soon(clients.wait()).await;
    assert_eq!(upstream.requests().len(), 800);
    // One for each client, and some because connections become idle a moment later.
    assert!(upstream.connections() <= 48, "{}", upstream.connections());
}

#[tokio::test]
async fn a_dead_idle_connection_loses_no_request() {
    let closed = Arc::new(Notify::new());
    let ended = Arc::clone(&closed);
    let upstream = RawServer::start(move |mut connection| {
        let ended = Arc::clone(&ended);
        async move {
            // One request for each connection, without announcing its end.
            connection.request().await;
            connection.send(OK).await;
            drop(connection);
            ended.notify_one();
        }
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    for number in 1..=20 {
        client.send(if number % 2 == 0 { GET } else { POST }).await;
        let response = client.response().await;
        assert_eq!(status(&response), 200, "request {number}");
        soon(closed.notified()).await;
        // The system has closed the connection; opening another makes the runtime notice.
        drop(RawClient::connect(front.addr).await);
    }
    assert_eq!(upstream.connections(), 20);
}

/// Starts a server that closes reused connections, after sending these bytes.
async fn closing_on_reuse(answer: &'static str) -> RawServer {
    RawServer::start(move |mut connection| async move {
        connection.request().await;
        connection.send(OK).await;
        connection.request().await;
        connection.send(answer).await;
    })
    .await
}

#[tokio::test]
async fn an_idle_connection_that_closes_on_reuse_loses_no_repeatable_request() {
    let upstream = closing_on_reuse("").await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    for number in 1..=20 {
        client.send(GET).await;
        assert_eq!(status(&client.response().await), 200, "request {number}");
    }
    assert!(upstream.requests().len() > 20, "no connection was reused");
}

#[tokio::test]
async fn a_non_idempotent_request_is_not_repeated() {
    for request in [
        POST,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
    ] {
        let upstream = closing_on_reuse("").await;
        let front = ProxyServer::proxy(upstream.addr).await;
        let mut client = RawClient::connect(front.addr).await;
        let mut sent = 0;
        // The first connection becomes idle a moment after the first response.
        let answer = loop {
            client.send(request).await;
            sent += 1;
            let answer = client.response().await;
            if status(&answer) != 200 || sent == 20 {
                break answer;
            }
        };
        assert_eq!(status(&answer), 502);
        assert_eq!(upstream.requests().len(), sent);
    }
}

#[tokio::test]
async fn a_request_is_not_repeated_after_part_of_a_response() {
    let upstream = closing_on_reuse("HTTP/1.1 2").await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    let mut sent = 0;
    let answer = loop {
        client.send(GET).await;
        sent += 1;
        let answer = client.response().await;
        if status(&answer) != 200 || sent == 20 {
            break answer;
        }
    };
    assert_eq!(status(&answer), 502);
    assert_eq!(upstream.requests().len(), sent);
}

#[tokio::test]
async fn an_unreachable_upstream_is_a_bad_gateway() {
    let front = ProxyServer::proxy(nobody().await).await;
    let response = exchange(
        front.addr,
        "GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n",
    )
    .await;
    assert_eq!(status(&response), 502);
    assert_eq!(
        header(&response, "content-type"),
        ["text/html; charset=utf-8"]
    );
    assert_eq!(header(&response, "cache-control"), ["no-store"]);
    assert_eq!(header(&response, "retry-after").len(), 1);
    assert!(
        body(&response).contains("<h1>502 Bad Gateway</h1>"),
        "{response}"
    );
    assert!(
        !response.contains("127.0.0.1") && !response.contains("refused"),
        "{response}"
    );

    let response = exchange(front.addr, POST).await;
    assert_eq!(
        header(&response, "content-type"),
        ["text/plain; charset=utf-8"]
    );
    assert!(
        body(&response).starts_with("502 Bad Gateway\n"),
        "{response}"
    );
}

#[tokio::test]
async fn invalid_http_is_a_bad_gateway() {
    for answer in [
        "",
        "\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ] {
        let upstream = RawServer::start(move |mut connection| async move {
            connection.request().await;
            connection.send(answer).await;
        })
        .await;
        let front = ProxyServer::proxy(upstream.addr).await;
        let response = exchange(front.addr, GET).await;
        assert_eq!(status(&response), 502, "{answer:?}: {response}");
        assert_eq!(upstream.requests().len(), 1, "{answer:?}");
    }
}

#[tokio::test]
async fn an_endless_head_is_a_bad_gateway() {
    let upstream = RawServer::start(|mut connection| async move {
        connection.request().await;
        connection.send("HTTP/1.1 200 OK\r\n").await;
        let line = format!("X-Long: {}\r\n", "x".repeat(60_000));
        for _ in 0..20 {
            connection.send(&line).await;
        }
        connection.closed().await;
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    assert_eq!(status(&exchange(front.addr, GET).await), 502);
}

#[tokio::test]
async fn a_silent_upstream_is_a_gateway_timeout() {
    let upstream = RawServer::start(|mut connection| async move {
        connection.request().await;
        connection.closed().await;
    })
    .await;
    let settings = ProxySettings {
        response_timeout: SHORT,
        ..proxy_settings(upstream.addr)
    };
    let front = ProxyServer::serve_proxy(listen_settings(), proxy_with(settings)).await;
    for request in [GET, POST] {
        let response = exchange(front.addr, request).await;
        assert_eq!(status(&response), 504);
        assert!(
            body(&response).starts_with("504 Gateway Timeout\n"),
            "{response}"
        );
    }
}

#[tokio::test]
async fn a_stalled_upload_is_a_request_timeout() {
    let upstream = RawServer::answering(OK).await;
    let settings = ProxySettings {
        response_timeout: SHORT,
        ..proxy_settings(upstream.addr)
    };
    let front = ProxyServer::serve_proxy(listen_settings(), proxy_with(settings)).await;
    let request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nxx";
    assert_eq!(status(&exchange(front.addr, request).await), 408);
}

#[tokio::test]
async fn a_stalled_response_is_closed() {
    let upstream = RawServer::start(|mut connection| async move {
        connection.request().await;
        connection
            .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
            .await;
        connection.closed().await;
    })
    .await;
    let front =
        ProxyServer::serve_proxy(listen_settings(), proxy(upstream.addr).idle_timeout(SHORT)).await;
    let mut client = RawClient::connect(front.addr).await;
    client.send(GET).await;
    client.head().await;
    assert_eq!(client.rest().await, b"abc");
}

#[tokio::test]
async fn the_upstream_check_connects() {
    let upstream = RawServer::answering(OK).await;
    proxy(upstream.addr).check().await.unwrap();
    let addr = nobody().await;
    let error = proxy(addr).check().await.unwrap_err();
    assert!(matches!(error, ProxyError::Connect { .. }));
    let text = error.to_string();
    assert!(
        text.contains(&addr.to_string()) && text.contains("refused"),
        "{text}"
    );
}

#[tokio::test]
async fn an_https_upstream_without_tls_is_a_bad_gateway() {
    let upstream = RawServer::start(|mut connection| async move {
        connection.send("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;
    let settings = ProxySettings {
        servers: vec![format!("https://{}", upstream.addr)],
        ..proxy_settings(upstream.addr)
    };
    let proxy = proxy_with(settings);
    assert!(proxy.check().await.is_err());
    let front = ProxyServer::serve_proxy(listen_settings(), proxy).await;
    assert_eq!(status(&exchange(front.addr, GET).await), 502);
}

#[tokio::test]
async fn shutdown_waits_for_a_slow_response() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (started, released) = (Arc::clone(&begun), Arc::clone(&go_on));
    let upstream = RawServer::start(move |mut connection| {
        let (started, released) = (Arc::clone(&started), Arc::clone(&released));
        async move {
            connection.request().await;
            connection
                .send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nfir")
                .await;
            started.notify_one();
            released.notified().await;
            connection.send("st!").await;
            connection.closed().await;
        }
    })
    .await;
    let mut front = ProxyServer::proxy(upstream.addr).await;
    let mut idle = RawClient::connect(front.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    client.send(GET).await;
    soon(begun.notified()).await;
    front.stop.cancel();
    // New connections are refused, and idle clients are disconnected.
    assert_eq!(idle.rest().await, b"");
    soon(async { while tokio::net::TcpStream::connect(front.addr).await.is_ok() {} }).await;
    assert!(!front.done.is_finished());
    go_on.notify_one();
    assert_eq!(body(&client.response().await), "first!");
    assert_eq!(client.rest().await, b"");
    soon(&mut front.done).await.unwrap();
}

#[tokio::test]
async fn shutdown_closes_endless_responses() {
    let upstream = RawServer::start(|mut connection| async move {
        connection.request().await;
        connection.closed().await;
    })
    .await;
    let settings = ListenSettings {
        drain_timeout: SHORT,
        ..listen_settings()
    };
    let mut front = ProxyServer::serve_proxy(settings, proxy(upstream.addr)).await;
    let mut client = RawClient::connect(front.addr).await;
    client.send(GET).await;
    eventually_async("the request has arrived", async || {
        !upstream.requests().is_empty()
    })
    .await;
    front.stop.cancel();
    soon(&mut front.done).await.unwrap();
    assert_eq!(client.rest().await, b"");
}

#[tokio::test]
async fn clients_without_a_request_are_disconnected() {
    let upstream = RawServer::answering(OK).await;
    let settings = ListenSettings {
        header_timeout: SHORT,
        idle_timeout: SHORT,
        ..listen_settings()
    };
    let front = ProxyServer::serve_proxy(settings, proxy(upstream.addr)).await;
    for start in [
        "",
        "PRI * HTTP/2",
        "GET / HTTP/1.1\r\nHos",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        let mut client = RawClient::connect(front.addr).await;
        client.send(start).await;
        if start.ends_with("\r\n\r\n") {
            assert_eq!(status(&client.response().await), 200);
        }
        assert_eq!(client.rest().await, b"", "{start:?}");
    }
}

#[tokio::test]
async fn a_slow_head_is_closed() {
    let upstream = RawServer::answering(OK).await;
    let settings = ListenSettings {
        header_timeout: SHORT,
        ..listen_settings()
    };
    let front = ProxyServer::serve_proxy(settings, proxy(upstream.addr)).await;
    let mut client = RawClient::connect(front.addr).await;
    client.send("GET / HTTP/1.1\r\n").await;
    let mut lines = tokio::time::interval(SHORT / 10);
    let dripping = async {
        loop {
            lines.tick().await;
            if tokio::io::AsyncWriteExt::write_all(&mut client.stream, b"X: y\r\n")
                .await
                .is_err()
            {
                return;
            }
        }
    };
    soon(dripping).await;
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn a_too_large_head_is_refused() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let lines = "X: y\r\n".repeat(200);
    let response = exchange(
        front.addr,
        format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n"),
    )
    .await;
    assert_eq!(status(&response), 431);
    let long = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "y".repeat(100_000)
    );
    let response = exchange(front.addr, long).await;
    assert_eq!(status(&response), 431);
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn excess_connections_wait() {
    let upstream = RawServer::answering(OK).await;
    let settings = ListenSettings {
        max_connections: 1,
        ..listen_settings()
    };
    let front = ProxyServer::serve_proxy(settings, proxy(upstream.addr)).await;
    let mut first = RawClient::connect(front.addr).await;
    first.send(GET).await;
    assert_eq!(status(&first.response().await), 200);
    let mut second = RawClient::connect(front.addr).await;
    second.send(GET).await;
    let waits = tokio::time::timeout(SHORT, second.stream.readable()).await;
    assert!(waits.is_err(), "served together with the first");
    drop(first);
    assert_eq!(status(&second.response().await), 200);
}

#[tokio::test]
async fn a_port_in_use_is_reported() {
    let front = ProxyServer::proxy(nobody().await).await;
    let settings = ListenSettings {
        addr: front.addr.into(),
        ..listen_settings()
    };
    let error = Listener::bind(settings).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}
