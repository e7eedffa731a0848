//! An enforcer that checks requests from robots against the active robots.txt.

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
use robot_detection_robots_txt::{Permission, RobotRules, RobotsTxt};

use super::{
    answer::{Answer, Breach, CountedViolation, visible},
    records::{Records, Report, RobotCount, Violations},
    resolved::{ResolvedFile, ResolvedFiles, ResolvedRobot, rate},
    sentences::{
        describe, describe_heaven_refusal, describe_refusal, describe_response, exempt, group_name,
        rule_text,
    },
    settings::{Enforcement, EnforcementMode, Refusal},
};

/// Maximum number of characters of a group's user agents that are stored.
const MAX_GROUP_CHARS: usize = 200;

/// Name of the steps that explain robots.txt.
const STEP: &str = "robots.txt";

/// Enforces the active robots.txt for robots. Clones share all state.
///
/// Requests from human visitors are not checked. If a robot's request passes, no lock is acquired
/// and nothing is allocated, except for the first request of each robot, URLs with escapes, and the
/// `Crawl-delay` of unlisted robots.
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

/// A robot's request that is checked against robots.txt.
#[derive(Clone, Copy, Debug)]
pub struct RobotRequest<'v> {
    /// The parts of the request that the policy evaluates.
    pub request: Request<'v>,
    /// The path as received, with the query.
    pub target: &'v str,
    /// The claimed robot, with the verdict on the claim.
    pub visitor: Visitor<'v>,
    /// The value of the request's User-Agent header.
    pub user_agent: &'v [u8],
    /// The client's address, if known.
    pub client: Option<IpAddr>,
}

/// An explanation of the robots.txt check of a request, for which nothing is counted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The explanation steps, in order.
    pub steps: Vec<Step>,
    /// The violation found in the request; `Crawl-delay` is not checked.
    pub breach: Option<Breach>,
    /// The response that a running server would send, without a dry run.
    pub answer: Answer,
}

impl Enforcer {
    /// Creates an enforcer for files that may be replaced at run time.
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

    /// Returns the robots.txt files that are enforced.
    #[must_use]
    pub fn files(&self) -> &SharedRobotsFiles {
        &self.inner.files
    }

    /// Returns the current enforcement settings.
    #[must_use]
    pub fn settings(&self) -> Enforcement {
        **self.inner.settings.load()
    }

    /// Replaces the enforcement settings.
    pub fn replace_settings(&self, settings: Enforcement) {
        self.inner.settings.store(Arc::new(settings));
    }

    /// Allows a request to pass if robots.txt lists the requested page for robots.
    ///
    /// These pages are at most a hundred URLs in the `Sitemap` and `License` lines for the
    /// requested host, compared with path and query. `asked`, which returns the host and the path
    /// with query, is called only if the request would not pass otherwise.
    pub(crate) fn allow_listed_page<'p, 'r>(
        &self,
        judgement: Judgement<'p>,
        asked: impl FnOnce() -> (Option<&'r str>, &'r str),
    ) -> Judgement<'p> {
        if judgement.affects_robots() {
            let (host, target) = asked();
            if self.is_named_page(host, target) {
                return Judgement::pass(PassReason::NeverFiltered);
            }
        }
        judgement
    }

    /// Returns `true` if the active robots.txt lists a page for robots.
    pub(in crate::policy) fn is_named_page(&self, host: Option<&str>, target: &str) -> bool {
        let file = self.file(host);
        file.is_some_and(|file| file.named.contains(host, target))
    }

    /// Checks a request that is not redirected against robots.txt, and counts any violation.
    ///
    /// A page of robot heaven is refused only if the site refuses the robot completely. `now_ms`
    /// returns the time in milliseconds since 1970.
    #[must_use]
    pub fn enforce(
        &self,
        policy: &Policy,
        visit: &RobotRequest<'_>,
        now_ms: impl Fn() -> i64,
    ) -> Option<CountedViolation> {
        let settings = self.settings();
        if settings.is_off() || visit.visitor.claims_nothing() {
            return None;
        }
        // Checked only now, because this reads the path.
        match exemption(policy, &visit.request, visit.visitor) {
            None => {}
            Some(PassReason::Heaven) => return self.enforce_for_redirect(policy, visit, now_ms),
            Some(_) => return None,
        }
        let file = self.file(visit.request.host)?;
        let breach = breach(settings, &file, visit, policy.reading, &now_ms)?;
        Some(self.record(policy, visit, &file.file, breach, settings, now_ms()))
    }

    /// Refuses access to robot heaven if the site refuses the robot completely, and counts the
    /// violation.
    ///
    /// `visit` is a request for a page of robot heaven, or for a page that is redirected to robot
    /// heaven.
    #[must_use]
    pub fn enforce_for_redirect(
        &self,
        policy: &Policy,
        visit: &RobotRequest<'_>,
        now_ms: impl Fn() -> i64,
    ) -> Option<CountedViolation> {
        let settings = self.settings();
        let (request, target) = (&visit.request, visit.target);
        let (file, breach) =
            self.complete_refusal(policy, settings, request, target, visit.visitor)?;
        Some(self.record(policy, visit, &file.file, breach, settings, now_ms()))
    }

    /// Returns the file and the violation if the site refuses the robot completely, including robot
    /// heaven.
    ///
    /// Access to heaven is not refused if refused robots are redirected to robot heaven.
    fn complete_refusal(
        &self,
        policy: &Policy,
        settings: Enforcement,
        request: &Request<'_>,
        target: &str,
        visitor: Visitor<'_>,
    ) -> Option<(Arc<ResolvedFile>, Breach)> {
        if settings.rules == EnforcementMode::Off
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

    /// Returns the robots.txt rule that disallows a path for a visitor.
    ///
    /// Nothing is enforced or counted.
    #[must_use]
    pub(crate) fn find_disallowing_rule(
        &self,
        host: Option<&str>,
        target: &str,
        claim: &Claim<'_>,
        user_agent: &[u8],
    ) -> Option<CountedViolation> {
        let file = self.file(host)?;
        let robot = file.for_claim(claim, user_agent);
        let breach = disallowed(&check(&robot, target, PathReading::default()).0)?;
        Some(CountedViolation {
            answer: Answer::Pass,
            would: Answer::Pass,
            group: group_of(&file.file, &breach),
            breach,
            is_new: false,
        })
    }

    /// Explains the result of [`enforce_for_redirect`](Self::enforce_for_redirect) if it refuses
    /// the request. Nothing is counted.
    pub(in crate::policy) fn explain_redirected(
        &self,
        policy: &Policy,
        request: &Request<'_>,
        target: &str,
        visitor: Visitor<'_>,
    ) -> Option<Finding> {
        let settings = self.settings();
        let (_, breach) = self.complete_refusal(policy, settings, request, target, visitor)?;
        let answer = answer(policy, request, &breach, settings);
        let mut steps = Vec::new();
        steps.step(STEP, || describe_heaven_refusal(&breach));
        steps.step(STEP, || describe_response(&breach, answer, settings));
        Some(Finding {
            steps,
            breach: Some(breach),
            answer,
        })
    }

    /// Explains the result of [`enforce`](Self::enforce). Nothing is counted.
    ///
    /// `visitor` is the robot that `user_agent` identifies, if any; `target` is the path with its
    /// query. Without an active file, there are no steps.
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
            let visitor = judge_visitor(policy, request, visitor, &mut steps)?;
            if file.named.contains(request.host, target) {
                steps.step(STEP, || exempt(PassReason::NeverFiltered).to_owned());
                return None;
            }
            let robot = file.for_claim(visitor.claim, user_agent);
            if settings.rules == EnforcementMode::Off {
                let off = "robots.txt is not enforced: robots_txt.enforce is off.";
                steps.step(STEP, || off.to_owned());
            }
            let (mut of_rule, mut of_usage) = (Vec::new(), Vec::new());
            let rule = || {
                let (verdict, read_as) = check(&robot, target, policy.reading);
                of_rule.step(STEP, || describe(&file.file, &verdict, read_as.as_deref()));
                let reason = robot.refused.filter(|_| verdict.allowed());
                if let Some(reason) = reason {
                    of_rule.step(STEP, || describe_refusal(reason));
                }
                disallowed(&verdict).or(reason.map(Breach::Refused))
            };
            let usage = || {
                let verdict = check_use(robot.training.as_ref()?, target, policy.reading);
                of_usage.step(STEP, || describe(&file.file, &verdict, None));
                disallowed_use(&verdict)
            };
            let found = enforced(settings, rule, usage);
            steps.extend(of_rule.into_iter().chain(of_usage));
            found
        });
        let mut response = Answer::Pass;
        if let Some(breach) = &breach {
            response = answer(policy, request, breach, settings);
            steps.step(STEP, || describe_response(breach, response, settings));
        }
        Finding {
            steps,
            breach,
            answer: response,
        }
    }

    /// Returns the rules of a file that apply to the claimed robot.
    #[must_use]
    pub fn rules_for_claim(file: &RobotsTxt, claim: &Claim<'_>, user_agent: &[u8]) -> RobotRules {
        let file = ResolvedFile::new(file.clone());
        file.for_claim(claim, user_agent).rules.clone()
    }

    /// Returns the recorded violations of robots.txt.
    #[must_use]
    pub fn violations(&self) -> Violations {
        self.records().violations()
    }

    /// Returns the number of violations by each robot.
    #[must_use]
    pub fn robot_counts(&self) -> Vec<RobotCount> {
        self.records().robots()
    }

    fn file(&self, host: Option<&str>) -> Option<Arc<ResolvedFile>> {
        self.inner.resolved.for_host(&self.inner.files, host)
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
    ) -> CountedViolation {
        let would = answer(policy, &visit.request, &breach, settings);
        let mut outcome = CountedViolation {
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
        // Counters left half updated by a panic are still usable.
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

/// Returns the response to a violation; a redirect that the policy would not perform becomes 403.
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

/// Returns the reason why a request is exempt from robots.txt, or `None` if the request is not
/// exempt.
///
/// Redirected robots read robots.txt too, so its rules can disallow neither robot heaven nor paths
/// intended for robots, such as robots.txt itself.
fn exemption(policy: &Policy, request: &Request<'_>, visitor: Visitor<'_>) -> Option<PassReason> {
    if policy.allows(visitor) {
        return Some(PassReason::Allowed);
    }
    // A server may interpret an odd path as another path that is not exempt.
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

/// Returns the visitor if it is a robot to which robots.txt applies.
fn judge_visitor<'v>(
    policy: &Policy,
    request: &Request<'_>,
    visitor: Option<Visitor<'v>>,
    trace: &mut impl Trace,
) -> Option<Visitor<'v>> {
    let exempt = match visitor {
        None => Some("robots.txt is enforced for robots only."),
        Some(visitor) if visitor.claims_nothing() => Some(match visitor.kind() {
            Kind::Person => "robots.txt is enforced for robots only.",
            Kind::Shared => {
                "Many people share the User-Agent, and robots.txt is enforced for robots only."
            }
            _ => "robots.txt is not enforced for nameless visitors, but a rule can apply.",
        }),
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
    let robot = file.for_claim(visit.visitor.claim, visit.user_agent);
    let rule = || {
        let rule = disallowed(&check(&robot, visit.target, reading).0);
        rule.or(robot.refused.map(Breach::Refused))
    };
    let usage = || disallowed_use(&check_use(robot.training.as_ref()?, visit.target, reading));
    if let Some(breach) = enforced(settings, rule, usage) {
        // Named pages are looked up only here, because few requests violate a rule.
        let is_named = file.named.contains(visit.request.host, visit.target);
        return (!is_named).then_some(breach);
    }
    if settings.crawl_delay == EnforcementMode::Off {
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
        // Buckets left half updated by a panic are still usable.
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

/// Checks a path both as received and as the server resolves it. The path is disallowed if either
/// form is disallowed.
///
/// If only the resolved form is disallowed, also returns the resolved path.
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

/// Checks a path against the preferences about a use, both as received and as the server resolves
/// it.
fn check_use<'r>(rules: &'r RobotRules, target: &str, reading: PathReading) -> Permission<'r> {
    let sent = rules.check(target);
    let resolved = resolved(target, reading).filter(|_| sent.allowed());
    let resolved = resolved.map(|resolved| rules.check(&resolved));
    resolved
        .filter(|permission| !permission.allowed())
        .unwrap_or(sent)
}

/// Returns the user agents of the group that contains the violated rule.
fn group_of(file: &RobotsTxt, breach: &Breach) -> String {
    match breach {
        Breach::Disallowed { group_line, .. } => {
            visible(&group_name(file, *group_line), MAX_GROUP_CHARS)
        }
        Breach::Refused(_) | Breach::TooSoon { .. } => String::new(),
    }
}

/// Returns the violation of a rule, or that of a preference if only the preference is enforced or
/// violated.
fn enforced(
    settings: Enforcement,
    rule: impl FnOnce() -> Option<Breach>,
    usage: impl FnOnce() -> Option<Breach>,
) -> Option<Breach> {
    let rule = Some(settings.rules)
        .filter(|mode| *mode != EnforcementMode::Off)
        .and_then(|_| rule());
    let is_decided = rule.is_some()
        && (settings.rules == EnforcementMode::On || settings.usage != EnforcementMode::On);
    if is_decided || settings.usage == EnforcementMode::Off {
        return rule;
    }
    usage().or(rule)
}

/// Returns the violation of a preference about the use of pages.
fn disallowed_use(permission: &Permission<'_>) -> Option<Breach> {
    let mut breach = disallowed(permission)?;
    if let Breach::Disallowed { is_about_usage, .. } = &mut breach {
        *is_about_usage = true;
    }
    Some(breach)
}

fn disallowed(permission: &Permission<'_>) -> Option<Breach> {
    if permission.allowed() {
        return None;
    }
    let line = permission.rule().map_or(0, |rule| rule.line());
    let group_line = permission.group_line().unwrap_or_default();
    Some(Breach::disallowed(line, &rule_text(permission), group_line))
}
