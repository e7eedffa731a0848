//! Requests that arrive before the shutdown get a response even if they are still unread.

use std::io::Write as _;

use crate::support::{
    front::ProxyServer,
    raw::{RawClient, RawServer, soon, status},
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn requests_on_connections_not_yet_accepted_get_a_response() {
    let upstream = RawServer::answering(OK).await;
    let mut front = ProxyServer::proxy(upstream.addr).await;
    // The server does not run before the test waits: only the system has these connections.
    let clients: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(front.addr).unwrap();
            stream.write_all(GET).unwrap();
            stream
        })
        .collect();
    front.stop.cancel();
    for stream in clients {
        let mut client = RawClient::from_std(stream);
        assert_eq!(status(&client.response().await), 200);
        assert_eq!(client.rest().await, b"");
    }
    soon(&mut front.done).await.unwrap();
}

#[tokio::test]
async fn requests_on_kept_connections_get_a_response() {
    let upstream = RawServer::answering(OK).await;
    let mut front = ProxyServer::proxy(upstream.addr).await;
    let mut clients = Vec::new();
    for _ in 0..50 {
        let mut client = RawClient::connect(front.addr).await;
        client.send(GET).await;
        assert_eq!(status(&client.response().await), 200);
        clients.push(client);
    }
    for client in &clients {
        assert_eq!(client.stream.try_write(GET).unwrap(), GET.len());
    }
    front.stop.cancel();
    for client in &mut clients {
        assert_eq!(status(&client.response().await), 200);
        assert_eq!(client.rest().await, b"");
    }
    soon(&mut front.done).await.unwrap();
}

#[tokio::test]
async fn shutdown_does_not_wait_for_clients_without_a_request() {
    let upstream = RawServer::answering(OK).await;
    let mut front = ProxyServer::proxy(upstream.addr).await;
    let mut silent = RawClient::connect(front.addr).await;
    let mut kept = RawClient::connect(front.addr).await;
    kept.send(GET).await;
    kept.response().await;
    front.stop.cancel();
    soon(&mut front.done).await.unwrap();
    assert_eq!(silent.rest().await, b"");
    assert_eq!(kept.rest().await, b"");
}
