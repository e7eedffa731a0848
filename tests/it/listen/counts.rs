//! Counts of a listener's connections.

use robot_detection::listen::{ConnectionCounts, ListenSettings, Listener};
use tokio::net::TcpStream;

use crate::support::{
    eventually::eventually_async,
    front::{ProxyServer, listen_settings},
    raw::{RawClient, status},
};

use super::{GET, ask, echo};

const KEPT: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn of(mut numbers: impl Iterator<Item = (&'static str, u64)>, name: &str) -> u64 {
    numbers.find(|(found, _)| *found == name).unwrap().1
}

fn unserved(counts: &ConnectionCounts, reason: &str) -> u64 {
    of(counts.unserved(), reason)
}

#[tokio::test]
async fn connections_are_counted_while_open_and_by_their_outcome() {
    let listener = Listener::bind(ListenSettings {
        max_connections_per_address: 2,
        max_header_bytes: 8 * 1024,
        ..listen_settings()
    });
    let listener = listener.await.unwrap();
    let counts = listener.counts();
    let front = ProxyServer::with(listener, tower::service_fn(echo));
    let mut kept = RawClient::connect(front.addr).await;
    for _ in 0..2 {
        kept.send(KEPT).await;
        assert_eq!(status(&kept.response().await), 200);
    }
    assert_eq!((counts.accepted(), counts.open()), (1, 1));

    let large = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nA: {}\r\n\r\n",
        "x".repeat(100_000)
    );
    for (request, expected) in [("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400), (&large, 431)] {
        let stream = TcpStream::connect(front.addr).await.unwrap();
        let answer = ask(stream, request).await;
        // We may have closed before all of the large response was sent.
        assert!(answer.is_empty() || status(&answer) == expected, "{answer}");
        let expected = expected.to_string();
        eventually_async("the connection is counted", async || {
            of(counts.refused(), &expected) == 1
        })
        .await;
        eventually_async("only one connection is left", async || counts.open() == 1).await;
    }

    let mut second = RawClient::connect(front.addr).await;
    second.send(KEPT).await;
    second.response().await;
    let third = TcpStream::connect(front.addr).await.unwrap();
    assert_eq!(ask(third, GET).await, "");
    eventually_async("too many", async || unserved(&counts, "address_limit") == 1).await;
    drop((kept, second));
    eventually_async("no connection is left", async || counts.open() == 0).await;
    drop(TcpStream::connect(front.addr).await.unwrap());
    eventually_async("one left", async || unserved(&counts, "client_left") == 1).await;
    assert_eq!(counts.accepted(), 6);
    assert_eq!(unserved(&counts, "timeout"), 0);
}
