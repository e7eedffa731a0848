//! Measurement of the load of a site, for rules that act only under load.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
    },
};

/// Number of seconds that the load must stay below the threshold before a rule stops acting.
///
/// Otherwise, a rule that reduces the load would repeatedly switch itself off and on.
const HOLD_SECONDS: i64 = 10;

/// Minimum number of responses over which the mean response time is computed.
const MEAN_RESPONSES: u64 = 16;

/// The load at which a rule starts to act. If both values are set, reaching either is sufficient.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct LoadThreshold {
    pub(super) requests_per_second: Option<u32>,
    pub(super) upstream_milliseconds: Option<u32>,
}

/// The state of a rule that acts under load, updated once per second.
#[derive(Debug)]
pub(super) struct LoadGate {
    threshold: LoadThreshold,
    is_open: AtomicBool,
    /// The time in seconds at which the rule stops acting.
    until: AtomicI64,
    /// Whether the load has been measured; if so, the fields below contain the latest values.
    is_measured: AtomicBool,
    requests: AtomicU64,
    upstream_ms: AtomicU64,
}

/// A meter of a site's load, which is measured once per second without a lock.
#[derive(Debug, Default)]
pub(super) struct LoadMeter {
    /// The current second, in seconds since 1970.
    second: AtomicI64,
    requests: AtomicU64,
    answers: AtomicU64,
    answers_ms: AtomicU64,
    /// The mean time to the start of a response, in microseconds so that small changes accumulate.
    mean_us: AtomicU64,
}

/// The load during the last full second.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Load {
    second: i64,
    requests: u64,
    upstream_ms: u64,
}

/// A running measurement of a response time.
#[derive(Debug)]
pub struct ResponseTimer {
    load: Arc<LoadMeter>,
    begun_ms: i64,
}

impl LoadThreshold {
    /// Returns the threshold if at least one of its values is set.
    pub(super) fn non_empty(self) -> Option<Self> {
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

/// Displays the threshold, such as "50 requests per second or 800 ms upstream response time".
impl fmt::Display for LoadThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = self.requests_per_second;
        let requests = requests.map(|number| format!("{number} requests per second"));
        let upstream = self.upstream_milliseconds;
        let upstream = upstream.map(|number| format!("{number} ms upstream response time"));
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

    /// Updates the state of the rule with the load of the last second.
    pub(super) fn update(&self, load: Load) {
        if self.threshold.is_reached(load) {
            let until = load.second.saturating_add(HOLD_SECONDS);
            self.until.store(until, Relaxed);
        }
        let until = self.until.load(Relaxed);
        // If the end is further in the future than possible, the clock was set back.
        let is_open = load.second < until && until - load.second <= HOLD_SECONDS;
        self.is_open.store(is_open, Relaxed);
        self.requests.store(load.requests, Relaxed);
        self.upstream_ms.store(load.upstream_ms, Relaxed);
        self.is_measured.store(true, Relaxed);
    }

    /// Returns a clause that explains why the rule acts or does not act.
    pub(super) fn reason(&self) -> String {
        let threshold = self.threshold;
        if !self.is_measured.load(Relaxed) {
            return format!(
                "the rule acts at a load of {threshold}, which only a running server measures"
            );
        }
        let (requests, ms) = (self.requests.load(Relaxed), self.upstream_ms.load(Relaxed));
        let now = format!("{requests} requests per second and {ms} ms upstream response time");
        if self.is_open() {
            format!("the load is {now}, and reached {threshold} in the last {HOLD_SECONDS} s")
        } else {
            format!("the load is {now}, and the rule acts at {threshold}")
        }
    }
}

impl LoadMeter {
    /// Counts a request. If it is the first request of a second, returns the load of the previous
    /// second.
    pub(super) fn count(&self, now_ms: i64) -> Option<Load> {
        let second = now_ms.div_euclid(1_000);
        let before = self.second.load(Relaxed);
        // When a new second starts, one of several threads updates the load.
        let has_turned = second != before
            && self
                .second
                .compare_exchange(before, second, Relaxed, Relaxed)
                .is_ok();
        let load = has_turned.then(|| self.turn(before, second));
        self.requests.fetch_add(1, Relaxed);
        load
    }

    /// Starts to measure the time until the response to a request starts.
    pub(super) fn begin(self: &Arc<Self>, now_ms: i64) -> ResponseTimer {
        ResponseTimer {
            load: Arc::clone(self),
            begun_ms: now_ms,
        }
    }

    fn turn(&self, before: i64, second: i64) -> Load {
        let counted = self.requests.swap(0, Relaxed);
        let answers = self.answers.swap(0, Relaxed);
        let answers_ms = self.answers_ms.swap(0, Relaxed);
        let gone = second.saturating_sub(before);
        // After seconds without requests, the counted requests are older than the last second.
        let requests = if gone == 1 { counted } else { 0 };
        let is_recent = (0..=HOLD_SECONDS).contains(&gone);
        let mean_us = if is_recent {
            self.mean_us.load(Relaxed)
        } else {
            0
        };
        // If an upstream hangs, there are no responses, and the mean is unchanged.
        let mean_us = updated_mean(mean_us, answers, answers_ms);
        self.mean_us.store(mean_us, Relaxed);
        Load {
            second,
            requests,
            upstream_ms: mean_us.saturating_add(500) / 1_000,
        }
    }
}

/// Returns the mean response time after further responses. A few responses change it only slightly.
fn updated_mean(mean_us: u64, answers: u64, answers_ms: u64) -> u64 {
    let Some(new_us) = answers_ms.saturating_mul(1_000).checked_div(answers) else {
        return mean_us;
    };
    let weight = answers.min(MEAN_RESPONSES);
    let old_us = mean_us.saturating_mul(MEAN_RESPONSES - weight);
    old_us.saturating_add(new_us.saturating_mul(weight)) / MEAN_RESPONSES
}

impl ResponseTimer {
    /// Ends the measurement when the response starts or the client disconnects.
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

    /// A simulated site, which updates a load gate every second.
    struct Site {
        load: Arc<LoadMeter>,
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

        /// Simulates one second of requests with a fixed response time. Returns whether the rule
        /// acts on the last request.
        fn second(&mut self, requests: usize, answer_ms: i64) -> bool {
            for _ in 0..requests {
                if let Some(load) = self.load.count(self.now_ms) {
                    self.gate.update(load);
                }
                let time = self.load.begin(self.now_ms);
                time.end(self.now_ms + answer_ms);
            }
            self.now_ms += 1_000;
            self.gate.is_open()
        }
    }

    #[test]
    fn a_rule_acts_after_a_second_of_load_until_ten_seconds_without() {
        let mut site = Site::new(gate(Some(5), None));
        let seconds = [4, 5, 1].map(|requests| site.second(requests, 0));
        assert_eq!(seconds, [false, false, true]);
        let below: Vec<_> = (0..10).map(|_| site.second(1, 0)).collect();
        assert_eq!(below, [vec![true; 9], vec![false]].concat());
        assert!(!site.second(5, 0) && site.second(4, 0));
        // One second above the threshold in every ten seconds is enough to continue.
        let on = (0..50).map(|second| site.second(if second % 9 == 0 { 5 } else { 1 }, 0));
        assert_eq!(on.collect::<Vec<_>>(), [true; 50]);
    }

    #[test]
    fn a_pause_ends_the_load() {
        let mut site = Site::new(gate(Some(5), Some(5_000)));
        site.second(20, 9_000);
        assert!(site.second(1, 0));
        site.now_ms += 60_000;
        assert!(!site.second(1, 0));
        // Requests before the pause do not count towards the last second.
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
        assert!(
            site.gate
                .reason()
                .contains("1500 ms upstream response time")
        );
    }

    #[test]
    fn a_hanging_upstream_keeps_the_mean() {
        let mut site = Site::new(gate(None, Some(1_000)));
        site.second(20, 3_000);
        for _ in 0..30 {
            // These requests get no response.
            if let Some(load) = site.load.count(site.now_ms) {
                site.gate.update(load);
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
    fn a_clock_set_back_does_not_keep_a_rule_acting() {
        let mut site = Site::new(gate(Some(5), None));
        site.second(9, 0);
        assert!(site.second(1, 0));
        site.now_ms -= 900_000;
        assert!(!site.second(1, 0));
        let (far, load) = (i64::MAX, LoadMeter::default());
        for now_ms in [far, i64::MIN, 0, far] {
            let _ = load.count(now_ms);
        }
    }

    #[test]
    fn a_missing_measurement_is_reported() {
        let gate = gate(Some(50), Some(800));
        let told = "the rule acts at a load of 50 requests per second or 800 ms \
            upstream response time, which only a running server measures";
        assert_eq!(gate.reason(), told);
    }

    proptest! {
        #[test]
        fn a_rule_acts_if_one_of_the_last_ten_seconds_was_above(
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
