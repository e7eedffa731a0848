//! The client's address of requests over real connections.

use robot_detection::listen::ListenSettings;
use tokio::net::TcpStream;

use crate::support::{
    front::{ProxyServer, proxy},
    raw::{RawServer, body, header, status},
};

use super::{ask, serve_echo, trusting};

/// Headers by which a client may claim another address: each is read by some server.
pub(crate) const FORGED: &[&str] = &[
    "X-Forwarded-For: 203.0.113.9",
    "x-forwarded-for: 203.0.113.9",
    "X-FORWARDED-FOR: 203.0.113.9",
    "X_Forwarded_For: 203.0.113.9",
    "X_FORWARDED_FOR: 203.0.113.9",
    "X.Forwarded.For: 203.0.113.9",
    "X-Forwarded_For: 203.0.113.9",
    "X-Forwarded.For: 203.0.113.9",
    "X~Forwarded!For: 203.0.113.9",
    "X-Forwarded: 203.0.113.9",
    "X.Forwarded: for=203.0.113.9",
    "X_Forwarded: for=203.0.113.9",
    "X-Forwarded-Host: evil.example",
    "X_Forwarded_Host: evil.example",
    "X-Forwarded-Proto: https",
    "X_Forwarded_Proto: https",
    "X.Forwarded.Proto: https",
    "X-Forwarded-Prefix: /evil",
    "X_Forwarded_Prefix: /evil",
    "X-Forwarded-Port: 31337",
    "X-Forwarded-Server: evil.example",
    "X-Forwarded-By: 203.0.113.9",
    "X-Forwarded-Ssl: on",
    "X-Real-IP: 203.0.113.9",
    "X_Real_IP: 203.0.113.9",
    "X.Real.IP: 203.0.113.9",
    "Forwarded: for=203.0.113.9;proto=https;host=evil.example",
    "forwarded: For=\"[2001:db8::bad]:31337\"",
    "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 203.0.113.9",
    "X-Forwarded-For: 203.0.113.9, 127.0.0.1",
    "X-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 203.0.113.9\r\nForwarded: for=203.0.113.9",
];

/// Header lines from a trusted proxy, the expected client, and whether it used HTTPS.
const FOUND: &[(&str, &str, bool)] = &[
    ("X-Forwarded-For: 192.0.2.1", "192.0.2.1", false),
    (
        "X-Forwarded-For: 203.0.113.9, 192.0.2.1",
        "192.0.2.1",
        false,
    ),
    (
        "X-Forwarded-For: 203.0.113.9, 192.0.2.1, 10.0.0.2",
        "192.0.2.1",
        false,
    ),
    (
        "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 192.0.2.1",
        "192.0.2.1",
        false,
    ),
    (
        "X-Forwarded-For: 203.0.113.9, 192.0.2.1\r\nX-Forwarded-For: fd00::1, 10.0.0.2",
        "192.0.2.1",
        false,
    ),
    ("X-Forwarded-For: 192.0.2.1:4711", "192.0.2.1", false),
    (
        "X-Forwarded-For: [2001:db8::7]:4711, 10.0.0.2:80",
        "2001:db8::7",
        false,
    ),
    (
        "X-Forwarded-For: ::ffff:192.0.2.1, ::ffff:10.0.0.2",
        "192.0.2.1",
        false,
    ),
    ("X-Forwarded-For: 192.0.2.1, unknown", "127.0.0.1", false),
    (
        "X-Forwarded-For: 192.0.2.1, unknown, 10.0.0.2",
        "10.0.0.2",
        false,
    ),
    (
        "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https",
        "192.0.2.1",
        true,
    ),
    (
        "X-Forwarded-For: 192.0.2.1, 10.0.0.2\r\nX-Forwarded-Proto: http, https",
        "192.0.2.1",
        false,
    ),
    ("Forwarded: for=192.0.2.1;proto=https", "192.0.2.1", true),
    (
        "Forwarded: for=203.0.113.9, for=192.0.2.1, for=10.0.0.2",
        "192.0.2.1",
        false,
    ),
    (
        "Forwarded: for=192.0.2.1\r\nForwarded: FOR=\"[fd00::1]:80\"",
        "192.0.2.1",
        false,
    ),
    (
        "Forwarded: for=\"[2001:db8::7]:4711\";by=_x",
        "2001:db8::7",
        false,
    ),
    (
        "Forwarded: for=192.0.2.1;host=\"a, for=203.0.113.9\"",
        "192.0.2.1",
        false,
    ),
    (
        "Forwarded: for=192.0.2.1;host=\"a\\\", for=203.0.113.9\"",
        "192.0.2.1",
        false,
    ),
    (
        "Forwarded: for=192.0.2.1, for=_hidden, for=10.0.0.2",
        "10.0.0.2",
        false,
    ),
    ("Forwarded: for=192.0.2.1, for=unknown", "127.0.0.1", false),
    (
        "Forwarded: for=203.0.113.9\r\nX-Forwarded-For: 192.0.2.1",
        "127.0.0.1",
        false,
    ),
    ("X_Forwarded_For: 203.0.113.9", "127.0.0.1", false),
    ("X-Real-IP: 203.0.113.9", "127.0.0.1", false),
];

fn get(lines: &str) -> String {
    let lines = if lines.is_empty() {
        String::new()
    } else {
        format!("{lines}\r\n")
    };
    format!("GET / HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n{lines}\r\n")
}

async fn answer(front: &ProxyServer, request: String) -> String {
    ask(TcpStream::connect(front.addr).await.unwrap(), request).await
}

#[tokio::test]
async fn a_forged_header_of_any_spelling_changes_nothing_for_an_untrusted_peer() {
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    for trusted in [&[][..], &["10.0.0.0/8", "unix:", "::1"]] {
        let front = serve_echo(trusting(trusted)).await;
        let proxied = ProxyServer::serve_proxy(trusting(trusted), proxy(upstream.addr)).await;
        assert_eq!(status(&answer(&proxied, get("")).await), 200);
        let untouched = upstream.last_request();
        for lines in FORGED {
            let told = answer(&front, get(lines)).await;
            let expected = "client=127.0.0.1 direct=false https=false trusted=false";
            assert_eq!(body(&told), expected, "{lines}");
            assert_eq!(status(&answer(&proxied, get(lines)).await), 200, "{lines}");
            assert_eq!(upstream.last_request(), untouched, "{lines}");
        }
    }
}

#[tokio::test]
async fn a_clients_other_header_spellings_are_not_forwarded_for_a_trusted_proxy() {
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let front = ProxyServer::serve_proxy(trusting(&["127.0.0.1"]), proxy(upstream.addr)).await;
    let lines =
        "X-Forwarded-For: 192.0.2.1\r\nX_Forwarded_For: 203.0.113.9\r\nX.Real.IP: 203.0.113.9";
    assert_eq!(status(&answer(&front, get(lines)).await), 200);
    let request = upstream.last_request();
    assert!(!request.contains("203.0.113.9"), "{request}");
    assert_eq!(
        header(&request, "x-forwarded-for"),
        ["192.0.2.1, 127.0.0.1"]
    );
}

#[tokio::test]
async fn the_clients_address_is_found_behind_trusted_proxies() {
    let front = serve_echo(trusting(&["127.0.0.1", "10.0.0.0/8", "fd00::/8"])).await;
    for (lines, client, https) in FOUND {
        let told = answer(&front, get(lines)).await;
        let expected = format!("client={client} direct=false https={https} trusted=true");
        assert_eq!(body(&told), expected, "{lines}");
    }
}

#[tokio::test]
async fn behind_the_proxy_protocol_the_search_begins_at_the_named_client() {
    let front = serve_echo(ListenSettings {
        proxy_protocol: true,
        ..trusting(&["127.0.0.1", "10.0.0.0/8"])
    })
    .await;
    for (source, lines, client, trusted) in [
        ("192.0.2.1", "", "192.0.2.1", false),
        (
            "192.0.2.1",
            "X-Forwarded-For: 203.0.113.9",
            "192.0.2.1",
            false,
        ),
        (
            "10.0.0.2",
            "X-Forwarded-For: 203.0.113.9, 192.0.2.1",
            "192.0.2.1",
            true,
        ),
        (
            "10.0.0.2",
            "Forwarded: for=192.0.2.1, for=10.0.0.3",
            "192.0.2.1",
            true,
        ),
        ("10.0.0.2", "X-Forwarded-For: unknown", "10.0.0.2", true),
    ] {
        let header = format!("PROXY TCP4 {source} 10.0.0.1 1 2\r\n");
        let told = answer(&front, header + &get(lines)).await;
        let direct = lines.is_empty();
        let expected = format!("client={client} direct={direct} https=false trusted={trusted}");
        assert_eq!(body(&told), expected, "{source} {lines}");
    }
}
