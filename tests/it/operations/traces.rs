//! Traces, as received by a collector and by the upstream.

use crate::support::{
    http::{Reply, TestServer},
    program::{GOOGLEBOT, request},
};

use super::site::Site;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

#[test]
fn a_span_of_each_request_is_exported_and_propagated_to_the_upstream() {
    let collector = Collector::start();
    let settings = format!("otel.endpoint = 'http://{}/v1/traces'", collector.addr);
    let upstream = TestServer::new(Reply::text("hello"));
    let site = Site::behind(&settings, upstream);
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    let headers = [("User-Agent", GOOGLEBOT), ("traceparent", &*traceparent)];
    request(site.server.addr, "GET", "/page?q=1", &headers);
    request(site.server.addr, "GET", "/members-only-stuff/", &headers);
    let seen = site.upstream.seen();
    let page = seen.iter().find(|seen| seen.path == "/page?q=1").unwrap();
    let told = page.header("traceparent").unwrap();
    assert!(told.starts_with(&format!("00-{TRACE}-")), "{told}");
    assert!(!told.contains(PARENT), "not our own span: {told}");
    assert_eq!(page.header("tracestate"), None);
    site.end();
    let posted = collector.posted();
    assert!(posted.starts_with(b"POST /v1/traces HTTP/1.1\r\n"));
    for text in [
        "application/x-protobuf",
        "robot_detection.robot",
        "googlebot",
        "redirect",
        "/members-only-stuff/",
        "q=1",
        "http.response.status_code",
    ] {
        let bytes = text.as_bytes();
        let is_there = posted.windows(bytes.len()).any(|window| window == bytes);
        assert!(is_there, "{text} in {}", String::from_utf8_lossy(&posted));
    }
}

/// Server that stores all received bytes.
struct Collector {
    addr: std::net::SocketAddr,
    posted: std::sync::mpsc::Receiver<Vec<u8>>,
}

impl Collector {
    fn start() -> Self {
        use std::io::{Read as _, Write as _};

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (sender, posted) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut bytes = Vec::new();
                while !is_whole(&bytes) {
                    let mut block = [0; 4096];
                    let read = stream.read(&mut block).unwrap();
                    assert!(read > 0, "the request is complete");
                    bytes.extend_from_slice(&block[..read]);
                }
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                stream.write_all(answer).unwrap();
                let _ = sender.send(bytes);
            }
        });
        Self { addr, posted }
    }

    /// Returns all received bytes; the sending server has stopped.
    fn posted(&self) -> Vec<u8> {
        self.posted.try_iter().flatten().collect()
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return false;
    };
    let length = text.split("content-length: ").nth(1).unwrap();
    let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
    bytes.len() >= end + 4 + length
}
