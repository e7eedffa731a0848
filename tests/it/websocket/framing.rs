//! Frames: lengths, reserved bits, opcodes, fragments, pings.

use super::echo::{
    BINARY, CONTINUATION, Case, FIN, PING, PONG, TEXT, check, frame, masked, part, shown, whole,
};

const NOTHING: &[&str] = &[];

#[tokio::test]
async fn payloads_of_every_length_are_echoed() {
    let mut cases = Vec::new();
    for len in [0, 1, 125, 126, 127, 128, 255, 256, 65_535, 65_536, 1 << 20] {
        for (kind, opcode, byte) in [("text", TEXT, b'*'), ("binary", BINARY, 0xfe)] {
            let payload = vec![byte; len];
            let expected = shown(kind, &payload);
            let sent = [whole(opcode, &payload)];
            cases.push(Case::answered(format!("{kind} {len}"), &sent, &[expected]));
        }
    }
    check(cases).await;
}

#[tokio::test]
async fn bytes_can_be_split_anywhere() {
    let mut cases = Vec::new();
    for (len, chop) in [(0, 1), (125, 1), (126, 1), (1000, 7), (65_536, 997)] {
        let payload = vec![b'*'; len];
        for (kind, opcode) in [("text", TEXT), ("binary", BINARY)] {
            let name = format!("{kind} {len} in writes of {chop}");
            let sent = [whole(opcode, &payload), whole(PING, "p")];
            let expected = [shown(kind, &payload), "pong:p".to_owned()];
            cases.push(Case::answered(name, &sent, &expected).chopped(chop));
        }
    }
    check(cases).await;
}

#[tokio::test]
async fn many_messages_are_echoed_in_order() {
    let mut cases = Vec::new();
    for (count, len) in [(1000, 16), (1000, 0), (200, 1024), (20, 65_536)] {
        let messages: Vec<_> = (0..count)
            .map(|number| format!("{number:04}{}", "+".repeat(len)))
            .collect();
        let sent: Vec<_> = messages.iter().map(|text| whole(TEXT, text)).collect();
        let expected: Vec<_> = messages
            .iter()
            .map(|text| shown("text", text.as_bytes()))
            .collect();
        cases.push(Case::answered(
            format!("{count} of {len} bytes"),
            &sent,
            &expected,
        ));
    }
    check(cases).await;
}

#[tokio::test]
async fn frames_that_violate_a_rule_end_the_connection() {
    let hello = || whole(TEXT, "hello");
    let mut cases = Vec::new();
    for reserved in [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70] {
        for opcode in [TEXT, PING] {
            let sent = [
                hello(),
                frame(FIN | reserved | opcode, "x"),
                whole(PING, ""),
            ];
            let name = format!("reserved bits {reserved:#x} on {opcode}");
            cases.push(Case::ended(name, &sent, &["text:hello"], "close 1002 eof"));
        }
    }
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        for payload in ["", "x"] {
            let sent = [hello(), whole(opcode, payload), whole(PING, "")];
            let name = format!("operation {opcode} with {payload:?}");
            cases.push(Case::ended(name, &sent, &["text:hello"], "close 1002 eof"));
        }
    }
    cases.push(Case::refused("not masked", &[b"\x81\x05hello".to_vec()]));
    cases.push(Case::refused("ping not masked", &[b"\x89\x00".to_vec()]));
    cases.push(Case::ended(
        "a length beyond every limit",
        &[[&[0x82, 0xff, 0x7f][..], &[0xff; 7], &[0; 4]].concat()],
        NOTHING,
        "close 1009 eof",
    ));
    check(cases).await;
}

#[tokio::test]
async fn overlong_length_encodings_are_treated_as_by_the_server() {
    let long = |head: &[u8]| {
        let mut bytes = head.to_vec();
        bytes.extend([0x37, 0xfa, 0x21, 0x3d]);
        bytes.extend(masked(b"hello"));
        bytes
    };
    check(vec![
        Case::answered("two", &[long(&[0x81, 0xfe, 0, 5])], &["text:hello"]),
        Case::answered(
            "eight",
            &[long(&[0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 5])],
            &["text:hello"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn pings_are_answered() {
    let mut cases = Vec::new();
    for payload in [
        &b""[..],
        b"hello",
        &[0, 0xff, 0xfe, 0xfd, 0xfc, 0],
        &[0xfe; 125],
    ] {
        let sent = [whole(PING, payload)];
        let expected = [shown("pong", payload)];
        cases.push(Case::answered(
            format!("ping {}", payload.len()),
            &sent,
            &expected,
        ));
        cases.push(
            Case::answered(format!("ping {} chopped", payload.len()), &sent, &expected).chopped(1),
        );
    }
    cases.push(Case::refused("ping of 126", &[whole(PING, [0xfe; 126])]));
    cases.push(Case::refused("pong of 126", &[whole(PONG, [0xfe; 126])]));
    cases.push(Case::answered(
        "a pong unasked",
        &[whole(PONG, "")],
        NOTHING,
    ));
    cases.push(Case::answered(
        "a pong unasked, then a ping",
        &[whole(PONG, "unasked"), whole(PING, "asked")],
        &["pong:asked"],
    ));
    let pings: Vec<_> = (0..10).map(|n| whole(PING, format!("ping {n}"))).collect();
    let pongs: Vec<_> = (0..10).map(|n| format!("pong:ping {n}")).collect();
    cases.push(Case::answered("ten pings", &pings, &pongs));
    cases.push(Case::answered("ten pings chopped", &pings, &pongs).chopped(1));
    check(cases).await;
}

#[tokio::test]
async fn fragments_form_one_message() {
    let whole_text = ["text:onetwo"];
    let mut cases = vec![
        Case::answered("two parts", &[part(TEXT, "one"), last("two")], &whole_text),
        Case::answered(
            "two parts chopped",
            &[part(TEXT, "one"), last("two")],
            &whole_text,
        )
        .chopped(1),
        Case::answered(
            "an empty part between",
            &[part(TEXT, "one"), part(CONTINUATION, ""), last("two")],
            &whole_text,
        ),
        Case::answered(
            "empty parts",
            &[part(TEXT, ""), part(CONTINUATION, ""), last("")],
            &["text:"],
        ),
        Case::answered(
            "a ping between",
            &[part(TEXT, "one"), whole(PING, "now"), last("two")],
            &["pong:now", "text:onetwo"],
        ),
        Case::answered(
            "a pong between",
            &[part(TEXT, "one"), whole(PONG, "now"), last("two")],
            &whole_text,
        ),
        Case::answered(
            "pings between many parts, chopped",
            &[
                part(TEXT, "a"),
                part(CONTINUATION, "b"),
                whole(PING, "1"),
                part(CONTINUATION, "c"),
                whole(PING, "2"),
                last("d"),
            ],
            &["pong:1", "pong:2", "text:abcd"],
        )
        .chopped(1),
        Case::answered(
            "a message after one in parts",
            &[part(BINARY, "one"), last("two"), whole(TEXT, "three")],
            &["binary:onetwo", "text:three"],
        ),
    ];
    for size in [64, 256, 1024, 4096, 16_384, 65_536, 262_144] {
        let parts: Vec<_> = parts(BINARY, &vec![0xfe; 1 << 18], size);
        cases.push(Case::answered(
            format!("262144 bytes in parts of {size}"),
            &parts,
            &["binary[262144]"],
        ));
    }
    check(cases).await;
}

#[tokio::test]
async fn fragments_out_of_order_end_the_connection() {
    check(vec![
        Case::refused("a ping in parts", &[part(PING, "a"), last("b")]),
        Case::refused("a pong in parts", &[part(PONG, "a"), last("b")]),
        Case::refused("a close in parts", &[part(8, ""), last("")]),
        Case::refused("the last part first", &[last("a"), whole(TEXT, "b")]),
        Case::refused("a part of nothing", &[part(CONTINUATION, "a"), last("b")]),
        Case::refused(
            "a message in a message",
            &[part(TEXT, "a"), whole(TEXT, "b")],
        ),
        Case::refused(
            "other parts in a message",
            &[part(TEXT, "a"), part(BINARY, "b")],
        ),
        Case::ended(
            "a part after the last",
            &[part(TEXT, "a"), last("b"), last("c")],
            &["text:ab"],
            "close 1002 eof",
        ),
        Case::ended(
            "a part after the last, not the last",
            &[whole(TEXT, "a"), part(CONTINUATION, "b"), whole(TEXT, "c")],
            &["text:a"],
            "close 1002 eof",
        ),
    ])
    .await;
}

fn last(payload: &str) -> Vec<u8> {
    whole(CONTINUATION, payload)
}

fn parts(opcode: u8, payload: &[u8], size: usize) -> Vec<Vec<u8>> {
    let count = payload.len().div_ceil(size);
    let pieces = payload.chunks(size).enumerate();
    pieces
        .map(|(at, piece)| {
            let opcode = if at == 0 { opcode } else { CONTINUATION };
            let fin = if at + 1 == count { FIN } else { 0 };
            frame(fin | opcode, piece)
        })
        .collect()
}
