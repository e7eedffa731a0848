//! What to do with a request, and why.

use std::{net::IpAddr, sync::Arc};

use robot_detection_robots_txt::nearest;

use crate::detect::Detector;
use crate::registry::Purpose;

use super::{
    AnswerTime, Decision, Explanation, Judgement, LeftOutRule, Places, Redirect, Refuse, Request,
    Rule, Spoofed, TagRule, UnknownRobot, Visitor,
    condition::RobotSet,
    decision::Silent,
    glob::FilterPattern,
    heaven::{Heaven, Heavens},
    load::SiteLoad,
    path::PathReading,
    subtree::Subtree,
};

/// Policy that says which requests of robots are redirected, and where.
///
/// It is plain data: [`decide`](Self::decide) does no I/O and takes no lock,
/// and allocates only for a path of more than 1 KiB that needs rewriting.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is found out once, so that no request has to"
)]
pub struct Policy {
    pub(super) patterns: Vec<FilterPattern>,
    pub(super) reading: PathReading,
    pub(super) methods: Vec<String>,
    pub(super) purposes: Vec<Purpose>,
    pub(super) never: Vec<Subtree>,
    /// Every place where robots are sent, the rules' too.
    pub(super) heavens: Heavens,
    /// Where robots are sent unless a rule says otherwise.
    pub(super) heaven: Option<Arc<Heaven>>,
    pub(super) allowed: RobotSet,
    pub(super) denied: RobotSet,
    /// Those of the overlay first.
    pub(super) rules: Vec<Rule>,
    /// How many of the rules are the overlay's.
    pub(super) overlaid: usize,
    pub(super) left_out: Vec<LeftOutRule>,
    pub(super) tag_rules: Vec<TagRule>,
    pub(super) spoofed: Spoofed,
    pub(super) spoofed_refusal: Refuse,
    /// Whether decisions are only noted.
    pub(super) is_dry_run: bool,
    /// Whether that is so as the overlay pauses enforcement.
    pub(super) is_paused: bool,
    /// Why nothing is ever redirected, if nothing is.
    pub(super) idle: Option<&'static str>,
    /// For each pattern, whether none of its paths is exempt or part of a heaven.
    pub(super) plain: Box<[bool]>,
    /// Whether anything hangs on the host of a request.
    pub(super) asks_for_host: bool,
    /// Whether a rule is about people.
    pub(super) judges_people: bool,
    pub(super) places: Places,
    /// Load of the site, where a rule asks for it.
    pub(super) load: Option<Arc<SiteLoad>>,
}

impl Policy {
    /// Decides about a request of a robot, or of somebody who does not claim to be one.
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

    /// Decides as [`decide`](Self::decide) does, and says by which rule.
    ///
    /// How fast the robot comes is not looked at: that is for
    /// [`slowed_by`](Judgement::slowed_by).
    #[must_use]
    pub fn judge(&self, request: &Request<'_>, visitor: Option<Visitor<'_>>) -> Judgement<'_> {
        self.judge_traced(request, visitor, &mut Silent)
    }

    /// Decides as [`judge`](Self::judge) does, and says why at each step.
    #[must_use]
    pub fn explain(&self, request: &Request<'_>, visitor: Option<Visitor<'_>>) -> Explanation<'_> {
        let mut steps = Vec::new();
        let judgement = self.judge_traced(request, visitor, &mut steps);
        if !self.is_dry_run {
            steps.extend(judgement.header_steps());
        }
        // An answer that is given here has no response of the site that could carry tags.
        if judgement.decision.goes_on() && !self.is_dry_run {
            steps.extend(self.explain_tags(request, visitor));
        }
        Explanation {
            steps,
            decision: judgement.decision,
            judgement,
        }
    }

    /// Returns `true` if decisions are only noted, and every request passes.
    ///
    /// What decides says what would be done, then; whoever carries it out does not.
    /// No header is added to responses either.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    /// Returns `true` if any decision, or tag, hangs on the host of a request.
    ///
    /// Where none does, a [`Request`] may as well name no host.
    #[must_use]
    pub fn asks_for_host(&self) -> bool {
        self.asks_for_host
    }

    /// Returns `true` if a rule is about people.
    ///
    /// Where none is, a person need not be [made a visitor](Visitor::person).
    #[must_use]
    pub fn judges_people(&self) -> bool {
        self.judges_people
    }

    /// Returns `true` if every robot always gets what a person gets.
    ///
    /// So it is without patterns, without a redirect URL, and when no method
    /// or no purpose is to be redirected, unless a rule does something else than
    /// let pass, the list of denied robots redirects, or impostors are refused.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.idle.is_some() && self.spoofed != Spoofed::Refuse
    }

    /// Returns the filter patterns as the settings spell them.
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

    /// Returns where robots are sent that no rule sends elsewhere, if anywhere.
    #[must_use]
    pub fn redirect(&self) -> Option<&Redirect> {
        self.heaven.as_ref().map(|heaven| &heaven.redirect)
    }

    /// Returns every place where robots are sent, each once.
    ///
    /// The redirect of a decision is one of these very objects.
    pub fn redirects(&self) -> impl Iterator<Item = &Redirect> {
        self.heavens.redirects()
    }

    /// Returns the rules, in the order in which they are asked.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Returns `true` if a rule lets certain addresses pass, and this is one of them.
    ///
    /// Perhaps only on some paths, or only some visitors: somebody has named it as a friend.
    #[must_use]
    pub fn passes_address(&self, address: IpAddr) -> bool {
        self.rules.iter().any(|rule| rule.passes_address(address))
    }

    /// Returns the rules that never decide, each with the earlier one that always does.
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

    /// Returns what is done with a request whose claim is spoofed.
    #[must_use]
    pub fn spoofed(&self) -> Spoofed {
        self.spoofed
    }

    /// Returns what an impostor is told where it is refused.
    ///
    /// The refusal of a decision that no rule made is this very object.
    #[must_use]
    pub fn spoofed_refusal(&self) -> &Refuse {
        &self.spoofed_refusal
    }

    /// Counts a request of the site, where a rule acts by its load.
    ///
    /// It comes before the decision, and is told its end when the request is answered; where no
    /// rule asks it does nothing.
    #[must_use]
    pub fn measure(&self, now_ms: impl FnOnce() -> i64) -> Option<AnswerTime> {
        let site = self.load.as_ref()?;
        let now_ms = now_ms();
        if let Some(load) = site.count(now_ms) {
            for gate in self.rules.iter().filter_map(Rule::gate) {
                gate.judge(load);
            }
        }
        Some(site.begin(now_ms))
    }

    /// Returns the robots that rules and lists name and that a detector does not know.
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
