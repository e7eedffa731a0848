//! A verifier's cache: immediate verdicts, background verification, and expiry.

use std::{net::IpAddr, sync::Arc, time::Duration};

use http::{HeaderMap, Method, Uri};
use ipnet::IpNet;
use robot_detection::{
    clock::Clock,
    detect::{Detector, Verdict},
    layer::ClaimFinding,
    registry::{Pattern, PatternKind, Robot, Source},
    verify::{
        ClaimedRequest, DnsProver, DnsSettings, Method as Proof, Methods, PublishedRanges, Ranges,
        Verifier,
    },
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::dns_server::{DnsServer, reverse};

use Verdict::{Pending, Spoofed, Unverifiable, Verified};

const LIST: &str = "https://robots.example/ranges.json";
pub(super) const IN_LIST: &str = "192.0.2.7";
pub(super) const ELSEWHERE: &str = "198.51.100.7";

/// Verifier of some robots, with a list, a DNS server and a clock.
pub(super) struct House {
    pub(super) verifier: Verifier,
    pub(super) detector: Detector,
    ranges: Ranges,
    pub(super) dns: DnsServer,
    clock: Clock,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl House {
    pub(super) async fn new() -> Self {
        let dns = DnsServer::start().await;
        let clock = Clock::manual(1_000_000_000_000);
        let ranges = Ranges::new(clock.clone());
        let mut settings = DnsSettings::default();
        settings.servers = vec![dns.address()];
        settings.timeout = Duration::from_secs(50);
        settings.proof_timeout = Duration::from_secs(50);
        settings.allow_private = true;
        settings.clock = clock.clone();
        let mut methods = Methods::default();
        methods.ranges = Some(ranges.clone());
        methods.reverse_dns = Some(DnsProver::new(settings));
        methods.allow_private_addresses = true;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let verifier = Verifier::new(methods, clock.clone(), tasks.clone(), stop.clone());
        Self {
            verifier,
            detector: detector(),
            ranges,
            dns,
            clock,
            tasks,
            stop,
        }
    }

    pub(super) fn put_list(&self) {
        let network: IpNet = "192.0.2.0/24".parse().unwrap();
        self.ranges.put(LIST, PublishedRanges::new([network]));
    }

    /// Calls `ask` with a robot's request.
    fn with<R>(
        &self,
        robot: &str,
        address: Option<&str>,
        ask: impl FnOnce(&ClaimedRequest<'_>) -> R,
    ) -> R {
        let claim = self.detector.identify(robot.as_bytes()).unwrap();
        let client = address.map(|address| address.parse::<IpAddr>().unwrap());
        let uri: Uri = "/members-only-stuff/a?b=c".parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("host", "www.example.com".parse().unwrap());
        let request = ClaimedRequest::new(&claim, client, &Method::GET, &uri, &headers);
        ask(&request)
    }

    pub(super) fn now(&self, robot: &str, address: &str) -> Verdict {
        self.with(robot, Some(address), |request| {
            self.verifier.verdict_now(request)
        })
    }

    /// Returns the evidence against a claim, if already known.
    fn evidence(&self, robot: &str, address: &str) -> ClaimFinding {
        self.with(robot, Some(address), |request| {
            self.verifier.finding_now(request)
        })
    }

    pub(super) async fn settled(&self, robot: &str, address: &str) -> Verdict {
        let settled = self.with(robot, Some(address), |request| {
            self.verifier.settled(request)
        });
        settled.await
    }
}

fn detector() -> Detector {
    let robot = |id: &str, list: bool, hosts: bool| {
        let mut robot = Robot::new(id, Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, id)];
        robot.ranges_url = list.then(|| LIST.to_owned());
        robot.host_suffixes = if hosts {
            vec!["robots.example".to_owned()]
        } else {
            Vec::new()
        };
        Arc::new(robot)
    };
    Detector::new([
        robot("listbot", true, false),
        robot("hostbot", false, true),
        robot("bothbot", true, true),
        robot("plainbot", false, false),
    ])
    .unwrap()
}

#[tokio::test]
async fn a_list_responds_immediately_with_the_evidence_against_an_impostor() {
    let house = House::new().await;
    house.put_list();
    assert_eq!(house.now("listbot/1", IN_LIST), Verified);
    assert_eq!(house.now("listbot/1", "::ffff:192.0.2.7"), Verified);
    let spoofed = house.evidence("listbot/1", ELSEWHERE);
    assert_eq!(spoofed.verdict, Spoofed);
    let proof = spoofed.proof.unwrap();
    assert_eq!(proof.verdict(), Some(Spoofed));
    assert!(proof.evidence().contains(LIST), "{}", proof.evidence());
    assert_eq!(house.evidence("listbot/1", IN_LIST).proof, None);
    assert_eq!(house.dns.count(), 0);
}

#[tokio::test]
async fn without_data_no_robot_is_spoofed() {
    let house = House::new().await;
    assert!(house.verifier.wanted_ranges().is_empty());
    assert_eq!(house.now("listbot/1", ELSEWHERE), Unverifiable);
    let wanted = house.verifier.wanted_ranges();
    assert!(wanted.iter().eq([LIST]), "{wanted:?}");
    house.verifier.ranges_wanted().await;
    house.put_list();
    assert_eq!(house.now("listbot/1", ELSEWHERE), Spoofed);
}

#[tokio::test]
async fn a_robot_without_a_method_of_verification_is_unverifiable() {
    let house = House::new().await;
    house.put_list();
    assert_eq!(house.now("plainbot/1", IN_LIST), Unverifiable);
    assert_eq!(house.now("listbot/1", "0.0.0.0"), Unverifiable);
    let nowhere = |request: &ClaimedRequest<'_>| house.verifier.verdict_now(request);
    assert_eq!(house.with("hostbot/1", None, nowhere), Unverifiable);
    let mut methods = Methods::clone(&house.verifier.methods());
    methods.allow_private_addresses = false;
    house.verifier.replace(methods);
    for address in ["10.0.0.1", "127.0.0.1", "::1", IN_LIST] {
        assert_eq!(house.now("listbot/1", address), Unverifiable, "{address}");
        assert_eq!(house.now("hostbot/1", address), Unverifiable, "{address}");
    }
    assert_eq!(house.dns.count(), 0);
}

#[tokio::test]
async fn the_first_requests_are_pending_and_verified_once() {
    let house = House::new().await;
    house.dns.host(IN_LIST, "a.robots.example");
    house.dns.hold();
    for _ in 0..3 {
        assert_eq!(house.now("hostbot/1", IN_LIST), Pending);
    }
    house.dns.wait_for_pending(1).await;
    let settled = [(); 2].map(|()| {
        house.with("hostbot/1", Some(IN_LIST), |request| {
            house.verifier.settled(request)
        })
    });
    assert_eq!(house.verifier.pending(), 3);
    house.dns.release();
    for settled in settled {
        assert_eq!(settled.await, Verified);
    }
    let asked = house.dns.count();
    assert_eq!(house.now("hostbot/1", IN_LIST), Verified);
    assert_eq!(house.settled("hostbot/1", IN_LIST).await, Verified);
    assert_eq!(house.dns.count(), asked);
    assert_eq!(asked, 2, "{:?}", house.dns.asked());
    assert_eq!(house.verifier.pending(), 0);
}

#[tokio::test]
async fn the_evidence_against_an_impostor_is_reported_for_its_first_request() {
    let house = House::new().await;
    house.dns.host(ELSEWHERE, "a.evilrobots.example");
    let first = house.evidence("hostbot/1", ELSEWHERE);
    let proof = first.proof.unwrap();
    assert_eq!((first.verdict, proof.verdict()), (Pending, None));
    assert_eq!(house.settled("hostbot/1", ELSEWHERE).await, Spoofed);
    assert_eq!(proof.verdict(), Some(Spoofed));
    let told = proof.evidence();
    assert!(told.contains("a.evilrobots.example"), "{told}");
    let next = house.evidence("hostbot/1", ELSEWHERE);
    assert_eq!(next.proof.unwrap().evidence(), told);
}

#[tokio::test]
async fn a_result_applies_to_one_robot_only() {
    let house = House::new().await;
    house.put_list();
    house.dns.host(ELSEWHERE, "a.robots.example");
    assert_eq!(house.now("hostbot/1", ELSEWHERE), Pending);
    assert_eq!(house.settled("hostbot/1", ELSEWHERE).await, Verified);
    assert_eq!(house.now("listbot/1", ELSEWHERE), Spoofed);
}

#[tokio::test]
async fn dns_may_confirm_an_address_that_a_list_lacks() {
    let house = House::new().await;
    house.put_list();
    house.dns.host(ELSEWHERE, "a.robots.example");
    assert_eq!(house.now("bothbot/1", IN_LIST), Verified, "immediately");
    assert_eq!(house.now("bothbot/1", ELSEWHERE), Pending);
    assert_eq!(house.settled("bothbot/1", ELSEWHERE).await, Verified);
    let other = "198.51.100.8";
    let first = house.evidence("bothbot/1", other);
    assert_eq!(first.verdict, Pending);
    assert_eq!(house.settled("bothbot/1", other).await, Spoofed);
    let proof = first.proof.unwrap();
    assert!(proof.evidence().contains(LIST), "{}", proof.evidence());
}

#[tokio::test]
async fn without_its_list_a_robot_is_not_spoofed_because_a_name_is_missing() {
    let house = House::new().await;
    assert_eq!(house.now("bothbot/1", ELSEWHERE), Pending);
    assert_eq!(house.settled("bothbot/1", ELSEWHERE).await, Unverifiable);
    assert_eq!(
        house.now("bothbot/1", ELSEWHERE),
        Unverifiable,
        "the result comes from the cache"
    );
    let robot = house
        .detector
        .identify(b"bothbot")
        .unwrap()
        .robot()
        .cloned()
        .unwrap();
    let proof = house
        .verifier
        .prove(&robot, Some(ELSEWHERE.parse().unwrap()), None)
        .await;
    assert_eq!(proof.verdict, Unverifiable, "{}", proof.text());
    assert!(
        proof
            .text()
            .contains("while the address list is unavailable"),
        "{}",
        proof.text()
    );
    // Without a list, only the host names count, and another operator's name is a contradiction.
    assert_eq!(house.now("hostbot/1", ELSEWHERE), Pending);
    assert_eq!(house.settled("hostbot/1", ELSEWHERE).await, Spoofed);
    let other = "198.51.100.8";
    house.dns.host(other, "a.others.example");
    assert_eq!(house.now("bothbot/1", other), Pending);
    assert_eq!(house.settled("bothbot/1", other).await, Spoofed);
    house.put_list();
    assert_eq!(
        house.now("bothbot/1", ELSEWHERE),
        Spoofed,
        "the list contradicts the claim"
    );
}

#[tokio::test]
async fn an_expired_result_is_used_until_there_is_a_new_one() {
    let house = House::new().await;
    house.dns.ttl(300).host(IN_LIST, "a.robots.example");
    assert_eq!(house.now("hostbot/1", IN_LIST), Pending);
    assert_eq!(house.settled("hostbot/1", IN_LIST).await, Verified);
    house.dns.forget(&reverse(IN_LIST));
    house.dns.host(IN_LIST, "a.others.example");
    house.clock.advance(Duration::from_secs(299));
    assert_eq!(house.now("hostbot/1", IN_LIST), Verified);
    assert_eq!(house.dns.count(), 2);
    house.clock.advance(Duration::from_secs(2));
    assert_eq!(house.now("hostbot/1", IN_LIST), Verified, "still used");
    assert_eq!(house.settled("hostbot/1", IN_LIST).await, Spoofed);
    assert_eq!(house.now("hostbot/1", IN_LIST), Spoofed);
    house.clock.advance(Duration::from_hours(48));
    assert_eq!(house.now("hostbot/1", IN_LIST), Pending, "too old");
}

#[tokio::test]
async fn new_settings_discard_earlier_results() {
    let house = House::new().await;
    house.dns.host(IN_LIST, "a.robots.example");
    assert_eq!(house.now("hostbot/1", IN_LIST), Pending);
    assert_eq!(house.settled("hostbot/1", IN_LIST).await, Verified);
    let mut methods = Methods::clone(&house.verifier.methods());
    let dns = methods.reverse_dns.take();
    house.verifier.replace(methods.clone());
    assert_eq!(house.now("hostbot/1", IN_LIST), Unverifiable);
    methods.reverse_dns = dns;
    house.verifier.replace(methods);
    assert_eq!(house.now("hostbot/1", IN_LIST), Pending);
}

#[tokio::test]
async fn a_running_verification_with_old_settings_is_discarded() {
    let house = House::new().await;
    house.dns.host(IN_LIST, "a.robots.example");
    house.dns.hold();
    assert_eq!(house.now("hostbot/1", IN_LIST), Pending);
    house.dns.wait_for_pending(1).await;
    let settled = house.with("hostbot/1", Some(IN_LIST), |request| {
        house.verifier.settled(request)
    });
    let methods = Methods::clone(&house.verifier.methods());
    house.verifier.replace(methods);
    house.dns.release();
    assert_eq!(settled.await, Verified);
    assert_eq!(house.now("hostbot/1", IN_LIST), Pending);
    assert_eq!(house.settled("hostbot/1", IN_LIST).await, Verified);
    assert_eq!(house.now("hostbot/1", IN_LIST), Verified);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_verifications() {
    let house = House::new().await;
    house.dns.hold();
    assert_eq!(house.now("hostbot/1", IN_LIST), Pending);
    let settled = house.with("hostbot/1", Some(IN_LIST), |request| {
        house.verifier.settled(request)
    });
    house.dns.wait_for_pending(1).await;
    house.stop.cancel();
    house.tasks.close();
    house.tasks.wait().await;
    assert_eq!(settled.await, Unverifiable);
    assert_eq!(house.now("hostbot/1", ELSEWHERE), Unverifiable);
}

#[tokio::test]
async fn a_proof_includes_the_evidence_of_every_method() {
    let house = House::new().await;
    house.put_list();
    house.dns.host(ELSEWHERE, "a.robots.example");
    let robot = |id: &str| {
        let mut robots = house.detector.robots().iter();
        Arc::clone(robots.find(|robot| robot.id == id).unwrap())
    };
    let address = Some(ELSEWHERE.parse().unwrap());
    let proof = house.verifier.prove(&robot("bothbot"), address, None).await;
    assert_eq!(
        (proof.verdict, proof.by),
        (Verified, Some(Proof::ReverseDns))
    );
    let methods = proof.evidence.iter().map(|evidence| evidence.method);
    assert!(methods.eq(Proof::ALL.iter().copied()));
    let proof = house.verifier.prove(&robot("listbot"), address, None).await;
    assert_eq!((proof.verdict, proof.by), (Spoofed, Some(Proof::Ranges)));
    let proof = house
        .verifier
        .prove(&robot("plainbot"), address, None)
        .await;
    assert_eq!((proof.verdict, proof.by), (Unverifiable, None));
    let text = proof.text();
    assert!(
        text.contains("The operator publishes no address list"),
        "{text}"
    );
    let proof = house.verifier.prove(&robot("bothbot"), None, None).await;
    assert_eq!(proof.verdict, Unverifiable);
    let text = proof.text();
    assert!(text.contains("The client address is unknown"), "{text}");
}
