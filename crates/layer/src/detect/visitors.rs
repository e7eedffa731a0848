//! Scan visitors that find the most specific robot, or any robot, in a User-Agent.

use std::ops::Range;

use super::{
    matcher::{HitVisitor, Owner},
    unlisted::Marks,
};

/// Maximum number of gated regular expressions that run on one User-Agent, which limits the cost of
/// a malicious User-Agent.
const MAX_RUNS: usize = 64;

/// A scan visitor that retains the most specific hit, or the leftmost of equally specific hits.
pub(super) struct MostSpecific {
    pub(super) hit: Option<(Owner, Range<usize>)>,
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
        best.is_none_or(|(best, _)| owner.rank <= best.rank)
    }

    fn may_run(&mut self, regex: u32) -> bool {
        self.ran.get_or_insert_default().is_first(regex)
    }

    fn hit(&mut self, owner: Owner, range: Range<usize>) {
        let is_before = |(best, known): &(Owner, Range<usize>)| {
            (owner.rank, range.start) < (best.rank, known.start)
        };
        if self.hit.as_ref().is_none_or(is_before) {
            self.hit = Some((owner, range));
        }
    }

    fn mark(&mut self, mark: u8, start: usize) {
        // A robot may be named next to a shared User-Agent's name.
        let best = self.hit.as_ref();
        if self.recognises_unlisted && best.is_none_or(|(owner, _)| owner.is_shared) {
            self.marks.push(mark, start);
        }
    }
}

/// A scan visitor that stops at the first robot.
#[derive(Default)]
pub(super) struct AnyRobot {
    pub(super) is_found: bool,
    /// Whether a shared name was found; the User-Agent may still contain the name of a robot.
    pub(super) is_shared: bool,
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

    fn hit(&mut self, owner: Owner, _range: Range<usize>) {
        self.is_shared |= owner.is_shared;
        self.is_found |= !owner.is_shared;
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
