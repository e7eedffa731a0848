//! The parts of a request that a policy evaluates, and the possible decisions.

use std::sync::Arc;

use super::{Action, RateLimiter, Redirect, Refuse, heaven::Heaven};

/// The parts of a request that a decision depends on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Request<'r> {
    /// The request's method as received, in upper case.
    pub method: &'r str,
    /// The value of `Host` or `:authority`, including any port.
    pub host: Option<&'r str>,
    /// The request's path as received: percent-encoded, without the query.
    pub path: &'r str,
    /// The request's query as received, without the question mark.
    pub query: Option<&'r str>,
}

impl<'r> Request<'r> {
    /// Creates a request for a target, which consists of a path and an optional query.
    #[must_use]
    pub fn for_target(method: &'r str, host: Option<&'r str>, target: &'r str) -> Self {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        Self {
            method,
            host,
            path,
            query,
        }
    }
}

/// A request with a normalized path, as seen by rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct NormalizedRequest<'r> {
    pub(super) method: &'r str,
    pub(super) host: Option<&'r str>,
    /// The normalized path of the request.
    pub(super) path: &'r [u8],
    /// The query of the request as received.
    pub(super) query: Option<&'r str>,
    /// Whether rules without their own paths apply to the request.
    pub(super) is_filtered: bool,
}

/// The decision about one request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Decision<'p> {
    /// Passes the request to the application.
    Pass(PassReason),
    /// Redirects the robot to robot heaven.
    Redirect(&'p Redirect),
    /// Serves the page at this path instead of the requested page, without a redirect.
    Serve(&'p str),
    /// Refuses the request with a status and a text.
    Refuse(&'p Refuse),
}

impl Decision<'_> {
    /// Returns the action that the decision stands for.
    #[must_use]
    pub fn action(&self) -> Action {
        match self {
            Self::Pass(_) => Action::Pass,
            Self::Redirect(_) => Action::Redirect,
            Self::Serve(_) => Action::Serve,
            Self::Refuse(_) => Action::Refuse,
        }
    }

    /// Returns `true` if another User-Agent could lead to a different decision.
    ///
    /// The response to such a request needs `Vary: User-Agent`.
    #[must_use]
    pub fn depends_on_user_agent(&self) -> bool {
        match self {
            Self::Redirect(_) | Self::Serve(_) | Self::Refuse(_) => true,
            Self::Pass(reason) => reason.depends_on_user_agent(),
        }
    }

    /// Returns the status of the response, if the decision determines it.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Redirect(redirect) => Some(redirect.status),
            Self::Refuse(refuse) => Some(refuse.status),
            Self::Pass(_) | Self::Serve(_) => None,
        }
    }

    /// Returns the redirect target, or the path of the page that is served instead.
    ///
    /// The location is the start page or another page of robot heaven.
    #[must_use]
    pub fn location(&self) -> Option<&str> {
        match self {
            Self::Redirect(redirect) => Some(&redirect.location),
            Self::Serve(page) => Some(page),
            Self::Pass(_) | Self::Refuse(_) => None,
        }
    }

    /// Returns the text of the response, if a rule specifies one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Refuse(refuse) => Some(&refuse.text),
            Self::Pass(_) | Self::Redirect(_) | Self::Serve(_) => None,
        }
    }

    /// Returns the reason why the request passes, or `None` if the request does not pass.
    #[must_use]
    pub fn pass_reason(&self) -> Option<PassReason> {
        match self {
            Self::Pass(reason) => Some(*reason),
            _ => None,
        }
    }

    /// Returns `true` if the application responds to the request, unless robots.txt disallows the
    /// path.
    pub(crate) fn reaches_application(&self) -> bool {
        match self {
            Self::Pass(_) | Self::Serve(_) => true,
            Self::Redirect(_) | Self::Refuse(_) => false,
        }
    }

    /// Describes the response in a sentence. Returns `None` if the request passes unchanged.
    pub(super) fn sentence(&self) -> Option<String> {
        match self {
            Self::Pass(_) => None,
            Self::Redirect(Redirect { status, location }) => Some(format!(
                "The response is {status}, a redirect to {location}."
            )),
            Self::Serve(page) => Some(format!(
                "The response is the page {page} instead of the requested page."
            )),
            Self::Refuse(refuse) => Some(format!("The response is {}.", refuse.status)),
        }
    }
}

/// The action of a rule, with its parameters.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    Pass,
    Redirect(Arc<Heaven>),
    Serve(Arc<Heaven>),
    Refuse(Refuse),
    Slow(Arc<RateLimiter>),
}

impl Effect {
    /// Returns the action without its parameters.
    pub(super) fn action(&self) -> Action {
        match self {
            Self::Pass => Action::Pass,
            Self::Redirect(_) => Action::Redirect,
            Self::Serve(_) => Action::Serve,
            Self::Refuse(_) => Action::Refuse,
            Self::Slow(_) => Action::Slow,
        }
    }

    /// Returns the decision of a matching rule, or `None` if the following rules must be evaluated.
    pub(super) fn decision(&self) -> Option<Decision<'_>> {
        match self {
            Self::Pass => Some(Decision::Pass(PassReason::Rule)),
            Self::Redirect(heaven) => Some(Decision::Redirect(&heaven.redirect)),
            Self::Serve(heaven) => Some(Decision::Serve(&heaven.redirect.location)),
            Self::Refuse(refuse) => Some(Decision::Refuse(refuse)),
            Self::Slow(_) => None,
        }
    }
}

crate::words! {
/// The reason why a request passes.
#[derive(Hash)]
#[non_exhaustive]
pub enum PassReason {
    /// There are no filter patterns, no redirect URL, or no robots to redirect.
    NothingFiltered = "nothing-filtered",
    /// No filter pattern matches the path. Rules that apply to the path only slow robots down or
    /// add headers for all visitors.
    PathNotFiltered = "path-not-filtered",
    /// Requests with this method are not redirected, and no rule applies to the method.
    Method = "method",
    /// The path is intended for robots, or a setting exempts it.
    NeverFiltered = "never-filtered",
    /// The path belongs to robot heaven.
    Heaven = "heaven",
    /// The path is a trap, where rules have no effect.
    Trap = "trap",
    /// The User-Agent does not belong to a known robot.
    NotARobot = "not-a-robot",
    /// The robot is configured to always pass.
    Allowed = "allowed",
    /// A rule allows the robot to pass.
    Rule = "rule",
    /// No rule applies to the robot, and no filter pattern matches the path.
    NoRule = "no-rule",
    /// Robots with this purpose are not redirected.
    Purpose = "purpose",
    /// The request has no User-Agent or an empty one, and no rule applies to nameless visitors.
    Nameless = "nameless",
    /// Many visitors share the User-Agent, and no rule applies to shared User-Agents.
    Shared = "shared",
}
}

impl PassReason {
    /// Returns `true` if the decision took the User-Agent into account.
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

/// Maximum number of characters of a path or name that are quoted in a step.
const MAX_QUOTED_CHARS: usize = 200;

/// A step in the explanation of a decision.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// The name of the step: "verdict", "evidence", "settings", "method", "path", "rules", "never",
    /// "heaven", "robot", "allow", "deny", "spoofed", "rule", "purpose", "tag", "robots.txt",
    /// "mode" or the word of an [`Action`](super::Action).
    pub name: &'static str,
    /// The finding of this step, as a sentence.
    pub text: String,
}

/// A receiver of explanation steps. Texts are created only if the receiver needs the texts.
pub(super) trait Trace {
    fn step(&mut self, name: &'static str, text: impl FnOnce() -> String);
}

/// A receiver that discards all explanation steps.
pub(super) struct NoTrace;

impl Trace for NoTrace {
    #[inline]
    fn step(&mut self, _: &'static str, _: impl FnOnce() -> String) {}
}

impl Trace for Vec<Step> {
    fn step(&mut self, name: &'static str, text: impl FnOnce() -> String) {
        self.push(Step { name, text: text() });
    }
}

/// Quotes untrusted bytes, limiting their length and escaping control characters.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}
