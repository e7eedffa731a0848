//! The service around the application.

use std::{
    convert::Infallible,
    net::IpAddr,
    sync::{Arc, Once},
    task::{Context, Poll},
};

use http::{HeaderMap, Request, Response};
use tower_service::Service;
use tracing::{debug, error};

use crate::detect::{Claim, Verdict};
use crate::policy::{
    self, Action, Decision, Judgement, PassReason, Policy, Rule, TagRule, Visitor,
};
use crate::suspect::{Reasons, Transport};

use super::{
    ClaimFinding, ClaimProof, Identification, Outcome, ResponseFuture, Stats,
    answers::{answer, ready},
    body::{FromText, RefusalBody},
    disposition::{Asker, Disposition},
    future::{Additions, Watch},
    header::{self, Claimed, parts_for, remove_spelled},
    layer::Shared,
    outcome::Cause,
    own_robot::OwnRobot,
    reply::Reply,
    routed::Routed,
    suspicion::{Sender, Suspicion},
    traps::Trapped,
    verdicts::{Client, Pending},
    visit::Visit,
};

/// Cause of what is done with a suspect whom no rule is about.
const SUSPECT: &str = "suspect";

/// Why whoever looks at a page of the program is no visitor.
pub const OWN_PAGE: &str = "own-page";

/// Service that redirects, refuses or slows robots down and passes everything else on.
///
/// Made by [`RobotDetectionLayer`](super::RobotDetectionLayer).
#[derive(Clone, Debug)]
pub struct RobotDetectionService<S, T = FromText> {
    inner: S,
    shared: Arc<Shared>,
    bodies: T,
    /// Whether the inner service chooses the page by the URL.
    routes: bool,
}

impl<S, T> RobotDetectionService<S, T> {
    pub(super) fn new(inner: S, shared: Arc<Shared>, bodies: T, routes: bool) -> Self {
        Self {
            inner,
            shared,
            bodies,
            routes,
        }
    }
}

impl<S, B, R, T> Service<Request<B>> for RobotDetectionService<S, T>
where
    S: Service<Request<B>, Response = Response<R>>,
    T: RefusalBody<R>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let verdicts = &self.shared.verdicts;
        let client = |request: &Request<B>| Addresses::alike(verdicts.client(request));
        let routed = Routed::of(&mut request);
        let mut door = self.door();
        door.routes &= !routed.is_chosen;
        let Ok((reply, outcome)) =
            self.shared
                .decide(door, &mut request, client, |_, request, claim| {
                    Ok::<_, Infallible>(verdicts.verdict(request, claim))
                });
        match reply.into_response(&self.bodies, &mut request) {
            Ok(mut response) => {
                if let Some(outcome) = outcome {
                    response.extensions_mut().insert(outcome);
                }
                ResponseFuture::answered(response)
            }
            Err(additions) => {
                routed.restore(&mut request);
                ResponseFuture::passing(self.inner.call(request), additions, outcome)
            }
        }
    }
}

impl<S, T> RobotDetectionService<S, T> {
    /// Decides as a call does, and asks nobody: whoever calls does that where the request passes.
    ///
    /// `client` is asked only where anything hangs on it.
    ///
    /// # Errors
    ///
    /// Fails with the verdict on its claim that it is to wait for.
    pub fn decide<B, R>(
        &self,
        request: &mut Request<B>,
        client: impl Fn(&Request<B>) -> Client + Copy,
    ) -> Result<Decided<R>, Pending>
    where
        T: RefusalBody<R>,
    {
        let verdicts = &self.shared.verdicts;
        let network = |request: &Request<B>| client(request).into();
        self.shared
            .decide(self.door(), request, network, |policy, request, claim| {
                verdicts.verdict_or_pending(policy, request, claim, client(request))
            })
    }

    /// Does the same once the request has waited for a verdict.
    pub fn decide_settled<B, R>(
        &self,
        request: &mut Request<B>,
        client: impl Fn(&Request<B>) -> Client,
        finding: ClaimFinding,
    ) -> Decided<R>
    where
        T: RefusalBody<R>,
    {
        let network = |request: &Request<B>| client(request).into();
        // Policy and registry may have changed while it waited: all is decided anew, but for the
        // verdict, so that nothing waits twice.
        let door = self.door();
        let Ok(decided) = self.shared.decide(door, request, network, |_, _, _| {
            Ok::<_, Infallible>(Some(finding))
        });
        decided
    }

    fn door(&self) -> Door<'_, T> {
        Door {
            bodies: &self.bodies,
            routes: self.routes,
        }
    }
}

/// What the layer can do with a request by the way on which it came.
struct Door<'t, T> {
    bodies: &'t T,
    /// Whether another URL leads to another page.
    routes: bool,
}

/// What a request is for.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Aim {
    Site,
    /// A path where no rule acts.
    Trap,
    /// It is no visit of the site.
    Own,
}

/// What is decided about a request.
struct Judged<'p> {
    judgement: Judgement<'p>,
    disposition: Disposition<'p>,
    breach: Option<Box<policy::CountedBreach>>,
    /// Who is told how it is answered, where it goes on.
    watch: Option<Box<Watch>>,
    /// Where a trap is asked for.
    trapped: Option<Trapped>,
    /// Whether its answer may tell a canonical URL.
    is_learnt_from: bool,
}

impl Judged<'_> {
    /// Returns what is broken of robots.txt.
    fn broken(&self) -> Option<&policy::CountedBreach> {
        self.disposition.breach().or(self.breach.as_deref())
    }

    /// Returns what is told of robots.txt.
    fn told(&self) -> Option<&policy::CountedBreach> {
        let said = match &self.trapped {
            Some(Trapped::Alone(said)) => said.as_ref(),
            _ => None,
        };
        self.broken().or(said)
    }
}

/// What comes of a request, and its outcome where that is to be told.
pub type Decided<R> = (Reply<R>, Option<Outcome>);

impl Shared {
    /// Decides about a request, which is ready to go on if it passes.
    ///
    /// `lookup` finds what is known of a claim; where it fails nothing is done.
    ///
    /// `client` finds the address that the request comes from.
    fn decide<B, R, T: RefusalBody<R>, W>(
        &self,
        Door { bodies, routes }: Door<'_, T>,
        request: &mut Request<B>,
        client: impl Fn(&Request<B>) -> Addresses,
        lookup: impl FnOnce(&Policy, &Request<B>, &mut Claim<'_>) -> Result<Option<ClaimFinding>, W>,
    ) -> Result<Decided<R>, W> {
        header::join_agents(request.headers_mut());
        let detector = self.detector.load();
        let answers = self.answers.in_force(&self.policy);
        let policy = &*answers.policy;
        let Claimed { claim, agent } = Claimed::of(&detector, request.headers());
        let agent_key = agent.key;
        let mut claim = claim.or_else(|| policy.judges_people().then_some(Claim::Person));
        let own = self.own(request);
        let finding = match &mut claim {
            // Our own requests are no visits: their claim is not proven, judged or counted.
            Some(claim) if own.is_none() => lookup(policy, request, claim)?,
            _ => None,
        };
        let (reported, proof) = finding.map(|it| (it.verdict, it.proof)).unzip();
        let verdict = reported.unwrap_or_default();
        let is_person = own.is_none() && claim.as_ref().is_none_or(|it| *it == Claim::Person);
        let sender = Sender {
            agent,
            is_person,
            is_judged: claim.is_some(),
        };
        let (client, Suspicion { reasons, cookie }) = self.sent_by(policy, request, sender, client);
        let aim = self.aim(request, own);
        let is_noted = aim == Aim::Trap || !reasons.is_empty();
        let claim = claim.or_else(|| is_noted.then_some(Claim::Person));
        let visitor = claim.as_ref().map(|claim| Visitor::new(claim, verdict));
        let asked = parts_for(policy, request);
        let headers = request.headers();
        let asker = visitor.map(|visitor| client.asker(visitor, agent.text, headers, reasons));
        let mut judged = self.judged(policy, request, &asked, asker, aim, routes);
        let mut outcome = own.filter(|_| self.reports_outcome).map(Outcome::own);
        if let (Some(claim), None) = (&claim, own) {
            outcome = self.outcome(policy, claim, &judged, reasons);
            outcome = outcome.map(|outcome| {
                let outcome = outcome.verdict_of(reported);
                let breach = judged.told();
                self.described(outcome, request, client.address, proof.flatten(), breach)
            });
            if policy.is_dry_run() || matches!(judged.disposition, Disposition::Noted(_)) {
                note(self, request, claim, &judged.disposition);
                judged.disposition = Disposition::Pass;
            }
        }
        let disposition = &judged.disposition;
        let goes_on = disposition.goes_on();
        let additions = goes_on.then(|| additions(policy, &judged, own.is_none(), &asked, visitor));
        if let Some(answered) = answer(self, &answers, request, disposition, visitor, bodies) {
            return Ok((answered, outcome));
        }
        identify(request, visitor, reported, self);
        let mut additions = additions.unwrap_or_default();
        additions.is_in_place = ready(&answers, request, disposition, !reasons.is_empty());
        let page = (routes && aim == Aim::Site && !policy.is_dry_run()).then_some(disposition);
        additions.form = self.markdown.ready(request, page, visitor);
        additions.cookie = cookie;
        additions.watch = judged.watch;
        additions.word = self.awaited_word(agent_key, client.network.filter(|_| is_person));
        if own.is_none() {
            self.count(claim.as_ref(), disposition.action());
        }
        Ok((Reply::Passes(additions), outcome))
    }

    /// Returns what the policy decides, and what is done with a request that is not our own.
    fn judged<'p, B>(
        &self,
        policy: &'p Policy,
        request: &Request<B>,
        asked: &policy::Request<'_>,
        asker: Option<Asker<'_>>,
        aim: Aim,
        routes: bool,
    ) -> Judged<'p> {
        // The load of this request's second is judged before the request is.
        let time = if aim == Aim::Own {
            None
        } else {
            policy.measure(|| self.clock.now_ms())
        };
        let judgement = if aim == Aim::Trap {
            Judgement::pass(PassReason::Trap)
        } else {
            policy.judge(asked, asker.map(|asker| asker.visitor))
        };
        let named = || (header::host(request), header::target(request));
        let judgement = self.enforcer.unless_named(judgement, named);
        let mut judged = Judged {
            judgement,
            disposition: Disposition::Pass,
            breach: None,
            watch: None,
            trapped: None,
            is_learnt_from: false,
        };
        let asker = asker.filter(|_| aim != Aim::Own);
        if let Some(asker) = asker {
            (judged.disposition, judged.breach) =
                Disposition::find(self, policy, request, asker, judgement);
            if !asker.visitor.sender.reasons.is_empty()
                && !self.has_copy(request, &judged.disposition, routes)
            {
                judged.disposition = Disposition::Pass;
            }
            if let (Disposition::Decided(Decision::Serve(_), Some(rule)), false) =
                (&judged.disposition, routes)
            {
                warn_misplaced(rule);
                judged.disposition = Disposition::Misplaced;
            }
            if let (Aim::Site, Disposition::Pass, Some(canonical)) =
                (aim, &judged.disposition, &self.canonical)
            {
                // A rule that lets pass where nothing else is done decides nothing.
                let may_go = || !policy.lets_pass(asked, asker.visitor);
                let to = canonical.location(request, asker.visitor, &judgement);
                let to = to.filter(|_| may_go());
                judged.is_learnt_from =
                    to.is_none() && canonical.learn_from(request, asker.visitor, &judgement);
                judged.disposition = to.map_or(Disposition::Pass, Disposition::Canonical);
            }
            if aim == Aim::Trap {
                let is_broken = judged.broken().is_some();
                judged.trapped = Some(self.trapped(request, asker, is_broken));
            }
        }
        if judged.disposition.goes_on() {
            let time = time.filter(|_| judgement.is_for_application());
            if asker.is_some() || time.is_some() {
                let errors = asker.map(|asker| asker.error_counters(&judgement));
                judged.watch = Watch::new(errors.unwrap_or_default(), time, &self.clock);
            }
        }
        judged
    }

    /// Counts a request that goes on; what does not was counted with its answer.
    fn count(&self, claim: Option<&Claim<'_>>, action: Action) {
        if let Some(Claim::Shared(shared)) = claim {
            self.stats.count_shared(shared);
        }
        Stats::count(match (claim, action) {
            (None | Some(Claim::Person), _) | (Some(Claim::Shared(_)), Action::Pass) => {
                &self.stats.people
            }
            (Some(Claim::Nameless), Action::Pass) => &self.stats.nameless_passed,
            (Some(_), action) => self.stats.robots.of(action),
        });
    }

    /// Returns what a request is for that may be our own.
    fn aim<B>(&self, request: &Request<B>, own: Option<&str>) -> Aim {
        match own {
            Some(_) => Aim::Own,
            None if self.is_for_trap(request) => Aim::Trap,
            None => Aim::Site,
        }
    }

    /// Returns why a request is no visit of the site, where it is none.
    fn own<B>(&self, request: &Request<B>) -> Option<&'static str> {
        let path = request.uri().path();
        if self.is_own_robot(request) {
            Some("own-robot")
        } else if self.own_paths.iter().any(|own| own.contains(path)) {
            Some(OWN_PAGE)
        } else {
            None
        }
    }

    /// Returns `true` if a request comes from the site robot of our own sites.
    fn is_own_robot<B>(&self, request: &Request<B>) -> bool {
        let own = self.own_robot.as_ref();
        own.is_some_and(|own| own.has_sent(request, || self.clock.now_ms()))
    }

    /// Returns what is reported of a robot's request, where somebody wants to know.
    fn outcome(
        &self,
        policy: &Policy,
        claim: &Claim<'_>,
        judged: &Judged<'_>,
        reasons: Reasons,
    ) -> Option<Outcome> {
        if !reasons.is_empty() {
            self.stats.count_suspect(reasons);
        }
        let Judged {
            judgement,
            disposition,
            ..
        } = judged;
        let action = disposition.action();
        // Of a person who passes there is none, whether somebody is judged or nobody.
        let is_noteworthy = *claim != Claim::Person
            || action != Action::Pass
            || !reasons.is_empty()
            || judged.trapped.is_some();
        let is_told = self.reports_outcome && is_noteworthy;
        is_told.then(|| {
            let is_noted = policy.is_dry_run() || matches!(disposition, Disposition::Noted(_));
            let is_only_marked = !reasons.is_empty()
                && judged.trapped.is_none()
                && matches!(disposition, Disposition::Pass);
            let cause = match judgement.rule {
                None if is_only_marked => Cause::Word(SUSPECT),
                _ => disposition.cause(judgement),
            };
            let outcome = Outcome::new(claim, action, cause);
            let is_trap = matches!(judged.trapped, Some(Trapped::Alone(_)));
            let outcome = outcome.suspect_by(reasons).in_trap(is_trap);
            outcome.dry_run(is_noted && action != Action::Pass)
        })
    }

    /// Describes the visit in its outcome, where somebody wants that.
    fn described<B>(
        &self,
        outcome: Outcome,
        request: &Request<B>,
        address: Option<IpAddr>,
        proof: Option<ClaimProof>,
        breach: Option<&policy::CountedBreach>,
    ) -> Outcome {
        if !self.visits.wants(outcome.noteworthy(breach.is_some())) {
            return outcome;
        }
        let mut visit = Visit::of(request, address, self.clock.now_ms());
        visit.proof = proof;
        visit.breach = breach.cloned();
        outcome.described(visit)
    }
}

/// Addresses that a request comes from, and how it came.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Addresses {
    pub(super) address: Option<IpAddr>,
    /// The same, where it stands for a network of its own.
    pub(super) network: Option<IpAddr>,
    pub(super) transport: Transport,
}

impl Addresses {
    fn alike(address: Option<IpAddr>) -> Self {
        Self {
            address,
            network: address,
            ..Self::default()
        }
    }

    fn asker<'s>(
        self,
        visitor: Visitor<'s>,
        user_agent: &'s [u8],
        headers: &'s HeaderMap,
        reasons: Reasons,
    ) -> Asker<'s> {
        Asker {
            visitor: visitor.sent_by(self.sender(headers, reasons)),
            user_agent,
            client: self.network,
        }
    }

    pub(super) fn sender(self, headers: &HeaderMap, reasons: Reasons) -> policy::Sender<'_> {
        policy::Sender {
            address: self.address,
            headers: Some(headers),
            reasons,
        }
    }
}

impl From<Client> for Addresses {
    fn from(client: Client) -> Self {
        Self {
            address: Some(client.address),
            network: client.network,
            transport: client.transport,
        }
    }
}

/// Returns what the response of a request that goes on gets, by the rule that decided, too, unless it is
/// our own.
fn additions(
    policy: &Policy,
    judged: &Judged<'_>,
    is_visit: bool,
    asked: &policy::Request<'_>,
    visitor: Option<Visitor<'_>>,
) -> Additions {
    let judgement = &judged.judgement;
    let decided_by = judgement.rule.filter(|_| is_visit);
    let tags = policy.tags(asked, visitor);
    let varies = judgement.decision.depends_on_user_agent() || tags.depends_on_user_agent;
    let is_carried_out = judgement.decision.goes_on() && !policy.is_dry_run();
    let rule = decided_by.filter(|_| is_carried_out);
    let given = rule.and_then(Rule::response_headers);
    let tags = tags.rules.into_iter().map(TagRule::response_headers);
    Additions {
        is_learnt_from: judged.is_learnt_from,
        varies: varies && !policy.is_dry_run(),
        headers: given.into_iter().chain(tags).map(Arc::clone).collect(),
        ..Additions::default()
    }
}

/// Reports once that a rule cannot serve its page where the layer stands.
#[cold]
fn warn_misplaced(rule: &Rule) {
    static REPORTED: Once = Once::new();
    let rule = rule.label();
    REPORTED.call_once(|| {
        error!(
            rule,
            "{rule} serves a page in place of the requested one, but the layer is not around the router: such requests are refused; use RobotDetectionLayer::around"
        );
    });
}

/// Notes what would be done in a dry run.
#[cold]
fn note<B>(
    shared: &Shared,
    request: &Request<B>,
    claim: &Claim<'_>,
    disposition: &Disposition<'_>,
) {
    let action = disposition.action();
    if action == Action::Pass {
        return;
    }
    Stats::count(shared.stats.would.of(action));
    let (robot, path) = (claim.id(), request.uri().path());
    debug!(robot, %action, "dry run: {action} would be the answer to {robot:?} at {path:?}");
}

/// Adds the identification for handlers and the upstream; removes what a client may have forged.
///
/// `reported` is the verdict, where somebody was asked for it.
fn identify<B>(
    request: &mut Request<B>,
    visitor: Option<Visitor<'_>>,
    reported: Option<Verdict>,
    shared: &Shared,
) {
    // A layer around this one may have put its own there.
    request.extensions_mut().remove::<Identification>();
    let word = shared.person_header.as_ref().map(|header| &header.name);
    if let Some(headers) = &shared.identification {
        headers.remove_forged(request.headers_mut(), word);
    } else {
        if let Some(word) = word {
            remove_spelled(request.headers_mut(), &[word.as_str().as_bytes()]);
        }
        if shared.own_robot.is_some() {
            OwnRobot::take_off(request.headers_mut());
        }
    }
    let Some(visitor) = visitor else { return };
    let Some(identification) = Identification::of(visitor) else {
        return;
    };
    request.extensions_mut().insert(identification);
    if let Some(headers) = &shared.identification {
        headers.add(request.headers_mut(), visitor.claim.id(), reported);
    }
}

#[cfg(test)]
mod tests {
    use std::{future::ready, time::Duration};

    use tower_layer::Layer as _;

    use super::*;
    use crate::layer::{ClaimedRequest, RobotDetectionLayer, Settling, Verdicts};
    use crate::policy::Rule;
    use crate::registry::{Pattern, PatternKind, Robot, Source};

    /// Knows nothing yet, and that an address is the robot's when waited for.
    struct Slow {
        settles: bool,
    }

    impl Verdicts for Slow {
        fn verdict(&self, _: &ClaimedRequest<'_>) -> Verdict {
            Verdict::Pending
        }

        fn settled(&self, visit: &ClaimedRequest<'_>) -> Option<Settling> {
            let is_it = visit.client == Some(CLIENT);
            let verdict = if is_it {
                Verdict::Verified
            } else {
                Verdict::Spoofed
            };
            self.settles
                .then(|| -> Settling { Box::pin(ready(verdict)) })
        }
    }

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

    fn layer() -> RobotDetectionLayer<fn(String)> {
        let mut robot = Robot::new("examplebot", Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, "ExampleBot")];
        let rule = Rule::builder(Action::Pass).verdicts([Verdict::Verified]);
        RobotDetectionLayer::builder()
            .rule(rule.wait(Duration::from_millis(500)))
            .bundled_registry(false)
            .add_robots([robot])
            .build()
            .unwrap()
            .refusal_body(drop::<String> as fn(String))
    }

    fn service(settles: bool) -> RobotDetectionService<&'static str, fn(String)> {
        layer()
            .verdicts(Arc::new(Slow { settles }))
            .layer("the application")
    }

    fn by(address: IpAddr) -> Client {
        by_scheme(address, None)
    }

    fn by_scheme(address: IpAddr, scheme: Option<&'static str>) -> Client {
        Client {
            address,
            network: Some(address),
            scheme,
            transport: Transport::default(),
        }
    }

    fn request(path: &str) -> Request<&'static str> {
        let request = Request::get(path).header("user-agent", "ExampleBot/1.0");
        request.body("the body").unwrap()
    }

    /// Returns `true` if a request is passed on, body and all.
    fn passes((reply, _): Decided<()>, asked: &Request<&'static str>) -> bool {
        match reply {
            Reply::Now(response) => {
                assert_eq!(response.status(), 302);
                false
            }
            Reply::Ready(head) => {
                assert_eq!(head.status(), 302);
                false
            }
            Reply::Passes(_) => {
                assert_eq!(asked.headers().len(), 1);
                assert_eq!(*asked.body(), "the body");
                true
            }
        }
    }

    #[test]
    fn a_request_waits_where_a_rule_does_and_is_decided_by_what_is_known_then() {
        let service = service(true);
        for (client, verdict, is_passed) in [
            (CLIENT, Verdict::Verified, true),
            ([192, 0, 2, 8].into(), Verdict::Spoofed, false),
        ] {
            let mut asked = request("/members-only-stuff/a");
            let waiting = service.decide::<_, ()>(&mut asked, |_| by(client));
            let pending = waiting.err().unwrap();
            assert_eq!(pending.limit, Duration::from_millis(500));
            let mut settling = pending.settling;
            let context = &mut Context::from_waker(std::task::Waker::noop());
            let settled = settling.as_mut().poll(context);
            assert_eq!(settled, Poll::Ready(verdict));
            let reply = service.decide_settled(&mut asked, |_| by(client), verdict.into());
            assert_eq!(passes(reply, &asked), is_passed);
        }
        let mut late = request("/members-only-stuff/a");
        let known = Verdict::Pending.into();
        let reply = service.decide_settled(&mut late, |_| by(CLIENT), known);
        assert!(!passes(reply, &late), "the time is over");
    }

    /// Answers with the scheme of the claim, by either entrance.
    #[derive(Clone, Default)]
    struct Schemes(Arc<std::sync::Mutex<Vec<Option<String>>>>);

    impl Verdicts for Schemes {
        fn verdict(&self, visit: &ClaimedRequest<'_>) -> Verdict {
            let scheme = visit.scheme.map(str::to_owned);
            self.0.lock().unwrap().push(scheme);
            Verdict::Unverifiable
        }
    }

    #[test]
    fn the_scheme_is_that_which_the_server_knows() {
        let schemes = Schemes::default();
        let service = layer().verdicts(Arc::new(schemes.clone())).layer("it");
        let told = |target: &str, scheme| {
            let (mut asked, address) = (request(target), CLIENT);
            let reply = service.decide::<_, ()>(&mut asked, |_| by_scheme(address, scheme));
            assert!(passes(reply.unwrap(), &asked));
            schemes.0.lock().unwrap().pop().unwrap()
        };
        let (relative, absolute) = ("/a", "http://a.example/a");
        assert_eq!(told(relative, None), None);
        assert_eq!(told(relative, Some("http")).as_deref(), Some("http"));
        assert_eq!(told(absolute, None), None);
        assert_eq!(told(absolute, Some("https")).as_deref(), Some("https"));

        let inner = tower::service_fn(async |_: Request<&'static str>| {
            Ok::<_, Infallible>(Response::new(()))
        });
        let mut service = layer().verdicts(Arc::new(schemes.clone())).layer(inner);
        for target in [relative, absolute] {
            drop(service.call(request(target)));
            let told = schemes.0.lock().unwrap().pop().unwrap();
            assert_eq!(told, None, "{target}");
        }
    }

    #[test]
    fn a_request_does_not_wait_where_nothing_hangs_on_it() {
        for (settles, path, is_passed) in [
            (true, "/elsewhere", true),
            (false, "/members-only-stuff/a", false),
        ] {
            let mut asked = request(path);
            let reply = service(settles).decide(&mut asked, |_| by(CLIENT));
            assert_eq!(passes(reply.unwrap(), &asked), is_passed, "{path}");
        }
    }
}
