//! Lifetimes of cached DNS responses.

use std::time::Duration;

use hickory_server::proto::op::ResponseCode;
use robot_detection::{clock::Clock, verify::DnsProver};

use super::{prove, settings, suffixes};
use crate::dns_server::{DnsServer, Fault, reverse};

/// Returns a server, and a prover with a clock that the test advances.
async fn at_rest() -> (DnsServer, DnsProver, Clock) {
    let server = DnsServer::start().await;
    let clock = Clock::manual(1_000_000);
    let mut settings = settings(&server);
    settings.clock = clock.clone();
    (server, DnsProver::new(settings), clock)
}

/// Returns the number of seconds for which a proof is valid.
async fn valid_for(prover: &DnsProver, address: &str) -> u64 {
    let suffixes = suffixes(&["googlebot.com", "google.com"]);
    let proof = prover.prove(address.parse().unwrap(), &suffixes).await;
    proof.valid_for.as_secs()
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[tokio::test]
async fn a_proof_is_valid_as_long_as_its_records() {
    let (server, prover, clock) = at_rest().await;
    server.ttl(900).pointer("192.0.2.1", "crawl.googlebot.com");
    server.ttl(600).forward("crawl.googlebot.com", "192.0.2.1");
    assert_eq!(valid_for(&prover, "192.0.2.1").await, 600);
    clock.advance(seconds(599));
    assert_eq!(valid_for(&prover, "192.0.2.1").await, 1);
    assert_eq!(server.count(), 2);
    // The name's address has expired, the address's name has not.
    clock.advance(seconds(1));
    assert_eq!(valid_for(&prover, "192.0.2.1").await, 300);
    assert_eq!(server.count(), 3);
    clock.advance(seconds(300));
    assert_eq!(valid_for(&prover, "192.0.2.1").await, 600);
    assert_eq!(server.count(), 5);
}

#[tokio::test]
async fn changes_in_dns_are_noticed_when_the_records_expire() {
    let (server, prover, clock) = at_rest().await;
    server.ttl(300).host("192.0.2.1", "crawl.googlebot.com");
    assert_eq!(prove(&prover, "192.0.2.1").await.0, "confirmed");
    server.forget(&reverse("192.0.2.1"));
    clock.advance(seconds(299));
    assert_eq!(prove(&prover, "192.0.2.1").await.0, "confirmed");
    clock.advance(seconds(1));
    assert_eq!(prove(&prover, "192.0.2.1").await.0, "contradicted");
}

#[tokio::test]
async fn records_are_cached_for_a_minute_to_a_day() {
    let (server, prover, _) = at_rest().await;
    server.ttl(0).host("192.0.2.1", "a.googlebot.com");
    assert_eq!(valid_for(&prover, "192.0.2.1").await, 60);
    let week = 7 * 86_400;
    server.ttl(week).host("192.0.2.2", "b.googlebot.com");
    assert_eq!(valid_for(&prover, "192.0.2.2").await, 86_400);
    server.ttl(u32::MAX).host("192.0.2.3", "c.googlebot.com");
    assert!((60..=86_400).contains(&valid_for(&prover, "192.0.2.3").await));
}

#[tokio::test]
async fn an_expired_alias_expires_the_proof() {
    let (server, prover, _) = at_rest().await;
    server.ttl(900).pointer("192.0.2.1", "a.googlebot.com");
    server.forward("b.provider.example", "192.0.2.1");
    let alias = "a.googlebot.com.".parse().unwrap();
    server.ttl(120).alias(&alias, "b.provider.example");
    assert_eq!(valid_for(&prover, "192.0.2.1").await, 120);
}

#[tokio::test]
async fn negative_responses_are_cached_for_a_minute_to_an_hour() {
    let (server, prover, clock) = at_rest().await;
    for (at, said, held) in [(1, 0, 60), (2, 400, 400), (3, 86_400, 3_600)] {
        server.negative_ttl(said);
        let address = format!("192.0.2.{at}");
        assert_eq!(valid_for(&prover, &address).await, held, "{said}");
        assert_eq!(valid_for(&prover, &address).await, held, "{said}");
    }
    assert_eq!(server.count(), 3);
    // The operator creates the name while the negative response is cached.
    server.host("192.0.2.2", "crawl.googlebot.com");
    clock.advance(seconds(399));
    assert_eq!(prove(&prover, "192.0.2.2").await.0, "contradicted");
    clock.advance(seconds(1));
    assert_eq!(prove(&prover, "192.0.2.2").await.0, "confirmed");
}

#[tokio::test]
async fn a_failure_is_retried_soon() {
    let (server, prover, clock) = at_rest().await;
    server.host("192.0.2.1", "crawl.googlebot.com");
    let fault = Fault::Code(ResponseCode::ServFail);
    server.fault(&"crawl.googlebot.com.".parse().unwrap(), fault);
    let held = valid_for(&prover, "192.0.2.1").await;
    assert!((30..=60).contains(&held), "{held}");
    let asked = server.count();
    clock.advance(seconds(held - 1));
    assert_eq!(prove(&prover, "192.0.2.1").await.0, "nothing");
    assert_eq!(server.count(), asked);

    let at = "crawl.googlebot.com.".parse().unwrap();
    server
        .forget(&at)
        .forward("crawl.googlebot.com", "192.0.2.1");
    clock.advance(seconds(1));
    assert_eq!(prove(&prover, "192.0.2.1").await.0, "confirmed");
    // Only the failed query is repeated.
    assert_eq!(server.count(), asked + 1);
}

#[tokio::test]
async fn other_suffixes_use_the_cached_names_of_the_address() {
    let (server, prover, _) = at_rest().await;
    server.host("192.0.2.1", "crawl.googlebot.com");
    assert_eq!(prove(&prover, "192.0.2.1").await.0, "confirmed");
    let address = "192.0.2.1".parse().unwrap();
    let others = suffixes(&["search.msn.com"]);
    let (word, _) = super::spelled(prover.prove(address, &others).await);
    assert_eq!(word, "contradicted");
    assert!(prover.prove_now(address, &others).is_some());
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn an_uncached_address_is_not_verified_immediately() {
    let (server, prover, clock) = at_rest().await;
    server.host("192.0.2.1", "crawl.googlebot.com");
    let (address, suffixes) = ("192.0.2.1".parse().unwrap(), suffixes(&["googlebot.com"]));
    assert_eq!(prover.prove_now(address, &suffixes), None);
    let proof = prover.prove(address, &suffixes).await;
    assert_eq!(prover.prove_now(address, &suffixes), Some(proof));
    clock.advance(seconds(300));
    assert_eq!(prover.prove_now(address, &suffixes), None);
    assert_eq!(server.count(), 2);
}
