//! Listeners on Unix sockets.

use robot_detection::listen::ListenSettings;
use tokio::net::UnixStream;

use crate::support::{
    front::{ProxyServer, proxy},
    raw::{RawServer, header, soon, status},
};

use super::{GET, ask, serve_echo, trusting};

const FORWARDED: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
    X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n\r\n";

fn settings(directory: &tempfile::TempDir, trusted: &[&str]) -> ListenSettings {
    let path = directory.path().join("site.sock");
    ListenSettings {
        addr: format!("unix:{}", path.display()).parse().unwrap(),
        ..trusting(trusted)
    }
}

#[tokio::test]
async fn a_unix_socket_is_served_and_removed_at_shutdown() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("site.sock");
    let mut front = serve_echo(settings(&directory, &[])).await;
    let stream = UnixStream::connect(&path).await.unwrap();
    let answer = ask(stream, GET).await;
    assert_eq!(status(&answer), 200);
    assert!(
        answer.ends_with("client=0.0.0.0 direct=true https=false trusted=false"),
        "{answer}"
    );
    front.stop.cancel();
    soon(&mut front.done).await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn its_peers_are_trusted_only_where_unix_is_trusted() {
    for (trusted, expected) in [
        (
            &["unix:"][..],
            "client=192.0.2.1 direct=false https=true trusted=true",
        ),
        (
            &["0.0.0.0/0", "::/0"],
            "client=0.0.0.0 direct=false https=false trusted=false",
        ),
        (&[], "client=0.0.0.0 direct=false https=false trusted=false"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let _front = serve_echo(settings(&directory, trusted)).await;
        let path = directory.path().join("site.sock");
        let stream = UnixStream::connect(&path).await.unwrap();
        let answer = ask(stream, FORWARDED).await;
        assert!(answer.ends_with(expected), "{trusted:?}: {answer}");
    }
}

#[tokio::test]
async fn the_upstream_sees_that_the_peer_has_no_address() {
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    for (trusted, list, forwarded) in [
        (&[][..], "unknown", "for=unknown;proto=http;host=a"),
        (
            &["unix:"],
            "192.0.2.1, unknown",
            "for=192.0.2.1, for=unknown;proto=https;host=a",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let _front =
            ProxyServer::serve_proxy(settings(&directory, trusted), proxy(upstream.addr)).await;
        let path = directory.path().join("site.sock");
        let stream = UnixStream::connect(&path).await.unwrap();
        assert_eq!(status(&ask(stream, FORWARDED).await), 200);
        let request = upstream.last_request();
        assert_eq!(header(&request, "x-forwarded-for"), [list]);
        assert_eq!(header(&request, "forwarded"), [forwarded]);
    }
}
