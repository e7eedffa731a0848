//! Rate limits of rules that slow robots down: so many requests in so much time.

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::{
    Visitor,
    bucket::Rate,
    buckets::{Buckets, UnlistedBuckets},
};

/// Listed robots that one rule tells apart, at most.
const MAX_LISTED: usize = 10_000;

/// Rate limiter of a rule that slows robots down, with the requests that it has counted.
///
/// Each robot has a limit of its own: a listed one by its id, wherever it comes
/// from. One that is verified does not share it with those that only say that they are
/// the same. An unlisted one has that of its name, in which no number counts, and that
/// of its network besides (/24 of IPv4, /48 of IPv6): a request has to keep both; one whose
/// signature holds has that of its host alone. A
/// nameless visitor has that of its network, and so have people who share a User-Agent: where
/// no address is known they are not slowed at all. Of those that come too fast at the
/// same time 10,000 listed ones, 1,024 names and 4,096 networks are told apart; the others
/// share one limit, so that memory has an end.
pub struct RateLimiter {
    requests: u32,
    per: Duration,
    burst: u32,
    text: Option<String>,
    rate: Rate,
    hasher: RandomState,
    robots: Mutex<Robots>,
}

#[derive(Default)]
struct Robots {
    listed: Buckets,
    others: UnlistedBuckets,
}

impl RateLimiter {
    pub(super) fn new(requests: u32, per: Duration, burst: u32, text: Option<String>) -> Self {
        Self {
            requests,
            per,
            burst,
            text,
            rate: Rate::new(requests, per, burst),
            hasher: RandomState::new(),
            robots: Mutex::default(),
        }
    }

    /// Returns how many requests are served in a period.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Returns the period.
    #[must_use]
    pub fn per(&self) -> Duration {
        self.per
    }

    /// Returns how many requests are served at once after a pause.
    #[must_use]
    pub fn burst(&self) -> u32 {
        self.burst
    }

    /// Returns the text for a robot that comes too fast.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.text {
            Some(text) => text.clone(),
            None => format!("This robot comes too fast. Served are {self}.\n"),
        }
    }

    /// Counts a request of a robot at a time in milliseconds since 1970.
    ///
    /// `client` is the address that it comes from, where that is known.
    ///
    /// # Errors
    ///
    /// Fails with the time to wait when the robot comes too fast. Such a request
    /// does not put off the next.
    pub fn check(
        &self,
        visitor: Visitor<'_>,
        user_agent: &[u8],
        client: Option<IpAddr>,
        now_ms: i64,
    ) -> Result<(), Duration> {
        // Buckets that a panic left half way are buckets still.
        let mut robots = self.robots.lock().unwrap_or_else(PoisonError::into_inner);
        let checked = if let Some(robot) = visitor.claim.robot() {
            let key = self.hasher.hash_one((&robot.id, visitor.is_genuine()));
            let bucket = robots.listed.bucket(key, MAX_LISTED, now_ms);
            bucket.check(now_ms, self.rate)
        } else {
            let others = &mut robots.others;
            others.check(visitor.claim, user_agent, client, now_ms, self.rate)
        };
        checked.map_err(|soon| soon.wait)
    }

    /// Returns `true` if robots may do the same under both.
    pub(super) fn has_pace_of(&self, other: &Self) -> bool {
        self.requests == other.requests
            && self.per == other.per
            && self.burst == other.burst
            && self.text == other.text
    }
}

/// Shows the limit as "at most 10 requests in 60 s, 5 at once".
impl fmt::Display for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            requests, burst, ..
        } = self;
        let s = if *requests == 1 { "" } else { "s" };
        let seconds = self.per.as_secs_f64();
        write!(
            f,
            "at most {requests} request{s} in {seconds} s, {burst} at once"
        )
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter")
            .field("requests", &self.requests)
            .field("per", &self.per)
            .field("burst", &self.burst)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::detect::{Claim, Listed, Sign, Unlisted, Verdict};
    use crate::registry::{Pattern, PatternKind, Robot, Source};

    const UNLISTED: Claim<'static> = Claim::Unlisted(Unlisted {
        sign: Sign::Word,
        range: 0..3,
    });

    /// Two requests a minute, two at once.
    fn rate_limiter() -> RateLimiter {
        RateLimiter::new(2, Duration::from_mins(1), 2, None)
    }

    fn robot(id: &str) -> Arc<Robot> {
        let mut robot = Robot::new(id, Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, "x")];
        Arc::new(robot)
    }

    fn claim(robot: &Arc<Robot>) -> Claim<'_> {
        Claim::Listed(Listed {
            robot,
            pattern: robot.patterns.first(),
            range: 0..1,
        })
    }

    #[test]
    fn each_robot_has_a_pace_of_its_own() {
        let limiter = rate_limiter();
        let (a, b) = (robot("a"), robot("b"));
        for (robot, in_time) in [(&a, true), (&a, true), (&a, false), (&b, true)] {
            let checked = limiter.check(Visitor::from(&claim(robot)), b"x", None, 0);
            assert_eq!(checked.is_ok(), in_time, "{}", robot.id);
        }
        assert_eq!(
            limiter.check(Visitor::from(&claim(&a)), b"y", None, 10_000),
            Err(Duration::from_secs(20))
        );
        let again = robot("a");
        assert!(
            limiter
                .check(Visitor::from(&claim(&again)), b"x", None, 10_000)
                .is_err()
        );
        assert!(
            limiter
                .check(Visitor::from(&claim(&again)), b"x", None, 30_000)
                .is_ok()
        );
    }

    #[test]
    fn impostors_use_up_no_pace_but_their_own() {
        let limiter = rate_limiter();
        let a = robot("a");
        let claim = claim(&a);
        let check = |verdict| {
            let visitor = Visitor::new(&claim, verdict);
            limiter.check(visitor, b"x", None, 0).is_ok()
        };
        for verdict in [Verdict::Spoofed, Verdict::Pending, Verdict::Verified] {
            assert_eq!([0; 3].map(|_| check(verdict)), [true, true, false]);
        }
        assert!(!check(Verdict::Unverifiable));
    }

    #[test]
    fn unlisted_robots_are_told_apart_by_their_names() {
        let limiter = rate_limiter();
        for (user_agent, in_time) in [("x", true), ("x/1", true), ("x/2", false), ("y", true)] {
            let visitor = Visitor::from(&UNLISTED);
            let checked = limiter.check(visitor, user_agent.as_bytes(), None, 0);
            assert_eq!(checked.is_ok(), in_time, "{user_agent}");
        }
    }

    #[test]
    fn the_pace_is_told_in_words() {
        let expected =
            "This robot comes too fast. Served are at most 2 requests in 60 s, 2 at once.\n";
        assert_eq!(rate_limiter().text(), expected);
        let one = RateLimiter::new(1, Duration::from_millis(500), 1, Some("No.".to_owned()));
        assert_eq!(one.to_string(), "at most 1 request in 0.5 s, 1 at once");
        assert_eq!(one.text(), "No.");
    }
}
