//! PROXY protocol headers of both versions, complete and truncated.
//!
//! `cargo +nightly fuzz run proxy_protocol fuzz/corpus`: new inputs are written to the directory.

use robot_detection::listen::ProxyHeader;

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    match ProxyHeader::parse(bytes) {
        ProxyHeader::Complete { len, .. } => {
            assert!(len <= bytes.len() && len <= 16 + 4096);
            let header = &bytes[..len];
            assert_eq!(ProxyHeader::parse(header), ProxyHeader::parse(bytes));
            for cut in 0..len {
                assert_eq!(ProxyHeader::parse(&bytes[..cut]), ProxyHeader::Incomplete);
            }
        }
        ProxyHeader::Incomplete => assert!(bytes.len() < 16 + 4096),
        _ => {
            let longer = [bytes, b"\r\n"].concat();
            assert_eq!(ProxyHeader::parse(&longer), ProxyHeader::Invalid);
        }
    }
}
