//! Memory that the connections of a thread use in turns, so that idle ones hold none.

use std::cell::{Cell, RefCell};

use http::HeaderMap;

/// Bytes that are read at once.
pub(super) const READ_BYTES: usize = 8 * 1024;
/// Room that a thread keeps for what is written.
const KEPT_BYTES: usize = 128 * 1024;
/// Headers for which a thread keeps room.
const KEPT_HEADERS: usize = 64;

thread_local! {
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static WRITE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static HEADERS: Cell<Option<HeaderMap>> = const { Cell::new(None) };
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

/// Takes an empty map.
pub(super) fn take_headers() -> HeaderMap {
    HEADERS.take().unwrap_or_default()
}

/// Gives back a map; what is in it goes.
pub(super) fn give_headers(mut headers: HeaderMap) {
    if (1..=KEPT_HEADERS).contains(&headers.capacity()) {
        headers.clear();
        HEADERS.set(Some(headers));
    }
}
