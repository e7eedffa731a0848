//! Errors in the settings of a policy.

/// An error in a setting of a policy.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A filter pattern is not a valid glob for paths (`FilterPattern`).
    #[error("filter pattern {pattern:?}: {reason}")]
    FilterPattern {
        /// The filter pattern as written in the settings.
        pattern: String,
        /// The reason why the filter pattern is invalid, with a correction.
        reason: String,
    },
    /// The redirect URL is not a valid target for robots (`RedirectURL`).
    #[error("redirect URL {url:?}: {reason}")]
    RedirectUrl {
        /// The redirect URL as written in the settings.
        url: String,
        /// The reason why the redirect URL is invalid, with a correction.
        reason: String,
    },
    /// The redirect status is not supported.
    #[error("redirect status {0} is not supported; use 301, 302, 303, 307 or 308")]
    Status(u16),
    /// The method is not an HTTP token (RFC 9110 §9.1).
    #[error("method {0:?} is not an HTTP method name; use names such as GET and HEAD")]
    Method(String),
    /// A path configured as exempt from redirects is invalid, or is the whole site.
    #[error("path {path:?} cannot be exempt from redirects: {reason}")]
    Never {
        /// The exempt path as written in the settings.
        path: String,
        /// The reason why the path is invalid, with a correction.
        reason: String,
    },
    /// A name configured for this site is not a host name.
    #[error("host {host:?} of this site: {reason}")]
    OwnHost {
        /// The host name as written in the settings.
        host: String,
        /// The reason why the host name is invalid, with a correction.
        reason: String,
    },
    /// A setting lists denied robots, but there is no redirect URL for these robots.
    #[error("no redirect target for denied robots; set a redirect URL")]
    NowhereToRedirect,
    /// A setting redirects robots with a spoofed claim, but there is no redirect URL.
    #[error(
        "no redirect target for robots with a spoofed claim; set a redirect URL, or refuse these robots"
    )]
    NowhereToRedirectSpoofed,
    /// A rule for `X-Robots-Tag` headers is invalid.
    #[error("x_robots_tag {number}: {key}: {reason}")]
    Tag {
        /// Number of the `X-Robots-Tag` rule, starting at 1.
        number: usize,
        /// Name of the invalid setting in a configuration file.
        key: &'static str,
        /// The reason why the `X-Robots-Tag` rule is invalid, with a correction.
        reason: String,
    },
    /// A rule is invalid or can never match.
    #[error("rule {number}: {key}: {reason}")]
    Rule {
        /// Number of the rule, starting at 1.
        number: usize,
        /// Name of the invalid setting in a configuration file.
        key: &'static str,
        /// The reason why the rule is invalid, with a correction.
        reason: String,
    },
}

/// The key of an invalid condition, with the reason and a correction.
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

/// A robot ID in a rule or list that is not in the registry.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{by} refers to the robot {id:?}, which is not in the registry{}", hint(.nearest.as_deref()))]
#[non_exhaustive]
pub struct UnknownRobot {
    /// The rule or list that contains the ID, such as `rule 2` or `allow_robots`.
    pub by: String,
    /// The robot ID as written in the settings.
    pub id: String,
    /// The most similar known ID, if any.
    pub nearest: Option<String>,
}

/// A rule from an overlay that cannot be added to a policy.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct OmittedRule {
    /// The label of the rule, as used in explanations.
    pub label: String,
    /// The reason why the rule cannot be added.
    pub reason: String,
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}
