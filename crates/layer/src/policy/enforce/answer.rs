//! Violations of robots.txt and the responses to such violations.

use std::{fmt, time::Duration};

use crate::policy::RefusalReason;

use super::settings::{Enforcement, EnforcementMode, Refusal};

/// The time that a robot must wait before requesting a disallowed path again. By then, the robot's
/// copy of robots.txt has expired (RFC 9309 §2.4).
const RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum number of characters of a rule that are stored and shown.
const MAX_RULE_CHARS: usize = 200;

/// A violation of the active robots.txt by one request.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Breach {
    /// A rule disallows the requested path.
    Disallowed {
        /// The line number of the rule, starting at 1.
        line: usize,
        /// The text of the rule, truncated if too long, with invisible characters escaped.
        rule: String,
        /// The line number of the first `User-agent` in the rule's group.
        group_line: usize,
        /// Whether the rule states for which pages AI training is permitted.
        is_about_usage: bool,
    },
    /// The site refuses all requests from the robot, and no group of the file names the robot.
    Refused(RefusalReason),
    /// The robot did not wait as long as `Crawl-delay` requires.
    TooSoon {
        /// The delay that `Crawl-delay` requires between two requests.
        delay: Duration,
        /// The time between the robot's two most recent requests.
        gap: Duration,
        /// The time to wait until the next request complies with `Crawl-delay`.
        wait: Duration,
    },
}

/// The response to a robot that violated robots.txt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// The request passes, and the violation is only reported.
    Pass,
    /// The request is refused with 403.
    Forbidden,
    /// The request is refused with 429 and `Retry-After`.
    TooManyRequests {
        /// The duration after which the robot may retry the request.
        retry_after: Duration,
    },
    /// The robot is redirected as specified by the policy, or refused with 403 if the policy does
    /// not redirect robots.
    Redirect,
}

/// A counted violation of robots.txt, with the response to the violation.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CountedViolation {
    /// The violation of robots.txt.
    pub breach: Breach,
    /// The response to the violation in the current enforcement mode.
    pub answer: Answer,
    /// The response that the violation would get without a [dry
    /// run](crate::policy::Policy::is_dry_run).
    pub would: Answer,
    /// The user agents of the group that contains the violated rule, truncated if too long; empty
    /// if no rule was violated.
    pub group: String,
    /// Whether this combination of robot and rule is new and will therefore be logged.
    pub is_new: bool,
}

impl Breach {
    pub(super) fn disallowed(line: usize, rule: &str, group_line: usize) -> Self {
        Self::Disallowed {
            line,
            rule: visible(rule, MAX_RULE_CHARS),
            group_line,
            is_about_usage: false,
        }
    }

    /// Returns the mode in which the settings enforce what was violated.
    pub(super) fn mode(&self, settings: Enforcement) -> EnforcementMode {
        match self {
            Self::Disallowed {
                is_about_usage: true,
                ..
            } => settings.usage,
            Self::Disallowed { .. } | Self::Refused(_) => settings.rules,
            Self::TooSoon { .. } => settings.crawl_delay,
        }
    }

    /// Returns the response that the settings specify for the violation.
    #[must_use]
    pub fn answer(&self, settings: Enforcement) -> Answer {
        match self {
            _ if self.mode(settings) != EnforcementMode::On => Answer::Pass,
            Self::TooSoon { wait, .. } => Answer::TooManyRequests { retry_after: *wait },
            Self::Disallowed { .. } | Self::Refused(_) => match settings.refusal {
                Refusal::Pass => Answer::Pass,
                Refusal::Forbidden => Answer::Forbidden,
                Refusal::TooManyRequests => Answer::TooManyRequests {
                    retry_after: RETRY_AFTER,
                },
                Refusal::Redirect => Answer::Redirect,
            },
        }
    }
}

impl Answer {
    /// Returns `true` if the robot does not get the requested page.
    #[must_use]
    pub fn is_refusal(self) -> bool {
        self != Self::Pass
    }
}

/// Describes the violation in one sentence of visible characters.
impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disallowed {
                line,
                rule,
                group_line,
                is_about_usage,
            } => write!(
                f,
                "line {line} of /robots.txt disallows this{}: {rule} (group at line {group_line})",
                if *is_about_usage {
                    " for AI training"
                } else {
                    ""
                }
            ),
            Self::Refused(RefusalReason::Purpose(purpose)) => {
                write!(f, "this site refuses all robots with the purpose {purpose}")
            }
            Self::Refused(RefusalReason::Itself) => f.write_str("this site refuses this robot"),
            Self::TooSoon { delay, gap, .. } => write!(
                f,
                "/robots.txt specifies a crawl-delay of {} s, but the previous request came {} s ago",
                delay.as_secs_f64(),
                gap.as_secs_f64(),
            ),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::Forbidden => f.write_str("403"),
            Self::TooManyRequests { .. } => f.write_str("429"),
            Self::Redirect => f.write_str("redirect"),
        }
    }
}

/// Truncates untrusted text if it is too long, and escapes invisible characters.
#[doc(hidden)]
#[must_use]
pub fn visible(text: &str, max_chars: usize) -> String {
    // Most texts are plain and copied whole; a loop over characters is much slower.
    if text.len() <= max_chars && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut shown = String::new();
    for (number, c) in text.chars().enumerate() {
        if number == max_chars {
            shown.push('…');
            break;
        }
        match c {
            // `escape_debug` would put a backslash before these characters, which is unnecessary
            // here.
            '"' | '\'' | '\\' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_rule_is_truncated_and_escaped() {
        let hostile = format!("Disallow: /\u{7}\u{1b}[31m{}", "é".repeat(9_999));
        let told = Breach::disallowed(3, &hostile, 1).to_string();
        assert!(
            told.starts_with(r"line 3 of /robots.txt disallows this: Disallow: /\u{7}\u{1b}[31m")
        );
        assert!(
            told.len() < 1_000 && !told.contains(char::is_control),
            "{told}"
        );
    }

    #[test]
    fn responses_follow_the_settings() {
        let disallowed = Breach::disallowed(3, "Disallow: /", 1);
        let (delay, gap) = (Duration::from_secs(10), Duration::from_millis(1_500));
        let wait = Duration::from_secs(7);
        let soon = Breach::TooSoon { delay, gap, wait };
        let on = Enforcement::default().rules(EnforcementMode::On);
        let answer = |refusal| disallowed.answer(on.refusal(refusal)).to_string();
        assert_eq!(
            Refusal::ALL.iter().map(|&r| answer(r)).collect::<Vec<_>>(),
            ["pass", "403", "429", "redirect"]
        );
        assert_eq!(disallowed.answer(Enforcement::default()), Answer::Pass);
        assert_eq!(soon.answer(on), Answer::Pass);
        let retry_after = wait;
        assert_eq!(
            soon.answer(on.crawl_delay(EnforcementMode::On)),
            Answer::TooManyRequests { retry_after }
        );
        assert_eq!(
            soon.to_string(),
            "/robots.txt specifies a crawl-delay of 10 s, but the previous request came 1.5 s ago"
        );
    }
}
