//! WebSocket connections over HTTP/2 (RFC 8441), to an HTTP/1.1 server.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Empty};
use hyper::{body::Incoming, client::conn::http2, ext::Protocol};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::server::{Request as Asked, Response as Answer},
        protocol::Role,
    },
};
use tokio_util::task::TaskTracker;

use crate::support::{
    front::{ProxyServer, listen_settings, proxy},
    raw::{RawServer, header, soon},
};

type Client = http2::SendRequest<Empty<Bytes>>;

async fn client(front: &ProxyServer) -> Client {
    let stream = TcpStream::connect(front.addr).await.unwrap();
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    TaskTracker::new().spawn(connection);
    // The server's settings arrive with the response, which comes from the proxy itself.
    let request = Request::trace("http://a/").body(Empty::new()).unwrap();
    let answer = soon(sender.send_request(request)).await.unwrap();
    assert_eq!(answer.status(), 501);
    sender
}

async fn connect(client: &mut Client, protocol: Option<&'static str>) -> Response<Incoming> {
    let uri = match protocol {
        Some(_) => "http://site.example/chat?room=1",
        None => "site.example:80",
    };
    let mut request = Request::builder()
        .method(Method::CONNECT)
        .uri(uri)
        .header("sec-websocket-protocol", "echo")
        .header("x-forwarded-for", "203.0.113.9")
        .body(Empty::new())
        .unwrap();
    if let Some(protocol) = protocol {
        let protocol = Protocol::from_static(protocol);
        request.extensions_mut().insert(protocol);
    }
    soon(client.send_request(request)).await.unwrap()
}

#[tokio::test]
async fn messages_pass_in_both_directions_on_several_streams() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let tasks = TaskTracker::new();
    let accepting = tasks.clone();
    tasks.spawn(async move {
        for _ in 0..3 {
            let (stream, _) = listener.accept().await.unwrap();
            #[expect(clippy::result_large_err, reason = "required by tungstenite")]
            let check = |asked: &Asked, mut answer: Answer| {
                assert_eq!(asked.uri(), "/chat?room=1");
                assert_eq!(asked.headers()["host"], "site.example");
                assert_eq!(asked.headers()["x-forwarded-for"], "127.0.0.1");
                let name = "sec-websocket-protocol";
                let protocol = asked.headers()[name].clone();
                answer.headers_mut().insert(name, protocol);
                Ok(answer)
            };
            accepting.spawn(async move {
                let accepting = tokio_tungstenite::accept_hdr_async(stream, check);
                let mut socket = accepting.await.unwrap();
                while let Some(Ok(message)) = socket.next().await {
                    if message.is_text() {
                        socket.send(message).await.unwrap();
                    }
                }
            });
        }
    });
    let proxy = proxy(addr);
    let front = ProxyServer::serve_proxy(listen_settings(), proxy.clone()).await;
    let mut client = client(&front).await;
    let mut sockets = Vec::new();
    for _ in 0..3 {
        let response = connect(&mut client, Some("websocket")).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["sec-websocket-protocol"], "echo");
        for name in ["upgrade", "connection", "sec-websocket-accept"] {
            assert!(!response.headers().contains_key(name), "{name}");
        }
        let upgraded = hyper::upgrade::on(response).await.unwrap();
        let io = TokioIo::new(upgraded);
        sockets.push(WebSocketStream::from_raw_socket(io, Role::Client, None).await);
    }
    assert_eq!(proxy.servers()[0].in_flight, 3);
    let large = "y".repeat(300_000);
    for socket in &mut sockets {
        for text in ["hello", "", &large] {
            socket.send(Message::text(text)).await.unwrap();
            let echo = soon(socket.next()).await.unwrap().unwrap();
            assert!(echo.into_text().unwrap().as_str() == text);
        }
    }
    for socket in &mut sockets {
        socket.close(None).await.unwrap();
        soon(async { while socket.next().await.is_some_and(|message| message.is_ok()) {} }).await;
    }
    tasks.close();
    soon(tasks.wait()).await;
}

#[tokio::test]
async fn a_refusal_is_forwarded_with_its_page() {
    let upstream =
        RawServer::answering("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno").await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let response = connect(&mut client(&front).await, Some("websocket")).await;
    assert_eq!(response.status(), 403);
    assert_eq!(response.collect().await.unwrap().to_bytes(), "no");
    let received = upstream.last_request();
    assert!(
        received.starts_with("GET /chat?room=1 HTTP/1.1\r\n"),
        "{received}"
    );
    assert_eq!(header(&received, "connection"), ["upgrade"]);
    assert_eq!(header(&received, "upgrade"), ["websocket"]);
    assert_eq!(header(&received, "sec-websocket-version"), ["13"]);
    assert_eq!(header(&received, "sec-websocket-key").len(), 1);
    assert!(
        header(&received, "via")[0].starts_with("2.0 "),
        "{received}"
    );
}

#[tokio::test]
async fn the_protocol_is_not_switched_without_the_servers_consent() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n",
    ] {
        let upstream = RawServer::answering(answer).await;
        let front = ProxyServer::proxy(upstream.addr).await;
        let response = connect(&mut client(&front).await, Some("websocket")).await;
        assert_eq!(response.status(), 502, "{answer}");
    }
}

#[tokio::test]
async fn no_other_tunnel_is_opened() {
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = client(&front).await;
    for protocol in [None, Some("connect-udp"), Some("webtransport")] {
        let response = connect(&mut client, protocol).await;
        assert_eq!(response.status(), 501, "{protocol:?}");
    }
    assert!(upstream.requests().is_empty());
}
