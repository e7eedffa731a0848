//! Rate limiters of rules that slow robots down, which allow a number of requests or errors per
//! period.

use std::{fmt, hash::BuildHasher as _, net::IpAddr, sync::Arc, time::Duration};

use super::{
    BucketDebt, Places, RateKey, SharedLimit, Visitor,
    bucket::Rate,
    buckets::UnlistedKeys,
    key_table::{self, KeyTable},
    load::{LoadGate, LoadThreshold},
    shared_limit::Seed,
};

/// Number of sets per shard for a rule that limits robots: 65,536 buckets in total, in 1 MiB.
///
/// Few robots need to be distinguished, but there may be many such rules.
const MAX_ROBOT_SETS: usize = 64;

/// Statuses that are counted as errors: forbidden, not found, gone.
///
/// Vulnerability scans cause these statuses. 400, 401 and 422 are not included, because human
/// visitors cause them by mistakes in a form or a password.
const ERRORS: [u16; 3] = [403, 404, 410];

/// The rate limiter of a rule that slows robots down, with the requests counted so far.
///
/// [`RateKey`] determines whether the limit applies per robot, per address, etc. Either all
/// requests are counted, or only requests that cause an [error](super::RuleBuilder::errors).
///
/// Each robot has a separate limit. A listed robot is identified by its ID, regardless of its
/// address; verified requests do not share a limit with unverified requests. An unlisted robot is
/// subject to the limit of its name (ignoring numbers) and to the limit of its network (/24 for
/// IPv4, /48 for IPv6); if its signature is valid, it is only subject to the limit of its host.
/// Visitors without a User-Agent or with a shared User-Agent are subject to the limit of their
/// network; visitors with a shared User-Agent are not limited if their address is unknown.
///
/// At most 65,536 robots, names and networks are distinguished, in at most 1 MiB. For a limit by
/// address, network, autonomous system or User-Agent, the maximum is two million, in at most 31
/// MiB. Beyond these numbers, the buckets that would be full first are evicted. If the address is
/// unknown, a limit by address does not apply.
///
/// Instances that [join a fleet](SharedLimit) share their limits.
pub struct RateLimiter {
    pace: LimitSettings,
    rate: Rate,
    seed: Seed,
    buckets: KeyTable,
    gate: Option<LoadGate>,
}

/// The settings of a rule's rate limit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct LimitSettings {
    pub(super) count: u32,
    /// Whether errors are counted instead of requests.
    pub(super) is_of_errors: bool,
    pub(super) period: Duration,
    pub(super) burst: u32,
    pub(super) key: RateKey,
    pub(super) text: Option<String>,
    /// The load at which the limit applies; `None` if the limit always applies.
    pub(super) load: Option<LoadThreshold>,
}

/// The rate limit of a rule, as it applies to one request.
#[derive(Clone, Copy, Debug)]
pub struct LimitedRequest<'p> {
    limiter: &'p Arc<RateLimiter>,
    keys: BucketKeys,
}

/// A counter that counts the response to a request if it is an error.
#[derive(Clone, Debug)]
pub struct ErrorCounter {
    limiter: Arc<RateLimiter>,
    keys: BucketKeys,
}

/// The keys of the buckets for a request, each of which must contain a token. If there are no keys,
/// the sender cannot be distinguished from other senders and is not limited.
type BucketKeys = [Option<u64>; 2];

impl RateLimiter {
    pub(super) fn new(pace: LimitSettings) -> Self {
        let rate = Rate::new(pace.count, pace.period, pace.burst);
        let sets = match pace.key {
            RateKey::Robot | RateKey::Site => MAX_ROBOT_SETS,
            _ => key_table::MAX_SETS,
        };
        Self {
            rate,
            seed: Seed::random(),
            buckets: KeyTable::new(rate, sets),
            gate: pace.load.map(LoadGate::new),
            pace,
        }
    }

    /// Returns the number of requests per period, if requests are counted.
    #[must_use]
    pub fn requests(&self) -> Option<u32> {
        (!self.pace.is_of_errors).then_some(self.pace.count)
    }

    /// Returns the number of errors per period, if errors are counted.
    #[must_use]
    pub fn errors(&self) -> Option<u32> {
        self.pace.is_of_errors.then_some(self.pace.count)
    }

    /// Returns the period of the rate limit.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.pace.period
    }

    /// Returns the number of requests or errors allowed at once after a pause.
    #[must_use]
    pub fn burst(&self) -> u32 {
        self.pace.burst
    }

    /// Returns the key that determines which requests share the limit.
    #[must_use]
    pub fn key(&self) -> RateKey {
        self.pace.key
    }

    /// Returns the text of the 429 response.
    #[must_use]
    pub fn text(&self) -> String {
        match (&self.pace.text, self.pace.key) {
            (Some(text), _) => text.clone(),
            (None, _) if self.pace.is_of_errors => {
                format!("Too many requests have failed. Rate limit: {self}.\n")
            }
            (None, RateKey::Robot) => {
                format!("This robot sends too many requests. Rate limit: {self}.\n")
            }
            (None, _) => format!("Too many requests. Rate limit: {self}.\n"),
        }
    }

    /// Returns the load condition of the limit, if any.
    pub(super) fn gate(&self) -> Option<&LoadGate> {
        self.gate.as_ref()
    }

    /// Returns the rate limit for one request.
    ///
    /// `client` is the client address, if it is known and does not belong to a shared proxy;
    /// `places` looks up the address's autonomous system.
    pub(super) fn of<'p>(
        self: &'p Arc<Self>,
        visitor: Visitor<'_>,
        user_agent: &[u8],
        client: Option<IpAddr>,
        places: &Places,
    ) -> LimitedRequest<'p> {
        let (claim, hasher) = (visitor.claim, self.seed.hasher());
        let keys = match (self.pace.key, claim.robot()) {
            (RateKey::Site, _) => [Some(hasher.hash_one(())), None],
            (RateKey::Robot, Some(robot)) => [
                Some(hasher.hash_one((&robot.id, visitor.is_genuine()))),
                None,
            ],
            (RateKey::Robot, None) => {
                let keys = UnlistedKeys::new(&hasher, claim, user_agent, client, self.rate);
                keys.map_or([None; 2], |keys| [keys.name, keys.network])
            }
            (key, _) => [key.bucket(&hasher, user_agent, client, places), None],
        };
        LimitedRequest {
            limiter: self,
            keys,
        }
    }

    /// Starts sharing the limit with other instances.
    ///
    /// A new seed resets all buckets.
    pub fn join(&self, fleet: SharedLimit, now_ms: i64) {
        if self.seed.set(fleet.seed) {
            self.buckets.clear();
        }
        self.buckets.set_sharers(fleet.instances, now_ms);
    }

    /// Removes and returns up to `most` debts that have not been sent to the other instances,
    /// largest first.
    ///
    /// Debts that could not be sent must be [given back](Self::restore_unreported).
    #[must_use]
    pub fn take_unreported(&self, most: usize) -> Vec<BucketDebt> {
        self.buckets.take_unreported(most)
    }

    /// Stores debts that could not be sent to the other instances, so that the debts are sent
    /// later.
    pub fn restore_unreported(&self, untold: &[BucketDebt]) {
        self.buckets.add_unreported(untold);
    }

    /// Sets the buckets of senders to the totals of all instances.
    pub fn apply_totals(&self, debts: &[BucketDebt], now_ms: i64) {
        self.buckets.apply_totals(debts, now_ms);
    }

    /// Returns `true` if both limits have the same settings.
    pub(super) fn has_settings_of(&self, other: &Self) -> bool {
        self.pace == other.pace
    }

    /// Returns the result of [`take`](Self::take) without taking tokens.
    fn peek(&self, keys: BucketKeys, now_ms: i64) -> Result<(), Duration> {
        let keys = keys.into_iter().flatten();
        let waits = keys.filter_map(|key| self.buckets.peek(key, now_ms).err());
        // The longest wait applies.
        waits.max().map_or(Ok(()), Err)
    }

    /// Describes the rate limit in a sentence.
    pub(super) fn sentence(&self) -> String {
        format!("Rate limit: {self}; further requests get 429.")
    }

    fn take(&self, keys: BucketKeys, now_ms: i64) -> Result<(), Duration> {
        let [Some(first), Some(second)] = keys else {
            let mut keys = keys.into_iter().flatten();
            return keys.try_for_each(|key| self.buckets.take(key, now_ms));
        };
        self.peek(keys, now_ms)?;
        self.buckets.take(first, now_ms)?;
        let second = self.buckets.take(second, now_ms);
        // Another request has taken the last token in the meantime.
        second.inspect_err(|_| self.buckets.return_token(first))
    }
}

impl LimitedRequest<'_> {
    /// Counts the request, which arrived at the given time in milliseconds since 1970.
    ///
    /// If errors are counted instead of requests, only checks whether there have been too many
    /// errors.
    ///
    /// # Errors
    ///
    /// Returns the time to wait if the limit is exceeded. In that case, the request does not delay
    /// the next request.
    pub fn check(&self, now_ms: i64) -> Result<(), Duration> {
        let Self { limiter, keys } = self;
        if limiter.pace.is_of_errors {
            limiter.peek(*keys, now_ms)
        } else {
            limiter.take(*keys, now_ms)
        }
    }

    /// Returns the error counter for the response, if errors are counted.
    #[must_use]
    pub fn error_counter(&self) -> Option<ErrorCounter> {
        self.limiter.pace.is_of_errors.then(|| ErrorCounter {
            limiter: Arc::clone(self.limiter),
            keys: self.keys,
        })
    }
}

impl ErrorCounter {
    /// Counts a response if its status is counted as an error.
    pub fn count_response(&self, status: u16, now_ms: i64) {
        if ERRORS.contains(&status) {
            // Concurrent requests may cause more errors than the bucket has tokens.
            let _ = self.limiter.take(self.keys, now_ms);
        }
    }
}

/// Displays the limit, such as "at most 10 requests in 60 s, 5 at once, per network (/24, /48)".
impl fmt::Display for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LimitSettings {
            count,
            burst,
            period,
            key,
            is_of_errors,
            ..
        } = &self.pace;
        let s = if *count == 1 { "" } else { "s" };
        let seconds = period.as_secs_f64();
        let whom = key.suffix();
        let (what, which) = if *is_of_errors {
            ("response", " with 403, 404 or 410")
        } else {
            ("request", "")
        };
        write!(
            f,
            "at most {count} {what}{s}{which} in {seconds} s, {burst} at once{whom}"
        )
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RateLimiter")
            .field(&self.pace)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::{Claim, Listed, Sign, Unlisted, Verdict};
    use crate::registry::{Pattern, PatternKind, Robot, Source};

    const UNLISTED: Claim<'static> = Claim::Unlisted(Unlisted {
        sign: Sign::Word,
        range: 0..3,
    });

    /// Returns a limit of two requests per minute, both at once.
    fn pace(key: RateKey) -> LimitSettings {
        LimitSettings {
            count: 2,
            is_of_errors: false,
            period: Duration::from_mins(1),
            burst: 2,
            key,
            text: None,
            load: None,
        }
    }

    fn rate_limiter() -> Arc<RateLimiter> {
        Arc::new(RateLimiter::new(pace(RateKey::Robot)))
    }

    fn check(
        limiter: &Arc<RateLimiter>,
        visitor: Visitor<'_>,
        user_agent: &str,
        now_ms: i64,
    ) -> Result<(), Duration> {
        let places = Places::default();
        let paced = limiter.of(visitor, user_agent.as_bytes(), None, &places);
        paced.check(now_ms)
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
    fn each_robot_has_a_separate_limit() {
        let limiter = rate_limiter();
        let (a, b) = (robot("a"), robot("b"));
        for (robot, in_time) in [(&a, true), (&a, true), (&a, false), (&b, true)] {
            let checked = check(&limiter, Visitor::from(&claim(robot)), "x", 0);
            assert_eq!(checked.is_ok(), in_time, "{}", robot.id);
        }
        assert_eq!(
            check(&limiter, Visitor::from(&claim(&a)), "y", 10_000),
            Err(Duration::from_secs(20))
        );
        let again = robot("a");
        let again = |now_ms| check(&limiter, Visitor::from(&claim(&again)), "x", now_ms);
        assert!(again(10_000).is_err() && again(30_000).is_ok());
    }

    #[test]
    fn impostors_do_not_use_up_the_limit_of_the_robot() {
        let limiter = rate_limiter();
        let a = robot("a");
        let claim = claim(&a);
        let check = |verdict| check(&limiter, Visitor::new(&claim, verdict), "x", 0).is_ok();
        for verdict in [Verdict::Spoofed, Verdict::Pending, Verdict::Verified] {
            assert_eq!([0; 3].map(|_| check(verdict)), [true, true, false]);
        }
        assert!(!check(Verdict::Unverifiable));
    }

    #[test]
    fn unlisted_robots_are_distinguished_by_name() {
        let limiter = rate_limiter();
        for (user_agent, in_time) in [("x", true), ("x/1", true), ("x/2", false), ("y", true)] {
            let visitor = Visitor::from(&UNLISTED);
            let checked = check(&limiter, visitor, user_agent, 0);
            assert_eq!(checked.is_ok(), in_time, "{user_agent}");
        }
    }

    #[test]
    fn the_limit_is_described_in_words() {
        let expected = "This robot sends too many requests. Rate limit: at most 2 requests in 60 s, 2 at once.\n";
        assert_eq!(rate_limiter().text(), expected);
        let one = RateLimiter::new(LimitSettings {
            count: 1,
            period: Duration::from_millis(500),
            burst: 1,
            text: Some("No.".to_owned()),
            ..pace(RateKey::Robot)
        });
        assert_eq!(one.to_string(), "at most 1 request in 0.5 s, 1 at once");
        assert_eq!(one.text(), "No.");
    }

    #[test]
    fn all_visitors_share_the_limit_of_the_site() {
        let limiter = Arc::new(RateLimiter::new(pace(RateKey::Site)));
        let (a, b) = (robot("a"), robot("b"));
        let mut asked = [(&a, 0), (&b, 0), (&a, 0), (&b, 30_000)].into_iter();
        let in_time = asked.by_ref().map(|(robot, now_ms)| {
            check(&limiter, Visitor::from(&claim(robot)), &robot.id, now_ms).is_ok()
        });
        assert_eq!(in_time.collect::<Vec<_>>(), [true, true, false, true]);
        let told = "at most 2 requests in 60 s, 2 at once, in total";
        assert_eq!(limiter.to_string(), told);
    }

    #[test]
    fn one_address_has_one_limit_regardless_of_the_user_agent() {
        let limiter = Arc::new(RateLimiter::new(pace(RateKey::Address)));
        let (a, places) = (robot("a"), Places::default());
        let claims = [claim(&a), UNLISTED, Claim::Person, Claim::Nameless];
        let ask = |claim: &Claim<'_>, client: &str| {
            let paced = limiter.of(Visitor::from(claim), b"x", client.parse().ok(), &places);
            paced.check(0).is_ok()
        };
        let in_time = claims.each_ref().map(|claim| ask(claim, "192.0.2.1"));
        assert_eq!(in_time, [true, true, false, false]);
        assert!(ask(&claims[0], "192.0.2.2"));
        // A visitor that cannot be distinguished from other visitors is not limited.
        assert!((0..9).all(|_| ask(&claims[2], "")));
    }

    #[test]
    fn errors_are_counted_from_responses_for_every_key() {
        let a = robot("a");
        let claims = [claim(&a), UNLISTED, Claim::Nameless];
        for (&key, claim) in RateKey::ALL
            .iter()
            .flat_map(|key| claims.iter().map(move |c| (key, c)))
        {
            let limiter = Arc::new(RateLimiter::new(LimitSettings {
                is_of_errors: true,
                ..pace(key)
            }));
            let (places, client) = (Places::default(), "192.0.2.1".parse().ok());
            let paced = limiter.of(Visitor::from(claim), b"x", client, &places);
            let counter = paced.error_counter().unwrap();
            for status in [200, 301, 400, 401, 404, 429, 500, 502] {
                assert!(paced.check(0).is_ok(), "{key} {status}");
                counter.count_response(status, 0);
            }
            assert!((0..9).all(|_| paced.check(0).is_ok()));
            for status in [410, 403] {
                counter.count_response(status, 0);
            }
            assert_eq!(paced.check(0), Err(Duration::from_secs(30)), "{key}");
            // Errors beyond the limit do not extend the wait.
            assert_eq!(paced.check(10_000), Err(Duration::from_secs(20)));
            assert!(paced.check(30_000).is_ok());
        }
    }
}
