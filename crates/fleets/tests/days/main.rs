//! Simulated days of a web site with a fleet among human visitors, and unusual days without a
//! fleet.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what a test cannot do fails it"
)]

mod model;

use std::{
    hash::{Hash as _, Hasher as _},
    net::Ipv4Addr,
};

use model::{BROWSERS, DAY_S, Day, Outcome, SITE, Site, Target};
use robot_detection_fleets::Figures;

/// User-Agent with a frozen version on a rare system.
const IMPERSONATOR: &str = "Mozilla/5.0 (X11; Linux aarch64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36";

/// Fleet that sends one request from each address.
#[derive(Clone)]
struct Swarm {
    user_agents: Vec<String>,
    fingerprint: u64,
    requests: u32,
    begins_s: u32,
    lasts_s: u32,
    fakes_referrers: bool,
    /// Share of the requested pages that no page links to.
    archived: f64,
}

impl Default for Swarm {
    fn default() -> Self {
        Self {
            user_agents: vec![IMPERSONATOR.to_owned()],
            fingerprint: 9,
            requests: 5_000,
            begins_s: 40_000,
            lasts_s: 7_200,
            fakes_referrers: false,
            archived: 0.7,
        }
    }
}

impl Swarm {
    fn join(&self, day: &mut Day) {
        for _ in 0..self.requests {
            let at_s = (self.begins_s + day.rng.u32(0..self.lasts_s)).min(DAY_S - 1);
            let which = day.rng.usize(0..self.user_agents.len());
            let user_agent = day.user_agent(&self.user_agents[which]);
            let address = day.new_address();
            let target = if day.rng.f64() < self.archived {
                Target::Archived(day.rng.u32(0..200_000))
            } else {
                Target::Page(day.rng.u32(0..day.site.pages))
            };
            let event = day.push(at_s, user_agent, address, target);
            (event.is_robot, event.fingerprint) = (true, self.fingerprint);
            event.has_referrer = self.fakes_referrers;
        }
    }
}

fn with(seed: u64, site: Site, swarm: &Swarm) -> Outcome {
    let mut day = Day::of_people(seed, site);
    swarm.join(&mut day);
    day.play()
}

#[track_caller]
fn is_found(outcome: &Outcome, within: u32) {
    assert!(
        outcome.robots_before.is_some_and(|before| before <= within),
        "{outcome:?}"
    );
    assert!(outcome.robots_after >= 0.95, "{outcome:?}");
    assert!(outcome.people <= 0.001, "{outcome:?}");
}

#[track_caller]
fn is_quiet(day: Day) {
    let outcome = day.play();
    assert_eq!(outcome.ever, 0, "{outcome:?}");
    assert!(outcome.flags.conducts().is_empty(), "{outcome:?}");
}

#[test]
fn fleet_of_5000_addresses_is_found_and_human_visitors_are_not_flagged() {
    for seed in 1..=3 {
        let outcome = with(seed, SITE, &Swarm::default());
        is_found(&outcome, 2_000);
        let fleet = outcome.flags.fleets()[0];
        assert_eq!(&*fleet.user_agent, IMPERSONATOR);
        let Figures {
            requests,
            addresses,
            per_address,
            assets,
            ..
        } = fleet.figures;
        assert_eq!(requests, 5_000);
        assert!((4_300..5_700).contains(&addresses), "{addresses}");
        assert!(
            per_address < 1.3 && assets < 0.001,
            "{per_address} {assets}"
        );
        assert_eq!(fleet.samples.len(), 3);
    }
}

const SMALL: Site = Site {
    pages: 300,
    visits: 600,
    has_assets: true,
};

const BIG: Site = Site {
    pages: 200_000,
    visits: 50_000,
    has_assets: true,
};

#[test]
fn fleets_are_found_on_sites_of_any_size_with_any_speed_and_referrers() {
    let (fleet, all_day) = (Swarm::default(), 0..DAY_S);
    let of_today = Swarm {
        archived: 0.0,
        ..fleet.clone()
    };
    let slow = Swarm {
        begins_s: all_day.start,
        lasts_s: all_day.end,
        ..fleet.clone()
    };
    let forged = |swarm: &Swarm| Swarm {
        fakes_referrers: true,
        ..swarm.clone()
    };
    for (site, swarm) in [
        (SMALL, of_today.clone()),
        (SMALL, forged(&of_today)),
        (BIG, fleet.clone()),
        (BIG, slow.clone()),
        (SITE, slow),
        (SITE, forged(&of_today)),
        (
            SITE,
            Swarm {
                lasts_s: 120,
                ..fleet.clone()
            },
        ),
        (
            SITE,
            Swarm {
                requests: 400_000,
                lasts_s: 40_000,
                ..fleet.clone()
            },
        ),
        (
            Site {
                has_assets: false,
                ..SITE
            },
            fleet,
        ),
    ] {
        is_found(&with(21, site, &swarm), 2_000);
    }
}

#[test]
fn fleet_with_a_common_version_is_found_only_by_its_fingerprint() {
    let common = Swarm {
        user_agents: vec![BROWSERS[0].0.to_owned()],
        ..Swarm::default()
    };
    is_found(&with(31, SITE, &common), 2_000);
    let hidden = with(
        31,
        SITE,
        &Swarm {
            fingerprint: 0,
            ..common
        },
    );
    assert_eq!(
        (hidden.ever, hidden.people),
        (0, 0.0),
        "it cannot be distinguished from human visitors"
    );
}

#[test]
fn human_visitors_with_the_rare_user_agent_of_a_fleet_are_not_flagged() {
    for (seed, rare) in [(81, 2), (81, 13), (82, 6), (84, 11)] {
        let shared = Swarm {
            user_agents: vec![BROWSERS[rare].0.to_owned()],
            fingerprint: rare as u64 % 3,
            ..Swarm::default()
        };
        is_found(&with(seed, SITE, &shared), 2_000);
    }
}

#[test]
fn fleets_with_twenty_user_agents_are_found_but_not_with_a_thousand() {
    let agents = |number| (0..number).map(|n| IMPERSONATOR.replace("149", &n.to_string()));
    let twenty = Swarm {
        user_agents: agents(20).collect(),
        ..Swarm::default()
    };
    let outcome = with(41, SITE, &twenty);
    assert_eq!(outcome.ever, 20, "{outcome:?}");
    assert!(outcome.robots_before.is_some_and(|before| before <= 2_000));
    assert!(outcome.robots_after >= 0.9, "{outcome:?}");
    assert!(outcome.people <= 0.001, "{outcome:?}");
    let thousand = Swarm {
        user_agents: agents(1_000).collect(),
        ..Swarm::default()
    };
    assert_eq!(
        with(41, SITE, &thousand).ever,
        0,
        "each fleet sends too few requests"
    );
}

#[test]
fn visitors_with_the_user_agent_of_a_fleet_are_unflagged_after_the_fleet_ends() {
    // A fleet in the morning, with a version that some human visitors have.
    let rare = Swarm {
        user_agents: vec![BROWSERS[13].0.to_owned()],
        fingerprint: 1,
        begins_s: 20_000,
        lasts_s: 3_600,
        ..Swarm::default()
    };
    let site = Site {
        visits: 30_000,
        ..SITE
    };
    let outcome = with(
        51,
        site,
        &Swarm {
            requests: 50_000,
            ..rare
        },
    );
    assert_eq!(outcome.ever, 1, "{outcome:?}");
    assert!(outcome.flags.fleets().is_empty(), "{outcome:?}");
}

#[test]
fn human_visitors_are_not_flagged_on_sites_of_any_size() {
    for (seed, site) in (60..).zip([
        BIG,
        BIG,
        SITE,
        SMALL,
        BIG,
        Site {
            has_assets: false,
            ..SITE
        },
    ]) {
        is_quiet(Day::of_people(seed, site));
    }
}

#[test]
fn browser_release_rolling_out_to_60_percent_is_not_flagged() {
    let mut day = Day::of_people(71, SITE);
    let new = BROWSERS[0].0.replace("152", "153");
    let new = day.user_agent(&new);
    for at in 0..day.events.len() {
        let event = &day.events[at];
        // By address, so that a visit has only one version.
        let mut hasher = std::hash::DefaultHasher::new();
        event.address.hash(&mut hasher);
        let part = hasher.finish() % 1_000;
        if event.user_agent == 0 && part * u64::from(DAY_S) < 600 * u64::from(event.at_s) {
            day.events[at].user_agent = new;
        }
    }
    is_quiet(day);
}

#[test]
fn fiftyfold_rush_on_one_page_is_not_flagged() {
    let mut day = Day::of_people(
        72,
        Site {
            visits: 4_000,
            ..SITE
        },
    );
    // Fifty times the traffic of two hours around noon, on one page.
    for _ in 0..25_000 {
        let at_s = 43_000 + day.rng.u32(0..7_200);
        let (who, address) = (day.somebody(), day.new_address());
        day.visit(at_s, who, address, Some(17));
    }
    is_quiet(day);
}

#[test]
fn campus_behind_one_address_is_not_flagged() {
    let mut day = Day::of_people(73, SITE);
    for _ in 0..6_000 {
        let at_s = 28_000 + day.rng.u32(0..30_000);
        let who = day.somebody();
        day.visit(at_s, who, Ipv4Addr::new(192, 0, 2, 1).into(), None);
    }
    is_quiet(day);
}

#[test]
fn rush_on_feeds_is_not_flagged() {
    let mut day = Day::of_people(74, SITE);
    let reader = day
        .user_agent("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Thunderbird/140.3.0");
    for number in 0..4_000 {
        let (address, first) = (day.new_address(), day.rng.u32(0..3_600));
        // A third requests feeds not recognisable by name, without conditional requests.
        let is_odd = number % 3 == 0;
        let feed = if is_odd {
            Target::OddFeed(number % 12)
        } else {
            Target::Feed
        };
        for hour in 0..24 {
            let event = day.push(hour * 3_600 + first, reader, address, feed);
            event.is_conditional = !is_odd && hour > 0;
        }
    }
    is_quiet(day);
}

#[test]
fn monitoring_network_is_not_flagged() {
    let mut day = Day::of_people(75, SITE);
    let monitor = day.user_agent("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36");
    for _ in 0..150 {
        let (address, first) = (day.new_address(), day.rng.u32(0..600));
        for minute in (first..DAY_S).step_by(600) {
            day.push(minute, monitor, address, Target::Probe);
        }
    }
    is_quiet(day);
}

#[test]
fn mobile_carrier_with_few_addresses_is_not_flagged() {
    let mut day = Day::of_people(76, SITE);
    for _ in 0..8_000 {
        let at_s = day.moment();
        let address = Ipv4Addr::from_bits(0xc633_6400 + day.rng.u32(0..6));
        day.visit(at_s, 4, address.into(), None);
    }
    is_quiet(day);
}

#[test]
fn many_text_browsers_are_not_flagged() {
    let mut day = Day::of_people(78, SITE);
    let lynx = u16::try_from(BROWSERS.len()).unwrap();
    for _ in 0..2_000 {
        let (at_s, address) = (day.moment(), day.new_address());
        day.visit(at_s, lynx, address, None);
    }
    is_quiet(day);
}

#[test]
fn privacy_browsers_without_referrers_are_not_flagged() {
    let mut day = Day::of_people(77, SITE);
    let private = day
        .user_agent("Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0 Private");
    for _ in 0..3_000 {
        let (at_s, address, from) = (day.moment(), day.new_address(), day.events.len());
        day.visit(at_s, 0, address, None);
        for event in &mut day.events[from..] {
            (event.user_agent, event.has_referrer) = (private, false);
        }
    }
    is_quiet(day);
}
