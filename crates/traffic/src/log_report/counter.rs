//! Second pass over logs: counts each request once.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use robot_detection_layer::detect::{Claim, Detector, Kind, UNLISTED, Verdict};
use robot_detection_layer::policy::Action;
use robot_detection_layer::registry::{Purpose, Robot};
use robot_detection_robots_txt::{RobotRules, RobotsTxt};
use robot_detection_store::store::{AddressRetention, TrafficCount, TrafficKey, TrafficSum};

use crate::access_log::Record;
use crate::summary::Count;
use crate::traffic::{Class, MARKED, Parameters, client_network};

use super::{
    findings::Findings,
    merge::RequestSink,
    pages::{Pages, folder, page},
};

/// The maximum number of User-Agents to count separately.
// A scanner may send a new User-Agent with each request, so memory would grow with the log.
const MAX_AGENTS: usize = 50_000;

/// The maximum length of a User-Agent to count separately, in bytes.
const MAX_AGENT_BYTES: usize = 1_024;

/// The maximum numbers of hosts, of words in logs of this program, of hours and of networks.
const MAX_NAMES: usize = 10_000;

/// The number of requests from robots that are kept as a sample.
const SAMPLE: u64 = 1_000;

/// The maximum length of a host or word, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// The word stored for a request without a verdict.
const NO_VERDICT: &str = "none";

/// A kind of visitor, or a robot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visitor<'d> {
    pub(super) kind: Kind,
    pub(super) robot: Option<&'d Arc<Robot>>,
}

/// The visitors behind User-Agents; each User-Agent is identified once.
#[derive(Debug)]
pub(super) struct Agents<'d> {
    detector: &'d Detector,
    numbers: HashMap<Box<[u8]>, usize, RandomState>,
    /// The visitor of each User-Agent, with its requests.
    visitors: Vec<(Visitor<'d>, Count)>,
}

impl<'d> Agents<'d> {
    pub(super) fn new(detector: &'d Detector) -> Self {
        Self {
            detector,
            numbers: HashMap::default(),
            visitors: Vec::new(),
        }
    }

    /// Returns the visitor that sends a User-Agent, and the User-Agent's number.
    pub(super) fn visitor(&mut self, user_agent: Option<&[u8]>) -> (Visitor<'d>, Option<usize>) {
        let Some(user_agent) = user_agent else {
            let (kind, robot) = (Kind::Nameless, None);
            return (Visitor { kind, robot }, None);
        };
        if let Some(number) = self.numbers.get(user_agent)
            && let Some((visitor, _)) = self.visitors.get(*number)
        {
            return (*visitor, Some(*number));
        }
        let claim = self.detector.claim(user_agent);
        let visitor = Visitor {
            kind: claim.as_ref().map_or(Kind::Person, Claim::kind),
            robot: claim.as_ref().and_then(Claim::robot),
        };
        if self.visitors.len() >= MAX_AGENTS || user_agent.len() > MAX_AGENT_BYTES {
            return (visitor, None);
        }
        let number = self.visitors.len();
        self.numbers.insert(user_agent.into(), number);
        self.visitors.push((visitor, Count::default()));
        (visitor, Some(number))
    }

    /// Returns the visitor of a request, the request's class, and the verdict on the claim.
    pub(super) fn classify(
        &mut self,
        record: &Record<'_>,
        time_s: i64,
        findings: &Findings<'_>,
    ) -> (Visitor<'d>, Class, Option<Verdict>) {
        let (visitor, number) = self.visitor(record.user_agent);
        if let Some((_, count)) = number.and_then(|number| self.visitors.get_mut(number)) {
            count.hit(record.bytes.unwrap_or(0));
        }
        let is_suspect = visitor.kind == Kind::Person && findings.is_suspect(record, time_s);
        let claim = visitor.robot.filter(|_| !findings.verdicts.is_empty());
        let claim = claim.and_then(|robot| Some((robot.id.as_str(), record.address()?)));
        let verdict = claim.and_then(|claim| findings.verdicts.get(&claim).copied());
        let is_spoofed = match verdict {
            Some(verdict) => verdict == Verdict::Spoofed,
            None => record.verdict == Verdict::Spoofed.as_str().as_bytes(),
        };
        let purpose = visitor
            .robot
            .map_or(Purpose::Unknown, |robot| robot.purpose);
        let class = Class::new(visitor.kind, purpose, is_spoofed, is_suspect);
        (visitor, class, verdict)
    }
}

/// The attributes by which requests are counted.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Key<'d> {
    kind: Kind,
    robot: Option<&'d str>,
    is_suspect: bool,
    status: u8,
    /// Numbers of names: the host, and the words in logs of this program.
    host: u32,
    decision: u32,
    verdict: u32,
}

/// The requests of an hour.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hour {
    /// Number of requests from people.
    pub people: u64,
    /// Number of requests from suspects.
    pub suspects: u64,
    /// Number of requests from robots.
    pub robots: u64,
    /// Number of bytes sent.
    pub bytes: u64,
}

/// A request from a robot that is kept as an example.
#[derive(Clone, Debug)]
pub struct SampledRequest {
    /// HTTP method.
    pub method: String,
    /// Requested host, if the log contains hosts.
    pub host: Option<String>,
    /// Path and query.
    pub target: String,
    /// User-Agent; empty if the request had none.
    pub user_agent: Vec<u8>,
}

impl SampledRequest {
    /// Returns the request of a log line; `None` if the line contains no path.
    pub fn from_record(record: &Record<'_>) -> Option<Self> {
        let text = |field| Record::text(field).map(Cow::into_owned);
        Some(Self {
            method: text(record.method).unwrap_or_else(|| "GET".to_owned()),
            host: text(record.host),
            target: text(record.target).filter(|target| target.starts_with('/'))?,
            user_agent: record.user_agent.unwrap_or_default().to_vec(),
        })
    }
}

impl Hour {
    /// Adds the requests of another hour.
    pub fn add(&mut self, other: &Self) {
        self.people += other.people;
        self.suspects += other.suspects;
        self.robots += other.robots;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Adds one request with the size of its response.
    pub(super) fn hit(&mut self, class: Class, bytes: u64) {
        *self.requests_mut(class) += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Returns the number of requests of a class's group: suspects, people or robots.
    pub fn requests_mut(&mut self, class: Class) -> &mut u64 {
        match class {
            Class::Suspect => &mut self.suspects,
            Class::Shared | Class::People => &mut self.people,
            _ => &mut self.robots,
        }
    }

    /// Returns the number of all requests.
    pub fn requests(&self) -> u64 {
        self.people + self.suspects + self.robots
    }
}

/// A counter whose memory use does not grow with the logs.
#[derive(Debug)]
pub struct Counter<'d> {
    agents: Agents<'d>,
    findings: &'d Findings<'d>,
    counts: HashMap<Key<'d>, Count, RandomState>,
    names: HashMap<Box<[u8]>, u32, RandomState>,
    /// The hour of the last request, which most requests share.
    hour: Option<(i64, Hour)>,
    /// Requests by hour since 1970.
    pub hours: BTreeMap<i64, Hour>,
    /// Most requested pages.
    pub pages: Pages,
    /// Most requested folders: the first two segments of paths.
    pub folders: Pages,
    /// Query parameters in the requests of robots.
    pub parameters: Parameters,
    robots_txt: Option<&'d RobotsTxt>,
    rules: HashMap<(&'d str, Kind), RobotRules>,
    /// The number of requests that robots.txt disallows, by robot.
    pub disallowed: HashMap<&'d str, u64>,
    /// The networks of impostors, with the numbers of their requests.
    pub impostors: HashMap<(&'d str, String), u64>,
    /// A random sample of the requests from robots.
    pub sample: Vec<SampledRequest>,
    robots: u64,
    /// The times of the first and the last request, in seconds since 1970.
    pub times_s: Option<(i64, i64)>,
    is_full: bool,
}

impl<'d> Counter<'d> {
    /// Creates a counter; keeps queries and whole addresses only if `is_full`.
    pub fn new(
        detector: &'d Detector,
        findings: &'d Findings<'d>,
        robots_txt: Option<&'d RobotsTxt>,
        is_full: bool,
    ) -> Self {
        let mut counter = Self {
            agents: Agents::new(detector),
            findings,
            counts: HashMap::default(),
            names: HashMap::default(),
            hour: None,
            hours: BTreeMap::new(),
            pages: Pages::default(),
            folders: Pages::default(),
            parameters: Parameters::default(),
            robots_txt,
            rules: HashMap::new(),
            disallowed: HashMap::new(),
            impostors: HashMap::new(),
            sample: Vec::new(),
            robots: 0,
            times_s: None,
            is_full,
        };
        // The number 0 stands for a missing name, and for all names beyond the maximum.
        counter.names.insert(Box::default(), 0);
        counter
    }

    /// Returns the counts by key; the `cause` of suspects is the word that servers store.
    pub fn sums(&self) -> Vec<TrafficSum> {
        let mut names = vec![""; self.names.len()];
        for (name, number) in &self.names {
            if let Some(place) = names.get_mut(*number as usize) {
                *place = str::from_utf8(name).unwrap_or_default();
            }
        }
        let named = |number: u32, missing: &'static str| {
            let name = names.get(number as usize).copied().unwrap_or_default();
            if name.is_empty() { missing } else { name }.to_owned()
        };
        let sum = |(key, count): (&Key<'_>, &Count)| {
            let unlisted = if key.kind == Kind::Unlisted {
                UNLISTED
            } else {
                ""
            };
            TrafficSum::new(
                TrafficKey {
                    site: named(key.host, ""),
                    kind: key.kind.as_str().to_owned(),
                    robot: key.robot.unwrap_or(unlisted).to_owned(),
                    verdict: named(key.verdict, NO_VERDICT),
                    decision: named(key.decision, Action::Pass.as_str()),
                    cause: if key.is_suspect { MARKED } else { "" }.to_owned(),
                    status: key.status,
                },
                TrafficCount {
                    requests: count.hits,
                    bytes: count.bytes,
                    micros: 0,
                },
            )
        };
        self.counts.iter().map(sum).collect()
    }

    /// Returns the User-Agents of unlisted robots, with their requests.
    pub fn unlisted(&self) -> impl Iterator<Item = (&[u8], Count)> {
        self.agents.numbers.iter().filter_map(|(name, number)| {
            let (visitor, count) = self.agents.visitors.get(*number)?;
            (visitor.kind == Kind::Unlisted).then_some((&**name, *count))
        })
    }

    /// Ends the last hour.
    pub fn finish(&mut self) {
        let Some((hour, counted)) = self.hour.take() else {
            return;
        };
        if self.hours.len() >= MAX_NAMES && !self.hours.contains_key(&hour) {
            return;
        }
        self.hours.entry(hour).or_default().add(&counted);
    }

    /// Returns the number of a name; 0 if the name is empty or if there are too many.
    fn number(&mut self, name: &[u8]) -> u32 {
        // Most logs contain no hosts, decisions or verdicts.
        if name.is_empty() {
            return 0;
        }
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(0);
        if self.names.len() >= MAX_NAMES || name.len() > MAX_NAME_BYTES {
            return 0;
        }
        self.names.insert(name.into(), number);
        number
    }

    /// Counts the query parameters of a robot's request for a page.
    fn add_parameters(&mut self, visitor: Visitor<'d>, record: &Record<'_>) {
        let robot = visitor
            .robot
            .map_or(visitor.kind.as_str(), |robot| robot.id.as_str());
        let target = record.target.split(|byte| *byte == b'#').next();
        let mut parts = target.unwrap_or_default().splitn(2, |byte| *byte == b'?');
        let page = String::from_utf8_lossy(parts.next().unwrap_or_default());
        let network = record.address().map(client_network);
        let query = parts.next().unwrap_or_default();
        self.parameters.add(robot, &page, query, network);
        self.parameters.add_requests(robot, &page, 1);
    }

    /// Counts what only robots have: the answer of robots.txt, the impostors' networks, a sample.
    fn add_robot(&mut self, visitor: Visitor<'d>, record: &Record<'_>, is_spoofed: bool) {
        let id = visitor
            .robot
            .map_or(visitor.kind.as_str(), |robot| robot.id.as_str());
        if is_spoofed
            && let Some(address) = record.address()
            && self.impostors.len() < MAX_NAMES
        {
            let kept = if self.is_full {
                AddressRetention::Whole
            } else {
                AddressRetention::Networks
            };
            let network = kept.stored_form(address, false);
            *self.impostors.entry((id, network)).or_default() += 1;
        }
        if let Some(file) = self.robots_txt {
            let rules = self.rules.entry((id, visitor.kind)).or_insert_with(|| {
                let user_agent = record.user_agent.unwrap_or_default();
                file.for_header(&String::from_utf8_lossy(user_agent))
            });
            let target = String::from_utf8_lossy(record.target);
            if !rules.check(&target).allowed() {
                *self.disallowed.entry(id).or_default() += 1;
            }
        }
        self.robots += 1;
        // Reservoir sampling: each request has the same chance to be in the sample.
        let place = if self.robots <= SAMPLE {
            self.robots - 1
        } else {
            fastrand::u64(..self.robots)
        };
        if place < SAMPLE
            && let Some(request) = SampledRequest::from_record(record)
        {
            let place = usize::try_from(place).unwrap_or(usize::MAX);
            match self.sample.get_mut(place) {
                Some(sampled) => *sampled = request,
                None => self.sample.push(request),
            }
        }
    }
}

impl RequestSink for Counter<'_> {
    fn request(&mut self, record: &Record<'_>, time_s: i64) {
        let bytes = record.bytes.unwrap_or(0);
        let (visitor, class, verdict) = self.agents.classify(record, time_s, self.findings);
        let found = verdict.map_or(record.verdict, |verdict| verdict.as_str().as_bytes());
        let key = Key {
            kind: visitor.kind,
            robot: visitor.robot.map(|robot| robot.id.as_str()),
            is_suspect: class == Class::Suspect,
            status: u8::try_from(record.status / 100).unwrap_or(0),
            host: self.number(record.host),
            decision: self.number(record.decision),
            verdict: self.number(found),
        };
        self.counts.entry(key).or_default().hit(bytes);
        let hour = time_s.div_euclid(3_600);
        if self.hour.is_some_and(|(last, _)| last != hour) {
            self.finish();
        }
        let (_, counted) = self.hour.get_or_insert((hour, Hour::default()));
        counted.hit(class, bytes);
        if let Some(page) = page(record.target, self.is_full) {
            self.pages.add(page, class, bytes);
            let folder = folder(page);
            self.folders.add(folder, class, bytes);
            if !visitor.kind.is_human() {
                self.add_parameters(visitor, record);
            }
        }
        let (first, last) = self.times_s.unwrap_or((time_s, time_s));
        self.times_s = Some((first.min(time_s), last.max(time_s)));
        if !visitor.kind.is_human() {
            self.add_robot(visitor, record, class == Class::Impostor);
        }
    }
}
