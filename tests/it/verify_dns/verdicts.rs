//! Findings derived from DNS responses.

use std::{net::SocketAddr, time::Duration};

use hickory_server::proto::{op::ResponseCode, rr::Name};
use robot_detection::{clock::Clock, verify::DnsProver};
use tokio::net::UdpSocket;
use tokio_util::task::AbortOnDropHandle;

use super::{prove, prover, settings, spelled, suffixes};
use crate::dns_server::{DnsServer, Fault, WELL_KNOWN, reverse};

#[tokio::test]
async fn a_real_robot_is_confirmed() {
    let server = DnsServer::start().await;
    server.host("192.0.2.1", "crawl-192-0-2-1.googlebot.com");
    let (word, text) = prove(&prover(&server), "192.0.2.1").await;
    assert_eq!(word, "confirmed");
    assert_eq!(
        text,
        "192.0.2.1 has the name \"crawl-192-0-2-1.googlebot.com\", which resolves back to it."
    );
    assert_eq!(
        server.asked(),
        [
            "1.2.0.192.in-addr.arpa. PTR",
            "crawl-192-0-2-1.googlebot.com. A"
        ]
    );
}

#[tokio::test]
async fn an_impostor_with_an_unconfirmed_name_is_contradicted() {
    let server = DnsServer::start().await;
    server.pointer("192.0.2.66", "crawl-192-0-2-66.googlebot.com");
    server.pointer("192.0.2.67", "crawl-192-0-2-1.googlebot.com");
    server.host("192.0.2.1", "crawl-192-0-2-1.googlebot.com");
    let prover = prover(&server);
    for address in ["192.0.2.66", "192.0.2.67"] {
        let (word, text) = prove(&prover, address).await;
        assert_eq!(word, "contradicted", "{text}");
        assert!(text.ends_with("which does not resolve back to it."));
    }
    assert_eq!(prove(&prover, "192.0.2.1").await.0, "confirmed");
}

#[tokio::test]
async fn any_of_several_names_confirms() {
    let server = DnsServer::start().await;
    server
        .pointer("192.0.2.1", "host.provider.example")
        .pointer("192.0.2.1", "old.googlebot.com")
        .host("192.0.2.1", "crawl.googlebot.com");
    let (word, text) = prove(&prover(&server), "192.0.2.1").await;
    assert_eq!(word, "confirmed", "{text}");
    assert!(text.contains("\"crawl.googlebot.com\""), "{text}");
}

#[tokio::test]
async fn another_operators_name_does_not_confirm_a_matching_one() {
    let server = DnsServer::start().await;
    server
        .pointer("192.0.2.66", "crawl.googlebot.com")
        .host("192.0.2.66", "mine.evil.example")
        .forward("crawl.googlebot.com", "192.0.2.1");
    let (word, text) = prove(&prover(&server), "192.0.2.66").await;
    assert_eq!(word, "contradicted", "{text}");
    assert!(text.contains("\"crawl.googlebot.com\""), "{text}");
    let asked = server.asked();
    assert!(
        !asked.contains(&"mine.evil.example. A".to_owned()),
        "{asked:?}"
    );
}

#[tokio::test]
async fn names_that_resemble_the_operators_are_contradicted() {
    let server = DnsServer::start().await;
    let dotted = Name::from_labels([&b"crawl.googlebot"[..], b"com"]).unwrap();
    server
        .host("192.0.2.1", "googlebot.com.evil.example")
        .host("192.0.2.2", "evilgooglebot.com")
        .host("192.0.2.3", "crawl.evilgooglebot.com")
        .host("192.0.2.4", "host.provider.example")
        .host("192.0.2.5", "1.2.0.192.gae.googleusercontent.com")
        .raw_pointer("192.0.2.6", dotted);
    let prover = prover(&server);
    for last in 1..=6 {
        let (word, text) = prove(&prover, &format!("192.0.2.{last}")).await;
        assert_eq!(word, "contradicted", "{text}");
        let end = " ends in \"googlebot.com\" or \"google.com\"; found ";
        assert!(text.contains(end), "{text}");
    }
    assert_eq!(server.count(), 6, "{:?}", server.asked());
}

#[tokio::test]
async fn a_name_that_customers_get_confirms_no_robot() {
    let server = DnsServer::start().await;
    server.host("192.0.2.1", "1.2.0.192.gae.googleusercontent.com");
    let suffixes = suffixes(&["google.com", "gae.googleusercontent.com"]);
    let address = "192.0.2.1".parse().unwrap();
    let (word, text) = spelled(prover(&server).prove(address, &suffixes).await);
    assert_eq!(word, "nothing", "{text}");
    assert!(text.contains("customer"), "{text}");
}

#[tokio::test]
async fn an_address_without_a_name_is_contradicted() {
    let server = DnsServer::start().await;
    // The name exists, but there is no PTR.
    server.alias(&reverse("192.0.2.2"), "there.example");
    server.forward("there.example", "192.0.2.2");
    for address in ["192.0.2.1", "192.0.2.2", "2001:db8::1"] {
        let (word, text) = prove(&prover(&server), address).await;
        assert_eq!(word, "contradicted", "{text}");
        assert!(text.contains("has no name in DNS"), "{text}");
    }
}

#[tokio::test]
async fn aliases_are_followed_in_both_directions() {
    let server = DnsServer::start().await;
    // RFC 2317: the reverse zone of a part of a network is elsewhere.
    server
        .alias(&reverse("192.0.2.1"), "1.0/25.2.0.192.in-addr.arpa")
        .pointer_at("1.0/25.2.0.192.in-addr.arpa", "a.googlebot.com")
        .alias(&"a.googlebot.com.".parse().unwrap(), "b.provider.example")
        .forward("b.provider.example", "192.0.2.1");
    let (word, text) = prove(&prover(&server), "192.0.2.1").await;
    assert_eq!(word, "confirmed", "{text}");
    assert!(text.contains("\"a.googlebot.com\""), "{text}");
}

#[tokio::test]
async fn circular_aliases_are_no_proof() {
    let server = DnsServer::start().await;
    server
        .pointer("192.0.2.1", "a.googlebot.com")
        .alias(&"a.googlebot.com.".parse().unwrap(), "b.googlebot.com")
        .alias(&"b.googlebot.com.".parse().unwrap(), "a.googlebot.com");
    let (word, text) = prove(&prover(&server), "192.0.2.1").await;
    assert_ne!(word, "confirmed", "{text}");
}

#[tokio::test]
async fn addresses_of_both_families_are_verified() {
    let server = DnsServer::start().await;
    server
        .host("2001:db8::1", "six.googlebot.com")
        .host("192.0.2.1", "four.googlebot.com")
        .pointer("2001:db8::66", "six.googlebot.com");
    let prover = prover(&server);
    assert_eq!(prove(&prover, "2001:db8::1").await.0, "confirmed");
    assert_eq!(prove(&prover, "2001:db8::66").await.0, "contradicted");
    let (word, text) = prove(&prover, "::ffff:192.0.2.1").await;
    assert_eq!(word, "confirmed");
    assert!(text.starts_with("192.0.2.1 has the name"), "{text}");
    assert!(
        server
            .asked()
            .contains(&"six.googlebot.com. AAAA".to_owned())
    );
    assert!(server.asked().contains(&"four.googlebot.com. A".to_owned()));
}

#[tokio::test]
async fn a_failing_server_contradicts_no_claim() {
    let server = DnsServer::start().await;
    let forward: Name = "crawl.googlebot.com.".parse().unwrap();
    for fault in [
        Fault::Code(ResponseCode::ServFail),
        Fault::Code(ResponseCode::Refused),
        Fault::Code(ResponseCode::FormErr),
        Fault::Empty,
        Fault::Foreign([192, 0, 2, 2].into()),
    ] {
        server.fault(&reverse("192.0.2.1"), fault);
        let (word, text) = prove(&prover(&server), "192.0.2.1").await;
        assert_eq!(word, "nothing", "{fault:?}: {text}");
        assert!(
            text.starts_with("Could not look up the name of 192.0.2.1: "),
            "{text}"
        );

        server.pointer("192.0.2.2", "crawl.googlebot.com");
        server.fault(&forward, fault);
        let (word, text) = prove(&prover(&server), "192.0.2.2").await;
        assert_eq!(word, "nothing", "{fault:?}: {text}");
        assert!(text.contains("whose lookup failed: "), "{text}");
    }
}

#[tokio::test]
async fn a_resolver_without_well_known_names_contradicts_no_claim() {
    let servfail = Fault::Code(ResponseCode::ServFail);
    for (fault, wildcard) in [
        (None, None),
        (Some(servfail), None),
        (Some(Fault::Empty), None),
        (None, Some("host.provider.example")),
    ] {
        let server = DnsServer::start().await;
        server.pointer("192.0.2.66", "host.provider.example");
        let clock = Clock::manual(1_000_000);
        let mut settings = settings(&server);
        settings.clock = clock.clone();
        let prover = DnsProver::new(settings);
        assert_eq!(prove(&prover, "192.0.2.66").await.0, "contradicted");
        assert!(!prover.is_unreliable());

        server.forget(&reverse(WELL_KNOWN));
        if let Some(fault) = fault {
            server.fault(&reverse(WELL_KNOWN), fault);
        }
        if let Some(name) = wildcard {
            server.wildcard(name);
        }
        clock.advance(Duration::from_hours(1));
        for address in ["192.0.2.66", "192.0.2.1", "192.0.2.1"] {
            let (word, text) = prove(&prover, address).await;
            assert_eq!(word, "nothing", "{fault:?} {wildcard:?}: {text}");
            assert!(
                text.contains("the resolver does not find the names"),
                "{text}"
            );
        }
        assert!(prover.is_unreliable());
    }
}

#[tokio::test]
async fn a_failed_lookup_of_one_name_leaves_the_claim_open_unless_another_confirms() {
    let server = DnsServer::start().await;
    let fault = Fault::Code(ResponseCode::ServFail);
    server
        .pointer("192.0.2.1", "a.googlebot.com")
        .pointer("192.0.2.1", "b.googlebot.com")
        .fault(&"a.googlebot.com.".parse().unwrap(), fault);
    assert_eq!(prove(&prover(&server), "192.0.2.1").await.0, "nothing");
    server.forward("b.googlebot.com", "192.0.2.1");
    assert_eq!(prove(&prover(&server), "192.0.2.1").await.0, "confirmed");
}

#[tokio::test]
async fn an_unresponsive_server_contradicts_no_claim() {
    let server = DnsServer::start().await;
    server.fault(&reverse("192.0.2.1"), Fault::Silent);
    server.pointer("192.0.2.2", "crawl.googlebot.com");
    server.fault(&"crawl.googlebot.com.".parse().unwrap(), Fault::Silent);
    let mut short = settings(&server);
    short.timeout = Duration::from_millis(50);
    short.attempts = 1;
    let (word, text) = prove(&DnsProver::new(short.clone()), "192.0.2.1").await;
    assert_eq!(word, "nothing");
    assert!(text.ends_with("DNS did not respond in time."), "{text}");

    // The whole proof has a time limit too, however long a single query may take.
    short.timeout = Duration::from_mins(10);
    short.proof_timeout = Duration::from_secs(1);
    let (word, text) = prove(&DnsProver::new(short), "192.0.2.1").await;
    assert_eq!(word, "nothing");
    assert!(text.ends_with("DNS did not respond in time."), "{text}");
}

#[tokio::test]
async fn an_unreachable_resolver_contradicts_no_claim() {
    let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let server = DnsServer::start().await;
    let mut settings = settings(&server);
    settings.servers = vec![gone.local_addr().unwrap()];
    settings.attempts = 1;
    settings.timeout = Duration::from_millis(200);
    drop(gone);
    let (word, text) = prove(&DnsProver::new(settings), "192.0.2.1").await;
    assert_eq!(word, "nothing", "{text}");
}

/// Responds to every datagram with its id and these bytes.
async fn nonsense(bytes: &'static [u8]) -> (SocketAddr, AbortOnDropHandle<()>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let task = tokio_util::task::TaskTracker::new().spawn(async move {
        let mut question = [0; 512];
        loop {
            let (_, from) = socket.recv_from(&mut question).await.unwrap();
            let answer = [&question[..2], bytes].concat();
            socket.send_to(&answer, from).await.unwrap();
        }
    });
    (address, AbortOnDropHandle::new(task))
}

#[tokio::test]
async fn invalid_responses_contradict_no_claim() {
    let server = DnsServer::start().await;
    for bytes in [
        &b""[..],
        b"\x81\x80",
        b"\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00\xc0\x0c",
        b"\x81\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x83\x80\x00\x00\x00\x00\x00\x00\x00\x00",
        b"\x81\x83\x00\x00\x00\x00\x00\x00\x00\x00",
    ] {
        let (address, _task) = nonsense(bytes).await;
        let mut settings = settings(&server);
        settings.servers = vec![address];
        settings.timeout = Duration::from_millis(200);
        settings.attempts = 1;
        let (word, text) = prove(&DnsProver::new(settings), "192.0.2.1").await;
        assert_eq!(word, "nothing", "{bytes:?}: {text}");
    }
}

#[tokio::test]
async fn a_response_too_long_for_udp_is_fetched_by_tcp() {
    let server = DnsServer::start().await;
    server.pointer("192.0.2.1", "crawl.googlebot.com");
    for last in 0..=255 {
        server.forward("crawl.googlebot.com", &format!("198.51.100.{last}"));
    }
    server.forward("crawl.googlebot.com", "192.0.2.1");
    let (word, text) = prove(&prover(&server), "192.0.2.1").await;
    assert_eq!(word, "confirmed", "{text}");
    assert!(server.received_tcp_query());
}

#[tokio::test]
async fn more_names_than_the_limit_leave_the_claim_open() {
    let server = DnsServer::start().await;
    for at in 0..500 {
        server.pointer("192.0.2.66", &format!("h{at}.evil.example"));
    }
    server.host("192.0.2.66", "crawl.googlebot.com");
    let (word, text) = prove(&prover(&server), "192.0.2.66").await;
    assert_eq!(word, "nothing", "{text}");
    assert!(text.contains("has more than 8 names"), "{text}");
    assert!(server.count() <= 3, "{:?}", server.asked());
}

#[tokio::test]
async fn unprintable_characters_are_escaped_in_the_evidence() {
    let server = DnsServer::start().await;
    let odd = Name::from_labels([&b"\x1b[31m\r\n\"<script>"[..], b"example"]).unwrap();
    server.raw_pointer("192.0.2.1", odd);
    let (word, text) = prove(&prover(&server), "192.0.2.1").await;
    assert_eq!(word, "contradicted");
    let quoted = r#""\027[31m\013\010\034<script>.example""#;
    assert!(text.contains(quoted), "{text}");
}

#[tokio::test]
async fn private_addresses_are_not_looked_up() {
    let server = DnsServer::start().await;
    let prover = prover(&server);
    for address in ["127.0.0.1", "10.0.0.1", "::1", "fe80::1", "::ffff:10.0.0.1"] {
        let (word, text) = prove(&prover, address).await;
        assert_eq!(word, "nothing", "{text}");
        assert!(
            text.contains("address, which has no names in public DNS"),
            "{text}"
        );
    }
    assert_eq!(server.count(), 0);

    server.host("10.0.0.1", "crawl.googlebot.com");
    let mut settings = settings(&server);
    settings.allow_private = true;
    let (word, _) = prove(&DnsProver::new(settings), "10.0.0.1").await;
    assert_eq!(word, "confirmed");
}

#[tokio::test]
async fn an_operator_without_suffixes_contradicts_no_claim() {
    let server = DnsServer::start().await;
    for suffixes in [suffixes(&[]), suffixes(&["", ".", "*."])] {
        let proof = prover(&server)
            .prove([192, 0, 2, 1].into(), &suffixes)
            .await;
        assert_eq!(spelled(proof).0, "nothing");
    }
    assert_eq!(server.count(), 0);
}
