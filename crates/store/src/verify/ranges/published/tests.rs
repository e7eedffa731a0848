use proptest::prelude::*;

use super::*;
use crate::verify::ranges::prefix;

const URL: &str = "https://robots.example/ips.json";

fn parse(document: &str) -> Result<PublishedRanges, RangesError> {
    PublishedRanges::parse(URL, document.as_bytes())
}

fn part(fragment: &str, document: &str) -> Result<Vec<String>, RangesError> {
    let url = format!("{URL}#{fragment}");
    PublishedRanges::parse(&url, document.as_bytes()).map(|published| prefixes(&published))
}

fn lines(entries: impl Iterator<Item = String>) -> String {
    entries.flat_map(|entry| [entry, "\n".to_owned()]).collect()
}

fn prefixes(published: &PublishedRanges) -> Vec<String> {
    published.set.iter().map(|net| net.to_string()).collect()
}

/// Documents of various structures that all list 192.0.2.0/24, 198.51.100.7 and `2001:db8::/48`.
const SHAPES: &[(&str, &str)] = &[
    (
        "prefixes by version",
        r#"{"creationTime": "2026-11-20T10:00:00.000000", "prefixes": [
            {"ipv4Prefix": "192.0.2.0/24"}, {"ipv6Prefix": "2001:db8::/48"},
            {"ipv4Prefix": "198.51.100.7/32"}]}"#,
    ),
    (
        "prefixes by version with more fields",
        r#"{"version": "1.2.3.4", "ttl": 3600, "creationTime": "2026-11-20T10:00:00Z", "expires": null,
            "operator": {"name": "Example", "contact": "robots@example.org", "ratio": -1.5e3, "n": -1},
            "prefixes": [{"ipv4Prefix": "192.0.2.0/24", "purpose": ["search", "ai"], "active": true},
            {"ipv4Prefix": "198.51.100.7", "ipv6Prefix": "2001:db8::/48"}]}"#,
    ),
    (
        "prefixes with region and service",
        r#"{"syncToken": "1795132800", "createDate": "2026-11-20-10-00-00", "prefixes": [
            {"ip_prefix": "192.0.2.0/24", "region": "eu", "service": "CHECKS", "network_border_group": "eu"},
            {"ip_prefix": "198.51.100.7/32", "region": "eu", "service": "ALL"}],
            "ipv6_prefixes": [{"ipv6_prefix": "2001:db8::/48", "region": "eu", "service": "ALL"}]}"#,
    ),
    (
        "addresses in objects",
        r#"{"date": "2026-11-20", "ips": [{"ip_address": "192.0.2.0/24"}, {"ip_address": "198.51.100.7"},
            {"ip_address": "2001:db8::/48"}]}"#,
    ),
    (
        "prefixes with descriptions",
        r#"{"organization": "Example", "updated": "2026-11-20", "prefixes": [
            {"ip": "192.0.2.0/24", "description": "main"}, {"ip": "198.51.100.7/32", "description": ""},
            {"ip": "2001:db8::/48"}]}"#,
    ),
    (
        "a list of texts",
        r#"["192.0.2.0/24", "198.51.100.7", "2001:db8::/48", ""]"#,
    ),
    (
        "lists by version and place",
        r#"{"version": 7, "modified": "2026-11-20-10-00-00", "checks": {
            "prefixes_ipv4": ["192.0.2.0/24", "198.51.100.7/32"],
            "prefixes_ipv4_by_location": {"eu:one": ["198.51.100.7/32"], "us:two": ["192.0.2.0/24"]},
            "prefixes_ipv6": ["2001:db8::/48"], "prefixes_ipv6_by_location": {}}}"#,
    ),
    (
        "lists by use, and other lists",
        r#"{"password": false, "keys": {"SHA256": "AbC/def"}, "ssh_keys": ["ssh-rsa AAAA"],
            "hooks": ["192.0.2.0/24", "2001:db8::/48"], "pages": ["198.51.100.7/32"],
            "domains": {"site": ["*.example.org", "example.com"]}}"#,
    ),
    (
        "addresses under one name",
        r#"{"WEBHOOKS": ["192.0.2.0/24", "198.51.100.7", "2001:db8::/48"]}"#,
    ),
    (
        "prefixes in objects under any name",
        r#"[{"net": "192.0.2.0/24"}, {"net": "198.51.100.7/32", "name": "x"}, {"net": "2001:db8::/48"}]"#,
    ),
    (
        "lines",
        "# robots of Example\n192.0.2.0/24\n198.51.100.7 # one\n\n2001:db8::/48\n",
    ),
    (
        "lines with a mark",
        "\u{feff}192.0.2.0/24\r\n198.51.100.7\r\n2001:db8::/48",
    ),
    (
        "a table",
        "prefix,country,city\n192.0.2.0/24,XX,\n198.51.100.7/32,XX,A\n\"2001:db8::/48\",YY,\n",
    ),
];

#[test]
fn every_structure_is_parsed() {
    for (name, document) in SHAPES {
        let published = parse(document).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = ["192.0.2.0/24", "198.51.100.7/32", "2001:db8::/48"];
        assert_eq!(prefixes(&published), expected, "{name}");
        assert_eq!(published.unreadable, 0, "{name}");
        let is_dated = document.contains("2026");
        assert_eq!(published.created.is_some(), is_dated, "{name}");
    }
}

#[test]
fn fragment_selects_a_part() {
    let service = SHAPES[2].1;
    assert_eq!(part("service=CHECKS", service).unwrap(), ["192.0.2.0/24"]);
    assert_eq!(
        part("service=ALL", service).unwrap(),
        ["198.51.100.7/32", "2001:db8::/48"]
    );
    let uses = SHAPES[7].1;
    assert_eq!(
        part("hooks", uses).unwrap(),
        ["192.0.2.0/24", "2001:db8::/48"]
    );
    // Bad entries in other parts do not count.
    let mixed = r#"{"hooks": ["192.0.2.0/24"], "others": ["198.51.100.0/24", "damaged", "10.0.0.0/8", "0.0.0.0/0"]}"#;
    assert_eq!(part("hooks", mixed).unwrap(), ["192.0.2.0/24"]);
    assert!(parse(mixed).is_err());
    for (fragment, document) in [
        ("service=checks", service),
        ("hook", uses),
        ("domains", uses),
        ("hooks", "192.0.2.0/24\n"),
    ] {
        let error = part(fragment, document).unwrap_err();
        assert_eq!(
            error,
            RangesError::EmptyPart {
                part: fragment.to_owned()
            }
        );
    }
}

#[test]
fn invalid_lists_are_rejected_with_a_reason() {
    for (document, reason) in [
        ("", "lists no addresses"),
        (" \n ", "lists no addresses"),
        ("{}", "lists no addresses"),
        ("[]", "lists no addresses"),
        (r#"{"prefixes": []}"#, "lists no addresses"),
        (
            r#"{"domains": ["example.org"], "version": "1.2.3.4"}"#,
            "lists no addresses",
        ),
        ("<!doctype html><title>Sorry</title>", "is a web page"),
        ("\n <?xml version='1.0'?>", "is a web page"),
        (
            r#"{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}, {"ipv4"#,
            "damaged JSON",
        ),
        (r#"["192.0.2.0/24"] trailing"#, "damaged JSON"),
        ("Not found", "lists no addresses"),
        (
            r#"{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}, {"ipv4Prefix": "192.0.2.0/99"}]}"#,
            "1 of 2 entries",
        ),
        (
            r#"["192.0.2.0/24", "192.0.2.0/99"]"#,
            "such as \"192.0.2.0/99\"",
        ),
        (
            r#"["192.0.2.0/24", "10.0.0.0/8"]"#,
            "such as \"10.0.0.0/8\"",
        ),
        ("192.0.2.0/24\n::1\n", "such as \"::1/128\""),
        ("192.0.2.0/24\n0.0.0.0/0\n", "lists 0.0.0.0/0"),
        ("192.0.2.0/24\n::/0\n", "lists ::/0"),
        ("64.0.0.0/7\n", "lists 64.0.0.0/7"),
        ("::ffff:0:0/96\n", "lists 0.0.0.0/0"),
    ] {
        let error = parse(document).expect_err(document).to_string();
        assert!(error.contains(reason), "{document}: {error}");
    }
    let refused = PublishedRanges::parse(URL, b"\xff\xfe1\x00");
    assert_eq!(refused, Err(RangesError::NotText));
}

#[test]
fn one_bad_entry_in_twenty_is_left_out() {
    let good = |count: u8| lines((0..count).map(|low| format!("192.0.2.{low}")));
    let published = parse(&(good(19) + "not an address\n")).unwrap();
    assert_eq!((published.set.len(), published.unreadable), (19, 1));
    let published = parse(&(good(19) + "192.168.0.0/16\n")).unwrap();
    assert_eq!((published.set.len(), published.unreadable), (19, 0));
    assert!(parse(&(good(18) + "not an address\n")).is_err());
}

#[test]
fn more_than_an_eighth_of_all_addresses_is_rejected() {
    let v4 = |count: u8| lines((32..32 + count).map(|high| format!("{high}.0.0.0/8")));
    assert!(parse(&v4(32)).is_ok());
    assert_eq!(parse(&v4(33)), Err(RangesError::TooMuch));
    let v6 = |count: u16| lines((0..count).map(|low| format!("{:x}::/16", 0x2600 + low)));
    assert!(parse(&v6(16)).is_ok());
    assert_eq!(parse(&v6(17)), Err(RangesError::TooMuch));
}

#[test]
fn sizes_are_limited() {
    let deep = |levels: usize| {
        format!(
            "{}\"192.0.2.0/24\"{}",
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    assert!(parse(&deep(16)).is_ok());
    assert_eq!(parse(&deep(17)), Err(RangesError::TooDeep { max: 16 }));
    assert_eq!(
        parse(&"[".repeat(ListKind::Operator.max_bytes())),
        Err(RangesError::TooDeep { max: 16 })
    );
    let many = |count: usize| "192.0.2.1\n".repeat(count);
    assert_eq!(parse(&many(100_000)).unwrap().set.len(), 1);
    let too_many = RangesError::TooMany { max: 100_000 };
    assert_eq!(parse(&many(100_001)), Err(too_many.clone()));
    let list = format!("[{}\"192.0.2.1\"]", "\"x\",".repeat(100_000));
    assert_eq!(parse(&list), Err(too_many));
    let large = " ".repeat(ListKind::Operator.max_bytes() + 1);
    assert!(matches!(parse(&large), Err(RangesError::TooLarge { .. })));
}

#[test]
fn text_from_outside_is_truncated_and_quoted() {
    let hostile = format!("[\"192.0.2.1\", \"\\u001b[31m{}\"]", "x".repeat(500));
    let error = parse(&hostile).unwrap_err().to_string();
    assert!(
        error.contains(r#""\u{1b}[31mxxx"#) && error.len() < 200,
        "{error}"
    );
}

proptest! {
    #[test]
    fn damaged_document_is_rejected_or_still_valid(
        shape in 0..SHAPES.len(),
        at in any::<prop::sample::Index>(),
        cut in 0_usize..40,
        put in prop_oneof![
            "[0-9a-f.:/,\\[\\]{}\"# \n-]{0,12}",
            "\\PC{0,6}",
            Just("0.0.0.0/0".to_owned()),
            Just("\"::/0\",".to_owned()),
        ],
    ) {
        let mut bytes = SHAPES[shape].1.as_bytes().to_vec();
        let from = at.index(bytes.len());
        let to = (from + cut).min(bytes.len());
        bytes.splice(from..to, put.bytes());
        for url in [URL.to_owned(), format!("{URL}#hooks"), format!("{URL}#service=ALL")] {
            let Ok(published) = PublishedRanges::parse(&url, &bytes) else {
                continue;
            };
            prop_assert!(!published.set.is_empty());
            for net in published.set.iter() {
                prop_assert!(prefix::is_listable(net) && !prefix::is_too_wide(net), "{}", net);
            }
        }
    }
}

/// Generates adjacent and nested networks, each in one of the notations used in lists.
fn spelled() -> impl Strategy<Value = (IpNet, String)> {
    let v4 = (any::<u8>(), 20_u8..=32).prop_map(|(low, length)| {
        let address = std::net::Ipv4Addr::new(10, 1, low / 16, low);
        (
            IpNet::new(address.into(), length).unwrap(),
            address.to_string(),
        )
    });
    let v6 = (any::<u16>(), 40_u8..=128).prop_map(|(low, length)| {
        let address = std::net::Ipv6Addr::new(0x2001, 0xdb8, low / 256, low, 0, 0, 0, low);
        (
            IpNet::new(address.into(), length).unwrap(),
            address.to_string(),
        )
    });
    (prop_oneof![v4, v6], 0..4).prop_map(|((net, address), spelling)| {
        let length = net.prefix_len();
        let line = match (spelling, net) {
            (0, IpNet::V4(net)) => format!("{address}/{} ; SBL1", net.netmask()),
            (1, IpNet::V4(_)) => format!("  ::ffff:{address}/{}", length + 96),
            (2, _) => format!("{address}/{length}\t# a comment"),
            _ => format!("{address}/{length}"),
        };
        (net.trunc(), line)
    })
}

proptest! {
    #[test]
    fn chosen_list_equals_a_search_of_its_lines(
        entries in prop::collection::vec(spelled(), 1..200),
    ) {
        let lines: Vec<_> = entries.iter().map(|(_, line)| line.as_str()).collect();
        let document = format!("; a list\n\n{}\n# the end\n", lines.join("\r\n"));
        let list = PublishedRanges::parse_chosen("list.txt", document.as_bytes()).unwrap();
        prop_assert_eq!(list.unreadable, 0);
        let nets: Vec<IpNet> = entries.iter().map(|(net, _)| *net).collect();
        for end in nets.iter().flat_map(|net| [net.network(), net.broadcast()]) {
            let beside = match end {
                std::net::IpAddr::V4(end) => std::net::Ipv4Addr::from_bits(end.to_bits().wrapping_add(1)).into(),
                std::net::IpAddr::V6(end) => std::net::Ipv6Addr::from_bits(end.to_bits().wrapping_add(1)).into(),
            };
            for address in [end, beside] {
                let is_meant = nets.iter().any(|net| net.contains(&address));
                prop_assert_eq!(list.set.contains(address), is_meant, "{}", address);
            }
        }
    }
}

#[test]
fn chosen_list_may_be_private_and_wide_but_not_contain_everyone() {
    let chosen = |document: &str| PublishedRanges::parse_chosen("list.txt", document.as_bytes());
    for (document, prefixes) in [
        ("10.0.0.0/8\n127.0.0.1\nfd00::/8", 3),
        // As in lists of bogons.
        ("0.0.0.0/8\n224.0.0.0/3\n::/8\n4000::/3", 4),
        ("128.0.0.0/1", 1),
        (
            "{\"cidr\": \"192.0.2.0/24\"}\n{\"cidr\": \"198.51.100.0/24\"}\n{\"type\": \"metadata\"}",
            2,
        ),
    ] {
        assert_eq!(
            chosen(document).map(|list| list.set.len()),
            Ok(prefixes),
            "{document}"
        );
    }
    for document in ["0.0.0.0/0", "192.0.2.0/24\n::/0", "2000::/3", "::/1"] {
        let refused = chosen(document);
        assert!(
            matches!(refused, Err(RangesError::TooWide { .. })),
            "{document}"
        );
    }
    for document in ["0.0.0.0/1\n128.0.0.0/2", "2000::/4\n3000::/5"] {
        assert_eq!(chosen(document), Err(RangesError::Everybody), "{document}");
    }
    for (document, told) in [
        ("{\"cidr\": \"192.0.2.0/24\"}\n{\"cidr\": ", "damaged JSON"),
        ("a page\nof text", "not public addresses"),
    ] {
        let error = chosen(document).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}
