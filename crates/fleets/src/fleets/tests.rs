use std::net::{IpAddr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::{Closed, Reason};

const CHROME: &[u8] = b"Mozilla/5.0 (X11) Chrome/152.0.0.0 Safari/537.36";

/// Returns an address in a separate network.
fn address(number: u32) -> IpAddr {
    let network = (0x2001_0db8_u128 << 16) | u128::from(number & 0xffff);
    Ipv6Addr::from_bits(network << 80 | u128::from(number >> 16) << 64 | 1).into()
}

/// Observes ten human visitors in a minute, each of which requests a page and nine assets.
fn people(fleets: &mut Fleets, minute: i64) {
    for person in 0..10_u32 {
        for part in 0..10_u32 {
            let target = if part == 0 {
                format!("/page/{person}")
            } else {
                format!("/{part}.css")
            };
            fleets.observe(&Observation {
                at_s: minute * 60 + i64::from(part),
                user_agent: CHROME,
                address: address(10_000 + person),
                target: target.as_bytes(),
                status: 200,
                has_referrer: true,
                is_conditional: part == 9,
                ..Observation::default()
            });
        }
    }
}

const TRAP: &str = "/notes/amber-field/coast-1.html";

/// Returns the flagged behaviour after requests in the first window.
fn conduct(requests: impl Iterator<Item = (IpAddr, i64, String, u16, bool)>) -> Vec<String> {
    let mut fleets = Fleets::new(5);
    (0..9).for_each(|minute| people(&mut fleets, minute));
    for (address, at_s, target, status, is_closed) in requests {
        fleets.observe(&Observation {
            at_s,
            user_agent: CHROME,
            address,
            target: target.as_bytes(),
            status,
            closed: match (is_closed, &*target) {
                (_, TRAP) => Some(Closed::Trap),
                (true, _) => Some(Closed::Path),
                _ => None,
            },
            ..Observation::default()
        });
    }
    let flags = fleets.judge(590);
    let told = flags.conducts().into_iter().map(|one| {
        let codes: Vec<_> = one.reasons.iter().map(Reason::code).collect();
        format!("{} {}", one.network(), codes.join(" "))
    });
    told.collect()
}

#[test]
fn addresses_that_behave_unlike_human_visitors_are_flagged_with_reasons() {
    let one = |number: i64, target: String, status| (address(1), number, target, status, false);
    let page = |number: i64| format!("/a/{number}");
    let cases: [(&str, Vec<_>, &[&str]); 7] = [
        (
            "names are guessed",
            (0..40).map(|n| one(n, page(n), 404)).collect(),
            &["2001:db8:1::/64 conduct-not-found"],
        ),
        (
            "a few broken links",
            (0..15).map(|n| one(n, page(n), 404)).collect(),
            &[],
        ),
        (
            "the whole site is read",
            (0..100).map(|n| one(n, page(n), 200)).collect(),
            &["2001:db8:1::/64 conduct-breadth"],
        ),
        (
            "the whole site is read without a pause, by a network",
            (0..590).map(|n| one(n, page(n), 200)).collect(),
            &[
                "2001:db8:1::/48 conduct-breadth conduct-no-pauses",
                "2001:db8:1::/64 conduct-breadth conduct-no-pauses",
            ],
        ),
        (
            "a page that polls every second",
            (0..590).map(|n| one(n, page(n % 3), 200)).collect(),
            &[],
        ),
        (
            "continues after being told to wait",
            (0..300).map(|n| one(n, page(1), 429)).collect(),
            &[
                "2001:db8:1::/48 conduct-retry-after",
                "2001:db8:1::/64 conduct-retry-after",
            ],
        ),
        (
            "a page with refused images",
            (0..30)
                .map(|n| one(n % 2, format!("/{n}.png"), 429))
                .collect(),
            &[],
        ),
    ];
    for (what, requests, expected) in cases {
        assert_eq!(conduct(requests.into_iter()), expected, "{what}");
    }
}

#[test]
fn disallowed_paths_are_not_sufficient_alone() {
    let closed = |number: i64, status| (address(1), number, format!("/a/{number}"), status, true);
    assert_eq!(conduct((0..40).map(|n| closed(n, 200))), [""; 0]);
    assert_eq!(
        conduct((0..40).map(|n| closed(n, 404))),
        ["2001:db8:1::/64 conduct-not-found conduct-closed"]
    );
}

#[test]
fn a_trap_is_not_sufficient_alone() {
    let alone = (0..9).map(|number| (address(1), number, TRAP.to_owned(), 200, false));
    assert_eq!(conduct(alone.clone()), [""; 0]);
    let closed = (0..40).map(|number| (address(1), number, format!("/a/{number}"), 200, true));
    assert_eq!(
        conduct(closed.chain(alone)),
        ["2001:db8:1::/64 conduct-closed conduct-trap"]
    );
}

#[test]
fn conduct_is_looked_up_by_any_address_of_a_sender() {
    let mut fleets = Fleets::new(5);
    let of = |last| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 7, 0, 0, 0, last));
    for number in 0..40 {
        fleets.observe(&Observation {
            address: of(number),
            target: format!("/{number}").as_bytes(),
            status: 404,
            ..Observation::default()
        });
    }
    let flags = fleets.judge(0);
    let found = flags.conduct(of(999)).unwrap();
    assert_eq!(found.network().to_string(), "2001:db8:0:7::/64");
    assert_eq!((found.requests, found.missing), (40, 40));
    assert!(flags.conduct(address(1)).is_none());
    // The flag ends an hour after the last request.
    assert_eq!(fleets.judge(4_100).conducts().len(), 1);
    assert!(fleets.judge(4_400).conducts().is_empty());
}

/// Evaluates requests hour by hour; a fleet sends one each second in the hours that are `true`.
fn hours(hours: &[bool]) -> Vec<bool> {
    let (mut fleets, mut number) = (Fleets::new(5), 0);
    let hour = |(at, is_there): (usize, &bool)| {
        let begins_s = i64::try_from(at).unwrap() * 3_600;
        for minute in 0..60 {
            people(&mut fleets, begins_s / 60 + minute);
            for second in 0..if *is_there { 60 } else { 0 } {
                number += 1;
                fleets.observe(&Observation {
                    at_s: begins_s + minute * 60 + second,
                    user_agent: b"Chrome/140.0",
                    address: address(number),
                    target: format!("/a/b/c/{number}").as_bytes(),
                    status: 200,
                    ..Observation::default()
                });
            }
        }
        let flags = fleets.judge(begins_s + 3_599);
        assert!(flags.fleet(CHROME, 0).is_none());
        assert!(
            flags.fleet(b"Chrome/140.0", 1).is_none(),
            "different fingerprint"
        );
        flags.fleet(b"Chrome/140.0", 0).is_some()
    };
    hours.iter().enumerate().map(hour).collect()
}

#[test]
fn fleet_ends_after_a_day_without_requests() {
    let mut there = vec![false, true, true, false, true];
    there.extend([false; 26]);
    let flagged = hours(&there);
    assert_eq!(flagged[..5], [false, true, true, true, true]);
    assert!(flagged[5..27].iter().all(|is_flagged| *is_flagged));
    assert!(!flagged[29]);
}

#[test]
fn corrected_clock_does_not_stop_detection() {
    let mut fleets = Fleets::new(5);
    fleets.judge(4_000_000_000);
    part_of_fleet(&mut fleets, |_| true);
    assert_eq!(fleets.judge(550).fleets().len(), 1);
    assert_eq!(fleets.sketch().number, 0);
    // A time a minute earlier is in the same window or in the previous one.
    fleets.judge(650);
    fleets.judge(590);
    assert_eq!(fleets.sketch().number, 1);
}

#[test]
fn memory_is_bounded_for_a_million_agents_addresses_and_paths() {
    let mut fleets = Fleets::new(5);
    let empty = fleets.bytes();
    for number in 0..1_000_000_u32 {
        let agent = format!("Chrome/{} {}", number % 50_000, "x".repeat(300));
        fleets.observe(&Observation {
            at_s: i64::from(number / 100),
            user_agent: agent.as_bytes(),
            address: address(number),
            target: format!("/{number}/{}", "y".repeat(300)).as_bytes(),
            status: 404,
            ..Observation::default()
        });
        if number % 100_000 == 0 {
            fleets.judge(i64::from(number / 100));
        }
    }
    let bytes = fleets.bytes();
    assert!(bytes > empty && bytes <= 7 << 19, "{empty} {bytes}");
}

/// Observes the part of a fleet's 100 pages that an instance sees.
fn part_of_fleet(fleets: &mut Fleets, is_mine: impl Fn(u32) -> bool) {
    (0..9).for_each(|minute| people(fleets, minute));
    for number in (0..100).filter(|number| is_mine(*number)) {
        fleets.observe(&Observation {
            at_s: 540,
            user_agent: b"Chrome/140.0",
            address: address(number),
            target: format!("/a/b/c/{number}").as_bytes(),
            ..Observation::default()
        });
    }
}

#[test]
fn instances_that_exchange_sketches_find_fleets_that_none_finds_alone() {
    let mut instances = [0, 1].map(|part| {
        let mut fleets = Fleets::new(5);
        part_of_fleet(&mut fleets, |number| number % 2 == part);
        assert!(
            fleets.judge(550).fleets().is_empty(),
            "50 pages are not enough"
        );
        fleets
    });
    let told = instances
        .each_ref()
        .map(|fleets| fleets.sketch().to_bytes());
    for (fleets, told) in instances.iter_mut().zip(told.iter().rev()) {
        // A new sketch replaces the instance's previous sketch.
        for _ in 0..2 {
            let sketch = Sketch::from_bytes(told).unwrap();
            assert!(fleets.hear("other", sketch));
        }
        let flags = fleets.judge(560);
        let fleet = flags.fleet(b"Chrome/140.0", 0).unwrap();
        assert_eq!(fleet.figures.requests, 100);
        assert!((85..115).contains(&fleet.figures.addresses), "{fleet:?}");
        // The window ends and is remembered.
        assert_eq!(fleets.judge(610).fleets().len(), 1);
        assert!(
            !fleets.hear("other", Sketch::from_bytes(told).unwrap()),
            "sketch of an old window"
        );
    }
}

#[test]
fn sketches_of_another_seed_or_of_too_many_instances_are_ignored() {
    let (mut fleets, mut other) = (Fleets::new(5), Fleets::new(6));
    for fleets in [&mut fleets, &mut other] {
        part_of_fleet(fleets, |_| true);
    }
    assert!(!fleets.hear("other", other.sketch()));
    let heard = (0..100).filter(|n| {
        let sketch = fleets.sketch();
        fleets.hear(&n.to_string(), sketch)
    });
    assert_eq!(heard.count(), MAX_OTHERS);
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_a_sketch_or_rejected(
        cut in 0..40_000_usize,
        changes in prop::collection::vec((0..40_000_usize, any::<u8>()), 0..4),
    ) {
        let mut fleets = Fleets::new(5);
        part_of_fleet(&mut fleets, |_| true);
        let mut bytes = fleets.sketch().to_bytes();
        prop_assert!(bytes.len() < 1_500);
        let whole = Sketch::from_bytes(&bytes).unwrap();
        prop_assert_eq!(whole.to_bytes(), bytes.clone());
        bytes.truncate(cut % (2 * bytes.len()));
        for (at, byte) in changes {
            let length = bytes.len().max(1);
            if let Some(place) = bytes.get_mut(at % length) {
                *place = byte;
            }
        }
        if let Ok(sketch) = Sketch::from_bytes(&bytes) {
            prop_assert_eq!(sketch.to_bytes(), bytes);
            fleets.hear("other", sketch);
            fleets.judge(10_000);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn arbitrary_observations_are_accepted(
        seen in prop::collection::vec(
            (any::<i64>(), "\\PC{0,20}", prop::collection::vec(any::<u8>(), 0..200), any::<u128>(), any::<u16>(), any::<[bool; 4]>()),
            0..60,
        ),
    ) {
        let mut fleets = Fleets::new(5);
        for (at_s, user_agent, target, address, status, [referrer, conditional, closed, trap]) in &seen {
            let at_s = at_s >> (at_s & 63);
            fleets.observe(&Observation {
                at_s,
                user_agent: user_agent.as_bytes(),
                fingerprint: u64::from(*status),
                address: Ipv6Addr::from_bits(*address).into(),
                target,
                status: *status,
                has_referrer: *referrer,
                is_conditional: *conditional,
                closed: closed.then_some(if *trap { Closed::Trap } else { Closed::Path }),
            });
            let flags = fleets.judge(at_s);
            prop_assert!(flags.fleets().is_empty());
        }
    }
}
