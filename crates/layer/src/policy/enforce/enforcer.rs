//! Asks the robots.txt in force about the requests of robots.

use std::{
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::ArcSwap;

use crate::detect::{Claim, Kind};
use crate::policy::{
    Judgement, PassReason, Policy, Request, SharedRobotsFiles, Step, Visitor,
    decision::Trace,
    path::{PathReading, is_odd, resolved},
};
use robot_detection_robots_txt::{ForRobot, Permission, RobotsTxt};

use super::{
    answer::{Answer, Breach, CountedBreach, visible},
    records::{Records, Report, RobotCount, Violations},
    resolved::{ResolvedFile, ResolvedFiles, ResolvedRobot, rate},
    sentences::{exempt, group_name, refused, refused_heaven, rule_text, said, told},
    settings::{Enforce, Enforcement, Refusal},
};

/// Characters of the names of a group that are kept.
const MAX_GROUP_CHARS: usize = 200;

/// Name of the steps.
const STEP: &str = "robots.txt";

/// Holder of robots to the robots.txt in force; clones share everything.
///
/// It asks no file about a person, and about a robot's request that passes it
/// takes no lock and allocates nothing, but for the first of each robot, for
/// a URL with escapes, and for the `Crawl-delay` of an unlisted robot.
#[derive(Clone, Default)]
pub struct Enforcer {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    settings: ArcSwap<Enforcement>,
    files: SharedRobotsFiles,
    resolved: ResolvedFiles,
    records: Mutex<Records>,
}

/// Request of a robot.
#[derive(Clone, Copy, Debug)]
pub struct RobotRequest<'v> {
    /// What the policy looks at.
    pub request: Request<'v>,
    /// Path as received, with the query.
    pub target: &'v str,
    /// Robot that the request claims to come from.
    pub visitor: Visitor<'v>,
    /// The header that makes the claim.
    pub user_agent: &'v [u8],
    /// Address that the request comes from, where that is known.
    pub client: Option<IpAddr>,
}

/// What is found about a request, and why; nothing is counted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// Steps in the order in which they were taken.
    pub steps: Vec<Step>,
    /// What the request breaks; a crawl-delay is not looked at.
    pub breach: Option<Breach>,
    /// How a running server would answer it, outside of a dry run.
    pub answer: Answer,
}

impl Enforcer {
    /// Creates one that holds robots to files, whatever replaces them.
    #[must_use]
    pub fn new(files: SharedRobotsFiles, settings: Enforcement) -> Self {
        Self {
            inner: Arc::new(Inner {
                settings: ArcSwap::from_pointee(settings),
                files,
                ..Inner::default()
            }),
        }
    }

    /// Returns the files that robots are held to.
    #[must_use]
    pub fn files(&self) -> &SharedRobotsFiles {
        &self.inner.files
    }

    /// Returns the settings in force.
    #[must_use]
    pub fn settings(&self) -> Enforcement {
        **self.inner.settings.load()
    }

    /// Replaces the settings.
    pub fn replace_settings(&self, settings: Enforcement) {
        self.inner.settings.store(Arc::new(settings));
    }

    /// Lets a request pass that is for a page which robots.txt names for robots.
    ///
    /// These are the pages of its `Sitemap` and `License` lines on the host that is
    /// asked, each by its very path and query, a hundred at most. `asked` tells host and
    /// path with query, where anything but a pass was decided.
    pub(crate) fn unless_named<'p, 'r>(
        &self,
        judgement: Judgement<'p>,
        asked: impl FnOnce() -> (Option<&'r str>, &'r str),
    ) -> Judgement<'p> {
        if judgement.is_felt() {
            let (host, target) = asked();
            if self.names(host, target) {
                return Judgement::pass(PassReason::NeverFiltered);
            }
        }
        judgement
    }

    /// Returns `true` if the robots.txt in force names a page for robots.
    pub(in crate::policy) fn names(&self, host: Option<&str>, target: &str) -> bool {
        let file = self.file(host);
        file.is_some_and(|file| file.named.contains(host, target))
    }

    /// Holds a request that is not redirected to robots.txt; a breach is counted.
    ///
    /// A page of robot heaven is refused only to robots that the site refuses everything.
    /// `now_ms` tells the time in milliseconds since 1970 where it is needed.
    #[must_use]
    pub fn hold(
        &self,
        policy: &Policy,
        visit: &RobotRequest<'_>,
        now_ms: impl Fn() -> i64,
    ) -> Option<CountedBreach> {
        let settings = self.settings();
        if settings.is_off() || visit.visitor.claims_nothing() {
            return None;
        }
        // Not before: it has to read the path.
        match exemption(policy, &visit.request, visit.visitor) {
            None => {}
            Some(PassReason::Heaven) => return self.hold_redirected(policy, visit, now_ms),
            Some(_) => return None,
        }
        let file = self.file(visit.request.host)?;
        let breach = breach(settings, &file, visit, policy.reading, &now_ms)?;
        Some(self.record(policy, visit, &file.file, breach, settings, now_ms()))
    }

    /// Turns a robot away from robot heaven that the site refuses everything; it is counted.
    ///
    /// `visit` is for a page of heaven, or for one from which the robot would be sent there.
    #[must_use]
    pub fn hold_redirected(
        &self,
        policy: &Policy,
        visit: &RobotRequest<'_>,
        now_ms: impl Fn() -> i64,
    ) -> Option<CountedBreach> {
        let settings = self.settings();
        let (request, target) = (&visit.request, visit.target);
        let (file, breach) =
            self.refused_everything(policy, settings, request, target, visit.visitor)?;
        Some(self.record(policy, visit, &file.file, breach, settings, now_ms()))
    }

    /// Returns the breach of a robot that the site refuses everything, robot heaven too, and the file in force.
    ///
    /// Where the refusal is the redirect to heaven, heaven is open.
    fn refused_everything(
        &self,
        policy: &Policy,
        settings: Enforcement,
        request: &Request<'_>,
        target: &str,
        visitor: Visitor<'_>,
    ) -> Option<(Arc<ResolvedFile>, Breach)> {
        if settings.rules == Enforce::Off
            || settings.refusal == Refusal::Redirect
            || visitor.claims_nothing()
        {
            return None;
        }
        let file = self.file(request.host)?;
        let reason = file.refused.reason(visitor.claim.robot()?)?;
        let is_open = policy.allows(visitor) || file.named.contains(request.host, target);
        (!is_open).then_some((file, Breach::Refused(reason)))
    }

    /// Returns what the robots.txt in force says of a path that it closes to somebody.
    ///
    /// Nobody is held to it by this, and nothing is counted.
    #[must_use]
    pub(crate) fn said_of(
        &self,
        host: Option<&str>,
        target: &str,
        claim: &Claim<'_>,
        user_agent: &[u8],
    ) -> Option<CountedBreach> {
        let file = self.file(host)?;
        let robot = file.of_claim(claim, user_agent);
        let breach = disallowed(&check(&robot, target, PathReading::default()).0)?;
        Some(CountedBreach {
            answer: Answer::Pass,
            would: Answer::Pass,
            group: group_of(&file.file, &breach),
            breach,
            is_new: false,
        })
    }

    /// Finds what [`hold_redirected`](Self::hold_redirected) would find, if anything, and says why; nothing is
    /// counted.
    pub(in crate::policy) fn explain_redirected(
        &self,
        policy: &Policy,
        request: &Request<'_>,
        target: &str,
        visitor: Visitor<'_>,
    ) -> Option<Finding> {
        let settings = self.settings();
        let (_, breach) = self.refused_everything(policy, settings, request, target, visitor)?;
        let answer = answer(policy, request, &breach, settings);
        let mut steps = Vec::new();
        steps.step(STEP, || refused_heaven(&breach));
        steps.step(STEP, || said(answer, settings));
        Some(Finding {
            steps,
            breach: Some(breach),
            answer,
        })
    }

    /// Finds what [`hold`](Self::hold) would find, and says why; nothing is counted.
    ///
    /// `visitor` is the robot that `user_agent` names, if any; `target` is the path
    /// with its query. Where no file is in force there is nothing to say.
    #[must_use]
    pub fn explain(
        &self,
        policy: &Policy,
        request: &Request<'_>,
        target: &str,
        visitor: Option<Visitor<'_>>,
        user_agent: &[u8],
    ) -> Finding {
        let mut steps = Vec::new();
        let settings = self.settings();
        if let Some(visitor) = visitor
            && exemption(policy, request, visitor) == Some(PassReason::Heaven)
            && let Some(finding) = self.explain_redirected(policy, request, target, visitor)
        {
            return finding;
        }
        let breach = self.file(request.host).and_then(|file| {
            let visitor = judge_visitor(policy, settings, request, visitor, &mut steps)?;
            if file.named.contains(request.host, target) {
                steps.step(STEP, || exempt(PassReason::NeverFiltered).to_owned());
                return None;
            }
            let robot = file.of_claim(visitor.claim, user_agent);
            let (verdict, read_as) = check(&robot, target, policy.reading);
            steps.step(STEP, || told(&file.file, &verdict, read_as.as_deref()));
            let reason = robot.refused.filter(|_| verdict.allowed());
            if let Some(reason) = reason {
                steps.step(STEP, || refused(reason));
            }
            disallowed(&verdict).or(reason.map(Breach::Refused))
        });
        let answer = breach
            .as_ref()
            .map(|breach| answer(policy, request, breach, settings));
        if let Some(answer) = answer {
            steps.step(STEP, || said(answer, settings));
        }
        Finding {
            steps,
            breach,
            answer: answer.unwrap_or(Answer::Pass),
        }
    }

    /// Returns the rules of a file that are about the robot of a claim.
    #[must_use]
    pub fn rules_of(file: &RobotsTxt, claim: &Claim<'_>, user_agent: &[u8]) -> ForRobot {
        let file = ResolvedFile::new(file.clone());
        file.of_claim(claim, user_agent).rules.clone()
    }

    /// Returns the violations that are kept.
    #[must_use]
    pub fn violations(&self) -> Violations {
        self.records().violations()
    }

    /// Returns the counts of violations by robot.
    #[must_use]
    pub fn robot_counts(&self) -> Vec<RobotCount> {
        self.records().robots()
    }

    fn file(&self, host: Option<&str>) -> Option<Arc<ResolvedFile>> {
        self.inner.resolved.of_host(&self.inner.files, host)
    }

    #[cold]
    fn record(
        &self,
        policy: &Policy,
        visit: &RobotRequest<'_>,
        file: &RobotsTxt,
        breach: Breach,
        settings: Enforcement,
        now_ms: i64,
    ) -> CountedBreach {
        let would = answer(policy, &visit.request, &breach, settings);
        let mut outcome = CountedBreach {
            answer: if policy.is_dry_run() {
                Answer::Pass
            } else {
                would
            },
            would,
            group: group_of(file, &breach),
            breach,
            is_new: false,
        };
        let report = Report {
            robot: visit.visitor.claim.id(),
            host: visit.request.host.unwrap_or_default(),
            path: visit.target,
            user_agent: visit.user_agent,
            now_ms,
        };
        self.records().add(&report, &mut outcome);
        outcome
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        // Counters that a panic left half way are counters still.
        let records = self.inner.records.lock();
        records.unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Enforcer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enforcer")
            .field("settings", &self.settings())
            .finish_non_exhaustive()
    }
}

/// Returns the answer to a breach: where the policy would not redirect, neither does this.
fn answer(
    policy: &Policy,
    request: &Request<'_>,
    breach: &Breach,
    settings: Enforcement,
) -> Answer {
    let is_redirected =
        policy.redirect().is_some() && policy.methods.iter().any(|method| method == request.method);
    match breach.answer(settings) {
        Answer::Redirect if !is_redirected => Answer::Forbidden,
        answer => answer,
    }
}

/// Returns why robots.txt is not asked about a request, if so.
///
/// It is read by robots that were sent to heaven, so no rule of it closes heaven, nor what is
/// there for robots, robots.txt first of all.
fn exemption(policy: &Policy, request: &Request<'_>, visitor: Visitor<'_>) -> Option<PassReason> {
    if policy.allows(visitor) {
        return Some(PassReason::Allowed);
    }
    // A server may take it for another path, which is not exempt.
    if is_odd(request.path) {
        return None;
    }
    policy.reading.with_path(request.path, |path| {
        if policy.heavens.covering(request.host, path).is_some() {
            Some(PassReason::Heaven)
        } else if path.is_empty() || policy.is_exempt(path) {
            Some(PassReason::NeverFiltered)
        } else {
            None
        }
    })
}

/// Returns a robot that is held to robots.txt.
fn judge_visitor<'v>(
    policy: &Policy,
    settings: Enforcement,
    request: &Request<'_>,
    visitor: Option<Visitor<'v>>,
    trace: &mut impl Trace,
) -> Option<Visitor<'v>> {
    let exempt = match visitor {
        None => Some("Only robots are held to it."),
        Some(visitor) if visitor.claims_nothing() => Some(match visitor.claim.kind() {
            Kind::Person => "Only robots are held to it.",
            Kind::Shared => "Many people share the User-Agent, and only robots are held to it.",
            _ => "Nameless visitors are not held to it; a rule may name them.",
        }),
        Some(_) if settings.rules == Enforce::Off => {
            Some("Nobody is held to it: robots_txt.enforce is off.")
        }
        Some(visitor) => exemption(policy, request, visitor).map(exempt),
    };
    if let Some(exempt) = exempt {
        trace.step(STEP, || exempt.to_owned());
        return None;
    }
    visitor
}

fn breach(
    settings: Enforcement,
    file: &ResolvedFile,
    visit: &RobotRequest<'_>,
    reading: PathReading,
    now_ms: impl Fn() -> i64,
) -> Option<Breach> {
    let robot = file.of_claim(visit.visitor.claim, visit.user_agent);
    if settings.rules != Enforce::Off
        && let Some(breach) = disallowed(&check(&robot, visit.target, reading).0)
            .or(robot.refused.map(Breach::Refused))
    {
        // Looked up only here: few requests break a rule.
        let is_named = file.named.contains(visit.request.host, visit.target);
        return (!is_named).then_some(breach);
    }
    if settings.crawl_delay == Enforce::Off {
        return None;
    }
    let delay = robot.delay?;
    if file.named.contains(visit.request.host, visit.target) {
        return None;
    }
    let claim = visit.visitor.claim;
    let checked = if claim.robot().is_some() {
        robot.limiter(visit.visitor).check(now_ms(), delay)
    } else {
        // Buckets that a panic left half way are buckets still.
        let buckets = file.unlisted_buckets.lock();
        let mut buckets = buckets.unwrap_or_else(PoisonError::into_inner);
        buckets.check(claim, visit.user_agent, visit.client, now_ms(), rate(delay))
    };
    let soon = checked.err()?;
    Some(Breach::TooSoon {
        delay,
        gap: soon.gap,
        wait: soon.wait,
    })
}

/// Asks the rules about a path as it was sent, and as a server resolves it: what either
/// spelling forbids is forbidden.
///
/// Returns how the path was read, where that is not as it was sent.
fn check<'r>(
    robot: &'r ResolvedRobot,
    target: &str,
    reading: PathReading,
) -> (Permission<'r>, Option<String>) {
    let sent = robot.rules.check(target);
    if sent.allowed()
        && let Some(resolved) = resolved(target, reading)
    {
        let rules = robot.rules_read_as(reading);
        let permission = rules.check(&resolved);
        if !permission.allowed() {
            return (permission, Some(resolved));
        }
    }
    (sent, None)
}

/// Returns the names of the group that a broken rule is of.
fn group_of(file: &RobotsTxt, breach: &Breach) -> String {
    match breach {
        Breach::Disallowed { group_line, .. } => {
            visible(&group_name(file, *group_line), MAX_GROUP_CHARS)
        }
        Breach::Refused(_) | Breach::TooSoon { .. } => String::new(),
    }
}

fn disallowed(permission: &Permission<'_>) -> Option<Breach> {
    if permission.allowed() {
        return None;
    }
    let line = permission.rule().map_or(0, |rule| rule.line());
    let group_line = permission.group_line().unwrap_or_default();
    Some(Breach::disallowed(line, &rule_text(permission), group_line))
}
