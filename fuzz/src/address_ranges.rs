//! Published address ranges, in every format, with and without a selection.
//!
//! `cargo +nightly fuzz run address_ranges fuzz/corpus`.

use robot_detection::verify::PublishedRanges;

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    for url in [
        "https://robots.example/ips.json",
        "https://robots.example/ips.json#hooks",
        "https://robots.example/ips.json#service=CHECKS",
    ] {
        match PublishedRanges::parse(url, bytes) {
            Err(error) => assert!(error.to_string().chars().count() < 500, "{error}"),
            Ok(published) => check(&published),
        }
    }
    // A chosen list may contain other networks, but uses the same parsers.
    if let Ok(list) = PublishedRanges::parse_chosen("list.txt", bytes) {
        assert!(list.set.iter().all(|prefix| prefix.prefix_len() > 0));
    }
}

fn check(published: &PublishedRanges) {
    assert!(!published.set.is_empty());
    let mut lines = String::new();
    for prefix in published.set.iter() {
        assert_eq!(prefix, prefix.trunc());
        assert!(prefix.prefix_len() >= 8, "{prefix}");
        assert!(published.set.contains(prefix.network()));
        assert_eq!(published.set.find(prefix.broadcast()), Some(prefix));
        lines.push_str(&prefix.to_string());
        lines.push('\n');
    }
    for private in ["10.0.0.1", "127.0.0.1", "::1", "fe80::1", "224.0.0.1"] {
        assert!(!published.set.contains(private.parse().expect("valid IP")));
    }
    let again = PublishedRanges::parse("https://robots.example/", lines.as_bytes());
    assert_eq!(again.expect("the output can be parsed").set, published.set);
}
