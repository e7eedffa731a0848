//! What can be wrong with the settings of a policy.

/// Error of a setting that makes no policy.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A filter pattern is no glob of paths (`FilterPattern`).
    #[error("filter pattern {pattern:?}: {reason}")]
    FilterPattern {
        /// The pattern as spelled.
        pattern: String,
        /// Why, and what to write instead.
        reason: String,
    },
    /// The redirect URL leads nowhere robots may be sent (`RedirectURL`).
    #[error("redirect URL {url:?}: {reason}")]
    RedirectUrl {
        /// The URL as spelled.
        url: String,
        /// Why, and what to write instead.
        reason: String,
    },
    /// The status is none of a redirect.
    #[error("redirect status {0}: use 301, 302, 303, 307 or 308")]
    Status(u16),
    /// The method is no token of HTTP (RFC 9110 §9.1).
    #[error("method {0:?} is not an HTTP method name; use names such as GET and HEAD")]
    Method(String),
    /// A path that is never redirected is no path, or the whole site.
    #[error("path {path:?} that is never redirected: {reason}")]
    Never {
        /// The path as spelled.
        path: String,
        /// Why, and what to write instead.
        reason: String,
    },
    /// A name of this site is no host name.
    #[error("host {host:?} of this site: {reason}")]
    OwnHost {
        /// The name as spelled.
        host: String,
        /// Why, and what to write instead.
        reason: String,
    },
    /// Robots are denied, and there is no redirect URL to send them to.
    #[error("there is nowhere to send the denied robots; set a redirect URL")]
    NowhereToRedirect,
    /// Impostors are to be redirected, and there is no redirect URL to send them to.
    #[error(
        "there is nowhere to send those who are not who they say; set a redirect URL, or refuse them"
    )]
    NowhereToRedirectSpoofed,
    /// A rule about `X-Robots-Tag` headers is wrong.
    #[error("x_robots_tag {number}: {key}: {reason}")]
    Tag {
        /// Its number, from 1.
        number: usize,
        /// The setting that is wrong, as a configuration file spells it.
        key: &'static str,
        /// Why, and what to write instead.
        reason: String,
    },
    /// A rule is wrong, or can never match.
    #[error("rule {number}: {key}: {reason}")]
    Rule {
        /// Its number, from 1.
        number: usize,
        /// The setting that is wrong, as a configuration file spells it.
        key: &'static str,
        /// Why, and what to write instead.
        reason: String,
    },
}

/// What is wrong with a condition: its key, why, and what to write instead.
pub(super) type InvalidCondition = (&'static str, String);

impl PolicyError {
    pub(super) fn rule(number: usize, key: &'static str, reason: String) -> Self {
        Self::Rule {
            number,
            key,
            reason,
        }
    }
}

/// Robot that a rule or a list names and that the registry does not list.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{by} names the robot {id:?}, which the registry does not list{}", hint(.nearest.as_deref()))]
#[non_exhaustive]
pub struct UnknownRobot {
    /// The rule or the list, such as `rule 2` or `allow_robots`.
    pub by: String,
    /// The id as spelled.
    pub id: String,
    /// The id that is spelled most like it, if one comes near.
    pub nearest: Option<String>,
}

/// Rule of an overlay that does not fit a policy.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct LeftOutRule {
    /// What reasons would call it.
    pub label: String,
    /// Why it is left out.
    pub reason: String,
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}
