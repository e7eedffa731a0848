//! A self-test that ensures that no pattern matches a browser.

use std::ops::Range;

use super::{
    agent::Place,
    matcher::{Builder, HitVisitor, Limits, Owner},
};
use crate::registry::{Pattern, Purpose, Robot, Source, Status};

/// A robot with a pattern that matches a browser.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct BrowserHit<'r> {
    /// The robot whose pattern matches a browser.
    pub robot: &'r Robot,
    /// The pattern that matches the browser.
    pub pattern: &'r Pattern,
    /// The User-Agent of the browser that the pattern matches.
    pub browser: &'static str,
}

/// Returns the User-Agents of browsers that no pattern may match.
pub fn browsers() -> impl Iterator<Item = &'static str> {
    include_str!("browsers.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Quarantines all robots with a pattern that matches a browser, and returns their number.
///
/// Robots that an administrator added are not quarantined but reported by [`browser_hits`], so that
/// the caller can log a warning. Robots that are already quarantined or unusable do not change.
/// Records of [shared User-Agents](Purpose::Shared) may match browsers.
pub fn self_test(robots: &mut [Robot]) -> usize {
    let mut quarantined = 0;
    for hit in first_hits(robots) {
        let Some(robot) = robots.get_mut(hit.robot) else {
            continue;
        };
        let pattern = robot.patterns.get(hit.pattern);
        if robot.status != Status::Active || robot.source == Source::manual() {
            continue;
        }
        robot.status = Status::Quarantined {
            pattern: pattern
                .map(|pattern| pattern.text.clone())
                .unwrap_or_default(),
            browser: hit.browser.to_owned(),
        };
        quarantined += 1;
    }
    quarantined
}

/// Returns all robots with a pattern that matches a browser, regardless of their status.
#[must_use]
pub fn browser_hits(robots: &[Robot]) -> Vec<BrowserHit<'_>> {
    let resolve = |hit: FirstHit| {
        let robot = robots.get(hit.robot)?;
        Some(BrowserHit {
            robot,
            pattern: robot.patterns.get(hit.pattern)?,
            browser: hit.browser,
        })
    };
    first_hits(robots).into_iter().filter_map(resolve).collect()
}

struct FirstHit {
    robot: usize,
    pattern: usize,
    browser: &'static str,
}

/// Returns the first match with a browser for each robot, in the order of the robots.
fn first_hits(robots: &[Robot]) -> Vec<FirstHit> {
    let mut builder = Builder::new(Limits::NONE);
    let robots_only = |(_, robot): &(usize, &Robot)| robot.purpose != Purpose::Shared;
    for (number, robot) in robots.iter().enumerate().filter(robots_only) {
        // Patterns rejected here are rejected by the detector too.
        builder.add(number, robot);
    }
    // Patterns that cannot be addressed here do not fit into a detector either.
    let Ok(matcher) = builder.build() else {
        return Vec::new();
    };
    let mut hits: Vec<Option<FirstHit>> = robots.iter().map(|_| None).collect();
    let mut ran = vec![false; matcher.regex_count()];
    for browser in browsers() {
        ran.fill(false);
        let mut visitor = EveryRobot {
            browser,
            hits: &mut hits,
            ran: &mut ran,
        };
        matcher.scan(browser.as_bytes(), &mut visitor);
    }
    hits.into_iter().flatten().collect()
}

/// A scan visitor that records one hit per robot.
struct EveryRobot<'h> {
    browser: &'static str,
    hits: &'h mut [Option<FirstHit>],
    ran: &'h mut [bool],
}

impl HitVisitor for EveryRobot<'_> {
    fn wants(&self, owner: Owner) -> bool {
        matches!(self.hits.get(owner.robot as usize), Some(None))
    }

    fn may_run(&mut self, regex: u32) -> bool {
        let ran = self.ran.get_mut(regex as usize);
        ran.is_some_and(|ran| !std::mem::replace(ran, true))
    }

    fn hit(&mut self, owner: Owner, _range: Range<usize>, _place: Place) {
        if let Some(hit) = self.hits.get_mut(owner.robot as usize) {
            *hit = Some(FirstHit {
                robot: owner.robot as usize,
                pattern: owner.pattern as usize,
                browser: self.browser,
            });
        }
    }
}
