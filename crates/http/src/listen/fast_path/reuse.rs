//! Buffers and header maps that the connections of a thread share, so that idle ones hold no memory.
//!
//! A header map is reused together with the names in it.
//! Requests are much alike, and so are responses. Where one has the same names in the same
//! order as an earlier one, only values are put in, and nothing is hashed or moved.
//! No value outlives its message: the next map may be another client's.

use std::cell::{Cell, RefCell};

use http::{HeaderMap, HeaderValue};

/// Capacity of the largest map that is kept, so that one huge head holds no memory for ever.
const KEPT_HEADERS: usize = 64;
/// Maps that a thread keeps: about as many as requests wait for the upstream at one time.
const KEPT_MAPS: usize = 64;

/// Bytes of one read; also the longest head that is parsed here.
pub(super) const READ_BYTES: usize = 8 * 1024;
/// Largest write buffer that a thread keeps: one huge response must not hold memory for ever.
const KEPT_BYTES: usize = 128 * 1024;

type MapPool = RefCell<Vec<HeaderMap>>;

thread_local! {
    static OF_REQUESTS: MapPool = const { RefCell::new(Vec::new()) };
    static OF_RESPONSES: MapPool = const { RefCell::new(Vec::new()) };
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static WRITE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Takes a map for a request, which may hold the names of another one.
pub(super) fn take_for_request() -> HeaderMap {
    let kept = OF_REQUESTS.with_borrow_mut(Vec::pop);
    kept.unwrap_or_else(take_for_response)
}

/// Takes a map for a response, which may hold the names of another one.
pub(crate) fn take_for_response() -> HeaderMap {
    OF_RESPONSES.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Gives back the map of a request.
pub(crate) fn recycle_request(headers: HeaderMap) {
    // Thread-locals are gone when the thread ends: the map is dropped then.
    OF_REQUESTS.try_with(|kept| keep(kept, headers)).ok();
}

/// Gives back the map of a response.
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

/// Lends the buffer for one read.
pub(super) fn with_read_buffer<T>(read: impl FnOnce(&mut [u8]) -> T) -> T {
    READ.with_borrow_mut(|buffer| {
        if buffer.is_empty() {
            buffer.resize(READ_BYTES, 0);
        }
        read(buffer)
    })
}

/// Takes the write buffer, which is empty.
///
/// A connection that waits for its client keeps it, and the next one gets a new one.
pub(super) fn take_write_buffer() -> Vec<u8> {
    WRITE.take()
}

/// Gives the write buffer back.
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
    fn no_value_is_kept() {
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
    fn what_is_kept_has_limits() {
        for _ in 0..100 {
            recycle_request(HeaderMap::with_capacity(8));
        }
        recycle_response(HeaderMap::new());
        recycle_response(HeaderMap::with_capacity(1000));
        assert_eq!(OF_REQUESTS.with_borrow(Vec::len), KEPT_MAPS);
        assert_eq!(OF_RESPONSES.with_borrow(Vec::len), 0);
    }
}
