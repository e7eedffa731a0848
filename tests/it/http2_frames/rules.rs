//! Frames that violate a rule of RFC 9113 §4 to §6, or of RFC 7541.

use crate::support::{front::ProxyServer, raw::RawServer};

use super::{
    frames::{
        ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GET, GOAWAY, HEADERS, PADDED, PING,
        PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, block, data, frame, get,
        headers, integer, post, reset, settings, window_update,
    },
    wire::Wire,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const PROTOCOL: &str = "goaway PROTOCOL_ERROR";
const SIZE: &str = "goaway FRAME_SIZE_ERROR";
const FLOW: &str = "goaway FLOW_CONTROL_ERROR";
const COMPRESSION: &str = "goaway COMPRESSION_ERROR";

/// Sends each case on a separate connection, then checks that another client is served.
async fn check(cases: &[(&str, Vec<u8>, &str)]) {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut faults = Vec::new();
    for (name, frames, expected) in cases {
        let mut wire = Wire::connect(front.addr).await;
        wire.send(frames).await;
        let outcome = wire.outcome(1).await.to_string();
        // A generic error code may replace a specific one (RFC 9113 §5.4.1, §7).
        let is_general = expected.ends_with("_ERROR") && outcome == PROTOCOL;
        if outcome != *expected && !is_general {
            faults.push(format!("{name}: {outcome}"));
        }
    }
    assert_eq!(faults, [""; 0]);
    let mut wire = Wire::connect(front.addr).await;
    wire.send(get(1)).await;
    assert_eq!(wire.outcome(1).await.to_string(), "200");
}

#[tokio::test]
async fn frames_have_the_size_of_their_type() {
    check(&[
        ("SETTINGS of 5", frame(SETTINGS, 0, 0, [0; 5]), SIZE),
        ("ACK with a payload", frame(SETTINGS, ACK, 0, [0; 6]), SIZE),
        ("PING of 7", frame(PING, 0, 0, [0; 7]), SIZE),
        ("PING of 9", frame(PING, 0, 0, [0; 9]), SIZE),
        (
            "RST_STREAM of 3",
            [post(1), frame(RST_STREAM, 0, 1, [0; 3])].concat(),
            SIZE,
        ),
        (
            "RST_STREAM of 5",
            [post(1), frame(RST_STREAM, 0, 1, [0; 5])].concat(),
            SIZE,
        ),
        (
            "WINDOW_UPDATE of 3",
            frame(WINDOW_UPDATE, 0, 0, [0; 3]),
            SIZE,
        ),
        (
            "WINDOW_UPDATE of 5",
            frame(WINDOW_UPDATE, 0, 0, [1; 5]),
            SIZE,
        ),
        ("GOAWAY of 7", frame(GOAWAY, 0, 0, [0; 7]), SIZE),
        (
            "DATA of 16,385",
            [post(1), data(1, 0, vec![0; 16_385])].concat(),
            SIZE,
        ),
        (
            "anything of 1 MiB",
            frame(0x42, 0, 0, vec![0; 1 << 20]),
            SIZE,
        ),
    ])
    .await;
}

#[tokio::test]
async fn frames_belong_to_a_stream_or_to_the_connection() {
    let ended = |rest: Vec<u8>| [get(1), rest].concat();
    check(&[
        ("SETTINGS on a stream", frame(SETTINGS, 0, 1, ""), PROTOCOL),
        ("PING on a stream", frame(PING, 0, 1, [0; 8]), PROTOCOL),
        ("GOAWAY on a stream", frame(GOAWAY, 0, 1, [0; 8]), PROTOCOL),
        ("DATA on none", data(0, 0, "data"), PROTOCOL),
        ("HEADERS on none", get(0), PROTOCOL),
        ("RST_STREAM on none", reset(0, 0), PROTOCOL),
        ("PRIORITY on none", frame(PRIORITY, 0, 0, [0; 5]), PROTOCOL),
        (
            "CONTINUATION on none",
            frame(CONTINUATION, 4, 0, ""),
            PROTOCOL,
        ),
        ("DATA on an idle one", data(1, 0, "data"), PROTOCOL),
        ("RST_STREAM on an idle one", reset(1, 0), PROTOCOL),
        (
            "WINDOW_UPDATE on an idle one",
            window_update(1, 1),
            PROTOCOL,
        ),
        (
            "CONTINUATION on an idle one",
            frame(CONTINUATION, 4, 1, ""),
            PROTOCOL,
        ),
        ("HEADERS on an even one", ended(get(2)), PROTOCOL),
        (
            "HEADERS on an earlier one",
            [get(5), get(3)].concat(),
            PROTOCOL,
        ),
        (
            "PUSH_PROMISE of a client",
            ended(frame(PUSH_PROMISE, 4, 1, [0, 0, 0, 2])),
            PROTOCOL,
        ),
    ])
    .await;
}

#[tokio::test]
async fn no_frame_interrupts_a_head() {
    let whole = block(&GET);
    let (first, rest) = whole.split_at(10);
    let begun = |between: Vec<u8>| {
        let end = frame(CONTINUATION, END_HEADERS, 1, rest);
        [frame(HEADERS, END_STREAM, 1, first), between, end].concat()
    };
    check(&[
        ("nothing", begun(Vec::new()), "200"),
        ("an empty part", begun(frame(CONTINUATION, 0, 1, "")), "200"),
        ("a ping", begun(frame(PING, 0, 0, [0; 8])), PROTOCOL),
        ("settings", begun(settings(&[])), PROTOCOL),
        ("another head", begun(get(3)), PROTOCOL),
        (
            "another stream's part",
            begun(frame(CONTINUATION, 0, 3, "")),
            PROTOCOL,
        ),
        ("data", begun(data(1, 0, "")), PROTOCOL),
        ("an unknown frame", begun(frame(0x42, 0, 1, "")), PROTOCOL),
        (
            "a part after the last",
            [post(1), frame(CONTINUATION, 4, 1, "")].concat(),
            PROTOCOL,
        ),
    ])
    .await;
}

#[tokio::test]
async fn settings_and_windows_are_in_range() {
    let half = 1 << 30;
    let three_halves = [
        window_update(0, half),
        window_update(0, half),
        window_update(0, half),
    ];
    check(&[
        ("ENABLE_PUSH 2", settings(&[(2, 2)]), PROTOCOL),
        ("INITIAL_WINDOW_SIZE 2^31", settings(&[(4, 1 << 31)]), FLOW),
        ("MAX_FRAME_SIZE 16,383", settings(&[(5, 16_383)]), PROTOCOL),
        ("MAX_FRAME_SIZE 2^24", settings(&[(5, 1 << 24)]), PROTOCOL),
        (
            "an unknown setting",
            [settings(&[(0x99, 7)]), get(1)].concat(),
            "200",
        ),
        ("no increment", window_update(0, 0), PROTOCOL),
        (
            "the connection's window over 2^31",
            three_halves.concat(),
            FLOW,
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_stream_error_ends_only_the_stream() {
    check(&[
        (
            "no increment",
            [post(1), window_update(1, 0)].concat(),
            "reset PROTOCOL_ERROR",
        ),
        (
            "its window over 2^31",
            [post(1), window_update(1, (1 << 31) - 1)].concat(),
            "reset FLOW_CONTROL_ERROR",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_closed_stream_accepts_no_frames() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    for (name, late) in [
        ("DATA", data(1, END_STREAM, "late")),
        ("HEADERS", headers(1, END_STREAM, &GET)),
    ] {
        let mut wire = Wire::connect(front.addr).await;
        wire.send(get(1)).await;
        assert_eq!(wire.outcome(1).await.to_string(), "200");
        wire.send(late).await;
        let outcome = wire.outcome(1).await.to_string();
        assert!(
            ["goaway STREAM_CLOSED", "reset STREAM_CLOSED", PROTOCOL].contains(&outcome.as_str()),
            "{name}: {outcome}"
        );
    }
    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn padding_must_fit_its_frame() {
    let padded = |payload: &[u8]| [post(1), frame(DATA, PADDED | END_STREAM, 1, payload)].concat();
    let head = [&[3][..], &block(&GET), &[0; 3]].concat();
    let flags = END_HEADERS | END_STREAM | PADDED;
    check(&[
        ("data and padding", padded(b"\x03data\0\0\0"), "200"),
        ("padding only", padded(b"\x03\0\0\0"), "200"),
        ("more than the frame", padded(b"\x09data"), PROTOCOL),
        ("as much as the frame", padded(b"\x05data"), PROTOCOL),
        ("no length", padded(b""), PROTOCOL),
        ("a padded head", frame(HEADERS, flags, 1, head), "200"),
    ])
    .await;
}

#[tokio::test]
async fn header_blocks_can_be_decoded() {
    let head = |block: &[u8]| frame(HEADERS, END_HEADERS | END_STREAM, 1, block);
    let after = |rest: &[u8]| head(&[&block(&GET)[..], rest].concat());
    check(&[
        ("index 0", after(&[0x80]), COMPRESSION),
        ("an index of an empty table", after(&[0xbe]), COMPRESSION),
        ("an endless index", after(&[0xff; 40]), COMPRESSION),
        (
            "a table larger than allowed",
            head(&integer(0x20, 5, 1 << 20)),
            COMPRESSION,
        ),
        ("a table's size in the middle", after(&[0x20]), COMPRESSION),
        ("a literal cut short", after(&[0, 5, b'x']), COMPRESSION),
        (
            "a length beyond every block",
            after(&[0, 0x7f, 0xff, 0xff, 0xff, 0x07]),
            COMPRESSION,
        ),
        (
            "a Huffman code that has ended",
            after(&[0, 0x84, 0xff, 0xff, 0xff, 0xff, 0]),
            COMPRESSION,
        ),
        (
            "a table of none",
            head(&[&[0x20][..], &block(&GET)].concat()),
            "200",
        ),
    ])
    .await;
}

#[tokio::test]
async fn unknown_frames_and_settings_are_ignored() {
    check(&[
        (
            "a frame",
            [frame(0x42, 0xff, 0, "?"), get(1)].concat(),
            "200",
        ),
        (
            "flags",
            [frame(PING, 0xfe, 0, [0; 8]), get(1)].concat(),
            "200",
        ),
        (
            "an answer to no ping",
            [frame(PING, ACK, 0, [7; 8]), get(1)].concat(),
            "200",
        ),
        (
            "a priority",
            [frame(PRIORITY, 0, 1, [0, 0, 0, 3, 9]), get(1)].concat(),
            "200",
        ),
    ])
    .await;
}
