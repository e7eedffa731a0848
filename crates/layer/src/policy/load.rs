//! The load of a site, and rules that act only under it.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
    },
};

/// Seconds that have to be below before a rule acts no more.
///
/// Without them one that keeps the load down would end its own reason, and begin again.
const HOLD_SECONDS: i64 = 10;

/// Answers that the mean of their times is of, where a second has fewer.
const MEAN_OF: u64 = 16;

/// Load at which a rule begins to act: at one of these, where it names both.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct LoadThreshold {
    pub(super) requests_per_second: Option<u32>,
    pub(super) upstream_milliseconds: Option<u32>,
}

/// Whether a rule acts by the load of its site, judged once a second.
#[derive(Debug)]
pub(super) struct LoadGate {
    threshold: LoadThreshold,
    is_open: AtomicBool,
    /// The second before which it stays open.
    until: AtomicI64,
    /// What was measured last; nothing was before the first request.
    is_measured: AtomicBool,
    requests: AtomicU64,
    upstream_ms: AtomicU64,
}

/// Load of a site, measured second by second without a lock.
#[derive(Debug, Default)]
pub(super) struct SiteLoad {
    /// The second that is counted now.
    second: AtomicI64,
    requests: AtomicU64,
    answers: AtomicU64,
    answers_ms: AtomicU64,
    /// Mean of the times until answers begin; in microseconds, so that many small steps are not lost.
    mean_us: AtomicU64,
}

/// Load of the last whole second.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Load {
    second: i64,
    requests: u64,
    upstream_ms: u64,
}

/// Measurement of the time until a request is answered.
#[derive(Debug)]
pub struct AnswerTime {
    load: Arc<SiteLoad>,
    begun_ms: i64,
}

impl LoadThreshold {
    /// Returns it, if it names anything.
    pub(super) fn some(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }

    fn is_reached(self, load: Load) -> bool {
        let reached = |threshold: Option<u32>, measured| {
            threshold.is_some_and(|threshold| measured >= u64::from(threshold))
        };
        reached(self.requests_per_second, load.requests)
            || reached(self.upstream_milliseconds, load.upstream_ms)
    }
}

/// Shows it as "50 requests a second or 800 ms of the upstream".
impl fmt::Display for LoadThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = self.requests_per_second;
        let requests = requests.map(|number| format!("{number} requests a second"));
        let upstream = self.upstream_milliseconds;
        let upstream = upstream.map(|number| format!("{number} ms of the upstream"));
        let both: Vec<_> = requests.into_iter().chain(upstream).collect();
        f.write_str(&both.join(" or "))
    }
}

impl LoadGate {
    pub(super) fn new(threshold: LoadThreshold) -> Self {
        Self {
            threshold,
            is_open: AtomicBool::new(false),
            until: AtomicI64::new(i64::MIN),
            is_measured: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            upstream_ms: AtomicU64::new(0),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Relaxed)
    }

    /// Judges the load of another second.
    pub(super) fn judge(&self, load: Load) {
        if self.threshold.is_reached(load) {
            let until = load.second.saturating_add(HOLD_SECONDS);
            self.until.store(until, Relaxed);
        }
        let until = self.until.load(Relaxed);
        // Farther ahead than it is held: the clock was set back.
        let is_open = load.second < until && until - load.second <= HOLD_SECONDS;
        self.is_open.store(is_open, Relaxed);
        self.requests.store(load.requests, Relaxed);
        self.upstream_ms.store(load.upstream_ms, Relaxed);
        self.is_measured.store(true, Relaxed);
    }

    /// Returns why the rule does or does not act now.
    pub(super) fn reason(&self) -> String {
        let threshold = self.threshold;
        if !self.is_measured.load(Relaxed) {
            return format!(
                "it depends on the load, which only a server measures: it acts from {threshold} on"
            );
        }
        let (requests, ms) = (self.requests.load(Relaxed), self.upstream_ms.load(Relaxed));
        let now = format!("{requests} requests a second and {ms} ms of the upstream");
        if self.is_open() {
            format!("the load is {now}, and was {threshold} or more within {HOLD_SECONDS} s")
        } else {
            format!("the load is {now}, and it acts from {threshold} on")
        }
    }
}

impl SiteLoad {
    /// Counts a request; returns the load as it was when it is the first one of a second.
    pub(super) fn count(&self, now_ms: i64) -> Option<Load> {
        let second = now_ms.div_euclid(1_000);
        let before = self.second.load(Relaxed);
        // Of several threads at the turn of a second one makes it.
        let has_turned = second != before
            && self
                .second
                .compare_exchange(before, second, Relaxed, Relaxed)
                .is_ok();
        let load = has_turned.then(|| self.turn(before, second));
        self.requests.fetch_add(1, Relaxed);
        load
    }

    /// Begins to measure the time until a request is answered.
    pub(super) fn begin(self: &Arc<Self>, now_ms: i64) -> AnswerTime {
        AnswerTime {
            load: Arc::clone(self),
            begun_ms: now_ms,
        }
    }

    fn turn(&self, before: i64, second: i64) -> Load {
        let counted = self.requests.swap(0, Relaxed);
        let answers = self.answers.swap(0, Relaxed);
        let answers_ms = self.answers_ms.swap(0, Relaxed);
        let gone = second.saturating_sub(before);
        // Nobody has asked for whole seconds: what was counted is longer ago.
        let requests = if gone == 1 { counted } else { 0 };
        let is_recent = (0..=HOLD_SECONDS).contains(&gone);
        let mean_us = if is_recent {
            self.mean_us.load(Relaxed)
        } else {
            0
        };
        // Where an upstream hangs no answer comes, and the mean stays.
        let mean_us = moved(mean_us, answers, answers_ms);
        self.mean_us.store(mean_us, Relaxed);
        Load {
            second,
            requests,
            upstream_ms: mean_us.saturating_add(500) / 1_000,
        }
    }
}

/// Returns the mean with further answers in it; few of them move it little.
fn moved(mean_us: u64, answers: u64, answers_ms: u64) -> u64 {
    let Some(new_us) = answers_ms.saturating_mul(1_000).checked_div(answers) else {
        return mean_us;
    };
    let weight = answers.min(MEAN_OF);
    let old_us = mean_us.saturating_mul(MEAN_OF - weight);
    old_us.saturating_add(new_us.saturating_mul(weight)) / MEAN_OF
}

impl AnswerTime {
    /// Ends the measurement: the answer begins, or nobody waits for it any more.
    pub fn end(self, now_ms: i64) {
        let gone_ms = now_ms.saturating_sub(self.begun_ms);
        let gone_ms = u64::try_from(gone_ms).unwrap_or_default();
        self.load.answers.fetch_add(1, Relaxed);
        self.load.answers_ms.fetch_add(gone_ms, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gate(requests_per_second: Option<u32>, upstream_milliseconds: Option<u32>) -> LoadGate {
        LoadGate::new(LoadThreshold {
            requests_per_second,
            upstream_milliseconds,
        })
    }

    /// Site whose load a gate judges, second by second.
    struct Site {
        load: Arc<SiteLoad>,
        gate: LoadGate,
        now_ms: i64,
    }

    impl Site {
        fn new(gate: LoadGate) -> Self {
            let load = Arc::default();
            Self {
                load,
                gate,
                now_ms: 1_000_000,
            }
        }

        /// Has so many requests in a second, each answered in that time; returns whether the rule
        /// acts on the last of them.
        fn second(&mut self, requests: usize, answer_ms: i64) -> bool {
            for _ in 0..requests {
                if let Some(load) = self.load.count(self.now_ms) {
                    self.gate.judge(load);
                }
                let time = self.load.begin(self.now_ms);
                time.end(self.now_ms + answer_ms);
            }
            self.now_ms += 1_000;
            self.gate.is_open()
        }
    }

    #[test]
    fn a_rule_acts_after_a_second_over_and_until_ten_were_below() {
        let mut site = Site::new(gate(Some(5), None));
        let seconds = [4, 5, 1].map(|requests| site.second(requests, 0));
        assert_eq!(seconds, [false, false, true]);
        let below: Vec<_> = (0..10).map(|_| site.second(1, 0)).collect();
        assert_eq!(below, [vec![true; 9], vec![false]].concat());
        assert!(!site.second(5, 0) && site.second(4, 0));
        // One second over in ten is enough to go on.
        let on = (0..50).map(|second| site.second(if second % 9 == 0 { 5 } else { 1 }, 0));
        assert_eq!(on.collect::<Vec<_>>(), [true; 50]);
    }

    #[test]
    fn a_pause_ends_it() {
        let mut site = Site::new(gate(Some(5), Some(5_000)));
        site.second(20, 9_000);
        assert!(site.second(1, 0));
        site.now_ms += 60_000;
        assert!(!site.second(1, 0));
        // What was counted before the pause is none of the second before.
        site.second(20, 0);
        site.now_ms += 60_000;
        assert!(!site.second(1, 0));
    }

    #[test]
    fn one_slow_answer_among_others_moves_the_mean_little() {
        let mut site = Site::new(gate(None, Some(1_000)));
        for _ in 0..5 {
            assert!(!site.second(20, 100));
        }
        site.second(1, 8_000);
        assert!(!site.second(20, 100));
        site.second(20, 1_500);
        assert!(site.second(20, 100));
        assert!(site.gate.reason().contains("1500 ms of the upstream"));
    }

    #[test]
    fn what_hangs_is_not_forgotten_at_once() {
        let mut site = Site::new(gate(None, Some(1_000)));
        site.second(20, 3_000);
        for _ in 0..30 {
            // They come, and none of them is answered.
            if let Some(load) = site.load.count(site.now_ms) {
                site.gate.judge(load);
            }
            assert!(site.gate.is_open());
            site.now_ms += 1_000;
        }
    }

    #[test]
    fn one_of_two_thresholds_is_enough() {
        for (requests, answer_ms, is_on) in [(4, 90, false), (5, 0, true), (4, 100, true)] {
            let mut site = Site::new(gate(Some(5), Some(100)));
            for _ in 0..20 {
                site.second(requests, answer_ms);
            }
            assert_eq!(site.second(1, 0), is_on, "{requests} {answer_ms}");
        }
    }

    #[test]
    fn a_clock_that_is_set_back_holds_nothing_for_ever() {
        let mut site = Site::new(gate(Some(5), None));
        site.second(9, 0);
        assert!(site.second(1, 0));
        site.now_ms -= 900_000;
        assert!(!site.second(1, 0));
        let (far, load) = (i64::MAX, SiteLoad::default());
        for now_ms in [far, i64::MIN, 0, far] {
            let _ = load.count(now_ms);
        }
    }

    #[test]
    fn what_is_not_measured_is_told_so() {
        let gate = gate(Some(50), Some(800));
        let told = "it depends on the load, which only a server measures: it acts from \
            50 requests a second or 800 ms of the upstream on";
        assert_eq!(gate.reason(), told);
    }

    proptest! {
        #[test]
        fn it_acts_where_one_of_the_last_ten_seconds_was_over(
            seconds in proptest::collection::vec(1..9_usize, 1..60),
        ) {
            let mut site = Site::new(gate(Some(5), None));
            for (at, &requests) in seconds.iter().enumerate() {
                let is_on = site.second(requests, 0);
                let before = seconds.iter().take(at).rev().take(10);
                let expected = before.clone().any(|&requests| requests >= 5);
                prop_assert_eq!(is_on, expected, "{:?} {}", seconds, at);
            }
        }
    }
}
