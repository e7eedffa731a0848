//! A policy, which decides about requests and explains the decisions.

use std::{net::IpAddr, sync::Arc};

use robot_detection_robots_txt::nearest;

use crate::detect::Detector;
use crate::registry::Purpose;

use super::{
    Decision, Explanation, Judgement, OmittedRule, Places, Redirect, Refuse, Request,
    ResponseTimer, Rule, Spoofed, Step, TagRule, UnknownRobot, Visitor,
    condition::RobotSet,
    decision::NoTrace,
    glob::FilterPattern,
    heaven::{Heaven, Heavens},
    load::LoadMeter,
    path::PathReading,
    query::{self, QueryReading},
    subtree::Subtree,
};

/// A policy, which decides which requests from robots are redirected, and to which URL.
///
/// A policy is immutable data: [`decide`](Self::decide) does no I/O, acquires no lock, and
/// allocates memory only to rewrite a path of more than 1 KiB.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "computed once instead of for each request"
)]
pub struct Policy {
    pub(super) patterns: Vec<FilterPattern>,
    pub(super) reading: PathReading,
    pub(super) query_reading: QueryReading,
    pub(super) methods: Vec<String>,
    pub(super) purposes: Vec<Purpose>,
    pub(super) never: Vec<Subtree>,
    /// All redirect targets, including the targets of rules.
    pub(super) heavens: Heavens,
    /// The redirect target for robots, unless a rule specifies another target.
    pub(super) heaven: Option<Arc<Heaven>>,
    pub(super) allowed: RobotSet,
    pub(super) denied: RobotSet,
    /// The rules, beginning with the overlay's rules.
    pub(super) rules: Vec<Rule>,
    /// The number of rules from the overlay.
    pub(super) overlaid: usize,
    pub(super) left_out: Vec<OmittedRule>,
    pub(super) tag_rules: Vec<TagRule>,
    pub(super) spoofed: Spoofed,
    pub(super) spoofed_refusal: Refuse,
    /// Whether decisions are only reported.
    pub(super) is_dry_run: bool,
    /// Whether the dry run is due to a pause by the overlay.
    pub(super) is_paused: bool,
    /// The reason why nothing is ever redirected; `None` if requests may be redirected.
    pub(super) idle: Option<&'static str>,
    /// For each filter pattern, whether none of its paths are in robot heaven or exempt from
    /// redirects.
    pub(super) plain: Box<[bool]>,
    /// Whether any decision depends on the requested host.
    pub(super) asks_for_host: bool,
    /// Whether a rule of the policy applies to human visitors.
    pub(super) judges_people: bool,
    pub(super) places: Places,
    /// The load of the site, if a rule depends on it.
    pub(super) load: Option<Arc<LoadMeter>>,
}

impl Policy {
    /// Decides about a request; `visitor` is `None` for a human visitor.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_layer::policy::{Decision, PassReason, Policy, Request};
    ///
    /// let policy = Policy::builder().build()?;
    /// let request = Request { method: "GET", host: None, path: "/members-only-stuff/a", query: None };
    /// assert_eq!(policy.decide(&request, None), Decision::Pass(PassReason::NotARobot));
    /// # Ok::<(), robot_detection_layer::policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn decide(&self, request: &Request<'_>, visitor: Option<Visitor<'_>>) -> Decision<'_> {
        self.judge(request, visitor).decision
    }

    /// Decides as [`decide`](Self::decide) does, and also returns the rule that decided.
    ///
    /// Rate limits are not checked; see [`slowed_by`](Judgement::slowed_by).
    #[must_use]
    pub fn judge(&self, request: &Request<'_>, visitor: Option<Visitor<'_>>) -> Judgement<'_> {
        self.judge_traced(request, visitor, &mut NoTrace)
    }

    /// Decides as [`judge`](Self::judge) does, and also returns the reason for each step.
    #[must_use]
    pub fn explain(&self, request: &Request<'_>, visitor: Option<Visitor<'_>>) -> Explanation<'_> {
        let mut steps = Vec::new();
        let mut scopes = self.rules.iter().map(|rule| &rule.scope);
        if scopes.any(|scope| scope.query.is_some()) {
            let text = query::described(request.query, self.query_reading);
            steps.push(Step {
                name: "query",
                text,
            });
        }
        let judgement = self.judge_traced(request, visitor, &mut steps);
        if !self.is_dry_run {
            steps.extend(judgement.header_steps());
        }
        // A response created by the policy carries no tags.
        if judgement.decision.reaches_application() && !self.is_dry_run {
            steps.extend(self.explain_tags(request, visitor));
        }
        Explanation {
            steps,
            decision: judgement.decision,
            judgement,
        }
    }

    /// Returns `true` if decisions are only reported and every request passes.
    ///
    /// Decisions are made as usual, but the caller must not carry out the decisions. No headers are
    /// added to responses either.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    /// Returns `true` if any decision or tag depends on the host of a request.
    ///
    /// If no decision or tag depends on the host, a [`Request`] need not contain the host.
    #[must_use]
    pub fn depends_on_host(&self) -> bool {
        self.asks_for_host
    }

    /// Returns `true` if a rule of the policy applies to human visitors.
    ///
    /// If no rule does, [`Visitor::person`] is not needed for human visitors.
    #[must_use]
    pub fn has_rules_for_people(&self) -> bool {
        self.judges_people
    }

    /// Returns `true` if every robot always gets the same response as a human visitor.
    ///
    /// This is the case if there are no filter patterns, if there is no redirect URL, or if no
    /// method or no purpose is redirected, unless a rule has an action other than to pass, the list
    /// of denied robots redirects, or impostors are refused.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.idle.is_some() && self.spoofed != Spoofed::Refuse
    }

    /// Returns the filter patterns as written in the settings.
    pub fn filter_patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(FilterPattern::as_str)
    }

    /// Returns `true` if a filter pattern matches a path, which may be percent-encoded.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_layer::policy::Policy;
    ///
    /// let policy = Policy::builder().filter_patterns(["/members/*"]).build()?;
    /// assert!(policy.is_filtered("/members/%61"));
    /// assert!(!policy.is_filtered("/"));
    /// # Ok::<(), robot_detection_layer::policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn is_filtered(&self, path: &str) -> bool {
        let is_any = |path: &[u8]| self.patterns.iter().any(|pattern| pattern.matches(path));
        self.reading.with_path(path, is_any)
    }

    /// Returns the policy's default redirect, if any.
    #[must_use]
    pub fn redirect(&self) -> Option<&Redirect> {
        self.heaven.as_ref().map(|heaven| &heaven.redirect)
    }

    /// Returns all redirects of the policy and of its rules, without duplicates.
    ///
    /// The redirect in a decision is a reference to one of these redirects.
    pub fn redirects(&self) -> impl Iterator<Item = &Redirect> {
        self.heavens.redirects()
    }

    /// Returns the rules in the order of evaluation.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Returns `true` if the address is listed in a rule that allows certain addresses to pass.
    ///
    /// The address is trusted even if the rule is limited to some paths or visitors.
    #[must_use]
    pub fn allows_address(&self, address: IpAddr) -> bool {
        self.rules.iter().any(|rule| rule.allows_address(address))
    }

    /// Returns the rules that never decide, each with the earlier rule that always decides first.
    pub fn shadowed_rules(&self) -> impl Iterator<Item = (&Rule, &Rule)> {
        self.rules.iter().enumerate().filter_map(|(index, rule)| {
            let mut earlier = self.rules.iter().take(index);
            Some((rule, earlier.find(|earlier| earlier.shadows(rule))?))
        })
    }

    /// Returns the methods for which requests are redirected.
    pub fn methods(&self) -> impl Iterator<Item = &str> {
        self.methods.iter().map(String::as_str)
    }

    /// Returns the purposes for which robots are redirected.
    pub fn purposes(&self) -> impl Iterator<Item = Purpose> {
        self.purposes.iter().copied()
    }

    /// Returns the action for requests with a spoofed claim.
    #[must_use]
    pub fn spoofed(&self) -> Spoofed {
        self.spoofed
    }

    /// Returns the refusal for requests with a spoofed claim.
    ///
    /// If a request is refused, but not by a rule, the refusal in the decision is a reference to
    /// this object.
    #[must_use]
    pub fn spoofed_refusal(&self) -> &Refuse {
        &self.spoofed_refusal
    }

    /// Counts a request to the site, if a rule depends on the load.
    ///
    /// Call this function before the decision, and [`ResponseTimer::end`] when the response starts.
    /// The function does nothing if no rule depends on the load.
    #[must_use]
    pub fn measure(&self, now_ms: impl FnOnce() -> i64) -> Option<ResponseTimer> {
        let site = self.load.as_ref()?;
        let now_ms = now_ms();
        if let Some(load) = site.count(now_ms) {
            for gate in self.rules.iter().filter_map(Rule::gate) {
                gate.update(load);
            }
        }
        Some(site.begin(now_ms))
    }

    /// Returns the robot IDs in rules and lists that a detector does not contain.
    pub fn unknown_robots(&self, detector: &Detector) -> impl Iterator<Item = UnknownRobot> {
        let ids = || detector.robots().iter().map(|robot| robot.id.as_str());
        let lists = [
            ("allow_robots", &self.allowed),
            ("deny_robots", &self.denied),
        ];
        let rules = self.rules.iter().map(|rule| (rule.label(), &rule.scope));
        let tags = self.tag_rules.iter().map(|tag| (tag.label(), tag.scope()));
        let named = rules.chain(tags);
        let named = named.filter_map(|(label, scope)| Some((label, scope.robots.robots.as_ref()?)));
        let named = lists.into_iter().chain(named);
        let named: Vec<(&str, &RobotSet)> = named.collect();
        let named = named.into_iter();
        named.flat_map(move |(by, robots)| {
            let unknown = robots
                .listed()
                .filter(move |id| !ids().any(|known| known == *id));
            unknown.map(move |id| UnknownRobot {
                by: by.to_owned(),
                id: id.to_owned(),
                nearest: nearest(id.as_bytes(), ids()).map(str::to_owned),
            })
        })
    }
}
