//! Responses of an upstream, parted anywhere: the same comes out of the same bytes.
//!
//! `cargo +nightly fuzz run upstream_response fuzz/corpus`: the first byte says
//! where the others are parted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robot_detection::proxy::{ResponsePart, ResponseReader};

/// Status, body, and what is left; nothing where the response is refused.
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

fuzz_target!(|bytes: &[u8]| {
    let Some((at, bytes)) = bytes.split_first() else {
        return;
    };
    let (one, two) = bytes.split_at(usize::from(*at).min(bytes.len()));
    let whole = read(&[bytes]);
    assert_eq!(read(&[one, two]), whole);
    if let Some((_, body, rest)) = whole {
        assert!(body.len() + rest.len() <= bytes.len());
    }
});
