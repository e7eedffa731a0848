use super::*;

/// Returns the client's address for a peer and header lines.
fn resolve(trusted: &[&str], peer: &str, lines: &[(&str, &str)]) -> ClientAddr {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(
            HeaderName::try_from(*name).unwrap(),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        );
    }
    let peer = SocketAddr::new(peer.parse().unwrap(), 1000);
    TrustedProxies::parse(trusted)
        .unwrap()
        .resolve(peer, &headers)
}

/// the client's address. => Name, trusted networks, peer and header lines, followed by the client's
/// expected address. => the client's address.
macro_rules! clients {
    ($($name:ident: $trusted:expr, $peer:expr, $lines:expr => $client:expr;)*) => {$(
        #[test]
        fn $name() {
            let addr = resolve(&$trusted, $peer, &$lines);
            assert_eq!(addr.client.to_string(), $client);
            assert_eq!(addr.peer.port(), 1000);
        }
    )*};
}

const XFF: &str = "X-Forwarded-For";
const TEN: [&str; 1] = ["10.0.0.0/8"];
const NOBODY: [&str; 0] = [];

clients! {
    nobody_is_trusted_by_default: NOBODY, "10.0.0.1", [(XFF, "192.0.2.1")] => "10.0.0.1";
    not_even_loopback_is_trusted_by_default: NOBODY, "127.0.0.1", [(XFF, "192.0.2.1")] => "127.0.0.1";
    another_network_is_not_trusted: TEN, "11.0.0.1", [(XFF, "192.0.2.1"), ("Forwarded", "for=192.0.2.1")] => "11.0.0.1";
    a_trusted_peer_without_a_header_is_the_client: TEN, "10.0.0.1", [] => "10.0.0.1";
    a_trusted_peer_names_the_client: TEN, "10.0.0.1", [(XFF, "192.0.2.1")] => "192.0.2.1";
    the_rightmost_untrusted_address_wins: TEN, "10.0.0.1", [(XFF, "203.0.113.9, 192.0.2.1")] => "192.0.2.1";
    trusted_hops_are_passed: TEN, "10.0.0.1", [(XFF, "203.0.113.9, 192.0.2.1, 10.0.0.3, 10.0.0.2")] => "192.0.2.1";
    only_trusted_hops_end_at_the_leftmost: TEN, "10.0.0.1", [(XFF, "10.0.0.3, 10.0.0.2")] => "10.0.0.3";
    the_last_line_is_read_first: TEN, "10.0.0.1", [(XFF, "203.0.113.9"), (XFF, "192.0.2.1")] => "192.0.2.1";
    the_walk_goes_on_to_earlier_lines: TEN, "10.0.0.1", [(XFF, "203.0.113.9, 192.0.2.1"), (XFF, "10.0.0.3, 10.0.0.2")] => "192.0.2.1";
    an_empty_line_is_passed: TEN, "10.0.0.1", [(XFF, "192.0.2.1"), (XFF, "")] => "192.0.2.1";
    empty_members_are_passed: TEN, "10.0.0.1", [(XFF, "192.0.2.1, , 10.0.0.2,")] => "192.0.2.1";
    rubbish_stops_the_walk_at_the_peer: TEN, "10.0.0.1", [(XFF, "192.0.2.1, rubbish")] => "10.0.0.1";
    rubbish_stops_the_walk_at_the_last_hop: TEN, "10.0.0.1", [(XFF, "192.0.2.1, rubbish, 10.0.0.2")] => "10.0.0.2";
    unknown_stops_the_walk: TEN, "10.0.0.1", [(XFF, "192.0.2.1, unknown")] => "10.0.0.1";
    a_name_is_no_address: TEN, "10.0.0.1", [(XFF, "localhost")] => "10.0.0.1";
    an_octal_number_is_no_address: TEN, "10.0.0.1", [(XFF, "0300.0.2.1")] => "10.0.0.1";
    a_single_number_is_no_address: TEN, "10.0.0.1", [(XFF, "3221225985")] => "10.0.0.1";
    bytes_beyond_ascii_are_no_address: TEN, "10.0.0.1", [(XFF, "192.0.2.1\u{e9}")] => "10.0.0.1";
    a_zone_is_no_address: TEN, "10.0.0.1", [(XFF, "fe80::1%eth0")] => "10.0.0.1";
    quotes_are_not_for_this_header: TEN, "10.0.0.1", [(XFF, "\"192.0.2.1\"")] => "10.0.0.1";
    a_port_is_dropped: TEN, "10.0.0.1", [(XFF, "192.0.2.1:4711")] => "192.0.2.1";
    a_port_too_large_stops_the_walk: TEN, "10.0.0.1", [(XFF, "192.0.2.1:65536")] => "10.0.0.1";
    spaces_and_tabs_are_dropped: TEN, "10.0.0.1", [(XFF, " \t192.0.2.1 \t, 10.0.0.2\t")] => "192.0.2.1";
    ipv6_is_an_address: TEN, "10.0.0.1", [(XFF, "2001:db8::1")] => "2001:db8::1";
    ipv6_may_have_brackets_and_a_port: TEN, "10.0.0.1", [(XFF, "[2001:db8::1]:443")] => "2001:db8::1";
    an_open_bracket_stops_the_walk: TEN, "10.0.0.1", [(XFF, "[2001:db8::1")] => "10.0.0.1";
    ipv4_in_brackets_stops_the_walk: TEN, "10.0.0.1", [(XFF, "[192.0.2.1]")] => "10.0.0.1";
    a_mapped_client_is_ipv4: TEN, "10.0.0.1", [(XFF, "::ffff:192.0.2.1")] => "192.0.2.1";
    a_mapped_hop_is_trusted_as_ipv4: TEN, "10.0.0.1", [(XFF, "192.0.2.1, ::ffff:10.0.0.2")] => "192.0.2.1";
    a_mapped_peer_is_trusted_as_ipv4: TEN, "::ffff:10.0.0.1", [(XFF, "192.0.2.1")] => "192.0.2.1";
    a_mapped_peer_is_written_as_ipv4: NOBODY, "::ffff:10.0.0.1", [] => "10.0.0.1";
    a_mapped_network_trusts_ipv4: ["::ffff:10.0.0.0/104"], "10.0.0.1", [(XFF, "192.0.2.1")] => "192.0.2.1";
    a_network_of_ipv6_is_trusted: ["fd00::/8"], "fd00::1", [(XFF, "192.0.2.1, fd00::2")] => "192.0.2.1";
    a_single_address_is_trusted_alone: ["10.0.0.1"], "10.0.0.1", [(XFF, "192.0.2.1, 10.0.0.2")] => "10.0.0.2";
    any_of_several_networks_is_trusted: ["::1", "10.0.0.0/8", "172.16.0.0/12"], "172.16.0.1", [(XFF, "192.0.2.1, ::1, 10.0.0.1")] => "192.0.2.1";

    forwarded_names_the_client: TEN, "10.0.0.1", [("Forwarded", "for=192.0.2.1;proto=https")] => "192.0.2.1";
    forwarded_is_read_right_to_left: TEN, "10.0.0.1", [("Forwarded", "for=203.0.113.9, for=192.0.2.1, for=10.0.0.2")] => "192.0.2.1";
    forwarded_goes_over_lines: TEN, "10.0.0.1", [("Forwarded", "for=203.0.113.9, for=192.0.2.1"), ("Forwarded", "for=10.0.0.2")] => "192.0.2.1";
    forwarded_has_quoted_ipv6: TEN, "10.0.0.1", [("Forwarded", "for=\"[2001:db8::1]:443\"")] => "2001:db8::1";
    an_obfuscated_name_stops_the_walk: TEN, "10.0.0.1", [("Forwarded", "for=192.0.2.1, for=_hidden, for=10.0.0.2")] => "10.0.0.2";
    an_element_without_for_stops_the_walk: TEN, "10.0.0.1", [("Forwarded", "for=192.0.2.1, proto=https")] => "10.0.0.1";
    a_broken_line_stops_the_walk: TEN, "10.0.0.1", [("Forwarded", "for=192.0.2.1"), ("Forwarded", "for=\"")] => "10.0.0.1";
    a_broken_line_hides_what_is_before_it_only: TEN, "10.0.0.1", [("Forwarded", "for=\""), ("Forwarded", "for=192.0.2.1, for=10.0.0.2")] => "192.0.2.1";
    a_comma_in_quotes_forges_no_hop: TEN, "10.0.0.1", [("Forwarded", "for=192.0.2.1;host=\"a, for=203.0.113.9\"")] => "192.0.2.1";
    two_headers_that_contradict_each_other_name_nobody: TEN, "10.0.0.1", [("Forwarded", "for=203.0.113.9"), (XFF, "192.0.2.1")] => "10.0.0.1";
    two_headers_that_agree_name_the_client: TEN, "10.0.0.1", [("Forwarded", "for=192.0.2.1"), (XFF, "203.0.113.9, 192.0.2.1")] => "192.0.2.1";
    a_list_of_proxies_contradicts_no_other: TEN, "10.0.0.1", [("Forwarded", "for=10.0.0.2"), (XFF, "192.0.2.1, 10.0.0.2")] => "192.0.2.1";
    an_obfuscated_name_contradicts_an_address: TEN, "10.0.0.1", [("Forwarded", "for=_hidden"), (XFF, "192.0.2.1")] => "10.0.0.1";
    a_broken_line_contradicts_an_address: TEN, "10.0.0.1", [("Forwarded", "for=\""), (XFF, "192.0.2.1")] => "10.0.0.1";

    an_underscore_is_another_header: TEN, "10.0.0.1", [("X_Forwarded_For", "203.0.113.9")] => "10.0.0.1";
    a_dot_is_another_header: TEN, "10.0.0.1", [("X.Forwarded.For", "203.0.113.9")] => "10.0.0.1";
    x_real_ip_is_not_read: TEN, "10.0.0.1", [("X-Real-IP", "203.0.113.9")] => "10.0.0.1";
}

#[test]
fn client_is_direct_only_without_forwarding_headers() {
    for (name, direct) in [
        ("user-agent", true),
        ("x-request-id", true),
        ("x-real-ipsum", true),
        ("forwarded-by", true),
        ("forwarded", false),
        ("x-forwarded-for", false),
        ("x-forwarded", false),
        ("X-Forwarded-Prefix", false),
        ("x_forwarded_for", false),
        ("x.forwarded-host", false),
        ("x-real-ip", false),
        ("x_real.ip", false),
        ("x~forwarded!for", false),
    ] {
        for trusted in [&[][..], &TEN[..]] {
            let addr = resolve(trusted, "10.0.0.1", &[(name, "x")]);
            assert_eq!(addr.direct, direct, "{name}");
            assert_eq!(addr.client, addr.peer.ip(), "{name}");
        }
    }
}

#[test]
fn https_of_trusted_proxies_is_believed() {
    const PROTO: &str = "X-Forwarded-Proto";
    for (lines, https) in [
        (&[(XFF, "192.0.2.1"), (PROTO, "https")][..], true),
        (&[(XFF, "192.0.2.1"), (PROTO, "HTTPS")], true),
        (&[(XFF, "192.0.2.1"), (PROTO, "http")], false),
        (&[(XFF, "192.0.2.1")], false),
        // There is one value per hop; the client's value is at the same position as its address.
        (
            &[(XFF, "192.0.2.1, 10.0.0.2"), (PROTO, "https, http")],
            true,
        ),
        (
            &[(XFF, "192.0.2.1, 10.0.0.2"), (PROTO, "http, https")],
            false,
        ),
        // Values added by an untrusted client are not reached.
        (
            &[(XFF, "203.0.113.9, 192.0.2.1"), (PROTO, "https, http")],
            false,
        ),
        (&[(PROTO, "https")], true),
        (&[("Forwarded", "for=192.0.2.1;proto=https")], true),
        (
            &[("Forwarded", "for=192.0.2.1;proto=http"), (PROTO, "https")],
            false,
        ),
        (&[("Forwarded", "for=192.0.2.1"), (PROTO, "https")], true),
        (
            &[(
                "Forwarded",
                "for=192.0.2.1;proto=https, for=10.0.0.2;proto=http",
            )],
            true,
        ),
    ] {
        assert_eq!(resolve(&TEN, "10.0.0.1", lines).https, https, "{lines:?}");
        assert!(!resolve(&[], "10.0.0.1", lines).https, "{lines:?}");
    }
}

#[test]
fn trusted_peer_is_reported() {
    assert!(resolve(&TEN, "10.0.0.1", &[]).trusted);
    assert!(!resolve(&TEN, "192.0.2.1", &[]).trusted);
}

#[test]
fn invalid_network_is_refused_with_its_text() {
    for text in [
        "",
        "10.0.0.0/33",
        "10.0.0",
        "localhost",
        "10.0.0.0/8/8",
        "::1/x",
    ] {
        let error = TrustedProxies::parse(["::1", text])
            .unwrap_err()
            .to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_parsed_without_a_panic(lines: Vec<Vec<u8>>) {
        let mut headers = HeaderMap::new();
        for line in &lines {
            if let Ok(value) = HeaderValue::from_bytes(line) {
                headers.append(X_FORWARDED_FOR, value.clone());
                headers.append(X_FORWARDED_PROTO, value);
            }
        }
        let trusted = TrustedProxies::parse(["0.0.0.0/0", "::/0"]).unwrap();
        let _ = trusted.resolve(SocketAddr::from(([10, 0, 0, 1], 1)), &headers);
    }
}

#[test]
fn scheme_is_known_if_a_trusted_proxy_reports_it() {
    const PROTO: &str = "X-Forwarded-Proto";
    let xff = (XFF, "192.0.2.1");
    for (trusted, lines, expected) in [
        (false, &[][..], None),
        (false, &[xff], None),
        (false, &[(PROTO, "https")], None),
        (true, &[], None),
        (true, &[xff], None),
        (true, &[xff, (PROTO, "http")], Some("http")),
        (true, &[xff, (PROTO, "https")], Some("https")),
        (true, &[("Forwarded", "for=192.0.2.1")], None),
        (
            true,
            &[("Forwarded", "for=192.0.2.1;proto=http")],
            Some("http"),
        ),
        (
            true,
            &[("Forwarded", "for=192.0.2.1;proto=https")],
            Some("https"),
        ),
    ] {
        let networks = if trusted { &TEN[..] } else { &NOBODY };
        let addr = resolve(networks, "10.0.0.1", lines);
        assert_eq!(addr.scheme(), expected, "{trusted} {lines:?}");
    }
}

#[test]
fn scheme_is_known_for_tls_only() {
    let scheme = |https| {
        let origin = Origin {
            peer: SocketAddr::from(([192, 0, 2, 1], 1000)),
            trusted: false,
            https,
        };
        let proxies = TrustedProxies::default();
        proxies
            .resolve_from(origin, &HeaderMap::new(), None)
            .scheme()
    };
    assert_eq!(scheme(true), Some("https"));
    assert_eq!(scheme(false), None);
}

const CF: &str = "CF-Connecting-IP";

#[test]
fn client_header_replaces_all_others() {
    let client = |peer: &str, lines: &[(&str, &str)]| {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(
                HeaderName::try_from(*name).unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            );
        }
        let peer = SocketAddr::new(peer.parse().unwrap(), 1000);
        let proxies = TrustedProxies::parse(TEN).unwrap();
        let proxies = proxies.client_header(HeaderName::try_from(CF).unwrap());
        let addr = proxies.resolve(peer, &headers);
        (addr.client.to_string(), addr.direct)
    };
    for (peer, lines, expected, direct) in [
        ("10.0.0.1", &[(CF, "192.0.2.1")][..], "192.0.2.1", false),
        ("10.0.0.1", &[(CF, " 2001:db8::1 ")], "2001:db8::1", false),
        ("10.0.0.1", &[(CF, "::ffff:192.0.2.1")], "192.0.2.1", false),
        ("10.0.0.1", &[(CF, "10.0.0.7")], "10.0.0.7", false),
        ("10.0.0.1", &[(XFF, "192.0.2.1")], "10.0.0.1", false),
        (
            "10.0.0.1",
            &[("Forwarded", "for=192.0.2.1")],
            "10.0.0.1",
            false,
        ),
        (
            "10.0.0.1",
            &[(CF, "192.0.2.1"), (XFF, "192.0.2.9")],
            "192.0.2.1",
            false,
        ),
        (
            "10.0.0.1",
            &[(CF, "192.0.2.1"), (CF, "192.0.2.1")],
            "10.0.0.1",
            false,
        ),
        (
            "10.0.0.1",
            &[(CF, "192.0.2.1, 192.0.2.2")],
            "10.0.0.1",
            false,
        ),
        ("10.0.0.1", &[(CF, "unknown")], "10.0.0.1", false),
        ("10.0.0.1", &[(CF, "")], "10.0.0.1", false),
        ("10.0.0.1", &[], "10.0.0.1", true),
        ("11.0.0.1", &[(CF, "192.0.2.1")], "11.0.0.1", false),
    ] {
        let found = client(peer, lines);
        assert_eq!(found, (expected.to_owned(), direct), "{peer} {lines:?}");
    }
}

#[test]
fn untrusted_client_header_is_removed_in_every_spelling() {
    let proxies = TrustedProxies::default().client_header(HeaderName::try_from(CF).unwrap());
    let mut headers = HeaderMap::new();
    for name in [
        "cf-connecting-ip",
        "cf_connecting_ip",
        "cf.connecting-ip",
        "cf-connecting-ipv6",
    ] {
        headers.append(name, HeaderValue::from_static("192.0.2.1"));
    }
    let left = |is_trusted| {
        let mut headers = headers.clone();
        proxies.clean_client_header(is_trusted, &mut headers);
        let names = headers.keys().map(|name| name.as_str().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(left(true), ["cf-connecting-ip", "cf-connecting-ipv6"]);
    assert_eq!(left(false), ["cf-connecting-ipv6"]);
    TrustedProxies::default().clean_client_header(false, &mut headers.clone());
    assert_eq!(headers.len(), 4);
}

#[test]
fn proxy_set_is_queried_each_time() {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };
    let is_fetched = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&is_fetched);
    let set = ProxySet::new("cdn", Arc::new(move |_| asked.load(Ordering::Relaxed)));
    let proxies = TrustedProxies::default().with_proxies(set);
    assert!(!proxies.is_empty());
    let peer = "192.0.2.1".parse().unwrap();
    assert!(!proxies.contains(peer));
    is_fetched.store(true, Ordering::Relaxed);
    assert!(proxies.contains(peer));
}
