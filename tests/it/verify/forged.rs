//! A forged client address proves nothing.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpSocket,
    time::timeout,
};

use crate::listen::client_addr::FORGED;
use crate::support::{
    http::Reply,
    program::{DEADLINE, Server, exchange},
    raw::body,
};

use super::site::{Site, ask, ask_until};

/// Address in the forged headers, which the list contains.
const NAMED: &str = "203.0.113.9";

const LIST: &str =
    r#"{"prefixes":[{"ipv4Prefix":"203.0.113.0/24"},{"ipv6Prefix":"2001:db8::/32"}]}"#;

async fn site() -> Site {
    let site = Site::new("").await;
    site.lists.set(Reply::typed("application/json", LIST));
    site
}

fn head(lines: &str) -> String {
    format!(
        "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\
         User-Agent: listbot/1\r\n{lines}\r\n\r\n"
    )
}

/// Returns the verdict on a robot that sends these header lines itself.
fn verdict(server: &Server, lines: &str) -> String {
    exchange(server.addr, head(lines).as_bytes()).text()
}

/// Returns the verdict on a robot with these header lines from a proxy on another loopback address.
async fn verdict_by_proxy(server: &Server, lines: &str) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut stream = socket.connect(server.addr).await.unwrap();
    stream.write_all(head(lines).as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    body(&answer).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_address_of_any_spelling_verifies_no_robot() {
    let site = site().await;
    site.trust(&["127.0.0.2", "10.0.0.0/8", "unix:", "::1"]);
    let server = site.serve();
    let named = format!("X-Forwarded-For: {NAMED}");
    let known = timeout(DEADLINE, async {
        while verdict_by_proxy(&server, &named).await != "verified" {}
    });
    known.await.expect("the list was not fetched");
    for lines in FORGED {
        let told = verdict(&server, lines);
        let is_refused = told.starts_with("400");
        assert!(is_refused || told == "unverifiable", "{lines}: {told}");
    }
    assert_eq!(verdict_by_proxy(&server, &named).await, "verified");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_trusted_proxies_the_address_they_saw_counts() {
    let site = site().await;
    site.trust(&["127.0.0.1", "10.0.0.0/8"]);
    let server = site.serve();
    ask_until(&server, "listbot/1", NAMED, "verified");
    for (addresses, expected) in [
        ("203.0.113.9", "verified"),
        ("8.8.8.8, 203.0.113.9", "verified"),
        ("8.8.8.8, 203.0.113.9, 10.0.0.2", "verified"),
        ("203.0.113.9, 8.8.8.8", "spoofed"),
        ("203.0.113.9, 8.8.8.8, 10.0.0.2", "spoofed"),
        ("203.0.113.9, unknown", "unverifiable"),
    ] {
        let told = ask(&server, "listbot/1", addresses).text();
        assert_eq!(told, expected, "{addresses}");
    }
    for lines in FORGED {
        let from_others = format!("{lines}\r\nX-Forwarded-For: 8.8.8.8");
        assert_eq!(verdict(&server, &from_others), "spoofed", "{lines}");
    }
}
