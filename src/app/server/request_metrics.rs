//! Metrics of requests, calculated from the traffic counters.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use metrics::counter;

use crate::detect::{Kind, UNLISTED, Verdict};
use crate::traffic::{RequestCount, Traffic};

/// The maximum number of robots with their own time series, per site if the metric is counted by
/// site.
const MAX_ROBOTS: usize = 200;

/// The label for all robots beyond the maximum number.
const OTHER_ROBOTS: &str = "other";

/// The status classes; in [`RequestCount`], they follow the count of statuses without a class.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The robots with their own label; the robots seen first are used, so that no time series ends.
#[derive(Default)]
struct Names<'c>(BTreeSet<&'c str>);

impl<'c> Names<'c> {
    fn of(&mut self, robot: &'c str) -> &'c str {
        if self.0.len() < MAX_ROBOTS {
            self.0.insert(robot);
        }
        if self.0.contains(robot) {
            robot
        } else {
            OTHER_ROBOTS
        }
    }
}

/// Records the metrics of all requests since the start of the process.
pub(super) fn record(traffic: &Traffic) {
    let counted = traffic.counted();
    requests(&counted);
    statuses(&counted);
    robots(&counted);
    verdicts(&counted);
}

fn requests(counted: &[RequestCount]) {
    let mut numbers = BTreeMap::<_, u64>::new();
    for one in counted {
        let labels = (&*one.site, one.kind.as_str(), one.decision);
        *numbers.entry(labels).or_default() += one.requests();
    }
    for ((site, visitor, decision), number) in numbers {
        if number > 0 {
            counter!(
                "robot_detection_requests_total",
                "site" => site.to_owned(), "visitor" => visitor, "decision" => decision
            )
            .absolute(number);
        }
    }
}

fn statuses(counted: &[RequestCount]) {
    let mut numbers = BTreeMap::<_, u64>::new();
    for one in counted {
        for (class, number) in CLASSES.into_iter().zip(one.by_status.iter().skip(1)) {
            *numbers.entry((&*one.site, class)).or_default() += number;
        }
    }
    for ((site, class), number) in numbers {
        counter!(
            "robot_detection_responses_total", "site" => site.to_owned(), "status" => class
        )
        .absolute(number);
    }
}

fn robots(counted: &[RequestCount]) {
    let mut numbers = BTreeMap::<_, u64>::new();
    // Signers must not take the labels of listed robots.
    let (mut listed, mut signers) = (Names::default(), Names::default());
    for one in counted.iter().filter(|one| !one.robot.is_empty()) {
        let names = match (one.kind, &*one.robot) {
            (Kind::Unlisted, robot) if robot != UNLISTED => &mut signers,
            _ => &mut listed,
        };
        let labels = (names.of(&one.robot), one.decision);
        *numbers.entry(labels).or_default() += one.requests();
    }
    for ((robot, decision), number) in numbers {
        if number > 0 {
            counter!(
                "robot_detection_robot_requests_total",
                "robot" => robot.to_owned(), "decision" => decision
            )
            .absolute(number);
        }
    }
}

fn verdicts(counted: &[RequestCount]) {
    let mut numbers = BTreeMap::<_, u64>::new();
    let mut names = HashMap::<&str, Names<'_>>::new();
    for one in counted.iter().filter(|one| !one.robot.is_empty()) {
        let Some(verdict) = one.verdict.map(Verdict::as_str) else {
            continue;
        };
        // No registry lists a signer, so its verdicts are counted with the verdicts on unlisted
        // robots.
        let robot = match one.kind {
            Kind::Unlisted => UNLISTED,
            _ => &one.robot,
        };
        let robot = names.entry(&one.site).or_default().of(robot);
        *numbers.entry((&*one.site, verdict, robot)).or_default() += one.requests();
    }
    for ((site, verdict, robot), number) in numbers {
        if number > 0 {
            counter!(
                "robot_detection_verdicts_total",
                "site" => site.to_owned(), "verdict" => verdict, "robot" => robot.to_owned()
            )
            .absolute(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_beyond_the_limit_are_counted_together() {
        let robots: Vec<_> = (0..MAX_ROBOTS + 3).map(|robot| robot.to_string()).collect();
        let mut names = Names::default();
        for _ in 0..2 {
            let named: Vec<_> = robots.iter().map(|robot| names.of(robot)).collect();
            assert_eq!(named[..MAX_ROBOTS], robots[..MAX_ROBOTS]);
            assert_eq!(named[MAX_ROBOTS..], [OTHER_ROBOTS; 3]);
        }
    }
}
