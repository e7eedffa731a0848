//! Tests of connections while a listener is shutting down.

use std::time::Duration;

use super::talk::TestConnection;

#[tokio::test]
async fn drain_closes_idle_connections_and_completes_responses() {
    let mut idle = TestConnection::plain();
    idle.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(
        !idle
            .until("host: \"a\"\n")
            .await
            .contains("connection: close")
    );
    idle.stop.cancel();
    assert_eq!(idle.rest().await, "");
    idle.end().await;
    let mut busy = TestConnection::plain();
    busy.send(b"GET /go HTTP/1.1\r\nHost: a\r\n\r\n").await;
    while busy.plain_requests() == 0 {
        tokio::task::yield_now().await;
    }
    busy.stop.cancel();
    tokio::time::sleep(Duration::from_millis(300)).await;
    busy.seen.go.notify_one();
    assert!(busy.rest().await.contains("\r\nconnection: close\r\n"));
    busy.end().await;
}

#[tokio::test]
async fn head_started_before_a_drain_is_answered() {
    for (rest, plain) in [("\nHost: a\r\n\r\n", 1), ("\nHost: a\r\nTE: x\r\n\r\n", 0)] {
        let mut talk = TestConnection::plain();
        talk.send(b"GET / HTTP/1.1\r").await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        talk.stop.cancel();
        tokio::time::sleep(Duration::from_millis(300)).await;
        talk.send(rest.as_bytes()).await;
        let said = talk.rest().await;
        assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
        assert!(said.contains("\r\nconnection: close\r\n"), "{said}");
        assert_eq!(talk.plain_requests(), plain);
        talk.end().await;
    }
}
