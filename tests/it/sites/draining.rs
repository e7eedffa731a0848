//! Shutdown of a server under load.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::{net::TcpStream, sync::Semaphore};
use tokio_util::task::TaskTracker;

use super::house::{House, site, upstream};
use crate::support::{
    program::eventually,
    raw::{RawClient, RawServer, body, header, status},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn shutdown_fails_no_request_in_flight() {
    let (arrived, go_on) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (count, gate) = (Arc::clone(&arrived), Arc::clone(&go_on));
    let slow = RawServer::start(move |mut connection| {
        let (count, gate) = (Arc::clone(&count), Arc::clone(&gate));
        async move {
            while connection.request().await.is_some() {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = gate.acquire().await;
                connection
                    .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
                    .await;
            }
        }
    })
    .await;
    // With our own robots.txt, the upstream gets requests only from clients.
    let ours = "robots_txt.serve = 'settings'";
    let house = House::new(&site("a", "a.example", &slow, ours));
    let addr = house.server.addr;
    let clients = TaskTracker::new();
    let answered = Arc::new(AtomicUsize::new(0));
    for _ in 0..40 {
        let answered = Arc::clone(&answered);
        clients.spawn(async move {
            let mut client = RawClient::connect(addr).await;
            client
                .send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
                .await;
            let answer = client.response().await;
            assert_eq!(body(&answer), "slow");
            answered.fetch_add(1, Ordering::SeqCst);
        });
    }
    eventually("all are in flight", || arrived.load(Ordering::SeqCst) == 40);
    house.server.signal("TERM");
    eventually("shutdown has begun", || {
        house.log().contains("shutting down after")
    });
    go_on.add_permits(1_000);
    clients.close();
    clients.wait().await;
    assert_eq!(answered.load(Ordering::SeqCst), 40);
    assert!(house.server.wait());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn with_a_delay_kept_connections_are_closed_by_their_responses_and_no_request_fails() {
    let quick = upstream("quick").await;
    let sites = site("a", "a.example", &quick, "");
    let house = House::new(&format!("server.drain_delay_seconds = 3\n{sites}"));
    let addr = house.server.addr;
    let clients = TaskTracker::new();
    let (is_told, answered) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    for _ in 0..12 {
        let (is_told, answered) = (Arc::clone(&is_told), Arc::clone(&answered));
        clients.spawn(async move {
            let mut client = RawClient::connect(addr).await;
            loop {
                client
                    .send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
                    .await;
                let answer = client.next_response().await;
                let answer = answer.unwrap_or_else(|| panic!("a request was lost"));
                assert_eq!(status(&answer), 200, "{answer}");
                answered.fetch_add(1, Ordering::Relaxed);
                if header(&answer, "connection")
                    .join("")
                    .eq_ignore_ascii_case("close")
                {
                    assert!(is_told.load(Ordering::SeqCst), "{answer}");
                    return;
                }
            }
        });
    }
    eventually("there is load", || answered.load(Ordering::Relaxed) > 300);
    is_told.store(true, Ordering::SeqCst);
    house.server.signal("TERM");
    clients.close();
    clients.wait().await;
    // The listener is still open, and the readiness check announces the shutdown.
    let ready = house.server.operation("/readyz");
    assert_eq!(ready.status, 503, "{}", ready.text());
    assert!(TcpStream::connect(addr).await.is_ok());
    assert!(house.server.wait());
}
