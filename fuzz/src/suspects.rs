//! Requests that claim to be a browser's: every reason can be shown, whatever the headers.
//!
//! `cargo +nightly fuzz run suspects fuzz/corpus -- -dict=fuzz/request_headers.dict`: one header
//! per line, with a colon after the name; the first byte sets the transport.

use http::{HeaderName, HeaderValue, Request};
use robot_detection::suspect::{BrowserCheck, Transport};

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let Some((first, lines)) = bytes.split_first() else {
        return;
    };
    let mut request = Request::new(());
    for line in lines.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts
            .next()
            .and_then(|name| HeaderName::from_bytes(name).ok());
        let value = parts
            .next()
            .and_then(|value| HeaderValue::from_bytes(value.trim_ascii()).ok());
        if let (Some(name), Some(value)) = (name, value) {
            request.headers_mut().append(name, value);
        }
    }
    let transport = Transport {
        is_https: first & 1 != 0,
        is_direct: first & 2 != 0,
        front: (first & 4 != 0).then(|| [192, 0, 2, 1].into()),
        sender: None,
    };
    let coherence = BrowserCheck::new();
    let reasons = coherence.judge(&request, transport);
    let found = coherence.explain(&request, transport);
    // A proxy's forwarded headers are learnt from its first request; a repetition changes nothing.
    assert_eq!(found.reasons, reasons);
    assert_eq!(found.seen.len(), reasons.iter().count());
    assert!(found.browser.is_some() || reasons.is_empty());
}
