//! The closing handshake (RFC 6455 §5.5.1, §7).

use super::echo::{BINARY, CONTINUATION, Case, PING, TEXT, check, close, close_of, part, whole};

const NOTHING: &[&str] = &[];

fn closed(name: impl Into<String>, sent: &[Vec<u8>], end: &str) -> Case {
    Case::ended(name, sent, NOTHING, end)
}

#[tokio::test]
async fn valid_codes_are_echoed() {
    let valid = [
        1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999,
    ];
    let cases = valid.into_iter().flat_map(|code| {
        let end = format!("close {code} eof");
        [
            closed(format!("{code}"), &[close(code, b"")], &end),
            closed(
                format!("{code} with a reason"),
                &[close(code, b"why")],
                &end,
            ),
        ]
    });
    check(cases.collect()).await;
}

#[tokio::test]
async fn invalid_codes_violate_the_protocol() {
    let invalid = [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999];
    let cases = invalid.into_iter().flat_map(|code| {
        [&b""[..], b"why"].map(|reason| {
            closed(
                format!("{code} {reason:?}"),
                &[close(code, reason)],
                "close 1002 eof",
            )
        })
    });
    check(cases.collect()).await;
}

#[tokio::test]
async fn close_frames_of_every_length_are_handled() {
    check(vec![
        closed("without a code", &[close_of(b"")], "close eof"),
        closed("half a code", &[close_of(b"\x03")], "close 1002 eof"),
        closed(
            "a reason of 123",
            &[close(1000, &[b'*'; 123])],
            "close 1000 eof",
        ),
        closed(
            "a reason of 124",
            &[close(1000, &[b'*'; 124])],
            "close 1002 eof",
        ),
        closed(
            "a reason that is no text",
            &[close(1000, b"\xce\xba\xe1\xbd")],
            "close 1007 eof",
        ),
        closed("chopped", &[close(1001, b"going away")], "close 1001 eof").chopped(1),
    ])
    .await;
}

#[tokio::test]
async fn nothing_is_sent_after_the_close() {
    let one = &["text:one"];
    check(vec![
        Case::ended(
            "messages before it are",
            &[whole(TEXT, "one"), close(1000, b"")],
            one,
            "close 1000 eof",
        ),
        closed(
            "a message after it",
            &[close(1000, b""), whole(TEXT, "two")],
            "close 1000 eof",
        ),
        closed(
            "a ping after it",
            &[close(1000, b""), whole(PING, "two")],
            "close 1000 eof",
        ),
        closed(
            "a second one",
            &[close(1000, b""), close(1001, b"")],
            "close 1000 eof",
        ),
        closed(
            "in the middle of a message",
            &[
                part(TEXT, "one"),
                close(1000, b""),
                whole(CONTINUATION, "two"),
            ],
            "close 1000 eof",
        ),
        Case::ended(
            "a large message before it",
            &[whole(BINARY, vec![1; 1 << 18]), close(1000, b"")],
            &["binary[262144]"],
            "close 1000 eof",
        ),
    ])
    .await;
}
