use super::*;

const URL: &str = "https://robots.example/ips.json";
const DAY: Duration = Duration::from_hours(24);

fn ranges() -> Ranges {
    Ranges::new(Clock::manual(1_790_000_000_000))
}

fn put(ranges: &Ranges, document: &str) {
    let published = PublishedRanges::parse(URL, document.as_bytes()).unwrap();
    ranges.put(URL, published);
}

fn ask(ranges: &Ranges, address: &str) -> (&'static str, String) {
    let address = address.parse().unwrap();
    let finding = ranges.find(URL, address);
    let (word, verdict, evidence) = match finding {
        Finding::Confirmed(evidence) => ("confirmed", Some(true), evidence),
        Finding::Contradicted(evidence) => ("contradicted", Some(false), evidence),
        Finding::Replayed(evidence) => ("replayed", None, evidence),
        Finding::Nothing(evidence) => ("nothing", None, evidence),
    };
    assert_eq!(ranges.contains(URL, address), verdict, "{address}");
    assert_eq!(evidence.method, Method::Ranges);
    (word, evidence.text)
}

#[test]
fn current_list_confirms_and_contradicts() {
    let ranges = ranges();
    put(
        &ranges,
        r#"{"creationTime": "2026-11-20T10:00:00", "prefixes": [{"ipv4Prefix": "192.0.2.0/24"}, {"ipv6Prefix": "2001:db8::/48"}]}"#,
    );
    ranges.clock.advance(Duration::from_hours(3));
    assert_eq!(
        ask(&ranges, "192.0.2.1"),
        ("confirmed", "192.0.2.1 is within 192.0.2.0/24, listed in https://robots.example/ips.json (of 2026-11-20, checked 3 h ago)".to_owned())
    );
    assert_eq!(ask(&ranges, "::ffff:192.0.2.1").0, "confirmed");
    assert_eq!(ask(&ranges, "2001:db8::1").0, "confirmed");
    assert_eq!(
        ask(&ranges, "198.51.100.1"),
        ("contradicted", "198.51.100.1 is in none of the 2 ranges listed in https://robots.example/ips.json (of 2026-11-20, checked 3 h ago)".to_owned())
    );
    assert_eq!(ask(&ranges, "2001:db8:1::1").0, "contradicted");
}

#[test]
fn nothing_is_proved_without_a_copy() {
    let ranges = ranges();
    let (word, text) = ask(&ranges, "192.0.2.1");
    assert_eq!(
        (word, text.as_str()),
        ("nothing", "no copy of https://robots.example/ips.json yet")
    );
    ranges.set(URL, Listing::default().failed("a web page".to_owned(), 0));
    let (word, text) = ask(&ranges, "192.0.2.1");
    assert_eq!(
        (word, text.as_str()),
        (
            "nothing",
            "no usable copy of https://robots.example/ips.json: a web page"
        )
    );
}

#[test]
fn old_copy_confirms_but_does_not_contradict() {
    let ranges = ranges();
    put(&ranges, "192.0.2.0/24");
    ranges.clock.advance(29 * DAY);
    assert_eq!(ask(&ranges, "198.51.100.1").0, "contradicted");
    assert!(!ranges.states()[0].is_stale);
    ranges.clock.advance(DAY);
    assert_eq!(ask(&ranges, "192.0.2.1").0, "confirmed");
    let (word, text) = ask(&ranges, "198.51.100.1");
    assert_eq!(word, "nothing");
    assert!(
        text.ends_with("(checked 30 days ago), but the copy is too old"),
        "{text}"
    );
    assert!(ranges.states()[0].is_stale);
    let patient = ranges.stale_after(40 * DAY);
    assert_eq!(ask(&patient, "198.51.100.1").0, "contradicted");
}

#[test]
fn list_with_unreadable_entries_does_not_contradict() {
    let ranges = ranges();
    put(&ranges, &("192.0.2.0/24\n".repeat(19) + "unreadable\n"));
    assert_eq!(ask(&ranges, "192.0.2.1").0, "confirmed");
    let (word, text) = ask(&ranges, "198.51.100.1");
    assert_eq!(word, "nothing");
    assert!(
        text.contains("not in the only range") && text.ends_with("but 1 more could not be parsed"),
        "{text}"
    );
}

#[test]
fn address_that_is_not_public_is_not_contradicted() {
    let ranges = ranges();
    put(&ranges, "192.0.2.0/24");
    for address in [
        "127.0.0.1",
        "10.1.2.3",
        "::1",
        "fe80::1",
        "::ffff:192.168.0.1",
    ] {
        let (word, text) = ask(&ranges, address);
        assert_eq!(word, "nothing", "{address}");
        assert!(text.contains("not a public address"), "{text}");
    }
}

#[test]
fn clones_share_the_lists() {
    let ranges = ranges();
    let clone = ranges.clone();
    put(&ranges, "192.0.2.0/24");
    let other = format!("{URL}#hooks");
    clone.put(
        &other,
        PublishedRanges::new(["198.51.100.0/24".parse().unwrap()]),
    );
    let address = "198.51.100.1".parse().unwrap();
    assert_eq!(clone.contains(URL, address), Some(false));
    assert_eq!(ranges.contains(&other, address), Some(true));
    let urls: Vec<_> = ranges.states().into_iter().map(|state| state.url).collect();
    assert_eq!(urls, [URL, &other]);
    ranges.retain(|url| url == URL);
    assert_eq!(clone.contains(&other, address), None);
}

#[test]
fn stored_list_does_not_replace_a_newer_one() {
    let ranges = ranges();
    put(&ranges, "192.0.2.0/24");
    let now_ms = ranges.clock.now_ms();
    let stored = |ms| {
        Listing::fetched(
            PublishedRanges::new(["198.51.100.0/24".parse().unwrap()]),
            Conditions::default(),
            ms,
        )
    };
    ranges.set_stored(vec![(URL.to_owned(), stored(now_ms))]);
    assert_eq!(ask(&ranges, "198.51.100.1").0, "contradicted");
    ranges.set_stored(vec![(URL.to_owned(), stored(now_ms + 1))]);
    assert_eq!(ask(&ranges, "198.51.100.1").0, "confirmed");
}

#[test]
fn contains_allocates_nothing() {
    let ranges = ranges();
    put(&ranges, "192.0.2.0/24");
    let addresses: [IpAddr; 3] =
        ["192.0.2.1", "198.51.100.1", "2001:db8::1"].map(|text| text.parse().unwrap());
    let allocations = allocation_counter::measure(|| {
        for address in addresses {
            let _ = ranges.contains(URL, address);
        }
    });
    assert_eq!(allocations.count_total, 0);
}
