//! Clients that stall.

use std::time::Duration;

use robot_detection::{listen::ListenSettings, proxy::ProxySettings};

use crate::support::{
    front::{ProxyServer, listen_settings, proxy, proxy_settings, proxy_with},
    raw::{RawConnection, RawServer},
};

use super::{
    floods::Target,
    frames::{END_STREAM, GET, HEADERS, PING, block, data, frame, get, post},
    wire::Wire,
};

/// More bytes than all buffers in between can hold.
const PAGE: usize = 8 << 20;

/// Responds with large pages, except at `/small`.
async fn pages() -> RawServer {
    RawServer::start(|mut connection: RawConnection| async move {
        while let Some(request) = connection.request().await {
            let is_small = request.starts_with("GET /small ");
            let len = if is_small { 2 } else { PAGE };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n");
            connection.send(head).await;
            connection.send(vec![b'*'; len]).await;
        }
    })
    .await
}

fn impatient() -> ListenSettings {
    ListenSettings {
        header_timeout: Duration::from_millis(200),
        idle_timeout: Duration::from_millis(200),
        ..listen_settings()
    }
}

#[tokio::test]
async fn unread_downloads_are_not_buffered_in_memory() {
    let target = Target::start(pages().await).await;
    let before_kib = target.server.memory_kib();
    let mut wires = Vec::new();
    for _ in 0..4 {
        // With an empty window only heads may be sent.
        let mut wire = Wire::with_settings(target.server.addr, &[(4, 0)]).await;
        for stream in 0..32 {
            wire.send(get(stream * 2 + 1)).await;
        }
        wire.until_responses(32).await;
        wires.push(wire);
    }
    target.is_served().await;
    // The client requests 128 pages.
    target.assert_bounded("downloads", before_kib);
}

#[tokio::test]
async fn a_client_that_reads_no_page_is_disconnected_even_if_it_pings() {
    let upstream = pages().await;
    let front = ProxyServer::serve_proxy(impatient(), proxy(upstream.addr)).await;
    let mut wire = Wire::connect(front.addr).await;
    wire.send([get(1), get(3)].concat()).await;
    wire.until_responses(2).await;
    while let Some(received) = wire.next().await {
        // Each response to a ping is followed by another ping, until the end.
        let is_last_of_window = received.payload.len() < 16_384;
        if received.kind == PING || is_last_of_window {
            wire.send(frame(PING, 0, 0, [7; 8])).await;
        }
    }
}

#[tokio::test]
async fn a_client_that_sends_no_request_is_disconnected() {
    let upstream = RawServer::answering("").await;
    let front = ProxyServer::serve_proxy(impatient(), proxy(upstream.addr)).await;
    let whole = block(&GET);
    for sent in [
        Vec::new(),
        frame(PING, 0, 0, [7; 8]),
        frame(HEADERS, END_STREAM, 1, &whole[..10]),
        b"\0\0\x08\x06".to_vec(),
    ] {
        let mut wire = Wire::connect(front.addr).await;
        wire.send(&sent).await;
        while wire.next().await.is_some() {}
    }
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn a_stalled_upload_is_aborted_and_the_others_continue() {
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let settings = ProxySettings {
        response_timeout: Duration::from_millis(200),
        ..proxy_settings(upstream.addr)
    };
    let front = ProxyServer::serve_proxy(listen_settings(), proxy_with(settings)).await;
    let mut wire = Wire::connect(front.addr).await;
    wire.send([post(1), data(1, 0, "begun")].concat()).await;
    assert_eq!(wire.outcome(1).await.to_string(), "408");
    wire.send(get(3)).await;
    assert_eq!(wire.outcome(3).await.to_string(), "200");
}
