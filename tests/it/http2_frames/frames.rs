//! Frames and header blocks, valid or invalid (RFC 9113, RFC 7541).

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// `END_STREAM`, and `ACK` of `SETTINGS` and `PING`.
pub(super) const END_STREAM: u8 = 1;
pub(super) const ACK: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
pub(super) const PADDED: u8 = 8;

pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![len[1], len[2], len[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

pub(super) fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let bytes = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    let payload: Vec<u8> = values.iter().flat_map(bytes).collect();
    frame(SETTINGS, 0, 0, payload)
}

pub(super) fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, increment.to_be_bytes())
}

pub(super) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, code.to_be_bytes())
}

pub(super) fn data(stream: u32, flags: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    frame(DATA, flags, stream, payload)
}

/// Returns a request's `HEADERS` frame with `END_HEADERS` and optional further flags.
pub(super) fn headers(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, block(fields))
}

/// Returns a header block of unindexed literals (RFC 7541 §6.2.2).
pub(super) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.extend(integer(0, 7, text.len()));
            block.extend(text.as_bytes());
        }
    }
    block
}

/// Encodes an integer after the first bits of its byte (RFC 7541 §5.1).
pub(super) fn integer(first: u8, prefix: u32, value: usize) -> Vec<u8> {
    let max = (1 << prefix) - 1;
    if value < max {
        return vec![first | u8::try_from(value).unwrap()];
    }
    let mut bytes = vec![first | u8::try_from(max).unwrap()];
    let mut rest = value - max;
    while rest >= 128 {
        bytes.push(u8::try_from(rest % 128).unwrap() | 0x80);
        rest /= 128;
    }
    bytes.push(u8::try_from(rest).unwrap());
    bytes
}

/// The four pseudo-headers of a plain request.
pub(super) const GET: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/page"),
    (":authority", "site.example"),
];

pub(super) const POST: [(&str, &str); 4] = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/page"),
    (":authority", "site.example"),
];

pub(super) fn get(stream: u32) -> Vec<u8> {
    headers(stream, END_STREAM, &GET)
}

/// Returns the head of an unfinished upload.
pub(super) fn post(stream: u32) -> Vec<u8> {
    headers(stream, 0, &POST)
}
