//! Limits of connections, heads and bodies.

use std::{convert::Infallible, time::Duration};

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use robot_detection::listen::{BodyGuard, ListenSettings};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_util::task::TaskTracker;

use crate::support::{
    eventually::eventually_async,
    front::{ProxyServer, listen_settings, proxy},
    raw::{RawClient, RawServer, exchange, soon, status},
};

use super::{GET, ask, serve_echo, trusting};

const KEPT: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const SHORT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn an_address_has_a_limited_number_of_connections() {
    let front = serve_echo(ListenSettings {
        max_connections_per_address: 2,
        ..listen_settings()
    })
    .await;
    let mut first = RawClient::connect(front.addr).await;
    let mut second = RawClient::connect(front.addr).await;
    for client in [&mut first, &mut second] {
        client.send(KEPT).await;
        assert_eq!(status(&client.response().await), 200);
    }
    let third = TcpStream::connect(front.addr).await.unwrap();
    assert_eq!(ask(third, GET).await, "");
    // Existing connections continue, and their places become free.
    second.send(KEPT).await;
    assert_eq!(status(&second.response().await), 200);
    second.send(GET).await;
    second.rest().await;
    eventually_async("a connection is allowed again", async || {
        let stream = TcpStream::connect(front.addr).await.unwrap();
        !ask(stream, GET).await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn trusted_proxies_are_exempt_from_the_limit_but_the_clients_they_name_are_not() {
    let settings = ListenSettings {
        max_connections_per_address: 1,
        ..trusting(&["127.0.0.1"])
    };
    let front = serve_echo(settings.clone()).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = RawClient::connect(front.addr).await;
        client.send(KEPT).await;
        assert_eq!(status(&client.response().await), 200);
        clients.push(client);
    }
    let front = serve_echo(ListenSettings {
        proxy_protocol: true,
        ..settings
    })
    .await;
    let mut first = RawClient::connect(front.addr).await;
    first
        .send(format!("PROXY TCP4 192.0.2.1 10.0.0.1 1 2\r\n{KEPT}"))
        .await;
    assert_eq!(status(&first.response().await), 200);
    for (client, is_served) in [("192.0.2.1", false), ("192.0.2.2", true)] {
        let stream = TcpStream::connect(front.addr).await.unwrap();
        let request = format!("PROXY TCP4 {client} 10.0.0.1 1 2\r\n{GET}");
        assert_eq!(
            !ask(stream, request).await.is_empty(),
            is_served,
            "{client}"
        );
    }
}

fn with_headers(count: usize, len: usize) -> String {
    let mut request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n".to_owned();
    for number in 2..count {
        request.extend([&format!("x-{number}: "), &"x".repeat(len), "\r\n"]);
    }
    request + "\r\n"
}

#[tokio::test]
async fn too_many_headers_or_header_bytes_are_431() {
    for (max_headers, count, expected) in [
        (100, 100, 200),
        (100, 101, 431),
        (10, 10, 200),
        (10, 11, 431),
        (200, 200, 200),
        (200, 201, 431),
    ] {
        let front = serve_echo(ListenSettings {
            max_headers,
            ..listen_settings()
        })
        .await;
        let stream = TcpStream::connect(front.addr).await.unwrap();
        let answer = ask(stream, with_headers(count, 1)).await;
        assert_eq!(status(&answer), expected, "{count} of {max_headers}");
    }
    let front = serve_echo(ListenSettings {
        max_header_bytes: 8192,
        ..listen_settings()
    })
    .await;
    for (len, expected) in [(50, 200), (1000, 431)] {
        let stream = TcpStream::connect(front.addr).await.unwrap();
        assert_eq!(status(&ask(stream, with_headers(20, len)).await), expected);
    }
}

#[tokio::test]
async fn too_long_header_lines_are_431_and_targets_414() {
    let front = serve_echo(ListenSettings {
        max_header_line_bytes: 2000,
        ..listen_settings()
    })
    .await;
    for (header, target, expected) in [
        (1990, 2000, 200),
        (2000, 10, 431),
        (20_000, 10, 431),
        (10, 2001, 414),
        (10, 20_000, 414),
    ] {
        let (header, target) = ("y".repeat(header - 3), "x".repeat(target - 1));
        let request = format!(
            "GET /{target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nlong: {header}\r\n\r\n"
        );
        for first in [KEPT, ""] {
            let mut client = RawClient::connect(front.addr).await;
            if !first.is_empty() {
                client.send(first).await;
                assert_eq!(status(&client.response().await), 200);
            }
            let (head, tail) = request.split_at(request.len() / 2);
            client.send(head).await;
            client.send(tail).await;
            let answer = client.response().await;
            assert_eq!(
                status(&answer),
                expected,
                "{} {}",
                header.len(),
                target.len()
            );
        }
    }
}

#[tokio::test]
async fn a_length_with_chunked_coding_is_400_and_closes_the_connection() {
    let front = serve_echo(listen_settings()).await;
    for (length, expected) in [("", 200), ("Content-Length: abc\r\n", 400)] {
        let mut client = RawClient::connect(front.addr).await;
        client.send(KEPT).await;
        assert_eq!(status(&client.response().await), 200);
        client
            .send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n")
            .await;
        client
            .send(format!("{length}\r\n2\r\nok\r\n0\r\n\r\n"))
            .await;
        let answer = client.response().await;
        assert_eq!(status(&answer), expected, "{length}");
        assert!(answer.contains("onnection: close"), "{answer}");
    }
}

#[tokio::test]
async fn an_early_response_announces_the_end_of_the_connection() {
    let nobody = proxy(([127, 0, 0, 1], 1).into());
    let front = ProxyServer::serve(listen_settings(), nobody).await;
    for (method, length, closes) in [("GET", 0, false), ("POST", 0, false), ("POST", 4, true)] {
        let mut client = RawClient::connect(front.addr).await;
        client
            .send(format!(
                "{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"
            ))
            .await;
        let answer = client.response().await;
        assert_eq!(status(&answer), 502);
        assert_eq!(answer.contains("onnection: close"), closes, "{answer}");
    }
}

#[tokio::test]
async fn a_client_still_sending_its_body_is_not_reset_by_an_early_response() {
    let nobody = proxy(([127, 0, 0, 1], 1).into());
    let settings = ListenSettings {
        max_body_bytes: 200_000,
        ..listen_settings()
    };
    let front = ProxyServer::serve(settings, nobody).await;
    for (length, expected) in [(100_000, 502), (500_000, 413)] {
        let mut client = TcpStream::connect(front.addr).await.unwrap();
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(status(&answer), expected);
        // After a reset, the second write would fail.
        for _ in 0..10 {
            client.write_all(&[b'x'; 10_000]).await.unwrap();
        }
    }
}

async fn http2(front: &ProxyServer) -> hyper::client::conn::http2::SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(front.addr).await.unwrap();
    let (client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    TaskTracker::new().spawn(connection);
    client
}

#[tokio::test]
async fn limits_apply_to_http2_too() {
    let front = serve_echo(ListenSettings {
        max_headers: 10,
        max_body_bytes: 4,
        ..listen_settings()
    })
    .await;
    let mut client = http2(&front).await;
    for (headers, body, expected) in [
        (9, "", StatusCode::OK),
        (11, "", StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
        (1, "1234", StatusCode::OK),
        (1, "12345", StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        let mut request = Request::post("http://a/");
        // A body adds a Content-Length header.
        for number in usize::from(!body.is_empty())..headers {
            request = request.header(format!("x-{number}"), "x");
        }
        let request = request.body(Full::from(body)).unwrap();
        let response = soon(client.send_request(request)).await.unwrap();
        assert_eq!(response.status(), expected, "{headers} {body:?}");
    }
    for (header, target, expected) in [
        (8000, 8000, StatusCode::OK),
        (9000, 10, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
        (10, 9000, StatusCode::URI_TOO_LONG),
    ] {
        let request = Request::get(format!("http://a/{}", "x".repeat(target - 1)))
            .header("x", "y".repeat(header))
            .body(Full::default())
            .unwrap();
        let response = soon(client.send_request(request)).await.unwrap();
        assert_eq!(response.status(), expected, "{header} {target}");
    }
}

#[tokio::test]
async fn a_body_with_a_length_above_the_limit_is_413_and_not_forwarded() {
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let settings = ListenSettings {
        max_body_bytes: 4,
        ..listen_settings()
    };
    let front = ProxyServer::serve_proxy(settings, proxy(upstream.addr)).await;
    let post = |len: usize| format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {len}\r\n\r\n");
    let answer = exchange(front.addr, post(4) + "1234").await;
    assert_eq!(status(&answer), 200);
    // The response comes before the body, which need not be sent.
    let mut client = RawClient::connect(front.addr).await;
    client.send(post(5)).await;
    let answer = client.response().await;
    assert_eq!(status(&answer), 413);
    assert!(answer.contains("onnection: close"), "{answer}");
    assert!(client.rest().await.is_empty());
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_chunked_body_above_the_limit_is_413_and_never_complete() {
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let settings = ListenSettings {
        max_body_bytes: 8,
        ..listen_settings()
    };
    let front = ProxyServer::serve_proxy(settings, proxy(upstream.addr)).await;
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let fits = exchange(front.addr, format!("{head}8\r\n12345678\r\n0\r\n\r\n")).await;
    assert_eq!(status(&fits), 200);
    let grows = exchange(
        front.addr,
        format!("{head}8\r\n12345678\r\n1\r\n9\r\n0\r\n\r\n"),
    )
    .await;
    assert_eq!(status(&grows), 413, "{grows}");
    // The upstream never saw the end of the body.
    assert_eq!(upstream.requests().len(), 1);
}

/// Reads the whole body within its limits, and reports the result.
async fn read(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let (parts, body) = request.into_parts();
    let guard = parts.extensions.get::<BodyGuard>().cloned();
    let read = guard.unwrap().watch(body).collect().await;
    let text = match read {
        Ok(body) => format!("read {}", body.to_bytes().len()),
        Err(error) => error.to_string(),
    };
    Ok(Response::new(text))
}

#[tokio::test]
async fn a_service_gets_an_error_for_a_body_that_is_too_large() {
    let settings = ListenSettings {
        max_body_bytes: 3,
        ..listen_settings()
    };
    let front = ProxyServer::serve(settings, tower::service_fn(read)).await;
    let request = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n0\r\n\r\n";
    let answer = ask(TcpStream::connect(front.addr).await.unwrap(), request).await;
    assert!(
        answer.ends_with("the request body is larger than 3 bytes"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_client_that_stalls_within_a_body_is_disconnected() {
    let settings = ListenSettings {
        idle_timeout: SHORT,
        ..listen_settings()
    };
    let front = ProxyServer::serve(settings, tower::service_fn(read)).await;
    let mut slow = RawClient::connect(front.addr).await;
    slow.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345")
        .await;
    let mut whole = RawClient::connect(front.addr).await;
    whole
        .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345")
        .await;
    assert!(whole.response().await.ends_with("read 5"));
    assert!(slow.rest().await.is_empty());
}
