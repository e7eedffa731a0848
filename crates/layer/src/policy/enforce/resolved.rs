//! The rules that are about each robot, found once.

use std::{
    collections::HashMap,
    hash::Hash,
    ptr,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use robot_detection_robots_txt::{ForRobot, RobotsTxt};

use crate::detect::Claim;
use crate::policy::{
    PathReading, RefusedFor, RefusedRobots, SharedRobotsFiles, Visitor,
    bucket::{Bucket, Rate},
    buckets::{TooSoon, UnlistedBuckets},
    named_pages::NamedPages,
    robots_files::FilesInForce,
};
use crate::registry::{PatternKind, Robot};

/// Listed robots that are remembered for one file, at most.
const MAX_LISTED: usize = 10_000;

/// User agents of unlisted robots that are remembered for one file, at most.
const MAX_UNLISTED: usize = 256;

/// Bytes of a user agent that is remembered, at most.
const MAX_USER_AGENT_BYTES: usize = 512;

/// Rules of the files in force; whoever reads takes no lock.
#[derive(Debug, Default)]
pub(super) struct ResolvedFiles {
    current: ArcSwapOption<ResolvedSet>,
}

/// What was found out about one set of files.
#[derive(Debug)]
struct ResolvedSet {
    /// They are kept, so that no other set gets their addresses.
    files: Arc<FilesInForce>,
    /// By the file's address in the set.
    by_file: ArcSwap<HashMap<usize, Arc<ResolvedFile>>>,
}

/// What was found out about one file.
#[derive(Debug)]
pub(super) struct ResolvedFile {
    pub(super) file: RobotsTxt,
    /// Whom the site refuses whatever the file says.
    pub(super) refused: RefusedRobots,
    /// By the robot's address; a registry that is exchanged has others.
    listed: ArcSwap<HashMap<usize, Arc<ResolvedRobot>>>,
    unlisted: ArcSwap<HashMap<Box<[u8]>, Arc<ResolvedRobot>>>,
    /// Of robots that no registry lists.
    pub(super) unlisted_buckets: Mutex<UnlistedBuckets>,
    /// What it names for robots to fetch.
    pub(super) named: NamedPages,
}

/// What one file says about one robot, and how fast that robot comes.
#[derive(Debug)]
pub(super) struct ResolvedRobot {
    /// The robot, if it is listed; kept, so that no other gets its address.
    #[expect(dead_code, reason = "it is there to be kept")]
    robot: Option<Arc<Robot>>,
    pub(super) rules: ForRobot,
    /// The rules in lower case, for a site that ignores case.
    lower_case: OnceLock<ForRobot>,
    /// What the site refuses it for, whatever the rules say.
    pub(super) refused: Option<RefusedFor>,
    /// The pause that the robot is asked to make, if any.
    pub(super) delay: Option<Duration>,
    limiters: ListedLimiters,
}

/// Rate limiters of all who come under one robot's name.
#[derive(Debug, Default)]
struct ListedLimiters {
    verified: DelayLimiter,
    spoofed: DelayLimiter,
    unknown: DelayLimiter,
}

impl ResolvedFiles {
    /// Returns what is known of the file in force on a host.
    pub(super) fn of_host(
        &self,
        files: &SharedRobotsFiles,
        host: Option<&str>,
    ) -> Option<Arc<ResolvedFile>> {
        let files = files.in_force();
        let file = files.files.of(host)?;
        let refused = || files.refused.of(host).cloned().unwrap_or_default();
        if let Some(current) = &*self.current.load()
            && Arc::ptr_eq(&current.files, &files)
        {
            return Some(current.of_file(file, refused));
        }
        let fresh = Arc::new(ResolvedSet {
            files: Arc::clone(&files),
            by_file: ArcSwap::default(),
        });
        self.current.store(Some(Arc::clone(&fresh)));
        Some(fresh.of_file(file, refused))
    }
}

impl ResolvedSet {
    fn of_file(
        &self,
        file: &RobotsTxt,
        refused: impl FnOnce() -> RefusedRobots,
    ) -> Arc<ResolvedFile> {
        let address = ptr::from_ref(file).addr();
        if let Some(known) = self.by_file.load().get(&address) {
            return Arc::clone(known);
        }
        let fresh = Arc::new(ResolvedFile {
            refused: refused(),
            ..ResolvedFile::new(file.clone())
        });
        remember(&self.by_file, usize::MAX, &address, &fresh)
    }
}

impl ResolvedFile {
    pub(super) fn new(file: RobotsTxt) -> Self {
        Self {
            named: NamedPages::new(&file),
            file,
            refused: RefusedRobots::default(),
            listed: ArcSwap::default(),
            unlisted: ArcSwap::default(),
            unlisted_buckets: Mutex::default(),
        }
    }

    /// Returns what the file says about the sender of a request.
    pub(super) fn of_claim(&self, claim: &Claim<'_>, user_agent: &[u8]) -> Arc<ResolvedRobot> {
        let Some(robot) = claim.robot() else {
            return self.of_unlisted(user_agent);
        };
        let address = Arc::as_ptr(robot).addr();
        if let Some(known) = self.listed.load().get(&address) {
            return Arc::clone(known);
        }
        let refused = self.refused.reason(robot);
        let fresh = ResolvedRobot::new(Some(robot), self.rules_of_listed(robot), refused);
        remember(&self.listed, MAX_LISTED, &address, &fresh)
    }

    /// Robots whose User-Agents begin alike for long share what is known of them.
    fn of_unlisted(&self, user_agent: &[u8]) -> Arc<ResolvedRobot> {
        let user_agent = user_agent.get(..MAX_USER_AGENT_BYTES).unwrap_or(user_agent);
        if let Some(known) = self.unlisted.load().get(user_agent) {
            return Arc::clone(known);
        }
        let header = String::from_utf8_lossy(user_agent);
        let fresh = ResolvedRobot::new(None, self.file.for_header(&header), None);
        remember(&self.unlisted, MAX_UNLISTED, &user_agent.into(), &fresh)
    }

    /// Finds the group of a listed robot: by its product token, else by its names.
    fn rules_of_listed(&self, robot: &Robot) -> ForRobot {
        if let Some(token) = &robot.product_token {
            let rules = self.file.for_robot(token);
            return match fallback(token) {
                Some(general) if !rules.is_named() => self.file.for_robot(general),
                _ => rules,
            };
        }
        let tokens = robot.patterns.iter();
        let tokens = tokens.filter(|pattern| pattern.kind == PatternKind::Token);
        let names = [robot.name.as_str(), robot.id.as_str()].into_iter();
        let derived = robot.token().ok().map(|token| token.as_str());
        derived
            .into_iter()
            .chain(names)
            .chain(tokens.map(|pattern| pattern.text.as_str()))
            .map(|name| self.file.for_robot(name))
            .find(ForRobot::is_named)
            .unwrap_or_else(|| self.file.for_robot(&robot.id))
    }
}

/// Returns the token whose group counts for a robot that no group names.
///
/// Google documents it for its own: Googlebot-Image and the like obey Googlebot's.
fn fallback(token: &str) -> Option<&'static str> {
    let general = "Googlebot";
    let (first, rest) = token.split_at_checked(general.len())?;
    (first.eq_ignore_ascii_case(general) && rest.starts_with('-')).then_some(general)
}

impl ResolvedRobot {
    fn new(robot: Option<&Arc<Robot>>, rules: ForRobot, refused: Option<RefusedFor>) -> Arc<Self> {
        // A robot that is remembered is going to ask again: no request of its own builds the index.
        rules.prepare();
        Arc::new(Self {
            robot: robot.cloned(),
            delay: rules.crawl_delay().filter(|delay| !delay.is_zero()),
            rules,
            lower_case: OnceLock::new(),
            refused,
            limiters: ListedLimiters::default(),
        })
    }

    /// Returns the rules for a path as the server of a site reads it.
    pub(super) fn rules_read_as(&self, reading: PathReading) -> &ForRobot {
        if reading.ignore_case {
            self.lower_case.get_or_init(|| self.rules.in_lower_case())
        } else {
            &self.rules
        }
    }

    /// Returns the rate limiter of a listed robot: it does not share its own with impostors.
    pub(super) fn limiter(&self, visitor: Visitor<'_>) -> &DelayLimiter {
        match visitor.is_genuine() {
            Some(true) => &self.limiters.verified,
            Some(false) => &self.limiters.spoofed,
            None => &self.limiters.unknown,
        }
    }
}

/// Adds a value to a map that others read; at `max` the map starts again.
#[cold]
fn remember<K: Clone + Eq + Hash, V>(
    map: &ArcSwap<HashMap<K, Arc<V>>>,
    max: usize,
    key: &K,
    value: &Arc<V>,
) -> Arc<V> {
    let mut kept = Arc::clone(value);
    // Additions are rare, so that each may copy the map; requests read it without a lock.
    map.rcu(|current| {
        let mut next = if current.len() < max {
            HashMap::clone(current)
        } else {
            HashMap::new()
        };
        // Another thread may have been faster.
        kept = Arc::clone(next.entry(key.clone()).or_insert_with(|| Arc::clone(value)));
        next
    });
    kept
}

/// Longest delay that is held against a robot.
const MAX_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Requests that may come at once: after a pause two are no violation, nor is a
/// little unevenness.
const AT_ONCE: u32 = 2;

/// Rate limiter of one robot by its `Crawl-delay`, kept without a lock.
#[derive(Debug)]
pub(super) struct DelayLimiter {
    bucket: Bucket,
    /// When the robot came last, refused or not.
    last_ms: AtomicI64,
}

impl DelayLimiter {
    /// Counts a request; one that is too soon does not put off the next.
    pub(super) fn check(&self, now_ms: i64, delay: Duration) -> Result<(), TooSoon> {
        // The gap is that between two requests, whatever became of the first.
        let before_ms = self.last_ms.swap(now_ms, Ordering::Relaxed);
        self.bucket.take(now_ms, rate(delay)).map_err(|wait| {
            let gap_ms = now_ms.saturating_sub(before_ms);
            let gap = Duration::from_millis(u64::try_from(gap_ms).unwrap_or_default());
            TooSoon { gap, wait }
        })
    }
}

/// Returns the rate of requests that a delay allows.
pub(super) fn rate(delay: Duration) -> Rate {
    Rate::new(1, delay.min(MAX_DELAY), AT_ONCE)
}

impl Default for DelayLimiter {
    fn default() -> Self {
        Self {
            bucket: Bucket::default(),
            last_ms: AtomicI64::new(i64::MIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded_and_kept_once() {
        let map = ArcSwap::default();
        let first = remember(&map, 3, &1, &Arc::new("a"));
        let again = remember(&map, 3, &1, &Arc::new("b"));
        assert!(Arc::ptr_eq(&first, &again));
        for key in 2..100 {
            remember(&map, 3, &key, &Arc::new("c"));
            assert!(map.load().len() <= 3);
        }
    }

    const DELAY: Duration = Duration::from_secs(10);

    /// Returns for each arrival whether it was in time.
    fn in_time(arrivals_ms: &[i64]) -> Vec<bool> {
        let limiter = DelayLimiter::default();
        let check = |&now_ms: &i64| limiter.check(now_ms, DELAY).is_ok();
        arrivals_ms.iter().map(check).collect()
    }

    #[test]
    fn who_keeps_the_delay_is_in_time() {
        let arrivals: Vec<_> = (0..1_000).map(|number| number * 10_000).collect();
        assert!(in_time(&arrivals).iter().all(|&is_in_time| is_in_time));
    }

    #[test]
    fn two_at_once_after_a_pause_are_no_violation_and_three_are() {
        assert_eq!(in_time(&[0, 0, 0]), [true, true, false]);
        assert_eq!(in_time(&[0, 99_000, 99_001]), [true; 3]);
        assert_eq!(
            in_time(&[5_000, 5_000, 15_000, 15_001]),
            [true, true, true, false]
        );
    }

    #[test]
    fn unevenness_is_forgiven_and_haste_is_not() {
        assert_eq!(in_time(&[0, 9_000, 20_500, 29_600, 40_000]), [true; 5]);
        let hasty: Vec<_> = (0..20).map(|number| number * 5_000).collect();
        let kept = in_time(&hasty).iter().filter(|&&ok| ok).count();
        assert!((10..=12).contains(&kept), "{kept}");
    }

    #[test]
    fn what_comes_too_soon_is_told_how_long_to_wait() {
        let limiter = DelayLimiter::default();
        for now_ms in [0, 1_000] {
            limiter.check(now_ms, DELAY).unwrap();
        }
        let soon = limiter.check(3_000, DELAY).unwrap_err();
        assert_eq!(soon.gap, Duration::from_secs(2));
        assert_eq!(soon.wait, Duration::from_secs(7));
        assert!(limiter.check(10_000, DELAY).is_ok());
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out() {
        assert_eq!(in_time(&[1_000_000_000, 0, 10_000]), [true; 3]);
        assert_eq!(in_time(&[i64::MAX, i64::MAX, i64::MIN]).len(), 3);
    }

    #[test]
    fn a_delay_beyond_all_measure_is_cut() {
        let limiter = DelayLimiter::default();
        for _ in 0..2 {
            limiter.check(0, Duration::MAX).unwrap();
        }
        assert_eq!(limiter.check(0, Duration::MAX).unwrap_err().wait, MAX_DELAY);
    }
}
