//! The HTTP/1 client side: early ends, late continuations, and broken connections.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{io::AsyncReadExt as _, sync::Notify};

use crate::support::{
    front::ProxyServer,
    raw::{RawClient, RawServer, body, exchange, header, soon, status},
};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn an_upstream_that_disconnects_after_its_head_is_a_bad_gateway() {
    for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let upstream = RawServer::start(move |mut connection| async move {
            connection.request().await;
            connection
                .send(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n"))
                .await;
        })
        .await;
        let front = ProxyServer::proxy(upstream.addr).await;
        // The end arrives with the head, or a moment later, when the client already has the head.
        let response = exchange(front.addr, GET).await;
        let is_whole = status(&response) == 502 && body(&response).starts_with("502");
        let is_cut = status(&response) == 200 && body(&response).is_empty();
        assert!(is_whole || is_cut, "{framing}: {response}");
    }
}

#[tokio::test]
async fn chunks_that_are_invalid_from_the_start_are_a_bad_gateway() {
    let upstream = RawServer::answering(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n",
    )
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    assert_eq!(status(&exchange(front.addr, GET).await), 502);
}

const RESPONSES: &[&str] = &[
    "HTTP/1.1 200 OK\r\nX-A: 1\r\nSet-Cookie: a=1\r\nContent-Length: 1\r\n\r\na",
    "HTTP/1.1 200 OK\r\nX-A: 1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nbc",
    "HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\ncd",
    "HTTP/1.1 404 Gone\r\nX-A: 2\r\nX-A: 1\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nd\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX-B:\r\nX-A:1\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nef",
    "HTTP/1.1 304 Not Modified\r\nX-A: 1\r\n\r\n",
];

#[tokio::test]
async fn responses_over_one_connection_have_their_own_framing() {
    let next = Arc::new(AtomicUsize::new(0));
    let upstream = RawServer::start(move |mut connection| {
        let next = Arc::clone(&next);
        async move {
            while connection.request().await.is_some() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                connection.send(RESPONSES[number % RESPONSES.len()]).await;
            }
        }
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    for number in 0..100 {
        let sent = RESPONSES[number % RESPONSES.len()];
        client.send(GET).await;
        let response = client.response().await;
        assert_eq!(
            (status(&response), body(&response)),
            (status(sent), body(sent))
        );
        for name in ["x-a", "x-b", "set-cookie"] {
            assert_eq!(header(&response, name), header(sent, name), "{response}");
        }
    }
    // A connection becomes idle a moment after the response was sent.
    assert!(upstream.connections() <= 2, "{}", upstream.connections());
}

#[tokio::test]
async fn the_head_of_a_slow_response_is_not_delayed() {
    for framing in ["Content-Length: 2", "Transfer-Encoding: chunked", "X: y"] {
        let upstream = RawServer::start(move |mut connection| async move {
            connection.request().await;
            connection
                .send(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n"))
                .await;
            connection.closed().await;
        })
        .await;
        let front = ProxyServer::proxy(upstream.addr).await;
        let mut client = RawClient::connect(front.addr).await;
        client.send(GET).await;
        assert_eq!(status(&client.head().await), 200, "{framing}");
    }
}

#[tokio::test]
async fn the_rest_of_an_upload_is_sent_after_the_response_has_begun() {
    let (tell, told) = tokio::sync::oneshot::channel();
    let tell = std::sync::Mutex::new(Some(tell));
    let upstream = RawServer::start(move |mut connection| {
        let tell = tell.lock().unwrap().take();
        async move {
            let mut received = Vec::new();
            let mut bytes = vec![0; 1024];
            while !received.ends_with(b"first") {
                let len = connection.stream.read(&mut bytes).await.unwrap();
                received.extend_from_slice(&bytes[..len]);
            }
            connection
                .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nea")
                .await;
            while !received.ends_with(b"second") {
                let len = connection.stream.read(&mut bytes).await.unwrap();
                assert!(len > 0, "the rest of the upload is missing");
                received.extend_from_slice(&bytes[..len]);
            }
            connection.send("rl").await;
            tell.unwrap().send(()).unwrap();
            connection.closed().await;
        }
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    client
        .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nfirst")
        .await;
    client.until("ea").await;
    client.send("second").await;
    client.until("rl").await;
    soon(told).await.unwrap();
}

#[tokio::test]
async fn an_http_1_0_connection_with_keep_alive_is_kept() {
    for (line, connections) in [("Connection: keep-alive\r\n", 1), ("", 5)] {
        let upstream = RawServer::answering(format!(
            "HTTP/1.0 200 OK\r\n{line}Content-Length: 2\r\n\r\nok"
        ))
        .await;
        let front = ProxyServer::proxy(upstream.addr).await;
        let mut client = RawClient::connect(front.addr).await;
        for _ in 0..5 {
            client.send(GET).await;
            let response = client.response().await;
            assert_eq!((status(&response), body(&response)), (200, "ok"));
            assert!(header(&response, "connection").is_empty(), "{response}");
        }
        assert_eq!(upstream.connections(), connections, "{line:?}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_silent_upstream_cancels_its_request() {
    let begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n";
    for answer in ["", begun] {
        let (asked, ended) = (Arc::<Notify>::default(), Arc::<Notify>::default());
        let (tell_asked, tell_ended) = (Arc::clone(&asked), Arc::clone(&ended));
        let upstream = RawServer::start(move |mut connection| {
            let (asked, ended) = (Arc::clone(&tell_asked), Arc::clone(&tell_ended));
            async move {
                connection.request().await;
                connection.send(answer).await;
                asked.notify_one();
                connection.closed().await;
                ended.notify_one();
            }
        })
        .await;
        let front = ProxyServer::proxy(upstream.addr).await;
        let mut client = RawClient::connect(front.addr).await;
        client.send(GET).await;
        soon(asked.notified()).await;
        if !answer.is_empty() {
            client.until("ab").await;
        }
        drop(client);
        soon(ended.notified()).await;
    }
}

#[tokio::test]
async fn a_client_that_has_sent_its_next_request_is_still_connected() {
    let (sent, may_answer) = (Arc::<Notify>::default(), Arc::<Notify>::default());
    let (tell_sent, answers) = (Arc::clone(&sent), Arc::clone(&may_answer));
    let upstream = RawServer::start(move |mut connection| {
        let (sent, may_answer) = (Arc::clone(&tell_sent), Arc::clone(&answers));
        async move {
            while connection.request().await.is_some() {
                sent.notify_one();
                may_answer.notified().await;
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                connection.send(answer).await;
            }
        }
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    client.send(GET).await;
    soon(sent.notified()).await;
    client.send(GET).await;
    may_answer.notify_one();
    assert_eq!(body(&client.response().await), "ok");
    soon(sent.notified()).await;
    may_answer.notify_one();
    assert_eq!(body(&client.response().await), "ok");
}
