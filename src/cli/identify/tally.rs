//! Counts hits and bytes by robot, for all kinds of summaries.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    sync::Arc,
};

use crate::access_log::Entry;
use crate::detect::{Claim, Detector, UNLISTED, Verdict};
use crate::registry::{Purpose, Robot};

use super::{args::By, input::EntrySink, proving_sink::VerdictSink};
use crate::summary::{Count, Row, Rows, Summary};

/// The maximum number of User-Agents of unlisted robots to count separately; further User-Agents
/// share a count.
///
/// A scanner may send a new User-Agent with each request, so memory use would grow with the log if
/// there were no limit.
const MAX_UNLISTED: usize = 10_000;

/// The number of leading bytes by which User-Agents are distinguished.
const MAX_USER_AGENT_BYTES: usize = 256;

/// A counter of hits and bytes whose memory use depends on the registry, not on the log.
#[derive(Debug)]
pub(in crate::cli) struct Tally<'d> {
    detector: &'d Detector,
    /// Counts by id (`None` for unlisted robots) and purpose.
    claims: HashMap<(Option<&'d str>, Purpose), RobotCount<'d>>,
    unlisted: UnlistedUserAgents,
    /// Counts by id and verdict, if claims are verified.
    verdicts: BTreeMap<(&'d str, &'static str), Count>,
    /// The verdict on the claim in the next line.
    verdict: Option<Verdict>,
    people: Count,
    /// The count of requests with a User-Agent that many people share.
    shared: Count,
    no_user_agent: Count,
    unreadable: Count,
}

/// The counts for one robot.
#[derive(Debug)]
struct RobotCount<'d> {
    /// The robot; `None` for unlisted robots.
    robot: Option<&'d Robot>,
    purpose: Purpose,
    count: Count,
}

impl<'d> Tally<'d> {
    pub(in crate::cli) fn new(detector: &'d Detector) -> Self {
        Self {
            detector,
            claims: HashMap::new(),
            unlisted: UnlistedUserAgents::default(),
            verdicts: BTreeMap::new(),
            verdict: None,
            people: Count::default(),
            shared: Count::default(),
            no_user_agent: Count::default(),
            unreadable: Count::default(),
        }
    }

    fn grouped<'t>(&'t self, name: impl Fn(&'t RobotCount<'d>) -> Option<&'t str>) -> Vec<Row> {
        let mut groups = BTreeMap::<_, Count>::new();
        for robot_count in self.claims.values() {
            groups
                .entry(name(robot_count))
                .or_default()
                .add(robot_count.count);
        }
        let row = |(name, count): (Option<&str>, Count)| Row {
            cells: vec![name.map(str::to_owned)],
            count,
        };
        groups.into_iter().map(row).collect()
    }

    fn verdict_rows(&self) -> Vec<Row> {
        let row = |(&(robot, verdict), count): (&(&str, &str), &Count)| Row {
            cells: [robot, verdict].map(|cell| Some(cell.to_owned())).to_vec(),
            count: *count,
        };
        self.verdicts.iter().map(row).collect()
    }

    fn total_rows(&self) -> Vec<Row> {
        let row = |(name, count): (&str, Count)| Row {
            cells: vec![Some(name.to_owned())],
            count,
        };
        let all = [("all", self.all())];
        self.totals().into_iter().chain(all).map(row).collect()
    }

    fn claim(&mut self, claim: &Claim<'d>, user_agent: &[u8], bytes: u64) {
        let robot = claim.robot();
        if robot.is_none() {
            self.unlisted.hit(user_agent, bytes);
        }
        if let Some(verdict) = self.verdict {
            let id = robot.map_or(UNLISTED, |robot| robot.id.as_str());
            let key = (id, verdict.as_str());
            self.verdicts.entry(key).or_default().hit(bytes);
        }
        let key = (robot.map(|robot| robot.id.as_str()), claim.purpose());
        let robot_count = self.claims.entry(key).or_insert(RobotCount {
            robot: robot.map(Arc::as_ref),
            purpose: claim.purpose(),
            count: Count::default(),
        });
        robot_count.count.hit(bytes);
    }
}

impl Summary for Tally<'_> {
    type By = By;

    /// Returns the totals by kind of line; every line, readable or not, has exactly one kind.
    fn totals(&self) -> Vec<(&'static str, Count)> {
        let (mut robots, mut unlisted) = (Count::default(), Count::default());
        for robot_count in self.claims.values() {
            match robot_count.robot {
                Some(_) => robots.add(robot_count.count),
                None => unlisted.add(robot_count.count),
            }
        }
        vec![
            ("people", self.people),
            ("shared", self.shared),
            ("robots", robots),
            ("unlisted", unlisted),
            ("no-user-agent", self.no_user_agent),
            ("unreadable", self.unreadable),
        ]
    }

    fn rows(&self, by: By) -> Rows {
        let (columns, rows) = match by {
            By::Robot => (
                ["robot", "name", "operator", "purpose", "source"].as_slice(),
                self.claims.values().map(robot_row).collect(),
            ),
            By::Operator => (
                ["operator"].as_slice(),
                self.grouped(|robot_count| robot_count.robot?.operator.as_deref()),
            ),
            By::Purpose => (
                ["purpose"].as_slice(),
                self.grouped(|robot_count| Some(robot_count.purpose.as_str())),
            ),
            By::Source => (
                ["source"].as_slice(),
                self.grouped(|robot_count| Some(robot_count.robot?.source.as_str())),
            ),
            By::Unlisted => (["user_agent"].as_slice(), self.unlisted.rows()),
            By::Verdict => (["robot", "verdict"].as_slice(), self.verdict_rows()),
            By::Total => (["total"].as_slice(), self.total_rows()),
        };
        let mut rows = Rows { columns, rows };
        // Totals are not sorted, so that they add up in the order shown.
        if by != By::Total {
            rows.sort();
        }
        rows
    }
}

impl EntrySink for Tally<'_> {
    fn entry(&mut self, entry: Option<Entry<'_>>) -> io::Result<()> {
        let Some(entry) = entry else {
            self.unreadable.hit(0);
            return Ok(());
        };
        let Some(user_agent) = entry.user_agent else {
            self.no_user_agent.hit(entry.bytes);
            return Ok(());
        };
        match self.detector.claim(user_agent) {
            Some(Claim::Shared(_)) => self.shared.hit(entry.bytes),
            Some(Claim::Nameless) => self.no_user_agent.hit(entry.bytes),
            None | Some(Claim::Person) => self.people.hit(entry.bytes),
            Some(claim) => self.claim(&claim, user_agent, entry.bytes),
        }
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl VerdictSink for Tally<'_> {
    fn verdict(&mut self, verdict: Option<Verdict>) {
        self.verdict = verdict;
    }
}

fn robot_row(robot_count: &RobotCount<'_>) -> Row {
    let robot = robot_count.robot;
    let id = robot.map_or(UNLISTED, |robot| &robot.id);
    Row {
        cells: vec![
            Some(id.to_owned()),
            robot.map(|robot| robot.name.clone()),
            robot.and_then(|robot| robot.operator.clone()),
            Some(robot_count.purpose.as_str().to_owned()),
            robot.map(|robot| robot.source.to_string()),
        ],
        count: robot_count.count,
    }
}

/// A counter of User-Agents that uses at most a few megabytes of memory.
#[derive(Debug, Default)]
struct UnlistedUserAgents {
    names: HashMap<Box<[u8]>, Count>,
    others: Count,
}

impl UnlistedUserAgents {
    pub(super) fn hit(&mut self, user_agent: &[u8], bytes: u64) {
        let name = user_agent.get(..MAX_USER_AGENT_BYTES).unwrap_or(user_agent);
        if let Some(count) = self.names.get_mut(name) {
            count.hit(bytes);
        } else if self.names.len() < MAX_UNLISTED {
            self.names.insert(name.into(), Count { hits: 1, bytes });
        } else {
            self.others.hit(bytes);
        }
    }

    /// Returns a row for each User-Agent, and a row without a name for all other User-Agents.
    pub(super) fn rows(&self) -> Vec<Row> {
        let named = self.names.iter().map(|(name, count)| Row {
            cells: vec![Some(String::from_utf8_lossy(name).into_owned())],
            count: *count,
        });
        let others = (self.others.hits > 0).then_some(Row {
            cells: vec![None],
            count: self.others,
        });
        named.chain(others).collect()
    }
}

/// A detector, and a log with known counts.
#[cfg(test)]
pub(in crate::cli) mod sample {
    use super::*;
    use crate::access_log::Parser;
    use crate::registry::{Pattern, PatternKind, Source};

    pub(in crate::cli) fn detector() -> Detector {
        let robot = |id: &str, operator: Option<&str>, purpose| {
            let mut robot = Robot::new(id, Source::bundled());
            robot.patterns.push(Pattern::new(PatternKind::Token, id));
            robot.operator = operator.map(str::to_owned);
            robot.purpose = purpose;
            Arc::new(robot)
        };
        Detector::new([
            robot("alphabot", Some("Alpha"), Purpose::Search),
            robot("alphapreview", Some("Alpha"), Purpose::Preview),
            robot("betabot", Some("=Beta, \"B\""), Purpose::Search),
            robot("gammabot", None, Purpose::Search),
        ])
        .unwrap()
    }

    pub(in crate::cli) fn fill(tally: &mut Tally<'_>) {
        let mut parser = Parser::combined();
        for (user_agent, bytes, times) in [
            ("alphabot/1", 100, 4),
            ("alphapreview/1", 10, 1),
            ("betabot/1", 300, 1),
            ("gammabot/1", 0, 2),
            ("Firefox", 1_000, 10),
            ("-", 5, 1),
        ] {
            let line = format!("a - - [t] \"GET /\" 200 {bytes} \"-\" \"{user_agent}\"");
            for _ in 0..times {
                tally.entry(parser.read(line.as_bytes())).unwrap();
            }
        }
        tally.entry(None).unwrap();
    }
}

#[cfg(test)]
mod tests;
