//! Responses of an upstream, split anywhere: the result does not depend on the split, and chunked
//! bodies are decoded strictly.
//!
//! `cargo +nightly fuzz run upstream_response fuzz/corpus`: the first byte determines where the
//! others are split.

use robot_detection::proxy::{ResponsePart, ResponseReader};

use super::pipelined;

/// Returns status, body and remaining bytes; `None` if the response is rejected.
fn read(parts: &[&[u8]]) -> Option<(u16, Vec<u8>, Vec<u8>)> {
    let mut reader = ResponseReader::new(&http::Method::GET);
    let (mut status, mut body) = (0, Vec::new());
    for part in parts {
        reader.push(part);
        while let Some(part) = reader.part().ok()? {
            match part {
                ResponsePart::Head(code, _) => status = code.as_u16(),
                ResponsePart::Data(data) => body.extend(data),
                _ => {}
            }
        }
    }
    if !reader.is_done() {
        reader.end().ok()?;
    }
    Some((status, body, reader.rest().to_vec()))
}

/// A body, and its length in the input.
type Body = (Vec<u8>, usize);

/// Parses a chunked body strictly; returns the body and its length in the input.
fn chunks(mut bytes: &[u8]) -> Option<(Option<Body>, usize)> {
    let all = bytes.len();
    loop {
        let mut lines = [httparse::EMPTY_HEADER; 100];
        let mut parsed = httparse::Response::new(&mut lines);
        let Ok(httparse::Status::Complete(len)) = parsed.parse(bytes) else {
            return None;
        };
        bytes = &bytes[len..];
        let status = parsed.code?;
        if (100..200).contains(&status) && status != 101 {
            continue;
        }
        let is_coding =
            |line: &&httparse::Header<'_>| line.name.eq_ignore_ascii_case("transfer-encoding");
        let has_coding = parsed.headers.iter().any(|line| is_coding(&line));
        let has_body = !matches!(status, 101 | 204 | 304);
        return (has_coding && has_body).then(|| (pipelined::chunks(bytes), all - bytes.len()));
    }
}

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let Some((at, bytes)) = bytes.split_first() else {
        return;
    };
    let (one, two) = bytes.split_at(usize::from(*at).min(bytes.len()));
    let whole = read(&[bytes]);
    assert_eq!(read(&[one, two]), whole);
    match (chunks(bytes), &whole) {
        (Some((Some((expected, len)), head)), Some((_, body, rest))) => {
            assert_eq!((body, &**rest), (&expected, &bytes[head + len..]));
        }
        (Some((None, _)), Some(_)) => panic!("invalid chunks were accepted: {whole:?}"),
        _ => {}
    }
    if let Some((_, body, rest)) = whole {
        assert!(body.len() + rest.len() <= bytes.len());
    }
}
