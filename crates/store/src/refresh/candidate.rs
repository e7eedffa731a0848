//! Parsed registry that has not been accepted yet.

use super::{
    judge::Sizes,
    record::{bounded, bounded_lines},
};
use robot_detection_layer::detect::self_test;
use robot_detection_layer::registry::{Format, ParseError, Robot, Skipped, Source, Status, parse};

/// A registry that has been parsed and tested, but not accepted yet.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) robots: Vec<Robot>,
    pub(super) records: u64,
    pub(super) skipped: u64,
    pub(super) quarantined: u64,
    pub(super) unusable: u64,
    pub(super) problems: Vec<String>,
}

impl Candidate {
    /// Parses and tests a registry document. This function blocks for a while, so it must not be
    /// called on a runtime thread.
    ///
    /// `testing` is called with the number of robots, before the robots are tested.
    pub(super) fn read(
        format: Format,
        bytes: &[u8],
        source: &Source,
        testing: impl FnOnce(u64),
    ) -> Result<Self, ParseError> {
        let parsed = parse(format, bytes, source)?;
        let mut robots = parsed.robots;
        testing(robots.len() as u64);
        self_test(&mut robots);
        let problems = problems(&parsed.skipped, &robots);
        Ok(Self {
            records: parsed.records.max(robots.len()) as u64,
            skipped: parsed.records.saturating_sub(robots.len()) as u64,
            quarantined: count(&robots, |s| matches!(s, Status::Quarantined { .. })),
            unusable: count(&robots, |s| matches!(s, Status::Unusable { .. })),
            problems,
            robots,
        })
    }

    pub(super) fn sizes(&self) -> Sizes {
        sizes(&self.robots)
    }
}

pub(super) fn sizes<'r>(robots: impl IntoIterator<Item = &'r Robot>) -> Sizes {
    robots
        .into_iter()
        .fold(Sizes::default(), |so_far, robot| Sizes {
            robots: so_far.robots + 1,
            active: so_far.active + u64::from(robot.is_active()),
        })
}

fn count(robots: &[Robot], is: impl Fn(&Status) -> bool) -> u64 {
    robots.iter().filter(|robot| is(&robot.status)).count() as u64
}

/// Returns one line for each skipped record and each inactive robot.
fn problems(skipped: &[Skipped], robots: &[Robot]) -> Vec<String> {
    let skipped = skipped.iter().map(|skipped| match skipped.line {
        0 => format!("{}: {}", bounded(&skipped.what, 80), skipped.reason),
        line => format!(
            "line {line}: {}: {}",
            bounded(&skipped.what, 80),
            skipped.reason
        ),
    });
    let idle = robots.iter().filter_map(|robot| {
        let id = bounded(&robot.id, 80);
        match &robot.status {
            Status::Active => None,
            Status::Quarantined { pattern, browser } => Some(format!(
                "{id}: quarantined: {:?} matches the browser {browser}",
                bounded(pattern, 60)
            )),
            Status::Unusable { reason } => Some(format!("{id}: unusable: {reason}")),
        }
    });
    bounded_lines(skipped.chain(idle))
}
