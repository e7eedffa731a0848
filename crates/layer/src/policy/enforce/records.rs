//! Records of robots.txt violations, counted in bounded memory.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use super::answer::{Breach, CountedViolation, visible};

/// Maximum number of stored violations of rules, and of stored violations of crawl-delays.
const MAX_KEPT: usize = 1_000;

/// Maximum number of hosts for which violations are stored separately.
const MAX_HOSTS: usize = 100;

/// Maximum number of robots that are counted separately.
const MAX_ROBOTS: usize = 200;

/// Maximum number of robots and rules for which the first violation is logged.
const MAX_TOLD: usize = 1_000;

/// Maximum number of stored characters of a host, a path or a User-Agent.
const MAX_HOST_CHARS: usize = 100;
const MAX_TEXT_CHARS: usize = 200;

/// Host name under which violations on all further hosts are counted.
const OTHER_HOSTS: &str = "other hosts";

/// Robot ID under which violations by all further robots are counted.
const OTHER_ROBOTS: &str = "other";

/// The stored violations of robots.txt, most recent first.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Violations {
    /// Requests for disallowed paths, by robot, host and rule.
    pub rules: Vec<Violation>,
    /// Requests that arrived earlier than `Crawl-delay` allows, by robot and host.
    pub delays: Vec<Violation>,
    /// The number of violations that were removed to store later violations.
    pub dropped: u64,
}

/// Violations of one rule by one robot, with the number of occurrences.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Violation {
    /// The ID of the robot that violated robots.txt; `unlisted` stands for all unlisted robots.
    pub robot: String,
    /// The requested host, in lower case.
    pub host: String,
    /// The rule or crawl-delay that the robot violated.
    pub broken: ViolatedRule,
    /// Number of requests that violated the rule.
    pub hits: u64,
    /// Number of requests that violated the rule and were refused; the other requests passed.
    pub refused: u64,
    /// Time of the first violation, in milliseconds since 1970.
    pub first_ms: i64,
    /// Time of the latest violation, in milliseconds since 1970.
    pub last_ms: i64,
    /// The path and query of the latest request, truncated if too long, with invisible characters
    /// escaped.
    pub last_path: String,
    /// The User-Agent of the latest request, truncated if too long, with invisible characters
    /// escaped.
    pub last_user_agent: String,
    /// The sequence number of the latest request.
    turn: u64,
}

/// The rule or the crawl-delay that a robot violated.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ViolatedRule {
    /// A rule such as `Disallow`.
    Rule {
        /// The line number of the rule in the file, starting at 1; 0 if a setting refuses the
        /// robot.
        line: usize,
        /// The text of the violated rule.
        rule: String,
        /// The line number of the first `User-agent` in the rule's group.
        group_line: usize,
        /// The user agents of the group that contains the rule.
        group: String,
    },
    /// The `Crawl-delay` between two requests.
    Delay {
        /// The delay required at the time of the latest violation.
        delay: Duration,
        /// The shortest time between two requests from the robot.
        shortest_gap: Duration,
    },
}

/// Number of violations by one robot on all hosts since the start of the process.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct RobotCount {
    /// The ID of the robot; `unlisted`, or `other` for all robots after the first 200.
    pub robot: String,
    /// Requests for disallowed paths that passed.
    pub rules_reported: u64,
    /// Requests for disallowed paths that were refused.
    pub rules_refused: u64,
    /// Requests that arrived too early and passed.
    pub delays_reported: u64,
    /// Requests that arrived too early and were refused.
    pub delays_refused: u64,
}

/// Details of a request that violated robots.txt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report<'r> {
    pub(super) robot: &'r str,
    pub(super) host: &'r str,
    pub(super) path: &'r str,
    pub(super) user_agent: &'r [u8],
    pub(super) now_ms: i64,
}

/// All stored violations, and the counts by robot.
#[derive(Debug, Default)]
pub(super) struct Records {
    rules: HashMap<Key, Violation>,
    delays: HashMap<Key, Violation>,
    hosts: HashSet<String>,
    robots: BTreeMap<String, RobotCount>,
    told: HashSet<(String, Option<String>)>,
    dropped: u64,
    turn: u64,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Key {
    robot: String,
    host: String,
    /// The line number and text of the rule; `None` for a crawl-delay.
    rule: Option<(usize, String)>,
}

impl Records {
    /// Counts a violation, and sets `is_new` if the combination of robot and rule is new.
    pub(super) fn add(&mut self, report: &Report<'_>, outcome: &mut CountedViolation) {
        let refused = outcome.answer.is_refusal();
        self.count(report.robot, &outcome.breach, refused);
        outcome.is_new = self.is_untold(report.robot, &outcome.breach);
        // Unlike a sequence number, the clock may stand still or be set back between two
        // violations.
        self.turn += 1;
        let key = Key {
            robot: report.robot.to_owned(),
            host: self.host(report.host),
            rule: rule_of(&outcome.breach),
        };
        let kept = match key.rule {
            Some(_) => &mut self.rules,
            None => &mut self.delays,
        };
        if !kept.contains_key(&key) && kept.len() >= MAX_KEPT {
            self.dropped += drop_oldest(kept);
        }
        let new = || Violation::new(&key, report.now_ms, broken(outcome));
        let violation = kept.entry(key.clone()).or_insert_with(new);
        violation.add(report, &outcome.breach, refused, self.turn);
    }

    /// Returns the stored violations, most recent first.
    pub(super) fn violations(&self) -> Violations {
        let sorted = |kept: &HashMap<Key, Violation>| {
            let mut kept: Vec<_> = kept.values().cloned().collect();
            kept.sort_by_key(|violation| std::cmp::Reverse(violation.turn));
            kept
        };
        Violations {
            rules: sorted(&self.rules),
            delays: sorted(&self.delays),
            dropped: self.dropped,
        }
    }

    /// Returns the violation counts by robot, sorted by ID.
    pub(super) fn robots(&self) -> Vec<RobotCount> {
        self.robots.values().cloned().collect()
    }

    fn count(&mut self, robot: &str, breach: &Breach, refused: bool) {
        let is_counted = self.robots.len() < MAX_ROBOTS || self.robots.contains_key(robot);
        let robot = if is_counted { robot } else { OTHER_ROBOTS };
        let count = self.robots.entry(robot.to_owned()).or_default();
        if count.robot.is_empty() {
            robot.clone_into(&mut count.robot);
        }
        *match (breach, refused) {
            (Breach::Disallowed { .. } | Breach::Refused(_), false) => &mut count.rules_reported,
            (Breach::Disallowed { .. } | Breach::Refused(_), true) => &mut count.rules_refused,
            (Breach::TooSoon { .. }, false) => &mut count.delays_reported,
            (Breach::TooSoon { .. }, true) => &mut count.delays_refused,
        } += 1;
    }

    /// Returns `true` if the combination of robot and rule has not been logged before, on any host.
    fn is_untold(&mut self, robot: &str, breach: &Breach) -> bool {
        let rule = rule_of(breach).map(|(_, rule)| rule);
        // The limit protects the memory and the log against clients that invent names.
        self.told.len() < MAX_TOLD && self.told.insert((robot.to_owned(), rule))
    }

    /// Returns the host name to store. Clients may send invented hosts, so the number of hosts is
    /// limited.
    fn host(&mut self, host: &str) -> String {
        let host = visible(&host.to_ascii_lowercase(), MAX_HOST_CHARS);
        if self.hosts.contains(&host) {
            host
        } else if self.hosts.len() < MAX_HOSTS {
            self.hosts.insert(host.clone());
            host
        } else {
            OTHER_HOSTS.to_owned()
        }
    }
}

impl Violation {
    fn new(key: &Key, now_ms: i64, broken: ViolatedRule) -> Self {
        Self {
            robot: key.robot.clone(),
            host: key.host.clone(),
            broken,
            hits: 0,
            refused: 0,
            first_ms: now_ms,
            last_ms: now_ms,
            last_path: String::new(),
            last_user_agent: String::new(),
            turn: 0,
        }
    }

    fn add(&mut self, report: &Report<'_>, breach: &Breach, refused: bool, turn: u64) {
        self.hits += 1;
        self.refused += u64::from(refused);
        self.last_ms = report.now_ms;
        self.last_path = visible(report.path, MAX_TEXT_CHARS);
        let user_agent = String::from_utf8_lossy(report.user_agent);
        self.last_user_agent = visible(&user_agent, MAX_TEXT_CHARS);
        self.turn = turn;
        if let ViolatedRule::Delay {
            delay: asked,
            shortest_gap,
        } = &mut self.broken
            && let Breach::TooSoon { delay, gap, .. } = breach
        {
            *asked = *delay;
            *shortest_gap = (*shortest_gap).min(*gap);
        }
    }
}

fn rule_of(breach: &Breach) -> Option<(usize, String)> {
    match breach {
        Breach::Disallowed { line, rule, .. } => Some((*line, rule.clone())),
        Breach::Refused(reason) => Some((0, reason.to_string())),
        Breach::TooSoon { .. } => None,
    }
}

fn broken(outcome: &CountedViolation) -> ViolatedRule {
    match &outcome.breach {
        Breach::Disallowed {
            line,
            rule,
            group_line,
            ..
        } => ViolatedRule::Rule {
            line: *line,
            rule: rule.clone(),
            group_line: *group_line,
            group: outcome.group.clone(),
        },
        Breach::Refused(reason) => ViolatedRule::Rule {
            line: 0,
            rule: reason.to_string(),
            group_line: 0,
            group: String::new(),
        },
        Breach::TooSoon { delay, gap, .. } => ViolatedRule::Delay {
            delay: *delay,
            shortest_gap: *gap,
        },
    }
}

/// Removes the least recent violation, if any, and returns the number of violations removed.
fn drop_oldest(kept: &mut HashMap<Key, Violation>) -> u64 {
    // No order is maintained, because this scan of a thousand entries runs only for a new
    // violation.
    let oldest = kept.iter().min_by_key(|(_, violation)| violation.turn);
    let oldest = oldest.map(|(key, _)| key.clone());
    u64::from(oldest.is_some_and(|key| kept.remove(&key).is_some()))
}

#[cfg(test)]
mod tests {
    use super::super::answer::Answer;
    use super::*;

    const REPORT: Report<'static> = Report {
        robot: "examplebot",
        host: "www.example.com",
        path: "/private/a?b",
        user_agent: b"ExampleBot/1.0",
        now_ms: 1_000,
    };

    fn disallowed(line: usize) -> CountedViolation {
        outcome(Breach::disallowed(line, "Disallow: /private/", 1))
    }

    fn too_soon(gap_s: u64) -> CountedViolation {
        outcome(Breach::TooSoon {
            delay: Duration::from_secs(10),
            gap: Duration::from_secs(gap_s),
            wait: Duration::ZERO,
        })
    }

    fn outcome(breach: Breach) -> CountedViolation {
        CountedViolation {
            breach,
            answer: Answer::Pass,
            would: Answer::Pass,
            group: "ExampleBot".to_owned(),
            is_new: false,
        }
    }

    /// Adds a violation and returns whether it is new.
    fn add(records: &mut Records, report: &Report<'_>, mut outcome: CountedViolation) -> bool {
        records.add(report, &mut outcome);
        outcome.is_new
    }

    #[test]
    fn a_rule_is_stored_and_logged_once() {
        let mut records = Records::default();
        assert!(add(&mut records, &REPORT, disallowed(2)));
        let later = Report {
            now_ms: 5_000,
            path: "/private/\u{1b}[2J\u{202e}z",
            ..REPORT
        };
        let mut refused = disallowed(2);
        refused.answer = Answer::Forbidden;
        assert!(!add(&mut records, &later, refused));
        let elsewhere = Report {
            host: "Other.Example",
            ..REPORT
        };
        assert!(!add(&mut records, &elsewhere, disallowed(2)));
        let kept = records.violations();
        let hosts: Vec<_> = kept.rules.iter().map(|kept| &*kept.host).collect();
        assert_eq!(hosts, ["other.example", "www.example.com"]);
        let first = &kept.rules[1];
        assert_eq!((first.hits, first.refused), (2, 1));
        assert_eq!((first.first_ms, first.last_ms), (1_000, 5_000));
        assert_eq!(first.last_path, r"/private/\u{1b}[2J\u{202e}z");
        let count = &records.robots()[0];
        assert_eq!((count.rules_reported, count.rules_refused), (2, 1));
    }

    #[test]
    fn a_delay_stores_the_shortest_gap() {
        let mut records = Records::default();
        for gap_s in [5, 2, 8] {
            add(&mut records, &REPORT, too_soon(gap_s));
        }
        let kept = records.violations().delays;
        let delay = Duration::from_secs(10);
        let shortest_gap = Duration::from_secs(2);
        assert_eq!(kept.len(), 1);
        assert_eq!(
            kept[0].broken,
            ViolatedRule::Delay {
                delay,
                shortest_gap
            }
        );
    }

    #[test]
    fn the_least_recent_violation_is_removed() {
        let mut records = Records::default();
        for line in 1..=MAX_KEPT {
            add(&mut records, &REPORT, disallowed(line));
        }
        add(&mut records, &REPORT, disallowed(1));
        add(&mut records, &REPORT, disallowed(MAX_KEPT + 1));
        let kept = records.violations();
        assert_eq!((kept.rules.len(), kept.dropped), (MAX_KEPT, 1));
        let has = |wanted: usize| {
            kept.rules.iter().any(
                |kept| matches!(kept.broken, ViolatedRule::Rule { line, .. } if line == wanted),
            )
        };
        assert!(has(1) && !has(2) && has(3));
    }

    #[test]
    fn hosts_robots_and_log_lines_are_limited() {
        let mut records = Records::default();
        let mut told = 0;
        for number in 0..5_000 {
            let (robot, host) = (format!("r{number}"), format!("h{number}.example"));
            let report = Report {
                robot: &robot,
                host: &host,
                ..REPORT
            };
            told += usize::from(add(&mut records, &report, disallowed(1)));
        }
        assert_eq!(told, MAX_TOLD);
        assert_eq!(records.robots().len(), MAX_ROBOTS + 1);
        let sum: u64 = records.robots().iter().map(|one| one.rules_reported).sum();
        assert_eq!(sum, 5_000);
        let kept = records.violations();
        assert!(kept.rules.iter().all(|kept| kept.host == OTHER_HOSTS));
        assert_eq!(kept.dropped, 4_000);
    }
}
