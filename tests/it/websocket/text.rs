//! Text is UTF-8 (RFC 6455 §8.1), whole or in fragments.

use super::echo::{CONTINUATION, Case, TEXT, check, part, shown, whole};

/// Byte sequences at the edges of valid UTF-8 (RFC 3629).
const VALID: &[&[u8]] = &[
    b"\x00",
    b"\x7f",
    b"\xc2\x80",
    b"\xdf\xbf",
    b"\xe0\xa0\x80",
    b"\xed\x9f\xbf",
    b"\xee\x80\x80",
    b"\xef\xbf\xbd",
    b"\xef\xbf\xbe",
    b"\xef\xbf\xbf",
    b"\xf0\x90\x80\x80",
    b"\xf0\x9f\x98\x80",
    b"\xf4\x8f\xbf\xbf",
    "κόσμε: Wörter, 言葉, слова".as_bytes(),
];

const INVALID: &[(&str, &[u8])] = &[
    ("a continuation byte alone", b"\x80"),
    ("the last continuation byte alone", b"\xbf"),
    ("continuation bytes alone", b"\x80\xbf\x80\xbf"),
    ("two bytes, the second missing", b"\xc3 "),
    ("three bytes, the third missing", b"\xe2\x82 "),
    ("four bytes, the fourth missing", b"\xf0\x9f\x98 "),
    ("NUL in two bytes", b"\xc0\x80"),
    ("a slash in two bytes", b"\xc0\xaf"),
    ("U+7F in two bytes", b"\xc1\xbf"),
    ("U+7FF in three bytes", b"\xe0\x9f\xbf"),
    ("U+FFFF in four bytes", b"\xf0\x8f\xbf\xbf"),
    ("the first high surrogate", b"\xed\xa0\x80"),
    ("the last low surrogate", b"\xed\xbf\xbf"),
    ("a pair of surrogates", b"\xed\xa0\xbd\xed\xb8\x80"),
    ("beyond U+10FFFF", b"\xf4\x90\x80\x80"),
    ("five bytes", b"\xf8\x88\x80\x80\x80"),
    ("six bytes", b"\xfc\x84\x80\x80\x80\x80"),
    ("0xfe", b"\xfe"),
    ("0xff", b"\xff"),
    ("Latin-1", b"caf\xe9 au lait"),
    ("the end is missing", b"abc\xf0\x9f\x98"),
];

#[tokio::test]
async fn valid_text_is_echoed_however_it_is_split() {
    let mut cases = Vec::new();
    for text in VALID {
        let name = String::from_utf8_lossy(text);
        let expected = [shown("text", text)];
        cases.push(Case::answered(
            name.clone(),
            &[whole(TEXT, text)],
            &expected,
        ));
        cases.push(Case::answered(name.clone(), &[whole(TEXT, text)], &expected).chopped(1));
        // Fragments may end within a character.
        for at in 1..text.len().min(5) {
            let (start, end) = text.split_at(at);
            let sent = [part(TEXT, start), whole(CONTINUATION, end)];
            cases.push(Case::answered(
                format!("{name} cut at {at}"),
                &sent,
                &expected,
            ));
        }
    }
    check(cases).await;
}

#[tokio::test]
async fn invalid_text_ends_the_connection() {
    let mut cases = Vec::new();
    for (name, text) in INVALID {
        let sent = [whole(TEXT, text)];
        let invalid = |sent: &[Vec<u8>]| Case::ended(*name, sent, NOTHING, "close 1007 eof");
        cases.push(invalid(&sent));
        cases.push(invalid(&sent).chopped(1));
        let (start, end) = text.split_at(1);
        cases.push(invalid(&[part(TEXT, start), whole(CONTINUATION, end)]));
    }
    check(cases).await;
}

#[tokio::test]
async fn invalid_text_ends_the_connection_before_its_last_fragment() {
    let mut cases = Vec::new();
    for (name, text) in INVALID {
        // The last sequence could still become valid.
        if !name.contains("the end is missing") {
            let sent = [part(TEXT, "fine"), part(CONTINUATION, text)];
            cases.push(Case::ended(*name, &sent, NOTHING, "close 1007 eof"));
        }
    }
    check(cases).await;
}

#[tokio::test]
async fn binary_messages_are_not_checked() {
    let cases = INVALID.iter().map(|(name, bytes)| {
        let expected = [shown("binary", bytes)];
        Case::answered(*name, &[whole(super::echo::BINARY, bytes)], &expected)
    });
    check(cases.collect()).await;
}

const NOTHING: &[&str] = &[];
