//! First pass over logs: finds suspects, and collects the robots' claims.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use robot_detection_fleets::{Closed, Flags, Fleets, Observation};
use robot_detection_layer::detect::{Detector, Kind, Verdict};
use robot_detection_layer::registry::Robot;
use robot_detection_robots_txt::{RobotRules, RobotsTxt};

use crate::access_log::Record;

use super::{counter::Agents, merge::RequestSink};

/// Seconds of log time between two evaluations of the visitors.
const JUDGED_S: u64 = 60;

/// The minimum backward jump of the log's time, in seconds, that is treated as a clock correction.
const CLOCK_S: i64 = 2 * 86_400;

/// The fixed seed of the sketches, so that a log always produces the same results; not a secret.
const SEED: u64 = 0;

/// The maximum number of robot addresses to verify; further claims remain unverified.
const MAX_CLAIMS: usize = 500_000;

/// Seconds before a client was flagged during which its requests are also from a suspect.
const BEFORE_S: i64 = 3_600;

/// Robots by ID and client address.
pub type Claims<'d> = HashMap<(&'d str, IpAddr), &'d Arc<Robot>>;

/// The suspects and verdicts found in logs.
#[derive(Debug)]
pub struct Findings<'d> {
    /// All fleets, addresses and networks that were flagged at any time.
    pub flags: Flags,
    /// Verdicts by robot and client address.
    pub verdicts: HashMap<(&'d str, IpAddr), Verdict>,
    /// The number of human requests that were evaluated.
    pub judged: u64,
    /// The number of human requests without a client address.
    pub without_client: u64,
    /// The number of evaluated requests with a referrer.
    pub referred: u64,
    /// The number of requests older by more than one window than requests already read.
    pub late: u64,
}

/// A request as the evaluation of suspects sees it; `None` unless it is for a page or an asset.
fn observation<'a>(record: &Record<'a>, time_s: i64) -> Option<Observation<'a>> {
    // Form submissions and requests with other methods are not page views.
    let is_view = matches!(record.method, b"" | b"GET" | b"HEAD");
    if !is_view || !record.target.starts_with(b"/") {
        return None;
    }
    Some(Observation {
        at_s: time_s,
        user_agent: record.user_agent?,
        address: record.address()?,
        target: record.target,
        status: record.status,
        has_referrer: !record.referrer.is_empty(),
        ..Observation::default()
    })
}

impl Findings<'_> {
    /// Returns `true` if the request is from a suspect, also if the suspect was flagged later.
    pub(super) fn is_suspect(&self, record: &Record<'_>, time_s: i64) -> bool {
        if self.flags.is_empty() {
            return false;
        }
        let Some(seen) = observation(record, time_s) else {
            return false;
        };
        let is_during = |since_s: i64, until_s: i64| {
            (since_s.saturating_sub(BEFORE_S)..=until_s).contains(&time_s)
        };
        let fleet = self.flags.fleet_for(&seen);
        let conduct = || self.flags.conduct(seen.address);
        fleet.is_some_and(|fleet| is_during(fleet.since_s, fleet.until_s))
            || conduct().is_some_and(|one| is_during(one.since_s, one.until_s))
    }
}

/// A sink that finds suspects and collects claims.
#[derive(Debug)]
pub struct Finder<'d> {
    agents: Agents<'d>,
    robots_txt: Option<RobotRules>,
    fleets: Fleets,
    findings: Findings<'d>,
    /// Claims to verify; `None` if claims are not verified.
    claims: Option<Claims<'d>>,
    /// The time of the most recent evaluation.
    judged_s: i64,
    now_s: i64,
}

impl<'d> Finder<'d> {
    /// Creates a sink; collects claims only if `verifies`.
    pub fn new(detector: &'d Detector, robots_txt: Option<&RobotsTxt>, verifies: bool) -> Self {
        Self {
            agents: Agents::new(detector),
            robots_txt: robots_txt.map(|file| file.for_header("")),
            findings: Findings {
                // Evaluated apart: time 0 would be the first window of the log.
                flags: Fleets::new(SEED).judge(0),
                verdicts: HashMap::new(),
                judged: 0,
                without_client: 0,
                referred: 0,
                late: 0,
            },
            fleets: Fleets::new(SEED),
            claims: verifies.then(HashMap::new),
            judged_s: i64::MIN,
            now_s: i64::MIN,
        }
    }

    /// Ends the evaluation; returns the findings, and the claims to verify.
    pub fn finish(mut self) -> (Findings<'d>, Claims<'d>) {
        if self.findings.judged > 0 {
            self.judge(self.now_s);
        }
        (self.findings, self.claims.unwrap_or_default())
    }

    fn judge(&mut self, at_s: i64) {
        self.judged_s = at_s;
        let flags = self.fleets.judge(at_s);
        self.findings.flags.add(&flags);
    }

    fn observe(&mut self, record: &Record<'_>, time_s: i64) {
        let Some(mut seen) = observation(record, time_s) else {
            self.findings.without_client += u64::from(record.address().is_none());
            return;
        };
        if let Some(rules) = &self.robots_txt {
            let target = String::from_utf8_lossy(record.target);
            seen.closed = (!rules.check(&target).allowed()).then_some(Closed::Path);
        }
        self.findings.judged += 1;
        self.findings.referred += u64::from(seen.has_referrer);
        self.fleets.observe(&seen);
        self.findings.late += u64::from(time_s < self.now_s.saturating_sub(600));
        // A single line with a time in the future must not prevent the evaluation of later lines.
        let is_set_back = time_s < self.now_s.saturating_sub(CLOCK_S);
        self.now_s = if is_set_back {
            time_s
        } else {
            self.now_s.max(time_s)
        };
        if self.now_s.abs_diff(self.judged_s) >= JUDGED_S {
            self.judge(self.now_s);
        }
    }
}

impl RequestSink for Finder<'_> {
    fn request(&mut self, record: &Record<'_>, time_s: i64) {
        let (visitor, _) = self.agents.visitor(record.user_agent);
        let (kind, robot) = (visitor.kind, visitor.robot);
        if kind == Kind::Person {
            self.observe(record, time_s);
        } else if let (Some(claims), Some(robot)) = (&mut self.claims, robot)
            && claims.len() < MAX_CLAIMS
            && let Some(address) = record.address()
        {
            claims.insert((robot.id.as_str(), address), robot);
        }
    }
}
