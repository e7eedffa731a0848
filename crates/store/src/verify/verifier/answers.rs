//! What the DNS said, remembered by address and robot.

use std::{net::IpAddr, sync::Arc};

use moka::sync::Cache;

use robot_detection_layer::detect::Verdict;
use robot_detection_layer::registry::Robot;

/// Answers that are remembered; beyond it those go that nobody asks for.
const MAX_ANSWERS: u64 = 100_000;

/// For so long an answer is given after its time, while it is proven anew.
const GRACE_MS: i64 = 10 * 60 * 1_000;

/// Address and robot of an answer.
///
/// The robot is told by where it stands in memory: an answer keeps it there, and the
/// next refresh of the registry brings others.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct AnswerKey {
    address: u128,
    robot: usize,
}

/// What the DNS said about an address and a robot.
#[derive(Debug)]
pub(super) struct Answer {
    /// What it alone says.
    pub(super) verdict: Verdict,
    /// What was looked at, in one sentence.
    pub(super) evidence: String,
    /// Whether it is that the address has no name.
    pub(super) is_nameless: bool,
    until_ms: i64,
    /// Keeps the place of the key's robot from being used for another.
    robot: Arc<Robot>,
}

/// What is known at a time.
#[derive(Debug)]
pub(super) enum Known {
    /// It can be relied on.
    Fresh(Arc<Answer>),
    /// It is to be proven anew, and serves until then.
    Stale(Arc<Answer>),
    /// Nothing is known, or no more.
    Nothing,
}

/// Cache of answers of bounded size; reading takes no lock.
#[derive(Debug)]
pub(super) struct Answers {
    answers: Cache<AnswerKey, Arc<Answer>>,
}

impl AnswerKey {
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

impl Answer {
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

impl Answers {
    pub(super) fn new() -> Self {
        Self {
            answers: Cache::new(MAX_ANSWERS),
        }
    }

    /// Returns what is known.
    pub(super) fn get(&self, key: AnswerKey, now_ms: i64) -> Known {
        match self.answers.get(&key) {
            Some(answer) if answer.until_ms > now_ms => Known::Fresh(answer),
            Some(answer) if answer.until_ms.saturating_add(GRACE_MS) > now_ms => {
                Known::Stale(answer)
            }
            _ => Known::Nothing,
        }
    }

    pub(super) fn put(&self, address: IpAddr, answer: Arc<Answer>) {
        let key = AnswerKey::new(address, &answer.robot);
        self.answers.insert(key, answer);
    }

    /// Forgets all.
    pub(super) fn clear(&self) {
        self.answers.invalidate_all();
    }

    /// Returns about how many there are.
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

    fn answer(robot: &Arc<Robot>, until_ms: i64) -> Arc<Answer> {
        let robot = Arc::clone(robot);
        Arc::new(Answer::new(
            robot,
            Verdict::Verified,
            String::new(),
            until_ms,
        ))
    }

    #[test]
    fn an_answer_is_fresh_then_stale_then_gone() {
        let (answers, robot) = (Answers::new(), robot());
        let address = IpAddr::from([192, 0, 2, 1]);
        answers.put(address, answer(&robot, 1_000));
        let key = AnswerKey::new(address, &robot);
        assert!(matches!(answers.get(key, 999), Known::Fresh(_)));
        assert!(matches!(answers.get(key, 1_000), Known::Stale(_)));
        let over = 1_000 + GRACE_MS;
        assert!(matches!(answers.get(key, over), Known::Nothing));
        answers.clear();
        assert!(matches!(answers.get(key, 999), Known::Nothing));
    }

    #[test]
    fn an_answer_is_for_one_address_and_one_robot() {
        let (answers, robot) = (Answers::new(), robot());
        let address = IpAddr::from([192, 0, 2, 1]);
        answers.put(address, answer(&robot, 1_000));
        let known = |address: &str, robot: &Arc<Robot>| {
            let key = AnswerKey::new(address.parse().unwrap(), robot);
            matches!(answers.get(key, 0), Known::Fresh(_))
        };
        assert!(known("192.0.2.1", &robot));
        assert!(known("::ffff:192.0.2.1", &robot));
        assert!(!known("::192.0.2.1", &robot));
        assert!(!known("192.0.2.2", &robot));
        assert!(!known("192.0.2.1", &self::robot()), "of the next registry");
    }

    #[test]
    fn answers_are_bounded() {
        let (answers, robot) = (Answers::new(), robot());
        for number in 0..MAX_ANSWERS + 20_000 {
            let address = std::net::Ipv6Addr::from(u128::from(number) + (1 << 100));
            answers.put(address.into(), answer(&robot, 1_000));
        }
        assert!(answers.len() <= MAX_ANSWERS, "{}", answers.len());
    }
}
