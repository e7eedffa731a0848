//! The switch itself: bytes around it, refusals, half-closed connections, large transfers.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::Notify,
};

use crate::support::{
    front::ProxyServer,
    raw::{RawClient, RawConnection, RawServer, body, header, soon, status},
};

use super::echo::{HANDSHAKE, TEXT, frame, part, whole};

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Accept: any\r\n";
const MIB: usize = 1 << 20;

/// Starts a server that switches, with extra headers, and then handles the connection.
async fn switching<F>(
    headers: &'static str,
    serve: impl Fn(RawConnection) -> F + Send + Sync + 'static,
) -> RawServer
where
    F: Future<Output = ()> + Send + 'static,
{
    let serve = Arc::new(serve);
    RawServer::start(move |mut connection| {
        let serve = Arc::clone(&serve);
        async move {
            connection.request().await;
            connection.send(format!("{SWITCH}{headers}\r\n")).await;
            serve(connection).await;
        }
    })
    .await
}

/// Starts a server that echoes every byte.
async fn mirror(headers: &'static str) -> RawServer {
    switching(headers, |mut connection| async move {
        let (mut from, mut to) = connection.stream.split();
        let _ = tokio::io::copy(&mut from, &mut to).await;
        let _ = to.shutdown().await;
    })
    .await
}

async fn switched(front: &ProxyServer, request: impl AsRef<[u8]>) -> (RawClient, String) {
    let mut client = RawClient::connect(front.addr).await;
    client.send(request).await;
    let head = client.head().await;
    assert_eq!(status(&head), 101, "{head}");
    (client, head)
}

#[tokio::test]
async fn bytes_sent_with_the_request_follow_the_switch() {
    let upstream = mirror("").await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let early = [whole(TEXT, "early"), vec![0xfe; 20_000]].concat();
    let request = [HANDSHAKE.as_bytes(), &early].concat();
    let (mut client, _) = switched(&front, request).await;
    client.send("late").await;
    client.stream.shutdown().await.unwrap();
    assert!(client.rest().await == [&early[..], b"late"].concat());
    // None of the bytes were parsed as HTTP, or sent before the switch.
    assert_eq!(upstream.requests().len(), 1);
    assert_eq!(body(&upstream.last_request()), "");
}

#[tokio::test]
async fn a_refusal_is_forwarded_and_the_connection_is_kept() {
    let versions = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    for (line, headers) in [
        ("200 OK", ""),
        ("302 Found", "Location: /login\r\n"),
        ("403 Forbidden", ""),
        ("426 Upgrade Required", versions),
        ("503 Service Unavailable", "Retry-After: 5\r\n"),
    ] {
        let upstream = RawServer::answering(format!(
            "HTTP/1.1 {line}\r\n{headers}Content-Length: 2\r\n\r\nno"
        ))
        .await;
        let front = ProxyServer::proxy(upstream.addr).await;
        let mut client = RawClient::connect(front.addr).await;
        for _ in 0..2 {
            client.send(HANDSHAKE).await;
            let response = client.response().await;
            assert_eq!(status(&response).to_string(), line[..3]);
            assert_eq!(body(&response), "no");
            for (name, value) in headers.lines().filter_map(|line| line.split_once(": ")) {
                assert_eq!(header(&response, name), [value], "{line}");
            }
        }
        assert_eq!(upstream.connections(), 1, "{line}");
    }
}

#[tokio::test]
async fn frames_sent_before_a_refusal_are_not_parsed_as_a_request() {
    let upstream = RawServer::answering("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno").await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    let early = whole(TEXT, "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n");
    client.send([HANDSHAKE.as_bytes(), &early].concat()).await;
    assert_eq!(status(&client.response().await), 403);
    let rest = client.rest().await;
    assert!(
        rest.starts_with(b"HTTP/1.1 400 "),
        "{}",
        rest.escape_ascii()
    );
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn protocols_and_extensions_are_negotiated_between_the_ends() {
    let extensions = "permessage-deflate; client_max_window_bits=10";
    let upstream = mirror(
        "Sec-WebSocket-Protocol: chat.v2\r\n\
         Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=10\r\n\
         X-Detail: kept\r\n",
    )
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let request = HANDSHAKE.replacen(
        "\r\n\r\n",
        "\r\nSec-WebSocket-Protocol: chat.v1, chat.v2\r\nSec-WebSocket-Protocol: chat.v3\r\n\
         Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\nOrigin: http://a\r\n\r\n",
        1,
    );
    let (mut client, head) = switched(&front, request).await;
    for (name, value) in [
        ("sec-websocket-protocol", "chat.v2"),
        ("sec-websocket-extensions", extensions),
        ("sec-websocket-accept", "any"),
        ("x-detail", "kept"),
    ] {
        assert_eq!(header(&head, name), [value]);
    }
    let received = upstream.last_request();
    assert_eq!(
        header(&received, "sec-websocket-protocol"),
        ["chat.v1, chat.v2", "chat.v3"]
    );
    for (name, value) in [
        (
            "sec-websocket-extensions",
            "permessage-deflate; client_max_window_bits",
        ),
        ("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA=="),
        ("sec-websocket-version", "13"),
        ("origin", "http://a"),
    ] {
        assert_eq!(header(&received, name), [value]);
    }
    // "Hello" compressed as in RFC 7692 §7.2.3.1, whole and in fragments, then invalid bytes.
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    let compressed = [
        frame(0xc1, hello),
        part(0x41, &hello[..3]),
        whole(0, &hello[3..]),
        frame(0xf7, "unknown"),
    ]
    .concat();
    client.send(&compressed).await;
    client.stream.shutdown().await.unwrap();
    assert!(client.rest().await == compressed);
}

#[tokio::test]
async fn a_half_closed_client_still_receives() {
    let upstream = switching("", |mut connection| async move {
        let mut said = Vec::new();
        let _ = connection.stream.read_to_end(&mut said).await;
        // Sent only after the client has finished.
        connection.send(format!("heard {}", said.len())).await;
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let (mut client, _) = switched(&front, HANDSHAKE).await;
    client.send(vec![1; MIB]).await;
    client.stream.shutdown().await.unwrap();
    assert_eq!(client.rest().await, format!("heard {MIB}").as_bytes());
}

#[tokio::test]
async fn a_half_closed_upstream_still_receives() {
    let (heard, all) = (Arc::<Mutex<Vec<u8>>>::default(), Arc::<Notify>::default());
    let (record, done) = (Arc::clone(&heard), Arc::clone(&all));
    let upstream = switching("", move |mut connection| {
        let (record, done) = (Arc::clone(&record), Arc::clone(&done));
        async move {
            connection.send("bye").await;
            connection.stream.shutdown().await.unwrap();
            let mut said = Vec::new();
            let _ = connection.stream.read_to_end(&mut said).await;
            *record.lock().unwrap() = said;
            done.notify_one();
        }
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let (mut client, _) = switched(&front, HANDSHAKE).await;
    assert_eq!(client.rest().await, b"bye");
    client.send(vec![1; MIB]).await;
    client.stream.shutdown().await.unwrap();
    soon(all.notified()).await;
    assert!(*heard.lock().unwrap() == vec![1; MIB]);
}

#[tokio::test]
async fn large_transfers_pass_in_both_directions_concurrently() {
    let upstream = mirror("").await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let (mut client, _) = switched(&front, HANDSHAKE).await;
    let sent: Vec<u8> = (0_u32..4 << 20).flat_map(u32::to_le_bytes).collect();
    let (mut from, mut to) = client.stream.split();
    let mut received = Vec::new();
    let ((), ended) = soon(async {
        tokio::join!(
            async {
                to.write_all(&sent).await.unwrap();
                to.shutdown().await.unwrap();
            },
            from.read_to_end(&mut received)
        )
    })
    .await;
    ended.unwrap();
    assert!(received == sent, "{} bytes", received.len());
}

#[tokio::test]
async fn a_client_that_does_not_read_yet_can_continue_sending() {
    // More than all the buffers in between can hold.
    const LEN: usize = 24 * MIB;
    let upstream = switching("", |connection| async move {
        let mut stream = connection.stream;
        let (mut from, mut to) = stream.split();
        let mut said = Vec::new();
        let page = vec![2; LEN];
        let (_, sent) = tokio::join!(from.read_to_end(&mut said), to.write_all(&page));
        sent.unwrap();
        to.write_all(&said.len().to_be_bytes()).await.unwrap();
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let (mut client, _) = switched(&front, HANDSHAKE).await;
    soon(client.stream.write_all(&vec![1; LEN])).await.unwrap();
    client.stream.shutdown().await.unwrap();
    let received = client.rest().await;
    let (page, count) = received.split_at(LEN);
    assert!(page.iter().all(|byte| *byte == 2));
    assert_eq!(count, LEN.to_be_bytes());
}

#[tokio::test]
async fn an_upstream_that_disconnects_ends_the_clients_connection() {
    let upstream = switching("", |connection| async move {
        connection.stream.readable().await.unwrap();
        // Some bytes stay unread, so the kernel resets the connection.
        drop(connection);
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let (mut client, _) = switched(&front, HANDSHAKE).await;
    client.send(whole(TEXT, "hello")).await;
    assert_eq!(client.rest().await, b"");
}
