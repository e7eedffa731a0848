//! Cost of a rule's pace for a request, with few clients and with a million at their limit.

use std::{net::IpAddr, time::Duration};

use divan::{AllocProfiler, Bencher};
use robot_detection::policy::{Action, Policy, RateKey, Rule, Sender, Visitor};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

/// Numbers of clients.
const SENDERS: [u32; 3] = [1, 1_000, 1_000_000];

const CHROME: &[u8] = b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 \
     (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";

fn main() {
    divan::main();
}

/// Checks one client after the other, each already known.
fn run(bencher: Bencher<'_, '_>, key: RateKey, senders: u32) {
    let rule = Rule::builder(Action::Slow).paths(["/*"]);
    let rule = rule.requests(1_000_000).per(Duration::from_hours(24));
    let policy = Policy::builder().rule(rule.rate_key(key)).build();
    let policy = policy.expect("the rule is valid");
    let rule = policy.rules().next().expect("the policy has one rule");
    let visitor = Visitor::person(Sender::default());
    let ask = |number: u32| {
        let address = IpAddr::from(number.to_be_bytes());
        let paced = rule.limited_request(visitor, CHROME, Some(address));
        paced.is_some_and(|paced| paced.check(0).is_ok())
    };
    for number in 0..senders {
        ask(number);
    }
    let mut number = 0_u32;
    bencher.bench_local(|| {
        // Far apart, like the addresses of unrelated clients.
        number = number.wrapping_add(0x9e37_79b1);
        ask(number % senders)
    });
}

#[divan::bench(args = SENDERS)]
fn address(bencher: Bencher<'_, '_>, senders: u32) {
    run(bencher, RateKey::Address, senders);
}

#[divan::bench]
fn user_agent(bencher: Bencher<'_, '_>) {
    run(bencher, RateKey::UserAgent, 1);
}

#[divan::bench]
fn site(bencher: Bencher<'_, '_>) {
    run(bencher, RateKey::Site, 1);
}

/// The default key: a person is counted by network.
#[divan::bench]
fn robot(bencher: Bencher<'_, '_>) {
    run(bencher, RateKey::Robot, 1);
}
