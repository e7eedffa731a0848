//! What was flagged at any time.

use robot_detection_fleets::{Conduct, Flags, Fleet};

/// Fleets, and addresses and networks, that are told of; those of fewest requests are not.
const MAX_TOLD: usize = 200;

/// Somebody who was flagged.
#[derive(Clone, Debug)]
pub(super) struct Told<T> {
    pub(super) flagged: T,
    /// When he was flagged last, in seconds since 1970.
    pub(super) until_s: i64,
}

/// Everybody who was flagged.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) fleets: Vec<Told<Fleet>>,
    pub(super) conduct: Vec<Told<Conduct>>,
}

impl Found {
    /// Takes over who is flagged at a time.
    pub(super) fn add(&mut self, flags: &Flags, at_s: i64) {
        for fleet in flags.fleets() {
            let is_it = |told: &Fleet| told.since_s == fleet.since_s && told.is_of(fleet);
            put(&mut self.fleets, fleet, at_s, is_it, |fleet| {
                fleet.figures.requests
            });
        }
        for conduct in flags.conducts() {
            let is_it = |told: &Conduct| told.since_s == conduct.since_s && told.is_of(conduct);
            put(&mut self.conduct, conduct, at_s, is_it, |conduct| {
                conduct.requests
            });
        }
    }
}

fn put<T: Clone>(
    all: &mut Vec<Told<T>>,
    flagged: &T,
    at_s: i64,
    is_it: impl Fn(&T) -> bool,
    requests: fn(&T) -> u64,
) {
    let now = Told {
        flagged: flagged.clone(),
        until_s: at_s,
    };
    if let Some(known) = all.iter_mut().find(|told| is_it(&told.flagged)) {
        *known = now;
        return;
    }
    all.push(now);
    all.sort_by_key(|told| std::cmp::Reverse(requests(&told.flagged)));
    all.truncate(MAX_TOLD);
}
