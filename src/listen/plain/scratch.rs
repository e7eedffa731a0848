//! Memory that the connections of a thread use in turns, so that idle ones hold none.

use std::cell::{Cell, RefCell};

use http::HeaderMap;

use super::header;

/// Bytes that are read at once.
pub(super) const READ_BYTES: usize = 8 * 1024;
/// Room that a thread keeps for what is written.
const KEPT_BYTES: usize = 128 * 1024;
/// Headers of a map that a thread keeps.
const KEPT_HEADERS: usize = 64;
/// Maps that a thread keeps: about as many as requests wait for the upstream at a time.
const KEPT_MAPS: usize = 64;

thread_local! {
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static WRITE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static HEADERS: RefCell<Vec<HeaderMap>> = const { RefCell::new(Vec::new()) };
}

/// Lends room for one read.
pub(super) fn with_room<T>(read: impl FnOnce(&mut [u8]) -> T) -> T {
    READ.with_borrow_mut(|room| {
        if room.is_empty() {
            room.resize(READ_BYTES, 0);
        }
        read(room)
    })
}

/// Takes the room for what is written; it is empty.
pub(super) fn take_out() -> Vec<u8> {
    WRITE.take()
}

/// Gives back the room for what is written.
pub(super) fn give_out(mut out: Vec<u8>) {
    if out.capacity() <= KEPT_BYTES {
        out.clear();
        WRITE.set(out);
    }
}

/// Takes a map, in which the headers of another request may be.
pub(super) fn take_headers() -> HeaderMap {
    HEADERS.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Gives back a map; what is in it goes.
pub(super) fn give_headers(mut headers: HeaderMap) {
    if (1..=KEPT_HEADERS).contains(&headers.capacity()) {
        headers.clear();
        keep(headers);
    }
}

/// Gives back the headers of a request, most of which may be said again; secrets are not kept.
pub(super) fn give_request_headers(headers: HeaderMap) {
    if headers.capacity() > KEPT_HEADERS || headers.keys().any(header::is_secret) {
        return give_headers(headers);
    }
    keep(headers);
}

fn keep(headers: HeaderMap) {
    HEADERS.with_borrow_mut(|kept| {
        if kept.len() < KEPT_MAPS {
            kept.push(headers);
        }
    });
}
