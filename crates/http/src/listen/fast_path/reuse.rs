//! Buffers and header maps shared by the connections of a thread, so that idle connections hold no
//! memory.
//!
//! A header map is reused together with its names. Requests resemble each other, and so do
//! responses: if a message has the same names in the same order as an earlier message, only the
//! values are set, and nothing is hashed or moved. No value outlives its message, because the map
//! may next serve another client.

use std::cell::{Cell, RefCell};

use http::{HeaderMap, HeaderValue};

/// The maximum capacity of a kept header map, so that a huge head does not occupy memory
/// permanently.
const KEPT_HEADERS: usize = 64;
/// The maximum number of header maps kept per thread, which is about the number of requests that
/// wait for the upstream at a time.
const KEPT_MAPS: usize = 64;

/// The size of one read, which is also the size of the longest head that the fast path parses.
pub(super) const READ_BYTES: usize = 8 * 1024;
/// The maximum size of a kept write buffer, so that a huge response does not occupy memory
/// permanently.
const KEPT_BYTES: usize = 128 * 1024;

type MapPool = RefCell<Vec<HeaderMap>>;

thread_local! {
    static OF_REQUESTS: MapPool = const { RefCell::new(Vec::new()) };
    static OF_RESPONSES: MapPool = const { RefCell::new(Vec::new()) };
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static WRITE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Returns a header map for a request; the map may contain the names of another request.
pub(super) fn take_for_request() -> HeaderMap {
    let kept = OF_REQUESTS.with_borrow_mut(Vec::pop);
    kept.unwrap_or_else(take_for_response)
}

/// Returns a header map for a response; the map may contain the names of another response.
pub(crate) fn take_for_response() -> HeaderMap {
    OF_RESPONSES.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Puts the header map of a request back into the pool.
pub(crate) fn recycle_request(headers: HeaderMap) {
    // Thread-locals are unavailable when the thread ends; the map is then dropped.
    OF_REQUESTS.try_with(|kept| keep(kept, headers)).ok();
}

/// Puts the header map of a response back into the pool.
pub(super) fn recycle_response(headers: HeaderMap) {
    OF_RESPONSES.try_with(|kept| keep(kept, headers)).ok();
}

fn keep(kept: &MapPool, mut headers: HeaderMap) {
    let mut kept = kept.borrow_mut();
    if kept.len() == KEPT_MAPS || !(1..=KEPT_HEADERS).contains(&headers.capacity()) {
        return;
    }
    for value in headers.values_mut() {
        *value = HeaderValue::from_static("");
    }
    kept.push(headers);
}

/// Calls a function with the thread's buffer for one read.
pub(super) fn with_read_buffer<T>(read: impl FnOnce(&mut [u8]) -> T) -> T {
    READ.with_borrow_mut(|buffer| {
        if buffer.is_empty() {
            buffer.resize(READ_BYTES, 0);
        }
        read(buffer)
    })
}

/// Takes and returns the thread's write buffer, which is empty.
///
/// If a connection waits for its client, it keeps the buffer, and the next connection gets a new
/// buffer.
pub(super) fn take_write_buffer() -> Vec<u8> {
    WRITE.take()
}

/// Returns a write buffer to the thread.
pub(super) fn return_write_buffer(mut out: Vec<u8>) {
    if out.capacity() <= KEPT_BYTES {
        out.clear();
        WRITE.set(out);
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    #[test]
    fn values_are_not_kept() {
        let said = [
            ("host", "site.example"),
            ("cookie", "session=1234"),
            ("x-api-key", "1234"),
            ("set-cookie", "session=1234"),
            ("set-cookie", "session=5678"),
            ("accept", "*/*"),
        ];
        let headers = said.map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        recycle_response(map);
        let kept = take_for_response();
        assert!(kept.values().all(HeaderValue::is_empty), "{kept:?}");
        assert_eq!(kept.len(), said.len());
        assert!(take_for_response().is_empty());
    }

    #[test]
    fn pool_is_bounded() {
        for _ in 0..100 {
            recycle_request(HeaderMap::with_capacity(8));
        }
        recycle_response(HeaderMap::new());
        recycle_response(HeaderMap::with_capacity(1000));
        assert_eq!(OF_REQUESTS.with_borrow(Vec::len), KEPT_MAPS);
        assert_eq!(OF_RESPONSES.with_borrow(Vec::len), 0);
    }
}
