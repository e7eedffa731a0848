//! One rule: which robots on which paths, and what to do with them.

use std::{net::IpAddr, sync::Arc, time::Duration};

use crate::detect::{Kind, Verdict};

use super::{
    Action, Decision, PacedRequest, RateLimiter, Redirect, Refuse, ResponseHeaders, Visitor,
    condition::Mismatch,
    decision::{Effect, NormalizedRequest},
    heaven::Heaven,
    load::LoadGate,
    scope::Scope,
};

/// Rule of a [`Policy`](super::Policy): conditions on robot and path, and an action.
///
/// See the [room](super#rules) for how rules, lists and defaults go together.
///
/// # Example
///
/// ```
/// use robot_detection_layer::{policy::{Action, Policy, Rule}, registry::Purpose};
///
/// let policy = Policy::builder()
///     .rule(
///         Rule::builder(Action::Pass)
///             .name("search engines may read the archive")
///             .paths(["/members-only-stuff/archive/*"])
///             .purposes([Purpose::Search]),
///     )
///     .rule(Rule::builder(Action::Redirect).operators(["Example Corp"]))
///     .build()?;
/// let labels: Vec<_> = policy.rules().map(|rule| rule.label()).collect();
/// assert_eq!(labels, [r#"rule "search engines may read the archive""#, "rule 2"]);
/// # Ok::<(), robot_detection_layer::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rule {
    /// From 1 in the order of the settings; 0: it is of an overlay.
    pub(super) number: usize,
    /// Place in the policy.
    pub(super) index: usize,
    pub(super) label: Arc<str>,
    pub(super) origin: String,
    pub(super) effect: Effect,
    pub(super) scope: Scope,
    /// How long a decision may wait for a verdict.
    pub(super) wait: Option<Duration>,
    /// The conditions, for people to read.
    pub(super) shown: Vec<String>,
    /// Whether it may do to people what it does.
    pub(super) is_confirmed: bool,
    pub(super) headers: Option<Arc<ResponseHeaders>>,
}

impl Rule {
    /// Returns its number in the order of the settings, from 1; 0 for one of an [overlay](super::Overlay).
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns its place among the rules of its policy, from 0.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Returns what reasons call it: `rule "its name"`, or `rule 2` without one.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the label of a rule with a name.
    #[doc(hidden)]
    #[must_use]
    pub fn label_of_name(name: &str) -> String {
        format!("rule {name:?}")
    }

    /// Returns the label, to be kept without a copy.
    #[must_use]
    pub fn shared_label(&self) -> Arc<str> {
        Arc::clone(&self.label)
    }

    /// Returns where it was set, such as `robot-detection.toml:12`; empty: in the program.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns what it does.
    #[must_use]
    pub fn action(&self) -> Action {
        self.effect.action()
    }

    /// Returns what it decides about a request that it matches.
    ///
    /// Returns `None` for a rule that sets a rate limit, as it decides nothing.
    #[must_use]
    pub fn decision(&self) -> Option<Decision<'_>> {
        self.effect.decision()
    }

    /// Returns where it redirects robots to, if it does.
    #[must_use]
    pub fn redirect(&self) -> Option<&Redirect> {
        match &self.effect {
            Effect::Redirect(heaven) => Some(&heaven.redirect),
            _ => None,
        }
    }

    /// Returns the path of the page that it serves in place, if it does.
    #[must_use]
    pub fn served(&self) -> Option<&str> {
        match &self.effect {
            Effect::Serve(heaven) => Some(&heaven.redirect.location),
            _ => None,
        }
    }

    /// Returns how it refuses robots, if it does.
    #[must_use]
    pub fn refuse(&self) -> Option<&Refuse> {
        match &self.effect {
            Effect::Refuse(refuse) => Some(refuse),
            _ => None,
        }
    }

    /// Returns how it slows down, if it does.
    #[must_use]
    pub fn rate_limiter(&self) -> Option<&RateLimiter> {
        match &self.effect {
            Effect::Slow(limiter) => Some(limiter),
            _ => None,
        }
    }

    /// Returns its rate limit for a request, if it slows down.
    ///
    /// `user_agent` is the header that makes the claim, `client` the address that the request comes
    /// from, where that is known and stands for a network of its own.
    #[must_use]
    pub fn paced(
        &self,
        visitor: Visitor<'_>,
        user_agent: &[u8],
        client: Option<IpAddr>,
    ) -> Option<PacedRequest<'_>> {
        match &self.effect {
            Effect::Slow(limiter) => {
                Some(limiter.of(visitor, user_agent, client, &self.scope.places))
            }
            _ => None,
        }
    }

    /// Returns how long it waits for a verdict that is pending, if it does.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// Returns `true` if it is about people too, and nobody has [confirmed](super::RuleBuilder::people)
    /// that: it only notes what it would do, to robots as well.
    #[must_use]
    pub fn is_dry(&self) -> bool {
        !self.is_confirmed && self.touches_people()
    }

    /// Returns `true` if people may get something else by it.
    #[must_use]
    pub fn touches_people(&self) -> bool {
        self.acts() && self.scope.robots.is_about(Kind::Person)
    }

    /// Returns `true` if it lets certain addresses pass, and this is one of them.
    pub(super) fn passes_address(&self, address: IpAddr) -> bool {
        let addresses = self.scope.sender.addresses.iter().flatten();
        !self.acts() && addresses.into_iter().any(|set| set.contains(address))
    }

    /// Returns the headers that it gives to responses, if it gives some.
    #[must_use]
    pub fn response_headers(&self) -> Option<&Arc<ResponseHeaders>> {
        self.headers.as_ref()
    }

    /// Returns `true` if it may have to be asked about people.
    pub(super) fn concerns_people(&self) -> bool {
        self.does_anything() && self.scope.robots.is_about(Kind::Person)
    }

    /// Returns its conditions for people to read; long lists are cut.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(String::as_str)
    }

    /// Returns the heaven that it leads to, if it does.
    pub(super) fn heaven(&self) -> Option<&Heaven> {
        match &self.effect {
            Effect::Redirect(heaven) | Effect::Serve(heaven) => Some(heaven),
            _ => None,
        }
    }

    /// Returns `true` if a robot might get something else by it than a person.
    pub(super) fn acts(&self) -> bool {
        !matches!(self.effect, Effect::Pass)
    }

    /// Returns `true` if somebody might get something else by it than without it: also the same
    /// with other headers.
    pub(super) fn does_anything(&self) -> bool {
        self.acts() || self.headers.is_some()
    }

    /// Returns the first condition that does not hold, if any.
    ///
    /// A rule that lets certain robots pass is not about those that only say that
    /// they are these, unless it names the verdict.
    pub(super) fn mismatch(
        &self,
        asked: &NormalizedRequest<'_>,
        visitor: Visitor<'_>,
    ) -> Option<Mismatch> {
        if visitor.claims_nothing() && !self.scope.robots.is_about(visitor.claim.kind()) {
            return Some(Mismatch::Kind);
        }
        // Otherwise a robot's name would open what the rule opens to that robot.
        let is_spoofed = visitor.is_spoofed() && self.favours();
        let spoofed = is_spoofed.then_some(Mismatch::Spoofed);
        self.scope
            .mismatch(asked, Some(visitor))
            .or(spoofed)
            .or_else(|| (!self.gate()?.is_open()).then_some(Mismatch::Load))
    }

    /// Returns what opens it under load, if it does not always act.
    pub(super) fn gate(&self) -> Option<&LoadGate> {
        self.rate_limiter()?.gate()
    }

    /// Returns `true` if it names visitors who claim nothing; a rule about every robot does not.
    pub(super) fn is_about_claimless(&self) -> bool {
        let claimless = [Kind::Nameless, Kind::Shared, Kind::Person];
        claimless
            .iter()
            .any(|kind| self.scope.robots.is_about(*kind))
    }

    /// Returns `true` if it lets certain robots pass, whatever the verdict on their claims.
    fn favours(&self) -> bool {
        let robots = &self.scope.robots;
        matches!(self.effect, Effect::Pass) && robots.ignore_verdicts() && !robots.are_everybody()
    }

    /// Returns `true` if `other` never decides, as this one always does before it.
    ///
    /// After a rule that slows down all are asked that do not count the same; after one that lets
    /// certain robots pass, those that name impostors.
    pub(super) fn hides(&self, other: &Self) -> bool {
        let is_asked_on = matches!(self.effect, Effect::Slow(_));
        let slows = self.counts_alike(other);
        let verdicts = other.scope.robots.verdicts.as_ref();
        let names_spoofed = verdicts.is_some_and(|all| all.contains(&Verdict::Spoofed));
        self.scope.includes(&other.scope)
            && (slows || !is_asked_on)
            && self.gate().is_none()
            && !(names_spoofed && self.favours())
    }

    /// Returns `true` if both slow down, and count both requests, or both errors.
    fn counts_alike(&self, other: &Self) -> bool {
        let counts_errors = |rule: &Self| Some(rule.rate_limiter()?.errors().is_some());
        counts_errors(self).is_some_and(|ours| counts_errors(other) == Some(ours))
    }

    /// Takes the state of the rate limit from the rule of another policy.
    pub(super) fn take_over(&mut self, other: &Self) {
        if let (Effect::Slow(ours), Effect::Slow(theirs)) = (&mut self.effect, &other.effect)
            && ours.has_pace_of(theirs)
            && self.scope == other.scope
        {
            *ours = Arc::clone(theirs);
        }
    }
}

/// Names a rule with its place in the settings.
pub(super) fn named(rule: &Rule) -> String {
    match rule.origin() {
        "" => rule.label().to_owned(),
        origin => format!("{} ({origin})", rule.label()),
    }
}
