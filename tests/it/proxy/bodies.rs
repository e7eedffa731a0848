//! Bodies in both directions: any size, any coding, streamed, never buffered completely.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::Notify,
};
use tower::ServiceExt as _;

use crate::support::{
    eventually::eventually_async,
    front::{self, ProxyServer},
    raw::{RawClient, RawServer, body, exchange, header, soon, status},
};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_page_passes_completely() {
    let upstream = RawServer::answering(
        "HTTP/1.1 404 Nothing Here\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>no</p>",
    )
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let response = exchange(front.addr, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(status(&response), 404);
    assert_eq!(header(&response, "content-type"), ["text/html"]);
    assert_eq!(body(&response), "<p>no</p>");
}

#[tokio::test]
async fn compressed_bodies_are_unchanged() {
    // A gzip member: header, a stored block, and a wrong checksum that must not be repaired.
    let gzip: Vec<u8> = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]
        .into_iter()
        .chain((0..=255).cycle().take(70_000))
        .collect();
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: text/plain\r\nETag: \"x\"\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        gzip.len()
    )
    .into_bytes();
    answer.extend(&gzip);
    let upstream = RawServer::answering(answer).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    client
        .send("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n")
        .await;
    let head = client.head().await;
    assert_eq!(header(&head, "content-encoding"), ["gzip"]);
    assert_eq!(header(&head, "etag"), ["\"x\""]);
    assert_eq!(client.rest().await, gzip);
    assert_eq!(
        header(&upstream.last_request(), "accept-encoding"),
        ["gzip"]
    );
}

#[tokio::test]
async fn responses_without_a_body_are_complete() {
    for (method, answer, length) in [
        (
            "HEAD",
            "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n",
            &["1234"][..],
        ),
        (
            "HEAD",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            &[],
        ),
        (
            "GET",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\nETag: \"x\"\r\n\r\n",
            &[],
        ),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n", &[]),
        (
            "GET",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            &["0"],
        ),
    ] {
        let upstream = RawServer::answering(answer).await;
        let front = ProxyServer::proxy(upstream.addr).await;
        let mut client = RawClient::connect(front.addr).await;
        for _ in 0..2 {
            client
                .send(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"))
                .await;
            let head = client.head().await;
            assert_eq!(status(&head), status(answer), "{answer}");
            assert_eq!(header(&head, "content-length"), length, "{answer}");
        }
    }
}

#[tokio::test]
async fn a_large_download_arrives_completely() {
    const SIZE: usize = 256 * MIB;
    let upstream = RawServer::start(|mut connection| async move {
        connection.request().await;
        connection
            .send(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n"))
            .await;
        let block = vec![b'x'; MIB];
        for _ in 0..SIZE / MIB {
            connection.send(&block).await;
        }
        connection.closed().await;
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    client
        .send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(
        header(&client.head().await, "content-length"),
        [SIZE.to_string()]
    );
    let mut rest = tokio::io::BufReader::with_capacity(MIB, client.stream);
    let read = soon(tokio::io::copy(&mut rest, &mut tokio::io::sink()))
        .await
        .unwrap();
    // Bytes read together with the head are not counted.
    assert!((SIZE as u64 - read) < 128 * 1024, "{read}");
}

#[tokio::test]
async fn a_client_that_stops_reading_stops_the_upstream() {
    let sent = Arc::<AtomicU64>::default();
    let counter = Arc::clone(&sent);
    let upstream = RawServer::start(move |mut connection| {
        let counter = Arc::clone(&counter);
        async move {
            connection.request().await;
            connection
                .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                .await;
            let mut block = b"10000\r\n".to_vec();
            block.extend(vec![b'x'; 0x10000]);
            block.extend(b"\r\n");
            while connection.stream.write_all(&block).await.is_ok() {
                counter.fetch_add(block.len() as u64, Ordering::SeqCst);
            }
        }
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    client.head().await;
    let standstill = standstill(&sent).await;
    // Four socket buffers, which the system may grow to some MiB each, and little of ours.
    assert!(standstill < 24 * MIB as u64, "{standstill}");
    // The upstream continues when the client does.
    let mut bytes = vec![0; 64 * 1024];
    soon(async {
        while sent.load(Ordering::SeqCst) < standstill + 8 * MIB as u64 {
            assert!(client.stream.read(&mut bytes).await.unwrap() > 0);
        }
    })
    .await;
}

/// Waits until the count is unchanged for fifty checks; returns the count.
async fn standstill(count: &AtomicU64) -> u64 {
    let (mut last, mut looks) = (0, 0);
    eventually_async("the count stays unchanged", async || {
        let now = count.load(Ordering::SeqCst);
        looks = if now == last { looks + 1 } else { 0 };
        last = now;
        (now > 0 && looks == 50).then_some(now)
    })
    .await
}

#[tokio::test]
async fn a_large_upload_arrives_completely() {
    const SIZE: usize = 64 * MIB;
    let upstream = RawServer::start(|mut connection| async move {
        let mut received = 0;
        let mut head = vec![0; 64 * 1024];
        let mut seen = Vec::new();
        while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
            let len = connection.stream.read(&mut head).await.unwrap();
            seen.extend_from_slice(&head[..len]);
        }
        let start = seen
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap()
            + 4;
        let mut sum: u64 = seen[start..].iter().map(|byte| u64::from(*byte)).sum();
        received += seen.len() - start;
        while received < SIZE {
            let len = connection.stream.read(&mut head).await.unwrap();
            assert!(len > 0);
            received += len;
            sum += head[..len].iter().map(|byte| u64::from(*byte)).sum::<u64>();
        }
        let text = format!("{received} {sum}");
        let len = text.len();
        connection
            .send(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n{text}"
            ))
            .await;
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    client
        .send(format!(
            "PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: {SIZE}\r\n\r\n"
        ))
        .await;
    let block: Vec<u8> = (0..=255).cycle().take(MIB).collect();
    for _ in 0..SIZE / MIB {
        client.send(&block).await;
    }
    let sum = SIZE as u64 / 256 * (0..=255).sum::<u64>();
    assert_eq!(body(&client.response().await), format!("{SIZE} {sum}"));
}

#[tokio::test]
async fn chunks_are_streamed_in_both_directions() {
    let upstream = RawServer::start(|mut connection| async move {
        let mut received = Vec::new();
        let mut bytes = vec![0; 1024];
        while !received.ends_with(b"ping\r\n") {
            let len = connection.stream.read(&mut bytes).await.unwrap();
            received.extend_from_slice(&bytes[..len]);
        }
        connection
            .send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n6\r\none\n\n\n\r\n")
            .await;
        while !received.ends_with(b"0\r\n\r\n") {
            let len = connection.stream.read(&mut bytes).await.unwrap();
            received.extend_from_slice(&bytes[..len]);
        }
        connection.send("6\r\ntwo\n\n\n\r\n0\r\n\r\n").await;
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    // Each side sends its second half only after receiving the other's first.
    client
        .send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nping\r\n")
        .await;
    client.until("one\n").await;
    client.send("0\r\n\r\n").await;
    client.until("0\r\n\r\n").await;
}

#[tokio::test]
async fn a_length_with_chunked_coding_is_refused() {
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(status(&exchange(front.addr, request).await), 400);
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn a_length_next_to_the_upstreams_chunked_coding_is_dropped() {
    let upstream = RawServer::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    )
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let response = exchange(front.addr, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(header(&response, "content-length"), Vec::<String>::new());
    assert_eq!(body(&response), "5\r\nhello\r\n0\r\n\r\n");
}

#[tokio::test]
async fn the_body_of_a_get_is_forwarded() {
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let request =
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(status(&exchange(front.addr, request).await), 200);
    assert_eq!(body(&upstream.last_request()), "3\r\nabc\r\n0\r\n\r\n");
    let request = "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(status(&exchange(front.addr, request).await), 200);
    assert_eq!(body(&upstream.last_request()), "abc");
}

#[tokio::test]
async fn trailers_pass_in_both_directions() {
    let upstream = RawServer::answering(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n",
    )
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let request = "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTrailer: X-Digest, X-Forwarded-For\r\n\
                   Transfer-Encoding: chunked\r\n\r\n2\r\nup\r\n0\r\nX-Digest: 9\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n";
    let response = exchange(front.addr, request).await;
    assert_eq!(
        body(&response).to_ascii_lowercase(),
        "2\r\nok\r\n0\r\nx-sum: 7\r\n\r\n"
    );
    let received = upstream.last_request();
    assert_eq!(
        body(&received).to_ascii_lowercase(),
        "2\r\nup\r\n0\r\nx-digest: 9\r\n\r\n"
    );
}

#[tokio::test]
async fn the_client_is_asked_for_the_body_if_it_waits_for_that() {
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    client
        .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        .await;
    assert_eq!(status(&client.head().await), 100);
    client.send("abc").await;
    assert_eq!(status(&client.response().await), 200);
    let received = upstream.last_request();
    assert_eq!(body(&received), "abc");
    assert!(header(&received, "expect").is_empty(), "{received}");
}

#[tokio::test]
async fn interim_responses_do_not_end_the_request() {
    let upstream = RawServer::answering(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    )
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let response = exchange(front.addr, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!((status(&response), body(&response)), (200, "ok"));
}

#[tokio::test]
async fn a_truncated_response_is_visibly_truncated() {
    for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let upstream = RawServer::start(move |mut connection| async move {
            connection.request().await;
            connection
                .send(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n5\r\nab"))
                .await;
        })
        .await;
        let front = ProxyServer::proxy(upstream.addr).await;
        let mut client = RawClient::connect(front.addr).await;
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(status(&client.head().await), 200);
        // The connection is closed: no last chunk, no more bytes, no second response.
        let rest = client.rest().await;
        assert!(
            rest.len() < 10 && !rest.ends_with(b"0\r\n\r\n"),
            "{framing}: {rest:?}"
        );
    }
}

#[tokio::test]
async fn a_client_that_disconnects_cancels_the_upstreams_request() {
    let closed = Arc::new(Notify::new());
    let (begun, ended) = (Arc::new(Notify::new()), Arc::clone(&closed));
    let started = Arc::clone(&begun);
    let upstream = RawServer::start(move |mut connection| {
        let (started, ended) = (Arc::clone(&started), Arc::clone(&ended));
        async move {
            connection.request().await;
            started.notify_one();
            connection.closed().await;
            ended.notify_one();
        }
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await;
    soon(begun.notified()).await;
    drop(client);
    soon(closed.notified()).await;
}

#[tokio::test]
async fn an_early_response_to_an_upload_reaches_the_client() {
    let upstream = RawServer::start(|mut connection| async move {
        let mut bytes = vec![0; 1024];
        let read = connection.stream.read(&mut bytes).await.unwrap();
        assert!(read > 0);
        connection
            .send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
            .await;
        connection.closed().await;
    })
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    client
        .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc")
        .await;
    let response = client.response().await;
    assert_eq!((status(&response), body(&response)), (413, "big"));
}

#[tokio::test]
async fn any_body_type_can_be_sent_without_a_listener() {
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let proxy = front::proxy(upstream.addr);
    let request = http::Request::post("/")
        .header("host", "a")
        .header("x-forwarded-for", "203.0.113.9")
        .body(Full::new(Bytes::from_static(b"data")))
        .unwrap();
    let response = soon(proxy.oneshot(request)).await.unwrap();
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        "ok"
    );
    let received = upstream.last_request();
    assert_eq!(header(&received, "content-length"), ["4"]);
    assert_eq!(body(&received), "data");
    assert!(
        header(&received, "x-forwarded-for").is_empty(),
        "{received}"
    );
}
