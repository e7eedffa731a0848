//! A rule of a policy, which consists of conditions and an action.

use std::{net::IpAddr, sync::Arc, time::Duration};

use crate::detect::{Kind, Verdict};

use super::{
    Action, Decision, LimitedRequest, RateLimiter, Redirect, Refuse, ResponseHeaders, Visitor,
    condition::Mismatch,
    decision::{Effect, NormalizedRequest},
    heaven::Heaven,
    load::LoadGate,
    scope::Scope,
};

/// A rule of a [`Policy`](super::Policy): conditions on the robot and the path, and an action.
///
/// The [module documentation](super#rules) describes how rules, lists and defaults interact.
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
    /// The position of the rule in the settings, starting at 1; 0 for a rule from an overlay.
    pub(super) number: usize,
    /// The index of the rule in the policy.
    pub(super) index: usize,
    pub(super) label: Arc<str>,
    pub(super) origin: String,
    pub(super) effect: Effect,
    pub(super) scope: Scope,
    /// The maximum time that a request waits for a verdict.
    pub(super) wait: Option<Duration>,
    /// The rule's conditions as text.
    pub(super) shown: Vec<String>,
    /// Whether the rule's action may affect human visitors.
    pub(super) is_confirmed: bool,
    pub(super) headers: Option<Arc<ResponseHeaders>>,
}

impl Rule {
    /// Returns the rule's position in the settings, starting at 1; 0 for a rule from an
    /// [overlay](super::Overlay).
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns the rule's index among the policy's rules, starting at 0.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Returns the rule's label in explanations: `rule "name"`, or `rule 2` for a rule without a
    /// name.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the label of a rule with the given name.
    #[doc(hidden)]
    #[must_use]
    pub fn label_of_name(name: &str) -> String {
        format!("rule {name:?}")
    }

    /// Returns the rule's label as a shared string.
    #[must_use]
    pub fn shared_label(&self) -> Arc<str> {
        Arc::clone(&self.label)
    }

    /// Returns the source location of the rule, such as `robot-detection.toml:12`; empty if the
    /// rule was set by the program.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the rule's action.
    #[must_use]
    pub fn action(&self) -> Action {
        self.effect.action()
    }

    /// Returns the rule's decision for a matching request.
    ///
    /// Returns `None` for a rule that sets a rate limit, because such a rule does not decide.
    #[must_use]
    pub fn decision(&self) -> Option<Decision<'_>> {
        self.effect.decision()
    }

    /// Returns the redirect, if the rule redirects.
    #[must_use]
    pub fn redirect(&self) -> Option<&Redirect> {
        match &self.effect {
            Effect::Redirect(heaven) => Some(&heaven.redirect),
            _ => None,
        }
    }

    /// Returns the path of the page that the rule serves without a redirect, if any.
    #[must_use]
    pub fn served_page(&self) -> Option<&str> {
        match &self.effect {
            Effect::Serve(heaven) => Some(&heaven.redirect.location),
            _ => None,
        }
    }

    /// Returns the refusal, if the rule refuses.
    #[must_use]
    pub fn refuse(&self) -> Option<&Refuse> {
        match &self.effect {
            Effect::Refuse(refuse) => Some(refuse),
            _ => None,
        }
    }

    /// Returns the rate limiter, if the rule slows robots down.
    #[must_use]
    pub fn rate_limiter(&self) -> Option<&RateLimiter> {
        match &self.effect {
            Effect::Slow(limiter) => Some(limiter),
            _ => None,
        }
    }

    /// Returns the rate limit for a request, if the rule slows robots down.
    ///
    /// `user_agent` is the value of the User-Agent header; `client` is the client address, if it is
    /// known and does not belong to a shared proxy.
    #[must_use]
    pub fn limited_request(
        &self,
        visitor: Visitor<'_>,
        user_agent: &[u8],
        client: Option<IpAddr>,
    ) -> Option<LimitedRequest<'_>> {
        match &self.effect {
            Effect::Slow(limiter) => {
                Some(limiter.of(visitor, user_agent, client, &self.scope.places))
            }
            _ => None,
        }
    }

    /// Returns the maximum time to wait for a pending verdict, if the rule waits for verdicts.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// Returns `true` if the rule applies to people but is not
    /// [confirmed](super::RuleBuilder::people). The action of such a rule is only reported, even
    /// for robots.
    #[must_use]
    pub fn is_unconfirmed(&self) -> bool {
        !self.is_confirmed && self.affects_people()
    }

    /// Returns `true` if the rule's action may affect human visitors.
    #[must_use]
    pub fn affects_people(&self) -> bool {
        self.acts() && self.scope.robots.is_about(Kind::Person)
    }

    /// Returns `true` if the rule allows certain addresses to pass, including this address.
    pub(super) fn allows_address(&self, address: IpAddr) -> bool {
        let addresses = self.scope.sender.addresses.iter().flatten();
        !self.acts() && addresses.into_iter().any(|set| set.contains(address))
    }

    /// Returns the headers that the rule adds to responses, if any.
    #[must_use]
    pub fn response_headers(&self) -> Option<&Arc<ResponseHeaders>> {
        self.headers.as_ref()
    }

    /// Returns `true` if the rule may have to be evaluated for human visitors.
    pub(super) fn concerns_people(&self) -> bool {
        self.does_anything() && self.scope.robots.is_about(Kind::Person)
    }

    /// Returns the rule's conditions as text; long lists are truncated.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(String::as_str)
    }

    /// Returns the target to which the rule redirects, or the target that it serves, if any.
    pub(super) fn heaven(&self) -> Option<&Heaven> {
        match &self.effect {
            Effect::Redirect(heaven) | Effect::Serve(heaven) => Some(heaven),
            _ => None,
        }
    }

    /// Returns `true` if, because of the rule, robots may get a different response than human
    /// visitors.
    pub(super) fn acts(&self) -> bool {
        !matches!(self.effect, Effect::Pass)
    }

    /// Returns `true` if the rule may change any response, even if only by adding headers.
    pub(super) fn does_anything(&self) -> bool {
        self.acts() || self.headers.is_some()
    }

    /// Returns the first condition that does not hold, if any.
    ///
    /// A rule that allows certain robots to pass does not apply to spoofed claims to be one of
    /// these robots, unless the rule includes the verdict.
    pub(super) fn mismatch(
        &self,
        asked: &NormalizedRequest<'_>,
        visitor: Visitor<'_>,
    ) -> Option<Mismatch> {
        if visitor.claims_nothing() && !self.scope.robots.is_about(visitor.kind()) {
            return Some(Mismatch::Kind);
        }
        // Otherwise, any client could use the robot's name to bypass other rules.
        let is_spoofed = visitor.is_spoofed() && self.exempts_robots();
        let spoofed = is_spoofed.then_some(Mismatch::Spoofed);
        self.scope
            .mismatch(asked, Some(visitor))
            .or(spoofed)
            .or_else(|| (!self.gate()?.is_open()).then_some(Mismatch::Load))
    }

    /// Returns the load condition of the rule, if it acts only under load.
    pub(super) fn gate(&self) -> Option<&LoadGate> {
        self.rate_limiter()?.gate()
    }

    /// Returns `true` if the rule explicitly includes visitors without a claim, which a rule for
    /// all robots does not.
    pub(super) fn names_claimless(&self) -> bool {
        let claimless = [Kind::Nameless, Kind::Shared, Kind::Person];
        claimless
            .iter()
            .any(|kind| self.scope.robots.is_about(*kind))
    }

    /// Returns `true` if the rule allows certain robots to pass, regardless of verdicts.
    fn exempts_robots(&self) -> bool {
        let robots = &self.scope.robots;
        matches!(self.effect, Effect::Pass)
            && robots.ignore_verdicts()
            && !robots.matches_all_visitors()
    }

    /// Returns `true` if the rule `other` never decides because this rule always decides first.
    ///
    /// After a rule that slows robots down, rules that count something else are still evaluated;
    /// after a rule that allows certain robots to pass, rules that include spoofed claims are still
    /// evaluated.
    pub(super) fn shadows(&self, other: &Self) -> bool {
        let is_asked_on = matches!(self.effect, Effect::Slow(_));
        let slows = self.counts_alike(other);
        let verdicts = other.scope.robots.verdicts.as_ref();
        let names_spoofed = verdicts.is_some_and(|all| all.contains(&Verdict::Spoofed));
        self.scope.includes(&other.scope)
            && (slows || !is_asked_on)
            && self.gate().is_none()
            && !(names_spoofed && self.exempts_robots())
    }

    /// Returns `true` if both rules limit requests, or both limit errors.
    fn counts_alike(&self, other: &Self) -> bool {
        let counts_errors = |rule: &Self| Some(rule.rate_limiter()?.errors().is_some());
        counts_errors(self).is_some_and(|ours| counts_errors(other) == Some(ours))
    }

    /// Takes over the state of the rate limit from an equal rule in another policy.
    pub(super) fn inherit_state(&mut self, other: &Self) {
        if let (Effect::Slow(ours), Effect::Slow(theirs)) = (&mut self.effect, &other.effect)
            && ours.has_settings_of(theirs)
            && self.scope == other.scope
        {
            *ours = Arc::clone(theirs);
        }
    }
}

/// Returns the label of a rule with its source location.
pub(super) fn label(rule: &Rule) -> String {
    match rule.origin() {
        "" => rule.label().to_owned(),
        origin => format!("{} ({origin})", rule.label()),
    }
}
