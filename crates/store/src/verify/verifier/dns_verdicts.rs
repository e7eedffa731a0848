//! A cache of DNS verdicts by address and robot.

use std::{net::IpAddr, sync::Arc};

use moka::sync::Cache;

use robot_detection_layer::detect::Verdict;
use robot_detection_layer::registry::Robot;

/// The maximum number of cached verdicts. If there are more, unused verdicts are dropped.
const MAX_ANSWERS: u64 = 100_000;

/// The time for which an expired verdict may be used while the claim is being verified again.
const GRACE_MS: i64 = 10 * 60 * 1_000;

/// The key of a cached verdict: an address and a robot.
///
/// A robot is identified by its memory address, which the cached verdict keeps allocated. The next
/// refresh of the registry allocates new robots.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct DnsVerdictKey {
    address: u128,
    robot: usize,
}

/// A DNS verdict on the claim that an address belongs to a robot.
#[derive(Debug)]
pub(super) struct DnsVerdict {
    /// The verdict that is based on DNS alone.
    pub(super) verdict: Verdict,
    /// The evidence for the verdict, as a single sentence.
    pub(super) evidence: String,
    /// Whether the evidence is that the address has no name.
    pub(super) is_nameless: bool,
    until_ms: i64,
    /// The reference to the robot, which prevents reuse of the memory address in the key.
    robot: Arc<Robot>,
}

/// The result of looking up a verdict in the cache.
#[derive(Debug)]
pub(super) enum CacheLookup {
    /// The cached verdict is valid.
    Fresh(Arc<DnsVerdict>),
    /// The verdict has expired, but may be used until the claim has been verified again.
    Stale(Arc<DnsVerdict>),
    /// The cache contains no usable verdict.
    Nothing,
}

/// A cache of verdicts with a maximum size. Lookups do not take a lock.
#[derive(Debug)]
pub(super) struct DnsVerdicts {
    answers: Cache<DnsVerdictKey, Arc<DnsVerdict>>,
}

impl DnsVerdictKey {
    pub(super) fn new(address: IpAddr, robot: &Arc<Robot>) -> Self {
        let address = match address.to_canonical() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        Self {
            address: address.to_bits(),
            robot: Arc::as_ptr(robot).addr(),
        }
    }
}

impl DnsVerdict {
    pub(super) fn new(
        robot: Arc<Robot>,
        verdict: Verdict,
        evidence: String,
        until_ms: i64,
    ) -> Self {
        Self {
            verdict,
            evidence,
            is_nameless: false,
            until_ms,
            robot,
        }
    }

    pub(super) fn nameless(self, is_nameless: bool) -> Self {
        Self {
            is_nameless,
            ..self
        }
    }
}

impl DnsVerdicts {
    pub(super) fn new() -> Self {
        Self {
            answers: Cache::new(MAX_ANSWERS),
        }
    }

    /// Returns the cached verdict, if any.
    pub(super) fn get(&self, key: DnsVerdictKey, now_ms: i64) -> CacheLookup {
        match self.answers.get(&key) {
            Some(answer) if answer.until_ms > now_ms => CacheLookup::Fresh(answer),
            Some(answer) if answer.until_ms.saturating_add(GRACE_MS) > now_ms => {
                CacheLookup::Stale(answer)
            }
            _ => CacheLookup::Nothing,
        }
    }

    pub(super) fn put(&self, address: IpAddr, answer: Arc<DnsVerdict>) {
        let key = DnsVerdictKey::new(address, &answer.robot);
        self.answers.insert(key, answer);
    }

    /// Removes the cached verdict for an address and for the robot of the given verdict.
    pub(super) fn remove(&self, address: IpAddr, answer: &DnsVerdict) {
        let key = DnsVerdictKey::new(address, &answer.robot);
        self.answers.invalidate(&key);
    }

    /// Removes all cached verdicts.
    pub(super) fn clear(&self) {
        self.answers.invalidate_all();
    }

    /// Returns the approximate number of cached verdicts.
    #[cfg(test)]
    pub(super) fn len(&self) -> u64 {
        self.answers.run_pending_tasks();
        self.answers.entry_count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_layer::registry::Source;

    fn robot() -> Arc<Robot> {
        Arc::new(Robot::new("examplebot", Source::bundled()))
    }

    fn answer(robot: &Arc<Robot>, until_ms: i64) -> Arc<DnsVerdict> {
        let robot = Arc::clone(robot);
        Arc::new(DnsVerdict::new(
            robot,
            Verdict::Verified,
            String::new(),
            until_ms,
        ))
    }

    #[test]
    fn verdict_is_fresh_then_stale_then_gone() {
        let (answers, robot) = (DnsVerdicts::new(), robot());
        let address = IpAddr::from([192, 0, 2, 1]);
        answers.put(address, answer(&robot, 1_000));
        let key = DnsVerdictKey::new(address, &robot);
        assert!(matches!(answers.get(key, 999), CacheLookup::Fresh(_)));
        assert!(matches!(answers.get(key, 1_000), CacheLookup::Stale(_)));
        let over = 1_000 + GRACE_MS;
        assert!(matches!(answers.get(key, over), CacheLookup::Nothing));
        answers.clear();
        assert!(matches!(answers.get(key, 999), CacheLookup::Nothing));
    }

    #[test]
    fn verdict_is_for_one_address_and_one_robot() {
        let (answers, robot) = (DnsVerdicts::new(), robot());
        let address = IpAddr::from([192, 0, 2, 1]);
        answers.put(address, answer(&robot, 1_000));
        let known = |address: &str, robot: &Arc<Robot>| {
            let key = DnsVerdictKey::new(address.parse().unwrap(), robot);
            matches!(answers.get(key, 0), CacheLookup::Fresh(_))
        };
        assert!(known("192.0.2.1", &robot));
        assert!(known("::ffff:192.0.2.1", &robot));
        assert!(!known("::192.0.2.1", &robot));
        assert!(!known("192.0.2.2", &robot));
        assert!(
            !known("192.0.2.1", &self::robot()),
            "verdict for a robot of another registry"
        );
    }

    #[test]
    fn cache_size_is_limited() {
        let (answers, robot) = (DnsVerdicts::new(), robot());
        for number in 0..MAX_ANSWERS + 20_000 {
            let address = std::net::Ipv6Addr::from(u128::from(number) + (1 << 100));
            answers.put(address.into(), answer(&robot, 1_000));
        }
        assert!(answers.len() <= MAX_ANSWERS, "{}", answers.len());
    }
}
