//! What to do with a request, and why.

use std::{net::IpAddr, sync::Arc};

use crate::registry::Purpose;

use super::{
    Action, Explanation, Judgement, LeftOutRule, Places, PolicyBuilder, Redirect, Refuse, Rule,
    Spoofed, TagRule, Visitor,
    condition::RobotSet,
    glob::FilterPattern,
    heaven::{Heaven, Heavens},
    load::SiteLoad,
    path::{PathReading, Subtree},
    trace::Silent,
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

/// Parts of a request that a decision looks at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Request<'r> {
    /// Method, in upper case as it came.
    pub method: &'r str,
    /// `Host` or `:authority`, with its port, if any.
    pub host: Option<&'r str>,
    /// Path as received: percent-encoded, without the query.
    pub path: &'r str,
}

/// Decision about one request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Decision<'p> {
    /// The request goes on to the application.
    Pass(PassReason),
    /// The robot is sent to heaven.
    Redirect(&'p Redirect),
    /// The robot gets the page of this path, in place of the one that it asked for.
    Serve(&'p str),
    /// The robot gets nothing.
    Refuse(&'p Refuse),
}

impl Decision<'_> {
    /// Returns the action that it is.
    #[must_use]
    pub fn action(&self) -> Action {
        match self {
            Self::Pass(_) => Action::Pass,
            Self::Redirect(_) => Action::Redirect,
            Self::Serve(_) => Action::Serve,
            Self::Refuse(_) => Action::Refuse,
        }
    }

    /// Returns `true` if another User-Agent might have led to another decision.
    ///
    /// The response to such a request needs `Vary: User-Agent`.
    #[must_use]
    pub fn depends_on_user_agent(&self) -> bool {
        match self {
            Self::Redirect(_) | Self::Serve(_) | Self::Refuse(_) => true,
            Self::Pass(reason) => reason.depends_on_user_agent(),
        }
    }

    /// Returns the status of the answer, where the decision says it.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Redirect(redirect) => Some(redirect.status),
            Self::Refuse(refuse) => Some(refuse.status),
            Self::Pass(_) | Self::Serve(_) => None,
        }
    }

    /// Returns where the robot is sent, or the page that it gets in place.
    ///
    /// It is the start of heaven, or a page of it.
    #[must_use]
    pub fn location(&self) -> Option<&str> {
        match self {
            Self::Redirect(redirect) => Some(&redirect.location),
            Self::Serve(page) => Some(page),
            Self::Pass(_) | Self::Refuse(_) => None,
        }
    }

    /// Returns the text of the answer, where a rule says it.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Refuse(refuse) => Some(&refuse.text),
            Self::Pass(_) | Self::Redirect(_) | Self::Serve(_) => None,
        }
    }

    /// Returns why the request passes, if it does.
    #[must_use]
    pub fn pass_reason(&self) -> Option<PassReason> {
        match self {
            Self::Pass(reason) => Some(*reason),
            _ => None,
        }
    }

    /// Returns `true` if the application answers the request, unless robots.txt forbids it.
    pub(crate) fn goes_on(&self) -> bool {
        match self {
            Self::Pass(_) | Self::Serve(_) => true,
            Self::Redirect(_) | Self::Refuse(_) => false,
        }
    }

    /// Returns what is done, as a sentence; `None` where the request passes as it is.
    pub(super) fn sentence(&self) -> Option<String> {
        match self {
            Self::Pass(_) => None,
            Self::Redirect(Redirect { status, location }) => {
                Some(format!("The answer is {status} to {location}."))
            }
            Self::Serve(page) => Some(format!(
                "The answer is the page of {page}, in place of the one asked for."
            )),
            Self::Refuse(refuse) => Some(format!("The answer is {}.", refuse.status)),
        }
    }
}

/// Why a request passes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum PassReason {
    /// There is no filter pattern, no redirect URL, or nobody to redirect.
    NothingFiltered,
    /// No filter pattern matches the path, nor does a rule but slow robots down on it, or give
    /// headers to everybody.
    PathNotFiltered,
    /// The method is not redirected, nor is a rule about it.
    Method,
    /// The path is there for robots, or a setting exempts it.
    NeverFiltered,
    /// The path is robot heaven itself.
    Heaven,
    /// The path is a trap, where no rule acts.
    Trap,
    /// The User-Agent names no known robot.
    NotARobot,
    /// The robot is one of those that always pass.
    Allowed,
    /// A rule lets the robot pass.
    Rule,
    /// No rule is about the robot on a path that no filter pattern matches.
    NoRule,
    /// Robots of this purpose are not redirected.
    Purpose,
    /// The request has no User-Agent, or an empty one, and no rule names such visitors.
    Nameless,
    /// The User-Agent stands for many people, and no rule names such visitors.
    Shared,
}

impl PassReason {
    /// Returns the word for it, for logs and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NothingFiltered => "nothing-filtered",
            Self::PathNotFiltered => "path-not-filtered",
            Self::Method => "method",
            Self::NeverFiltered => "never-filtered",
            Self::Heaven => "heaven",
            Self::Trap => "trap",
            Self::NotARobot => "not-a-robot",
            Self::Allowed => "allowed",
            Self::Rule => "rule",
            Self::NoRule => "no-rule",
            Self::Purpose => "purpose",
            Self::Nameless => "nameless",
            Self::Shared => "shared",
        }
    }

    /// Returns `true` if the User-Agent was looked at, because some robot might be redirected.
    fn depends_on_user_agent(self) -> bool {
        match self {
            Self::NothingFiltered
            | Self::PathNotFiltered
            | Self::Method
            | Self::NeverFiltered
            | Self::Heaven
            | Self::Trap => false,
            Self::NotARobot
            | Self::Allowed
            | Self::Rule
            | Self::NoRule
            | Self::Purpose
            | Self::Nameless
            | Self::Shared => true,
        }
    }
}

impl Policy {
    /// Creates a builder with the defaults of the original package.
    #[must_use]
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder::default()
    }

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
}
