//! A request as a policy sees it, and what can be decided about it.

use std::sync::Arc;

use super::{Action, RateLimiter, Redirect, Refuse, heaven::Heaven};

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

/// Request as rules see it: its path in normal form.
#[derive(Clone, Copy, Debug)]
pub(super) struct NormalizedRequest<'r> {
    pub(super) method: &'r str,
    pub(super) host: Option<&'r str>,
    /// In normal form.
    pub(super) path: &'r [u8],
    /// Whether rules without paths of their own are about it.
    pub(super) is_filtered: bool,
}

/// Two are the same if their conditions are, wherever places are looked up.
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

/// Action of a rule with what it needs.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    Pass,
    Redirect(Arc<Heaven>),
    Serve(Arc<Heaven>),
    Refuse(Refuse),
    Slow(Arc<RateLimiter>),
}

impl Effect {
    /// Returns the action.
    pub(super) fn action(&self) -> Action {
        match self {
            Self::Pass => Action::Pass,
            Self::Redirect(_) => Action::Redirect,
            Self::Serve(_) => Action::Serve,
            Self::Refuse(_) => Action::Refuse,
            Self::Slow(_) => Action::Slow,
        }
    }

    /// Returns the decision of a rule that matches; `None`: the rules after it are asked.
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
/// Why a request passes.
#[derive(Hash)]
#[non_exhaustive]
pub enum PassReason {
    /// There is no filter pattern, no redirect URL, or nobody to redirect.
    NothingFiltered = "nothing-filtered",
    /// No filter pattern matches the path, nor does a rule but slow robots down on it, or give
    /// headers to everybody.
    PathNotFiltered = "path-not-filtered",
    /// The method is not redirected, nor is a rule about it.
    Method = "method",
    /// The path is there for robots, or a setting exempts it.
    NeverFiltered = "never-filtered",
    /// The path is robot heaven itself.
    Heaven = "heaven",
    /// The path is a trap, where no rule acts.
    Trap = "trap",
    /// The User-Agent names no known robot.
    NotARobot = "not-a-robot",
    /// The robot is one of those that always pass.
    Allowed = "allowed",
    /// A rule lets the robot pass.
    Rule = "rule",
    /// No rule is about the robot on a path that no filter pattern matches.
    NoRule = "no-rule",
    /// Robots of this purpose are not redirected.
    Purpose = "purpose",
    /// The request has no User-Agent, or an empty one, and no rule names such visitors.
    Nameless = "nameless",
    /// The User-Agent stands for many people, and no rule names such visitors.
    Shared = "shared",
}
}

impl PassReason {
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

/// Characters of a path or a name that a step quotes.
const MAX_QUOTED_CHARS: usize = 200;

/// One step on the way to a decision.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// "verdict", "evidence", "settings", "method", "path", "rules", "never", "heaven",
    /// "robot", "allow", "deny", "spoofed", "rule", "purpose", "tag", "robots.txt", "mode"
    /// or the word of an [`Action`](super::Action).
    pub name: &'static str,
    /// What was found, as a sentence.
    pub text: String,
}

/// Listener to the steps; the texts are made only if it wants them.
pub(super) trait Trace {
    fn step(&mut self, name: &'static str, text: impl FnOnce() -> String);
}

/// Listens to nothing.
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

/// Returns bytes from outside as quoted text of limited length, control characters escaped.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}
