//! Request as a policy sees it, and the possible decisions.

use std::sync::Arc;

use super::{Action, RateLimiter, Redirect, Refuse, heaven::Heaven};

/// Parts of a request that a decision depends on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Request<'r> {
    /// Method as received, in upper case.
    pub method: &'r str,
    /// `Host` or `:authority`, including a port, if any.
    pub host: Option<&'r str>,
    /// Path as received: percent-encoded, without the query.
    pub path: &'r str,
}

/// Request with a normalized path, as rules see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NormalizedRequest<'r> {
    pub(super) method: &'r str,
    pub(super) host: Option<&'r str>,
    /// Path of the request in normal form.
    pub(super) path: &'r [u8],
    /// Whether rules without their own paths apply to the request.
    pub(super) is_filtered: bool,
}

/// Decision about one request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Decision<'p> {
    /// Passes the request to the application.
    Pass(PassReason),
    /// Redirects the robot to robot heaven.
    Redirect(&'p Redirect),
    /// Serves the page at this path instead of the requested one, without a redirect.
    Serve(&'p str),
    /// Refuses the request with a status and a text.
    Refuse(&'p Refuse),
}

impl Decision<'_> {
    /// Returns the action of the decision.
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
    /// This is the start page of robot heaven or one of its pages.
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

    /// Returns the reason why the request passes, if it does.
    #[must_use]
    pub fn pass_reason(&self) -> Option<PassReason> {
        match self {
            Self::Pass(reason) => Some(*reason),
            _ => None,
        }
    }

    /// Returns `true` if the application answers the request, unless robots.txt forbids the path.
    pub(crate) fn goes_on(&self) -> bool {
        match self {
            Self::Pass(_) | Self::Serve(_) => true,
            Self::Redirect(_) | Self::Refuse(_) => false,
        }
    }

    /// Describes the response in a sentence; `None` if the request passes unchanged.
    pub(super) fn sentence(&self) -> Option<String> {
        match self {
            Self::Pass(_) => None,
            Self::Redirect(Redirect { status, location }) => Some(format!(
                "The response is {status}, a redirect to {location}."
            )),
            Self::Serve(page) => Some(format!(
                "The response is the page {page} instead of the requested one."
            )),
            Self::Refuse(refuse) => Some(format!("The response is {}.", refuse.status)),
        }
    }
}

/// Action of a rule, with its data.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    Pass,
    Redirect(Arc<Heaven>),
    Serve(Arc<Heaven>),
    Refuse(Refuse),
    Slow(Arc<RateLimiter>),
}

impl Effect {
    /// Returns the action of the effect.
    pub(super) fn action(&self) -> Action {
        match self {
            Self::Pass => Action::Pass,
            Self::Redirect(_) => Action::Redirect,
            Self::Serve(_) => Action::Serve,
            Self::Refuse(_) => Action::Refuse,
            Self::Slow(_) => Action::Slow,
        }
    }

    /// Returns the decision of a matching rule; `None` if the following rules are evaluated.
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
/// Reason why a request passes.
#[derive(Hash)]
#[non_exhaustive]
pub enum PassReason {
    /// There are no filter patterns, no redirect URL, or no robots to redirect.
    NothingFiltered = "nothing-filtered",
    /// No filter pattern matches the path. Rules, if any, only slow down robots or add headers for
    /// all visitors there.
    PathNotFiltered = "path-not-filtered",
    /// The method is not redirected, and no rule applies to it.
    Method = "method",
    /// The path is intended for robots, or a setting exempts it.
    NeverFiltered = "never-filtered",
    /// The path belongs to robot heaven.
    Heaven = "heaven",
    /// The path is a trap, where no rule acts.
    Trap = "trap",
    /// The User-Agent names no known robot.
    NotARobot = "not-a-robot",
    /// The robot is configured to always pass.
    Allowed = "allowed",
    /// A rule lets the robot pass.
    Rule = "rule",
    /// No rule applies to the robot, and no filter pattern matches the path.
    NoRule = "no-rule",
    /// Robots with this purpose are not redirected.
    Purpose = "purpose",
    /// The request has no User-Agent or an empty one, and no rule names nameless visitors.
    Nameless = "nameless",
    /// Many visitors share the User-Agent, and no rule names shared User-Agents.
    Shared = "shared",
}
}

impl PassReason {
    /// Returns `true` if the decision considered the User-Agent.
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

/// Maximum number of characters of a path or name that a step quotes.
const MAX_QUOTED_CHARS: usize = 200;

/// One step in the explanation of a decision.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// "verdict", "evidence", "settings", "method", "path", "rules", "never", "heaven",
    /// "robot", "allow", "deny", "spoofed", "rule", "purpose", "tag", "robots.txt", "mode"
    /// or the word of an [`Action`](super::Action).
    pub name: &'static str,
    /// Finding of the step, as a sentence.
    pub text: String,
}

/// Receiver of the steps. Texts are created only if the receiver needs them.
pub(super) trait Trace {
    fn step(&mut self, name: &'static str, text: impl FnOnce() -> String);
}

/// Receiver that discards all explanation steps.
pub(super) struct Silent;

impl Trace for Silent {
    #[inline]
    fn step(&mut self, _: &'static str, _: impl FnOnce() -> String) {}
}

impl Trace for Vec<Step> {
    fn step(&mut self, name: &'static str, text: impl FnOnce() -> String) {
        self.push(Step { name, text: text() });
    }
}

/// Quotes untrusted bytes: the length is limited and control characters are escaped.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}
