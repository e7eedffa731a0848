//! A cache of the robots.txt rules that apply to each robot.

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
use robot_detection_robots_txt::{PolicyToken, RobotRules, RobotsTxt};

use crate::detect::Claim;
use crate::policy::{
    PathReading, RefusalReason, RefusedRobots, SharedRobotsFiles, Visitor,
    bucket::{Bucket, Rate},
    buckets::{EarlyRequest, UnlistedBuckets},
    named_pages::NamedPages,
    robots_files::ActiveFiles,
};
use crate::registry::{PatternKind, Robot};

/// Maximum number of listed robots that are cached for one file.
const MAX_LISTED: usize = 10_000;

/// Maximum number of User-Agents of unlisted robots that are cached for one file.
const MAX_UNLISTED: usize = 256;

/// Maximum number of bytes of a User-Agent that is cached.
const MAX_USER_AGENT_BYTES: usize = 512;

/// The cached rules of the active files, which are read without a lock.
#[derive(Debug, Default)]
pub(super) struct ResolvedFiles {
    current: ArcSwapOption<ResolvedSet>,
}

/// The cached results for one set of files.
#[derive(Debug)]
struct ResolvedSet {
    /// The set of files, kept alive so that no other set can have the same address.
    files: Arc<ActiveFiles>,
    /// The results by the memory address of each file in the set.
    by_file: ArcSwap<HashMap<usize, Arc<ResolvedFile>>>,
}

/// The cached results for one robots.txt file.
#[derive(Debug)]
pub(super) struct ResolvedFile {
    pub(super) file: RobotsTxt,
    /// Robots that the site refuses regardless of the rules in the file.
    pub(super) refused: RefusedRobots,
    /// Listed robots by memory address. The robots of a new registry have different addresses.
    listed: ArcSwap<HashMap<usize, Arc<ResolvedRobot>>>,
    unlisted: ArcSwap<HashMap<Box<[u8]>, Arc<ResolvedRobot>>>,
    /// Rate limit buckets of robots that are not in the registry.
    pub(super) unlisted_buckets: Mutex<UnlistedBuckets>,
    /// Pages that the file lists for robots.
    pub(super) named: NamedPages,
}

/// The rules of one file for one robot, with the robot's rate limiters.
#[derive(Debug)]
pub(super) struct ResolvedRobot {
    /// The robot, if listed; kept alive so that no other robot can have the same address.
    #[expect(dead_code, reason = "keeps the robot's address in use")]
    robot: Option<Arc<Robot>>,
    pub(super) rules: RobotRules,
    /// The rules in lower case, for a site that ignores case.
    lower_case: OnceLock<RobotRules>,
    /// The reason why the site refuses the robot, regardless of the rules.
    pub(super) refused: Option<RefusalReason>,
    /// The rules about AI training if this is the robot's only purpose and the file contains such
    /// rules.
    pub(super) training: Option<RobotRules>,
    /// The required delay between requests, if any.
    pub(super) delay: Option<Duration>,
    limiters: ListedLimiters,
}

/// The rate limiters of all visitors that claim to be the same robot.
#[derive(Debug, Default)]
struct ListedLimiters {
    verified: DelayLimiter,
    spoofed: DelayLimiter,
    unknown: DelayLimiter,
}

impl ResolvedFiles {
    /// Returns the cached results for the file that is active on a host.
    pub(super) fn for_host(
        &self,
        files: &SharedRobotsFiles,
        host: Option<&str>,
    ) -> Option<Arc<ResolvedFile>> {
        let files = files.active_files();
        let file = files.files.get(host)?;
        let refused = || files.refused.get(host).cloned().unwrap_or_default();
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
        insert_cached(&self.by_file, usize::MAX, &address, &fresh)
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

    /// Returns the rules for the sender of a request.
    pub(super) fn for_claim(&self, claim: &Claim<'_>, user_agent: &[u8]) -> Arc<ResolvedRobot> {
        let Some(robot) = claim.robot() else {
            return self.for_unlisted(user_agent);
        };
        let address = Arc::as_ptr(robot).addr();
        if let Some(known) = self.listed.load().get(&address) {
            return Arc::clone(known);
        }
        let refused = self.refused.reason(robot);
        let training = trains_only(robot).and_then(|token| self.file.policy(token));
        let rules = self.rules_of_listed(robot);
        let fresh = ResolvedRobot::new(Some(robot), rules, refused, training);
        insert_cached(&self.listed, MAX_LISTED, &address, &fresh)
    }

    /// Returns the rules for a User-Agent, of which only the first 512 bytes are considered.
    fn for_unlisted(&self, user_agent: &[u8]) -> Arc<ResolvedRobot> {
        let user_agent = user_agent.get(..MAX_USER_AGENT_BYTES).unwrap_or(user_agent);
        if let Some(known) = self.unlisted.load().get(user_agent) {
            return Arc::clone(known);
        }
        let header = String::from_utf8_lossy(user_agent);
        let fresh = ResolvedRobot::new(None, self.file.for_header(&header), None, None);
        insert_cached(&self.unlisted, MAX_UNLISTED, &user_agent.into(), &fresh)
    }

    /// Finds the group that applies to a listed robot by its product token or, failing that, by its
    /// names.
    fn rules_of_listed(&self, robot: &Robot) -> RobotRules {
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
            .find(RobotRules::is_named)
            .unwrap_or_else(|| self.file.for_robot(&robot.id))
    }
}

/// Robots whose operators document AI training as their only purpose, with the operators' pages. The
/// registry states on which day each page was read (`robot-checked`). Robots that also serve
/// searches or a person's request are not listed.
const TRAINING_ONLY: [&str; 3] = [
    "gptbot",             // developers.openai.com/api/docs/bots
    "claudebot",          // support.claude.com/en/articles/8896518
    "mistralai-training", // docs.mistral.ai/en/robots
];

/// Returns the policy token for AI training if this is the robot's only purpose.
fn trains_only(robot: &Robot) -> Option<&'static PolicyToken> {
    let is_listed = TRAINING_ONLY.contains(&robot.id.as_str());
    let mut tokens = PolicyToken::ALL.iter().filter(|_| is_listed);
    tokens.find(|token| token.usage == "train-ai")
}

/// Returns the token of the group to use for a robot without its own group.
///
/// Google documents such fallbacks: Googlebot-Image and other robots obey the group for Googlebot.
/// Apple documents the same for Applebot (support.apple.com/119829).
fn fallback(token: &str) -> Option<&'static str> {
    let general = "Googlebot";
    if token.eq_ignore_ascii_case("Applebot") {
        return Some(general);
    }
    let (first, rest) = token.split_at_checked(general.len())?;
    (first.eq_ignore_ascii_case(general) && rest.starts_with('-')).then_some(general)
}

impl ResolvedRobot {
    fn new(
        robot: Option<&Arc<Robot>>,
        rules: RobotRules,
        refused: Option<RefusalReason>,
        training: Option<RobotRules>,
    ) -> Arc<Self> {
        // A cached robot will return. Building the index now saves its first request this time.
        rules.prepare();
        training.iter().for_each(RobotRules::prepare);
        Arc::new(Self {
            robot: robot.cloned(),
            delay: rules.crawl_delay().filter(|delay| !delay.is_zero()),
            rules,
            lower_case: OnceLock::new(),
            refused,
            training,
            limiters: ListedLimiters::default(),
        })
    }

    /// Returns the rules in the form to compare with a path as the site's server interprets it.
    pub(super) fn rules_read_as(&self, reading: PathReading) -> &RobotRules {
        if reading.ignore_case {
            self.lower_case.get_or_init(|| self.rules.in_lower_case())
        } else {
            &self.rules
        }
    }

    /// Returns the rate limiter for a verdict, so that a robot does not share a limit with
    /// impostors.
    pub(super) fn limiter(&self, visitor: Visitor<'_>) -> &DelayLimiter {
        match visitor.is_genuine() {
            Some(true) => &self.limiters.verified,
            Some(false) => &self.limiters.spoofed,
            None => &self.limiters.unknown,
        }
    }
}

/// Inserts a value into a map that is read without a lock. A full map is cleared first.
#[cold]
fn insert_cached<K: Clone + Eq + Hash, V>(
    map: &ArcSwap<HashMap<K, Arc<V>>>,
    max: usize,
    key: &K,
    value: &Arc<V>,
) -> Arc<V> {
    let mut kept = Arc::clone(value);
    // Insertions are rare, so each may copy the map.
    map.rcu(|current| {
        let mut next = if current.len() < max {
            HashMap::clone(current)
        } else {
            HashMap::new()
        };
        // Another thread may have inserted the key first.
        kept = Arc::clone(next.entry(key.clone()).or_insert_with(|| Arc::clone(value)));
        next
    });
    kept
}

/// Maximum `Crawl-delay` that is enforced; longer delays are reduced to this value.
const MAX_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Number of requests allowed at once: two requests after a pause, or slightly uneven intervals, do
/// not violate the delay.
const AT_ONCE: u32 = 2;

/// A lock-free rate limiter that enforces the `Crawl-delay` of one robot.
#[derive(Debug)]
pub(super) struct DelayLimiter {
    bucket: Bucket,
    /// The time of the robot's latest request, refused or not.
    last_ms: AtomicI64,
}

impl DelayLimiter {
    /// Counts a request. A request that arrives too early does not delay the next request.
    pub(super) fn check(&self, now_ms: i64, delay: Duration) -> Result<(), EarlyRequest> {
        // The gap is measured from the previous request, even if that request was refused.
        let before_ms = self.last_ms.swap(now_ms, Ordering::Relaxed);
        self.bucket.take(now_ms, rate(delay)).map_err(|wait| {
            let gap_ms = now_ms.saturating_sub(before_ms);
            let gap = Duration::from_millis(u64::try_from(gap_ms).unwrap_or_default());
            EarlyRequest { gap, wait }
        })
    }
}

/// Returns the rate limit that corresponds to a crawl-delay.
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
    fn the_cache_is_bounded_and_keeps_each_entry_once() {
        let map = ArcSwap::default();
        let first = insert_cached(&map, 3, &1, &Arc::new("a"));
        let again = insert_cached(&map, 3, &1, &Arc::new("b"));
        assert!(Arc::ptr_eq(&first, &again));
        for key in 2..100 {
            insert_cached(&map, 3, &key, &Arc::new("c"));
            assert!(map.load().len() <= 3);
        }
    }

    const DELAY: Duration = Duration::from_secs(10);

    /// Returns, for each arrival, whether it complied with the delay.
    fn in_time(arrivals_ms: &[i64]) -> Vec<bool> {
        let limiter = DelayLimiter::default();
        let check = |&now_ms: &i64| limiter.check(now_ms, DELAY).is_ok();
        arrivals_ms.iter().map(check).collect()
    }

    #[test]
    fn requests_that_respect_the_delay_are_in_time() {
        let arrivals: Vec<_> = (0..1_000).map(|number| number * 10_000).collect();
        assert!(in_time(&arrivals).iter().all(|&is_in_time| is_in_time));
    }

    #[test]
    fn two_requests_at_once_after_a_pause_are_allowed_and_three_are_not() {
        assert_eq!(in_time(&[0, 0, 0]), [true, true, false]);
        assert_eq!(in_time(&[0, 99_000, 99_001]), [true; 3]);
        assert_eq!(
            in_time(&[5_000, 5_000, 15_000, 15_001]),
            [true, true, true, false]
        );
    }

    #[test]
    fn uneven_intervals_are_tolerated_but_fast_requests_are_not() {
        assert_eq!(in_time(&[0, 9_000, 20_500, 29_600, 40_000]), [true; 5]);
        let hasty: Vec<_> = (0..20).map(|number| number * 5_000).collect();
        let kept = in_time(&hasty).iter().filter(|&&ok| ok).count();
        assert!((10..=12).contains(&kept), "{kept}");
    }

    #[test]
    fn an_early_request_gets_the_time_to_wait() {
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
    fn a_clock_set_back_blocks_no_request() {
        assert_eq!(in_time(&[1_000_000_000, 0, 10_000]), [true; 3]);
        assert_eq!(in_time(&[i64::MAX, i64::MAX, i64::MIN]).len(), 3);
    }

    #[test]
    fn an_excessive_delay_is_capped() {
        let limiter = DelayLimiter::default();
        for _ in 0..2 {
            limiter.check(0, Duration::MAX).unwrap();
        }
        assert_eq!(limiter.check(0, Duration::MAX).unwrap_err().wait, MAX_DELAY);
    }
}
