//! What to do with a request, and why.

use crate::detect::Claim;
use crate::registry::Purpose;

use super::{
    Explanation, PolicyBuilder, Redirect,
    glob::FilterPattern,
    path::{Subtree, is_for_robots, with_normal_path},
    redirect::Guard,
    trace::{Silent, Trace, quoted},
};

/// Policy that says which requests of robots are redirected, and where.
///
/// It is plain data: [`decide`](Self::decide) does no I/O and takes no lock,
/// and allocates only for a path of more than 1 KiB that needs rewriting.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(super) patterns: Vec<FilterPattern>,
    pub(super) heaven: Option<Heaven>,
    pub(super) methods: Vec<String>,
    pub(super) purposes: Vec<Purpose>,
    pub(super) never: Vec<Subtree>,
}

/// Where robots are sent.
#[derive(Clone, Debug)]
pub(super) struct Heaven {
    pub(super) redirect: Redirect,
    pub(super) guard: Guard,
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
pub enum Decision<'p> {
    /// The request goes on to the application.
    Pass(PassReason),
    /// The robot is sent to heaven.
    Redirect(&'p Redirect),
}

impl Decision<'_> {
    /// Tells whether another User-Agent might have led to another decision.
    ///
    /// The response to such a request needs `Vary: User-Agent`.
    #[must_use]
    pub fn depends_on_user_agent(&self) -> bool {
        matches!(
            self,
            Self::Redirect(_) | Self::Pass(PassReason::NotARobot | PassReason::Purpose)
        )
    }
}

/// Why a request passes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum PassReason {
    /// There is no filter pattern, no redirect URL, or nobody to redirect.
    NothingFiltered,
    /// No filter pattern matches the path.
    PathNotFiltered,
    /// The method is not redirected.
    Method,
    /// The path is there for robots, or a setting exempts it.
    NeverFiltered,
    /// The path is robot heaven itself.
    Heaven,
    /// The User-Agent names no known robot.
    NotARobot,
    /// Robots of this purpose are not redirected.
    Purpose,
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
            Self::NotARobot => "not-a-robot",
            Self::Purpose => "purpose",
        }
    }
}

impl Policy {
    /// Creates a builder with the defaults of the original package.
    #[must_use]
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder::default()
    }

    /// Decides about a request of somebody who claims to be `claim`, or nobody.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection::policy::{Decision, PassReason, Policy, Request};
    ///
    /// let policy = Policy::builder().build()?;
    /// let request = Request { method: "GET", host: None, path: "/members-only-stuff/a" };
    /// assert_eq!(policy.decide(&request, None), Decision::Pass(PassReason::NotARobot));
    /// # Ok::<(), robot_detection::policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn decide(&self, request: &Request<'_>, claim: Option<&Claim<'_>>) -> Decision<'_> {
        self.judge(request, claim, &mut Silent)
    }

    /// Decides as [`decide`](Self::decide) does, and says why at each step.
    #[must_use]
    pub fn explain(&self, request: &Request<'_>, claim: Option<&Claim<'_>>) -> Explanation<'_> {
        let mut steps = Vec::new();
        let decision = self.judge(request, claim, &mut steps);
        Explanation { steps, decision }
    }

    /// Tells whether nothing is ever redirected.
    ///
    /// So it is without patterns, without a redirect URL, and when no method
    /// or no purpose is to be redirected.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.missing().is_some()
    }

    /// Returns the filter patterns as the settings spell them.
    pub fn filter_patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(FilterPattern::as_str)
    }

    /// Returns where robots are sent, if anywhere.
    #[must_use]
    pub fn redirect(&self) -> Option<&Redirect> {
        self.heaven.as_ref().map(|heaven| &heaven.redirect)
    }

    /// Returns the methods that are redirected.
    pub fn methods(&self) -> impl Iterator<Item = &str> {
        self.methods.iter().map(String::as_str)
    }

    /// Returns the purposes of the robots that are redirected.
    pub fn purposes(&self) -> impl Iterator<Item = Purpose> {
        self.purposes.iter().copied()
    }

    /// Takes the steps, those first that cost least and let most requests pass.
    fn judge(
        &self,
        request: &Request<'_>,
        claim: Option<&Claim<'_>>,
        trace: &mut impl Trace,
    ) -> Decision<'_> {
        let heaven = match (&self.heaven, self.missing()) {
            (Some(heaven), None) => heaven,
            (_, missing) => {
                let missing = missing.unwrap_or_default();
                trace.step("settings", || format!("Nothing is filtered: {missing}."));
                return Decision::Pass(PassReason::NothingFiltered);
            }
        };
        let judged = self
            .judge_method(request.method, trace)
            .and_then(|()| self.judge_path(heaven, request, trace))
            .and_then(|()| self.judge_claim(claim, trace));
        if let Err(reason) = judged {
            return Decision::Pass(reason);
        }
        let Redirect { status, location } = &heaven.redirect;
        trace.step("redirect", || {
            format!("The answer is {status} to {location}.")
        });
        Decision::Redirect(&heaven.redirect)
    }

    /// Returns what is missing for anything to be redirected.
    fn missing(&self) -> Option<&'static str> {
        if self.patterns.is_empty() {
            Some("there is no filter pattern")
        } else if self.heaven.is_none() {
            Some("there is no redirect URL")
        } else if self.methods.is_empty() {
            Some("no method is redirected")
        } else if self.purposes.is_empty() {
            Some("no purpose is redirected")
        } else {
            None
        }
    }

    fn judge_method(&self, method: &str, trace: &mut impl Trace) -> Result<(), PassReason> {
        let is_redirected = self.methods.iter().any(|redirected| redirected == method);
        trace.step("method", || {
            let method = quoted(method.as_bytes());
            let not = if is_redirected { "" } else { "not " };
            let methods = self.methods.join(", ");
            format!("The method {method} is {not}one of those redirected: {methods}.")
        });
        require(is_redirected, PassReason::Method)
    }

    fn judge_path(
        &self,
        heaven: &Heaven,
        request: &Request<'_>,
        trace: &mut impl Trace,
    ) -> Result<(), PassReason> {
        with_normal_path(request.path, |path| {
            self.judge_patterns(path, trace)?;
            self.judge_never(path, trace)?;
            judge_heaven(heaven, request.host, path, trace)
        })
    }

    fn judge_patterns(&self, path: &[u8], trace: &mut impl Trace) -> Result<(), PassReason> {
        let pattern = if path.is_empty() {
            None
        } else {
            self.patterns.iter().find(|pattern| pattern.matches(path))
        };
        trace.step("path", || match pattern {
            Some(pattern) => format!(
                "The path, read as {}, matches the filter pattern {}.",
                quoted(path),
                pattern.as_str()
            ),
            None if path.is_empty() => "The request names no path.".to_owned(),
            None => format!(
                "The path, read as {}, matches no filter pattern.",
                quoted(path)
            ),
        });
        require(pattern.is_some(), PassReason::PathNotFiltered)
    }

    fn judge_never(&self, path: &[u8], trace: &mut impl Trace) -> Result<(), PassReason> {
        let is_exempt =
            is_for_robots(path) || self.never.iter().any(|subtree| subtree.contains(path));
        trace.step("never", || {
            if is_exempt {
                "The path is one that is never redirected.".to_owned()
            } else {
                "The path is none of those that are never redirected.".to_owned()
            }
        });
        require(!is_exempt, PassReason::NeverFiltered)
    }

    fn judge_claim(
        &self,
        claim: Option<&Claim<'_>>,
        trace: &mut impl Trace,
    ) -> Result<(), PassReason> {
        let Some(claim) = claim else {
            trace.step("robot", || {
                "The User-Agent names no known robot.".to_owned()
            });
            return Err(PassReason::NotARobot);
        };
        let purpose = claim.robot.purpose;
        trace.step("robot", || {
            let id = quoted(claim.robot.id.as_bytes());
            format!(
                "The User-Agent names the robot {id} by the {}.",
                claim.pattern
            )
        });
        let is_redirected = self.purposes.contains(&purpose);
        trace.step("purpose", || {
            let not = if is_redirected { "" } else { "not " };
            format!("Its purpose, {purpose}, is {not}one of those redirected.")
        });
        require(is_redirected, PassReason::Purpose)
    }
}

fn judge_heaven(
    heaven: &Heaven,
    host: Option<&str>,
    path: &[u8],
    trace: &mut impl Trace,
) -> Result<(), PassReason> {
    let is_heaven = heaven.guard.covers(host, path);
    trace.step("heaven", || {
        let not = if is_heaven { "" } else { "not " };
        let location = &heaven.redirect.location;
        format!("The path is {not}part of robot heaven, {location}.")
    });
    require(!is_heaven, PassReason::Heaven)
}

fn require(holds: bool, otherwise: PassReason) -> Result<(), PassReason> {
    if holds { Ok(()) } else { Err(otherwise) }
}
