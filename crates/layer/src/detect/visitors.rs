//! Scan visitors that find the most specific robot, or any robot, in a User-Agent.

use std::ops::Range;

use super::{
    agent::Place,
    matcher::{HitVisitor, Owner},
    unlisted::Marks,
};

/// Maximum number of gated regular expressions that run on one User-Agent, which limits the cost of
/// a malicious User-Agent.
const MAX_RUNS: usize = 64;

/// A scan visitor that retains the best hit: a hit in a contact only if there is no other, then the
/// most specific, then the leftmost.
pub(super) struct MostSpecific {
    pub(super) hit: Option<(Owner, Range<usize>, Place)>,
    /// Regular expressions that have run; created when the first gate literal occurs, which is
    /// rare.
    ran: Option<RegexRuns>,
    recognises_unlisted: bool,
    pub(super) marks: Marks,
}

impl MostSpecific {
    /// Creates a scan visitor without a hit.
    pub(super) fn new(recognises_unlisted: bool) -> Self {
        Self {
            hit: None,
            ran: None,
            recognises_unlisted,
            marks: Marks::default(),
        }
    }
}

impl HitVisitor for MostSpecific {
    fn wants(&self, owner: Owner) -> bool {
        let best = self.hit.as_ref();
        best.is_none_or(|(best, _, place)| *place == Place::Contact || owner.rank <= best.rank)
    }

    fn may_run(&mut self, regex: u32) -> bool {
        self.ran.get_or_insert_default().is_first(regex)
    }

    fn hit(&mut self, owner: Owner, range: Range<usize>, place: Place) {
        let is_before = |(best, known, best_place): &(Owner, Range<usize>, Place)| {
            (place, owner.rank, range.start) < (*best_place, best.rank, known.start)
        };
        if self.hit.as_ref().is_none_or(is_before) {
            self.hit = Some((owner, range, place));
        }
    }

    fn mark(&mut self, mark: u8, start: usize) {
        // A robot may be named next to a shared User-Agent's name.
        let best = self.hit.as_ref();
        if self.recognises_unlisted && best.is_none_or(|(owner, ..)| owner.is_shared) {
            self.marks.push(mark, start);
        }
    }
}

/// A scan visitor that stops at the first robot.
#[derive(Default)]
pub(super) struct AnyRobot {
    pub(super) is_found: bool,
    /// Whether a shared name, or a name in a contact, was found: only a full search decides.
    pub(super) is_undecided: bool,
    ran: Option<RegexRuns>,
    pub(super) marks: Marks,
}

impl HitVisitor for AnyRobot {
    fn wants(&self, _owner: Owner) -> bool {
        !self.is_found
    }

    fn may_run(&mut self, regex: u32) -> bool {
        self.ran.get_or_insert_default().is_first(regex)
    }

    fn hit(&mut self, owner: Owner, _range: Range<usize>, place: Place) {
        let is_robot = !owner.is_shared && place == Place::Name;
        self.is_found |= is_robot;
        self.is_undecided |= !is_robot;
    }

    fn is_done(&self) -> bool {
        self.is_found
    }

    fn mark(&mut self, mark: u8, start: usize) {
        self.marks.push(mark, start);
    }
}

/// A fixed-size set of the regular expressions that have run.
struct RegexRuns {
    regexes: [u32; MAX_RUNS],
    count: usize,
}

impl RegexRuns {
    fn is_first(&mut self, regex: u32) -> bool {
        let ran = self.regexes.get(..self.count).unwrap_or_default();
        if ran.contains(&regex) {
            return false;
        }
        let Some(free) = self.regexes.get_mut(self.count) else {
            return false;
        };
        *free = regex;
        self.count += 1;
        true
    }
}

impl Default for RegexRuns {
    fn default() -> Self {
        Self {
            regexes: [0; MAX_RUNS],
            count: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_regex_runs_once_up_to_the_limit() {
        let mut ran = RegexRuns::default();
        assert!((0..64).all(|regex| ran.is_first(regex)));
        assert!(!ran.is_first(0));
        assert!(!ran.is_first(64));
    }
}
