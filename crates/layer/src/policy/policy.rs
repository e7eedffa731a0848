//! Policy: decides about requests and explains the decisions.

use std::{net::IpAddr, sync::Arc};

use robot_detection_robots_txt::nearest;

use crate::detect::Detector;
use crate::registry::Purpose;

use super::{
    Decision, Explanation, Judgement, LeftOutRule, Places, Redirect, Refuse, Request,
    ResponseTimer, Rule, Spoofed, TagRule, UnknownRobot, Visitor,
    condition::RobotSet,
    decision::Silent,
    glob::FilterPattern,
    heaven::{Heaven, Heavens},
    load::SiteLoad,
    path::PathReading,
    subtree::Subtree,
};

/// Policy that decides which requests of robots are redirected, and where to.
///
/// A policy is immutable data: [`decide`](Self::decide) does no I/O, takes no lock, and allocates
/// only to rewrite a path of more than 1 KiB.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "computed once instead of for each request"
)]
pub struct Policy {
    pub(super) patterns: Vec<FilterPattern>,
    pub(super) reading: PathReading,
    pub(super) methods: Vec<String>,
    pub(super) purposes: Vec<Purpose>,
    pub(super) never: Vec<Subtree>,
    /// All redirect targets, including those of rules.
    pub(super) heavens: Heavens,
    /// Redirect target for robots, unless a rule names another one.
    pub(super) heaven: Option<Arc<Heaven>>,
    pub(super) allowed: RobotSet,
    pub(super) denied: RobotSet,
    /// Rules, beginning with those of the overlay.
    pub(super) rules: Vec<Rule>,
    /// Number of rules from the overlay.
    pub(super) overlaid: usize,
    pub(super) left_out: Vec<LeftOutRule>,
    pub(super) tag_rules: Vec<TagRule>,
    pub(super) spoofed: Spoofed,
    pub(super) spoofed_refusal: Refuse,
    /// Whether decisions are only reported.
    pub(super) is_dry_run: bool,
    /// Whether the dry run is due to a pause by the overlay.
    pub(super) is_paused: bool,
    /// Reason why nothing is ever redirected, if so.
    pub(super) idle: Option<&'static str>,
    /// For each filter pattern, whether all its paths are outside of heavens and exempt paths.
    pub(super) plain: Box<[bool]>,
    /// Whether decisions depend on the host of a request.
    pub(super) asks_for_host: bool,
    /// Whether a rule applies to people.
    pub(super) judges_people: bool,
    pub(super) places: Places,
    /// Load of the site, if a rule depends on the load.
    pub(super) load: Option<Arc<SiteLoad>>,
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
    /// let request = Request { method: "GET", host: None, path: "/members-only-stuff/a" };
    /// assert_eq!(policy.decide(&request, None), Decision::Pass(PassReason::NotARobot));
    /// # Ok::<(), robot_detection_layer::policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn decide(&self, request: &Request<'_>, visitor: Option<Visitor<'_>>) -> Decision<'_> {
        self.judge(request, visitor).decision
    }

    /// Decides like [`decide`](Self::decide), and returns the rule that decided.
    ///
    /// Rate limits are not checked; see [`slowed_by`](Judgement::slowed_by).
    #[must_use]
    pub fn judge(&self, request: &Request<'_>, visitor: Option<Visitor<'_>>) -> Judgement<'_> {
        self.judge_traced(request, visitor, &mut Silent)
    }

    /// Decides like [`judge`](Self::judge), and returns the reason for each step.
    #[must_use]
    pub fn explain(&self, request: &Request<'_>, visitor: Option<Visitor<'_>>) -> Explanation<'_> {
        let mut steps = Vec::new();
        let judgement = self.judge_traced(request, visitor, &mut steps);
        if !self.is_dry_run {
            steps.extend(judgement.header_steps());
        }
        // A response created here carries no tags.
        if judgement.decision.goes_on() && !self.is_dry_run {
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
    /// Decisions are made as usual; the caller must not carry them out. No headers are added to
    /// responses either.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    /// Returns `true` if any decision or tag depends on the host of a request.
    ///
    /// Otherwise, a [`Request`] need not contain the host.
    #[must_use]
    pub fn asks_for_host(&self) -> bool {
        self.asks_for_host
    }

    /// Returns `true` if a rule applies to people.
    ///
    /// Otherwise, human visitors need no [`Visitor::person`].
    #[must_use]
    pub fn judges_people(&self) -> bool {
        self.judges_people
    }

    /// Returns `true` if every robot always gets the same response as a human visitor.
    ///
    /// This is the case without filter patterns, without a redirect URL, and if no method or no
    /// purpose is redirected, unless a rule has an action other than to pass, the list of denied
    /// robots redirects, or impostors are refused.
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

    /// Returns the default redirect, if there is one.
    #[must_use]
    pub fn redirect(&self) -> Option<&Redirect> {
        self.heaven.as_ref().map(|heaven| &heaven.redirect)
    }

    /// Returns all redirects of the policy and its rules, without duplicates.
    ///
    /// The redirect of a decision is a reference to one of these objects.
    pub fn redirects(&self) -> impl Iterator<Item = &Redirect> {
        self.heavens.redirects()
    }

    /// Returns the rules in the order of evaluation.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Returns `true` if a rule that lets certain addresses pass contains the address.
    ///
    /// The rule may be limited to some paths or visitors; the address is trusted nevertheless.
    #[must_use]
    pub fn passes_address(&self, address: IpAddr) -> bool {
        self.rules.iter().any(|rule| rule.passes_address(address))
    }

    /// Returns the rules that never decide, each with the earlier rule that always decides first.
    pub fn shadowed_rules(&self) -> impl Iterator<Item = (&Rule, &Rule)> {
        self.rules.iter().enumerate().filter_map(|(index, rule)| {
            let mut earlier = self.rules.iter().take(index);
            Some((rule, earlier.find(|earlier| earlier.hides(rule))?))
        })
    }

    /// Returns the methods that are redirected.
    pub fn methods(&self) -> impl Iterator<Item = &str> {
        self.methods.iter().map(String::as_str)
    }

    /// Returns the purposes of the robots that are redirected.
    pub fn purposes(&self) -> impl Iterator<Item = Purpose> {
        self.purposes.iter().copied()
    }

    /// Returns the action for a request with a spoofed claim.
    #[must_use]
    pub fn spoofed(&self) -> Spoofed {
        self.spoofed
    }

    /// Returns the refusal for requests with a spoofed claim.
    ///
    /// If no rule refused, the refusal of a decision is a reference to this object.
    #[must_use]
    pub fn spoofed_refusal(&self) -> &Refuse {
        &self.spoofed_refusal
    }

    /// Counts a request of the site, if a rule depends on the load.
    ///
    /// Call this before the decision, and [`ResponseTimer::end`] when the request is answered. Does
    /// nothing if no rule depends on the load.
    #[must_use]
    pub fn measure(&self, now_ms: impl FnOnce() -> i64) -> Option<ResponseTimer> {
        let site = self.load.as_ref()?;
        let now_ms = now_ms();
        if let Some(load) = site.count(now_ms) {
            for gate in self.rules.iter().filter_map(Rule::gate) {
                gate.judge(load);
            }
        }
        Some(site.begin(now_ms))
    }

    /// Returns the robots in rules and lists that a detector does not know.
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
