//! Clients that go, wait, are silent, or send ahead.

use std::{
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use tokio::time::timeout;

use super::{LAST, PATIENCE, talk::Talk};

#[tokio::test]
async fn an_answer_is_given_up_when_the_client_goes() {
    let mut talk = Talk::plain();
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
async fn what_is_sent_ahead_while_an_answer_is_waited_for_is_answered_behind_it() {
    let mut talk = Talk::plain();
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
async fn a_client_that_takes_nothing_is_cut_and_its_answer_is_not_made_ahead() {
    let mut talk = Talk::plain();
    talk.send(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").await;
    timeout(Duration::from_hours(1), &mut talk.done)
        .await
        .expect("it is cut")
        .unwrap();
    let made = talk.seen.pieces.load(SeqCst);
    assert!((1..64).contains(&made), "{made}");
}

#[tokio::test]
async fn a_large_answer_arrives_whole() {
    let mut talk = Talk::plain();
    talk.send(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .await;
    let said = talk.rest().await;
    assert_eq!(said.matches("10000\r\n").count(), 1024);
    assert!(said.ends_with("\r\n0\r\n\r\n"), "{}", said.len());
    assert_eq!(said.matches('x').count(), 64 * 1024 * 1024);
    talk.end().await;
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_connection_before_a_request_and_after_one() {
    for first in [
        "",
        "GET / HT",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nG",
    ] {
        let mut talk = Talk::plain();
        talk.send(first.as_bytes()).await;
        timeout(Duration::from_hours(1), &mut talk.done)
            .await
            .expect("it ends")
            .unwrap();
    }
}
