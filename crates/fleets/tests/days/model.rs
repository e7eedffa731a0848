//! Model of a day of a web site.
//!
//! Page popularity follows Zipf's law with exponent 1. The rate of visits is a sine over the day,
//! with a third of the noon rate at night. After each page a visit ends with a probability of one
//! in three; pages are a minute apart. A page has eight assets shared by the whole site and three
//! separate ones. 35 % of the visitors are returning: they request half of the shared assets
//! conditionally and take the rest from their caches. 45 % of first pages have no referrer; later
//! pages have one, except for the 5 % of visitors that never send any. One in ten visits comes from
//! one of forty shared addresses. One in a hundred pages no longer exists. One in three hundred
//! visitors uses a text browser and loads no assets.

use std::net::{IpAddr, Ipv6Addr};

use robot_detection_fleets::{Flags, Fleets, Observation};

pub(crate) const DAY_S: u32 = 86_400;

/// 2026-11-23, a Monday.
const START_S: i64 = 1_795_392_000;

/// Seconds between two evaluations.
const JUDGED_S: i64 = 20;

/// Browsers and their shares, in thousandths.
pub(crate) const BROWSERS: [(&str, u32); 14] = [
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/152.0.0.0 Safari/537.36",
        240,
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/151.0.0.0 Safari/537.36",
        45,
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/109.0.0.0 Safari/537.36",
        4,
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/152.0.0.0 Safari/537.36",
        70,
    ),
    (
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/152.0.0.0 Mobile Safari/537.36",
        210,
    ),
    (
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/151.0.0.0 Mobile Safari/537.36",
        30,
    ),
    (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/152.0.0.0 Safari/537.36",
        14,
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1",
        170,
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15",
        60,
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:153.0) Gecko/20100101 Firefox/153.0",
        50,
    ),
    (
        "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0",
        20,
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0",
        5,
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/152.0.0.0 Safari/537.36 Edg/152.0.0.0",
        75,
    ),
    (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36",
        7,
    ),
];

const TEXT_BROWSER: &str = "Lynx/2.9.2 libwww-FM/2.14 SSL-MM/1.4.1";

/// Request of the day.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) at_s: u32,
    pub(crate) is_robot: bool,
    pub(crate) user_agent: u16,
    pub(crate) fingerprint: u64,
    pub(crate) address: IpAddr,
    pub(crate) target: Target,
    pub(crate) status: u16,
    pub(crate) has_referrer: bool,
    pub(crate) is_conditional: bool,
}

/// Requested resource.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Page(u32),
    /// Archive page, which few links lead to.
    Archived(u32),
    SiteAsset(u32),
    PageAsset(u32, u32),
    Feed,
    /// Feed that is not recognisable by its name.
    OddFeed(u32),
    Probe,
}

/// A site and its visitors; other parameters are those of the module's documentation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) pages: u32,
    pub(crate) visits: u32,
    /// Whether pages have assets served by this site.
    pub(crate) has_assets: bool,
}

pub(crate) const SITE: Site = Site {
    pages: 20_000,
    visits: 10_000,
    has_assets: true,
};

/// Requests of a day, with the User-Agents that they refer to by number.
pub(crate) struct Day {
    pub(crate) events: Vec<Event>,
    pub(crate) user_agents: Vec<String>,
    pub(crate) rng: fastrand::Rng,
    pub(crate) site: Site,
    next_address: u32,
}

/// Result of a simulated day.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Number of robots' requests before the first was flagged.
    pub(crate) robots_before: Option<u32>,
    /// Share of the robots' requests flagged from then on.
    pub(crate) robots_after: f64,
    pub(crate) people: f64,
    pub(crate) flags: Flags,
    /// Number of fleets flagged at any time.
    pub(crate) ever: usize,
}

impl Day {
    pub(crate) fn new(seed: u64, site: Site) -> Self {
        let mut user_agents: Vec<_> = BROWSERS.iter().map(|one| one.0.to_owned()).collect();
        user_agents.push(TEXT_BROWSER.to_owned());
        Self {
            events: Vec::new(),
            user_agents,
            rng: fastrand::Rng::with_seed(seed),
            site,
            next_address: 0,
        }
    }

    /// Creates a day with only human visitors.
    pub(crate) fn of_people(seed: u64, site: Site) -> Self {
        let mut day = Self::new(seed, site);
        for _ in 0..site.visits {
            let at_s = day.moment();
            let who = day.somebody();
            let address = day.address();
            day.visit(at_s, who, address, None);
        }
        day
    }

    /// Returns a random time of the day, distributed like visits.
    pub(crate) fn moment(&mut self) -> u32 {
        loop {
            let at_s = self.rng.u32(0..DAY_S);
            let turn = f64::from(at_s) / f64::from(DAY_S) * std::f64::consts::TAU;
            if self.rng.f64() < (2.0 - turn.cos()) / 3.0 {
                return at_s;
            }
        }
    }

    /// Returns the number of a random browser.
    pub(crate) fn somebody(&mut self) -> u16 {
        if self.rng.u32(0..300) == 0 {
            return u16::try_from(BROWSERS.len()).unwrap();
        }
        let mut at = self.rng.u32(0..BROWSERS.iter().map(|one| one.1).sum());
        let found = BROWSERS.iter().position(|(_, share)| {
            let is_it = at < *share;
            at = at.saturating_sub(*share);
            is_it
        });
        u16::try_from(found.unwrap()).unwrap()
    }

    pub(crate) fn new_address(&mut self) -> IpAddr {
        self.next_address += 1;
        of_sender(self.next_address.wrapping_mul(0x9e37_79b1))
    }

    fn address(&mut self) -> IpAddr {
        if self.rng.u32(0..10) == 0 {
            return of_sender(self.rng.u32(0..40));
        }
        self.new_address()
    }

    /// Returns the number of a random page by Zipf's law.
    pub(crate) fn page(&mut self) -> u32 {
        let pages = f64::from(self.site.pages);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "below the number of pages"
        )]
        let page = pages.powf(self.rng.f64()) as u32;
        page - 1
    }

    pub(crate) fn push(
        &mut self,
        at_s: u32,
        user_agent: u16,
        address: IpAddr,
        target: Target,
    ) -> &mut Event {
        self.events.push(Event {
            at_s,
            is_robot: false,
            user_agent,
            fingerprint: 0,
            address,
            target,
            status: 200,
            has_referrer: false,
            is_conditional: false,
        });
        self.events.last_mut().unwrap()
    }

    /// Adds a visit by a human visitor, to a given page or to any page.
    pub(crate) fn visit(&mut self, at_s: u32, who: u16, address: IpAddr, first: Option<u32>) {
        let has_no_assets = usize::from(who) >= BROWSERS.len() || !self.site.has_assets;
        let is_here_again = self.rng.f64() < 0.35;
        let is_private = self.rng.f64() < 0.05;
        let fingerprint = u64::from(who % 3);
        let (mut at_s, mut is_first) = (at_s, true);
        loop {
            let page = first.filter(|_| is_first).unwrap_or_else(|| self.page());
            let has_referrer = !is_private && (!is_first || self.rng.f64() < 0.55);
            let is_gone = self.rng.u32(0..100) == 0;
            let event = self.push(at_s, who, address, Target::Page(page));
            (event.has_referrer, event.fingerprint) = (has_referrer, fingerprint);
            if is_gone {
                event.status = 404;
            }
            for asset in 0..if has_no_assets { 0 } else { 11 } {
                let is_of_site = asset < 8;
                let is_cached = is_of_site && (is_here_again || !is_first);
                if is_cached && (!is_first || self.rng.bool()) {
                    continue;
                }
                let target = if is_of_site {
                    Target::SiteAsset(asset)
                } else {
                    Target::PageAsset(page, asset)
                };
                let event = self.push(at_s + 1, who, address, target);
                event.has_referrer = !is_private;
                event.fingerprint = fingerprint;
                if is_cached {
                    (event.is_conditional, event.status) = (true, 304);
                }
            }
            is_first = false;
            at_s += self.rng.u32(20..120);
            if self.rng.u32(0..3) == 0 || at_s >= DAY_S {
                return;
            }
        }
    }

    /// Returns the number of a User-Agent, adding it if it is new.
    pub(crate) fn user_agent(&mut self, text: &str) -> u16 {
        let found = self.user_agents.iter().position(|one| one == text);
        let at = found.unwrap_or_else(|| {
            self.user_agents.push(text.to_owned());
            self.user_agents.len() - 1
        });
        u16::try_from(at).unwrap()
    }

    /// Replays the day's requests.
    pub(crate) fn play(mut self) -> Outcome {
        self.events.sort_by_key(|event| event.at_s);
        let mut fleets = Fleets::new(7);
        let mut flags = fleets.judge(START_S);
        let mut judged_s = START_S;
        let (mut robots, mut after, mut found) = (0, 0, 0);
        let (mut people, mut wrong) = (0_u32, 0_u32);
        let mut before = None;
        let mut ever = std::collections::BTreeSet::new();
        for event in &self.events {
            let at_s = START_S + i64::from(event.at_s);
            while judged_s + JUDGED_S <= at_s {
                judged_s += JUDGED_S;
                flags = fleets.judge(judged_s);
                let names = flags
                    .fleets()
                    .into_iter()
                    .map(|fleet| fleet.user_agent.to_string());
                ever.extend(names);
            }
            let user_agent = self.user_agents[usize::from(event.user_agent)].as_bytes();
            let target = event.target.text();
            let seen = Observation {
                at_s,
                user_agent,
                fingerprint: event.fingerprint,
                address: event.address,
                target: target.as_bytes(),
                status: event.status,
                has_referrer: event.has_referrer,
                is_conditional: event.is_conditional,
                ..Observation::default()
            };
            let is_flagged = flags.fleet_for(&seen).is_some();
            if event.is_robot {
                robots += 1;
                if is_flagged && before.is_none() {
                    before = Some(robots);
                }
                if before.is_some() {
                    after += 1;
                    found += u32::from(is_flagged);
                }
            } else {
                people += 1;
                wrong += u32::from(is_flagged);
            }
            fleets.observe(&seen);
        }
        Outcome {
            robots_before: before,
            robots_after: f64::from(found) / f64::from(after.max(1)),
            people: f64::from(wrong) / f64::from(people.max(1)),
            flags,
            ever: ever.len(),
        }
    }
}

/// Returns the address of a sender, in a network with few others.
fn of_sender(number: u32) -> IpAddr {
    let network = (0x2001_0db8_u128 << 32) | u128::from(number);
    Ipv6Addr::from_bits(network << 64 | 1).into()
}

impl Target {
    fn text(self) -> String {
        match self {
            // Two in five pages are deep.
            Self::Page(page) if page % 5 < 2 => format!("/news/2026/{}/{page}", page % 12),
            Self::Page(page) => format!("/topic-{}/{page}", page % 30),
            Self::Archived(page) => format!("/archive/{}/{}/{page}?view=all", page % 25, page % 12),
            Self::SiteAsset(asset) => format!("/static/{asset}.css"),
            Self::PageAsset(page, asset) => format!("/pictures/{page}-{asset}.webp"),
            Self::Feed => "/feed/".to_owned(),
            Self::OddFeed(feed) => format!("/syndication?what={feed}"),
            Self::Probe => "/".to_owned(),
        }
    }
}
