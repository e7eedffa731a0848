//! Tests with clients that disconnect, wait, stay silent or pipeline requests.

use std::{
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use tokio::time::timeout;

use super::{LAST, PATIENCE, talk::TestConnection};

#[tokio::test]
async fn response_is_dropped_when_the_client_disconnects() {
    let mut talk = TestConnection::plain();
    talk.send(b"GET /never HTTP/1.1\r\nHost: a\r\n\r\n").await;
    while talk.plain_requests() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!talk.seen.was_cancelled.load(SeqCst));
    let seen = Arc::clone(&talk.seen);
    talk.end().await;
    timeout(PATIENCE, seen.cancelled.notified()).await.unwrap();
}

#[tokio::test]
async fn request_pipelined_during_a_response_is_answered_after_it() {
    let mut talk = TestConnection::plain();
    talk.send(b"GET /go HTTP/1.1\r\nHost: a\r\n\r\n").await;
    while talk.plain_requests() == 0 {
        tokio::task::yield_now().await;
    }
    let odd = "DELETE /odd HTTP/1.1\r\nHost: a\r\n\r\n";
    for byte in format!("GET /second HTTP/1.1\r\nHost: a\r\n\r\n{odd}{LAST}").bytes() {
        talk.send(&[byte]).await;
        tokio::task::yield_now().await;
    }
    talk.seen.go.notify_one();
    let said = talk.rest().await;
    let order: Vec<_> = said
        .lines()
        .filter(|line| line.ends_with("HTTP/1.1"))
        .collect();
    let expected = ["GET /go", "GET /second", "DELETE /odd", "GET /last"];
    assert_eq!(order, expected.map(|line| format!("{line} HTTP/1.1")));
    assert_eq!(talk.plain_requests(), 2);
    talk.end().await;
}

#[tokio::test(start_paused = true)]
async fn slow_reader_is_disconnected_without_buffering_the_response() {
    let mut talk = TestConnection::plain();
    talk.send(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").await;
    timeout(Duration::from_hours(1), &mut talk.done)
        .await
        .expect("connection is cut")
        .unwrap();
    let made = talk.seen.pieces.load(SeqCst);
    assert!((1..64).contains(&made), "{made}");
}

#[tokio::test]
async fn large_response_arrives_completely() {
    let mut talk = TestConnection::plain();
    talk.send(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .await;
    let said = talk.rest().await;
    assert_eq!(said.matches("10000\r\n").count(), 1024);
    assert!(said.ends_with("\r\n0\r\n\r\n"), "{}", said.len());
    assert_eq!(said.matches('x').count(), 64 * 1024 * 1024);
    talk.end().await;
}

#[tokio::test(start_paused = true)]
async fn idle_connection_ends_before_and_after_a_request() {
    for first in [
        "",
        "GET / HT",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nG",
    ] {
        let mut talk = TestConnection::plain();
        talk.send(first.as_bytes()).await;
        timeout(Duration::from_hours(1), &mut talk.done)
            .await
            .expect("connection ends")
            .unwrap();
    }
}
