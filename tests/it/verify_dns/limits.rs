//! Limits of concurrency and of the cache.

use std::net::{IpAddr, Ipv6Addr};

use robot_detection::verify::DnsProver;
use tokio::task::JoinSet;

use super::{prove, settings, spelled, suffixes};
use crate::dns_server::DnsServer;

fn address(at: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, at)
}

#[tokio::test]
async fn proofs_of_one_address_share_its_queries() {
    let server = DnsServer::start().await;
    server.host("192.0.2.1", "crawl.googlebot.com");
    let prover = DnsProver::new(settings(&server));
    server.hold();
    let mut proofs = JoinSet::new();
    for at in 0..200 {
        let prover = prover.clone();
        // Every second proof is about another robot.
        let suffix = ["googlebot.com", "search.msn.com"][at % 2];
        let suffixes = suffixes(&[suffix]);
        proofs.spawn(async move {
            let address = IpAddr::from([192, 0, 2, 1]);
            (suffix, spelled(prover.prove(address, &suffixes).await).0)
        });
    }
    server.wait_for_pending(1).await;
    server.release();
    for (suffix, word) in proofs.join_all().await {
        let expected = ["contradicted", "confirmed"];
        assert_eq!(word, expected[usize::from(suffix == "googlebot.com")]);
    }
    assert_eq!(server.count(), 2, "{:?}", server.asked());
    assert_eq!(server.peak(), 1);
}

#[tokio::test]
async fn the_number_of_concurrent_lookups_is_limited() {
    let server = DnsServer::start().await;
    let mut settings = settings(&server);
    settings.concurrency = 7;
    settings.queue = 3;
    let prover = DnsProver::new(settings);
    server.hold();
    let mut proofs = JoinSet::new();
    for at in 0..20 {
        let (prover, address) = (prover.clone(), address(at).to_string());
        proofs.spawn(async move { prove(&prover, &address).await });
    }
    server.wait_for_pending(7).await;
    // Proofs above the limit have ended; the others wait.
    for _ in 0..10 {
        let (word, text) = proofs.join_next().await.unwrap().unwrap();
        assert_eq!(word, "nothing", "{text}");
        assert!(text.ends_with(": too many lookups in progress."), "{text}");
    }
    server.release();
    for (word, text) in proofs.join_all().await {
        assert_eq!(word, "contradicted", "{text}");
    }
    assert_eq!(server.peak(), 7);
    // There is room again, also for the proofs rejected before.
    for at in 0..20 {
        let (word, text) = prove(&prover, &address(at).to_string()).await;
        assert_eq!(word, "contradicted", "{text}");
    }
}

#[tokio::test]
async fn a_proof_that_waits_too_long_contradicts_nothing() {
    let server = DnsServer::start().await;
    let mut settings = settings(&server);
    settings.concurrency = 1;
    settings.queue_timeout = std::time::Duration::from_millis(10);
    let prover = DnsProver::new(settings);
    server.hold();
    let first = {
        let prover = prover.clone();
        JoinSet::from_iter([async move { prove(&prover, "192.0.2.1").await }])
    };
    server.wait_for_pending(1).await;
    let (word, text) = prove(&prover, "192.0.2.2").await;
    assert_eq!(word, "nothing", "{text}");
    assert!(text.ends_with(": too many lookups in progress."), "{text}");
    server.release();
    assert_eq!(first.join_all().await[0].0, "contradicted");
}

#[tokio::test]
async fn a_cancelled_proof_gives_its_place_to_another() {
    let server = DnsServer::start().await;
    server.host("192.0.2.1", "crawl.googlebot.com");
    let mut settings = settings(&server);
    settings.concurrency = 1;
    settings.queue = 1;
    let prover = DnsProver::new(settings);
    server.hold();
    for _ in 0..5 {
        let given_up = prove(&prover, "192.0.2.1");
        tokio::select! {
            biased;
            _ = given_up => panic!("the proof must not finish yet"),
            () = server.wait_for_pending(1) => {}
        }
    }
    server.release();
    assert_eq!(prove(&prover, "192.0.2.1").await.0, "confirmed");
}

/// Half are real robots, a quarter impostors, and a quarter unknown.
fn expected(server: &DnsServer, at: u16) -> &'static str {
    let (text, name) = (address(at).to_string(), format!("crawl-{at}.googlebot.com"));
    match at % 4 {
        0 | 1 => {
            server.host(&text, &name);
            "confirmed"
        }
        2 => {
            server.pointer(&text, &name);
            "contradicted"
        }
        _ => {
            server.host(&text, &format!("h{at}.provider.example"));
            "contradicted"
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_concurrent_addresses_are_distinguished() {
    const COUNT: u16 = 10_000;
    let server = DnsServer::start().await;
    let mut settings = settings(&server);
    settings.cache_entries = 1_000;
    let prover = DnsProver::new(settings);
    let mut proofs = JoinSet::new();
    for at in 0..COUNT {
        let (prover, expected) = (prover.clone(), expected(&server, at));
        proofs.spawn(async move {
            let (word, text) = prove(&prover, &address(at).to_string()).await;
            assert_eq!(word, expected, "{text}");
        });
    }
    assert_eq!(proofs.join_all().await.len(), usize::from(COUNT));
    assert!(server.peak() <= 64, "{}", server.peak());
    assert!(prover.cached() <= 1_000, "{}", prover.cached());
}
