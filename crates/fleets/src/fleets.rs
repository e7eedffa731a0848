//! A detector of fleets that evaluates observed requests.

use std::{
    collections::{BTreeMap, HashMap},
    hash::BuildHasher as _,
    sync::Arc,
};

use foldhash::quality::FixedState;

use crate::{
    agents::{Agent, Hashes, History, RecentActivity, Window},
    conduct::{Activity, Place, Walks},
    counts::{Counts, share},
    flags::{Conduct, Figures, Flags, Fleet, agent_key, sender_key},
    judge::{self, Others},
    non_members::NonMembers,
    observation::{Observation, PathKind},
    reason::Reasons,
    recent_paths::RecentPaths,
    sketch::Sketch,
};

/// Duration of a window in seconds.
const WINDOW_S: i64 = 600;

/// Number of windows without fleet-like behaviour after which a fleet is no longer flagged.
const WELL_BEHAVED: u32 = 6;

/// Number of windows without requests after which a fleet is no longer flagged: a day, because
/// fleets pause at night.
const SILENT: u32 = 144;

/// Number of new page requests after which a flagged fleet is evaluated again.
const JUDGED_PAGES: f64 = 20.0;

/// Seconds after which an address or network is no longer flagged.
const CONDUCT_S: u64 = 3_600;

/// Maximum number of flagged fleets, and of flagged addresses and networks; the entries with the
/// fewest requests are dropped.
const MAX_FLEETS: usize = 64;
const MAX_CONDUCT: usize = 256;

/// Maximum number of other instances whose sketches are included in an evaluation.
const MAX_OTHERS: usize = 8;

/// Maximum number of consecutive empty windows that age the counts. After this number, all counts
/// are close to zero.
const MAX_GAP: i64 = 200;

/// Sketches of requests from clients that claim to be browsers, and the fleets flagged so far.
///
/// Requests should arrive in chronological order; an older request is counted in the current
/// window. If the time of a request is more than a day and a half in the past, the clock is assumed
/// to have been set back.
#[derive(Debug)]
pub struct Fleets {
    hasher: FixedState,
    /// Number of the current window, counted from 1970; `None` before the first request.
    number: Option<i64>,
    window: Window,
    walks: Walks,
    seen: RecentPaths,
    past: History,
    /// Sketches of the current window that other instances have sent.
    others: BTreeMap<Box<str>, Sketch>,
    standing: HashMap<u64, ActiveFleet>,
    /// Senders with a fleet's User-Agent that do not belong to the fleet.
    released: NonMembers,
    conduct: BTreeMap<Place, Noted>,
}

/// A fleet that is currently flagged.
#[derive(Clone, Debug)]
struct ActiveFleet {
    since_s: i64,
    reasons: Reasons,
    /// The fleet's request counts in windows that have ended.
    ended: Counts,
    agent: Agent,
    share: f64,
    usual: Option<f64>,
    /// The fleet's request counts in windows with too few page requests to be evaluated so far.
    unjudged: Counts,
    /// Number of windows since the fleet last behaved like a fleet.
    idle: u32,
}

/// An address or a network that is currently flagged.
#[derive(Clone, Copy, Debug)]
struct Noted {
    since_s: i64,
    last_s: i64,
    reasons: Reasons,
    /// Requests from the address or network in windows that have ended.
    ended: Activity,
    now: Activity,
}

impl Fleets {
    /// Creates a detector that has seen no requests.
    ///
    /// Keep the seed secret, so that clients cannot provoke collisions.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            hasher: FixedState::with_seed(seed),
            number: None,
            window: Window::new(),
            walks: Walks::new(),
            seen: RecentPaths::new(),
            past: History::default(),
            others: BTreeMap::new(),
            standing: HashMap::new(),
            released: NonMembers::default(),
            conduct: BTreeMap::new(),
        }
    }

    /// Records a request.
    pub fn observe(&mut self, seen: &Observation<'_>) {
        self.pass(seen.at_s);
        let kind = PathKind::from_target(seen.target);
        if kind == PathKind::Apart {
            return;
        }
        let hashes = Hashes {
            agent: agent_key(&self.hasher, seen.user_agent, seen.fingerprint),
            sender: self.hasher.hash_one(Place::sender(seen.address)),
            target: self.hasher.hash_one(seen.target()),
        };
        let is_page = kind == PathKind::Page;
        let standing = self.standing.get(&hashes.agent);
        if standing.is_some_and(|fleet| fleet.reasons.contradicts(seen)) {
            let sender = sender_key(&self.hasher, hashes.agent, seen.address);
            self.released.add(sender);
        }
        let is_unseen = is_page && self.seen.record(hashes.target, seen.at_s);
        self.window.count(is_page);
        if let Some(agent) = self.window.get_or_insert(hashes.agent) {
            agent.add(seen, hashes, is_unseen);
        }
        let hasher = &self.hasher;
        self.walks
            .add(seen, hashes.target, |place| hasher.hash_one(place));
    }

    /// Returns the sketch of the current window, to be sent to other instances.
    #[must_use]
    pub fn sketch(&self) -> Sketch {
        let number = self.number.unwrap_or_default();
        self.window.sketch(number, self.seed_number())
    }

    /// Stores a sketch from another instance, replacing that instance's previous sketch.
    ///
    /// Returns `false` if the sketch has another window or seed, or if there are too many
    /// instances.
    pub fn hear(&mut self, instance: &str, sketch: Sketch) -> bool {
        let is_of_now = self.number == Some(sketch.number) && sketch.seed == self.seed_number();
        let is_known = self.others.contains_key(instance);
        if !is_of_now || !is_known && self.others.len() >= MAX_OTHERS {
            return false;
        }
        self.others.insert(instance.into(), sketch);
        true
    }

    /// Returns a number derived from the seed that reveals only whether two seeds are equal.
    fn seed_number(&self) -> u64 {
        self.hasher.hash_one("seed")
    }

    /// Evaluates all requests up to the given time, in seconds since 1970.
    pub fn judge(&mut self, now_s: i64) -> Flags {
        self.pass(now_s);
        let lately = self.look(now_s);
        self.flags(&lately, now_s)
    }

    /// Flags fleets, addresses and networks, and returns all User-Agents seen in the last few
    /// hours.
    fn look(&mut self, now_s: i64) -> Vec<RecentActivity> {
        let sum = self.window.merge(self.others.values());
        let lately = self.past.recent_activity(&sum);
        let others = Others::new(&lately, |key| self.standing.contains_key(&key));
        for one in &lately {
            match self.standing.get_mut(&one.key) {
                Some(standing) => standing.see(one),
                None => {
                    if let Some(reasons) = judge::fleet(one, &others) {
                        self.standing
                            .insert(one.key, ActiveFleet::new(one, reasons, now_s));
                    }
                }
            }
        }
        drop_least(&mut self.standing, MAX_FLEETS, |standing| {
            standing.ended.requests
        });
        for (place, walk, reasons) in self.walks.flagged(others.asset_share()) {
            let begun = Noted::new(now_s);
            let noted = self.conduct.entry(place).or_insert(begun);
            (noted.now, noted.reasons, noted.last_s) = (*walk, reasons, now_s);
        }
        self.conduct
            .retain(|_, noted| now_s.abs_diff(noted.last_s) <= CONDUCT_S);
        while self.conduct.len() > MAX_CONDUCT {
            let requests = |noted: &Noted| noted.ended.requests.saturating_add(noted.now.requests);
            let least = self.conduct.iter().min_by_key(|(_, noted)| requests(noted));
            let Some(place) = least.map(|(place, _)| *place) else {
                break;
            };
            self.conduct.remove(&place);
        }
        lately
    }

    fn flags(&self, lately: &[RecentActivity], now_s: i64) -> Flags {
        let windows: HashMap<_, _> = lately.iter().map(|one| (one.key, one.window)).collect();
        let nothing = Counts::default();
        let fleets = self.standing.iter().map(|(key, standing)| {
            standing.fleet(*key, windows.get(key).unwrap_or(&nothing), now_s)
        });
        let mut fleets: Vec<_> = fleets.collect();
        fleets.sort_unstable_by_key(|fleet| fleet.key);
        Flags {
            hasher: self.hasher.clone(),
            fleets,
            released: self.released.clone(),
            conduct: self
                .conduct
                .iter()
                .map(|(place, noted)| noted.conduct(*place))
                .collect(),
        }
    }

    /// Ends all windows that precede the given time.
    fn pass(&mut self, at_s: i64) {
        let number = at_s.div_euclid(WINDOW_S);
        let Some(now) = self.number else {
            self.number = Some(number);
            return;
        };
        // A slightly earlier request was reported late; a much earlier time means a corrected
        // clock.
        if number <= now && now.saturating_sub(number) <= MAX_GAP {
            return;
        }
        // Also detect fleets that send all their requests in the last seconds of a window.
        self.look((now + 1) * WINDOW_S - 1);
        self.number = Some(number);
        self.end();
        for _ in 1..number.saturating_sub(now).min(MAX_GAP) {
            self.past.decay();
            self.end_fleets(&[], &Others::default());
        }
    }

    /// Ends the current window.
    fn end(&mut self) {
        let sum = self.window.merge(self.others.values());
        let lately = self.past.recent_activity(&sum);
        let others = Others::new(&lately, |key| self.standing.contains_key(&key));
        self.end_fleets(&lately, &others);
        let fleets = &self.standing;
        self.past.add_window(&sum, |key| fleets.contains_key(&key));
        for noted in self.conduct.values_mut() {
            noted.end();
        }
        self.window.clear();
        self.others.clear();
        self.walks.clear();
    }

    fn end_fleets(&mut self, lately: &[RecentActivity], others: &Others) {
        let windows: HashMap<_, _> = lately.iter().map(|one| (one.key, one.window)).collect();
        let nothing = Counts::default();
        self.standing
            .retain(|key, standing| standing.end(windows.get(key).unwrap_or(&nothing), others));
        if self.standing.is_empty() {
            self.released = NonMembers::default();
        }
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.window.bytes()
            + self.walks.bytes()
            + self.seen.bytes()
            + self.past.bytes()
            + self.released.bytes()
    }
}

impl ActiveFleet {
    fn new(one: &RecentActivity, reasons: Reasons, now_s: i64) -> Self {
        let mut ended = one.counts;
        ended.add(&one.window, -1.0);
        Self {
            since_s: now_s,
            reasons,
            ended,
            agent: one.agent.clone(),
            share: one.share,
            usual: one.usual,
            unjudged: Counts::default(),
            idle: 0,
        }
    }

    /// Updates the fleet's addresses and share with its recent requests.
    fn see(&mut self, one: &RecentActivity) {
        self.agent.addresses.merge(&one.agent.addresses);
        self.share = self.share.max(one.share);
    }

    /// Ends a window for the fleet; returns `true` if the fleet remains flagged.
    fn end(&mut self, window: &Counts, others: &Others) -> bool {
        self.ended.add(window, 1.0);
        self.unjudged.add(window, 1.0);
        self.idle += 1;
        if self.unjudged.pages < JUDGED_PAGES {
            return self.idle < SILENT;
        }
        if judge::still_behaves_like_fleet(&self.unjudged, &self.agent.label.user_agent, others) {
            self.idle = 0;
        }
        self.unjudged = Counts::default();
        self.idle < WELL_BEHAVED
    }

    fn fleet(&self, key: u64, window: &Counts, now_s: i64) -> Fleet {
        let counts = self.ended.sum_with(window);
        Fleet {
            key,
            user_agent: Arc::clone(&self.agent.label.user_agent),
            since_s: self.since_s,
            until_s: now_s,
            reasons: self.reasons,
            figures: Figures {
                requests: whole(counts.requests),
                // The estimate may exceed the number of requests.
                addresses: whole(self.agent.addresses.estimate()).min(whole(counts.requests)),
                per_address: share(counts.requests, counts.senders).max(1.0),
                assets: counts.asset_share().max(0.0),
                share: self.share,
                usual_share: self.usual,
            },
            samples: self.agent.label.samples.clone(),
        }
    }
}

impl Noted {
    fn new(now_s: i64) -> Self {
        Self {
            since_s: now_s,
            last_s: now_s,
            reasons: Reasons::default(),
            ended: Activity::default(),
            now: Activity::default(),
        }
    }

    fn end(&mut self) {
        self.ended = self.ended.merged_with(&self.now);
        self.now = Activity::default();
    }

    fn conduct(&self, place: Place) -> Conduct {
        let all = self.ended.merged_with(&self.now);
        Conduct {
            place,
            since_s: self.since_s,
            until_s: self.last_s,
            reasons: self.reasons,
            requests: all.requests.into(),
            pages: all.pages.into(),
            paths: whole(all.paths()),
            missing: all.missing.into(),
        }
    }
}

/// Removes the entries with the smallest numbers until at most `most` entries are left.
fn drop_least(
    fleets: &mut HashMap<u64, ActiveFleet>,
    most: usize,
    number: impl Fn(&ActiveFleet) -> f64,
) {
    while fleets.len() > most {
        let least = fleets
            .iter()
            .min_by(|one, other| number(one.1).total_cmp(&number(other.1)));
        let Some(key) = least.map(|(key, _)| *key) else {
            return;
        };
        fleets.remove(&key);
    }
}

/// Rounds a non-negative number to a whole number.
fn whole(number: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casting a float saturates at the bounds of the integer"
    )]
    let whole = number.max(0.0).round() as u64;
    whole
}

#[cfg(test)]
mod tests;
