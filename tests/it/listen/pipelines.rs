//! Pipelined requests: one response for each request, or a closed connection.

use std::fs;

use proptest::prelude::*;

use crate::support::pipelined;

#[test]
fn earlier_findings_are_parsed_strictly_however_they_are_split() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/pipelines");
    let mut read = 0;
    for seed in fs::read_dir(seeds).unwrap() {
        let bytes = fs::read(seed.unwrap().path()).unwrap();
        let input = &bytes[2..];
        for cut in 0..input.len() {
            read += pipelined::check(input, [cut, 1]);
        }
    }
    assert!(read > 1000, "{read}");
}

/// Generates sequences of parts of requests, valid or nearly so.
fn parts() -> impl Strategy<Value = Vec<&'static [u8]>> {
    let part = prop::sample::select(vec![
        &b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..],
        b"GET /\xe9 HTTP/1.1\r\nHost: a\r\nUser_Agent: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        b"POST / HTTP/1.1\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Length: 5\r\n",
        b"Connection: close\r\n",
        b"5\r\nhello\r\n",
        b"1;a=b\r\n!\r\n",
        b"0\r\n\r\n",
        b"0\r\n",
        b"0\r\n\n",
        b"X: y\r\n",
        b"X: y\n",
        b"\r\n",
        b"\n",
        b"\r",
        b" ",
        b"a",
    ]);
    prop::collection::vec(part, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn parts_of_requests_are_parsed_strictly(parts in parts(), one in 0..80usize, two in 0..80usize) {
        pipelined::check(&parts.concat(), [one, two]);
    }
}
