//! The actions of rules, with all texts that describe these actions.
//!
//! Settings and their help, metrics, logs, explanations and the admin page use the texts of
//! [`Action`], so that a new action appears in all these places.

use std::fmt;

/// The texts that describe an action of a rule.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ActionTexts {
    /// The word used in settings, logs, metrics and JSON.
    pub word: &'static str,
    /// The word used in a dry run, where the action is only reported.
    pub would: &'static str,
    /// The past participle that describes the request, such as "redirected".
    pub done: &'static str,
    /// Lines of the commented configuration that describe the response to the robot.
    pub help: &'static [&'static str],
    /// The settings of a rule, other than conditions, that affect the action.
    pub keys: &'static [&'static str],
    /// Whether a rule without methods applies only to the redirected methods.
    pub is_for_redirected_methods: bool,
    /// The predicate of a rule with this action, used after "On this path, rule 1 may".
    pub may: &'static str,
    /// The predicate of a request: the texts before and after the location or status.
    pub gets: (&'static str, &'static str),
    /// The text between the action's word and the location or status.
    pub joint: &'static str,
}

/// Declares all actions in one list, so that each action has all texts and an entry in `ALL`.
macro_rules! actions {
    ($($(#[$attribute:meta])* $action:ident = $word:literal {
        $($field:ident: $value:expr,)*
    })*) => {
        /// The action of a rule.
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum Action {
            $($(#[$attribute])* $action,)*
        }

        impl Action {
            /// All actions, in order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$action),*];

            /// Returns the texts that describe the action.
            #[doc(hidden)]
            #[must_use]
            pub const fn words(self) -> &'static ActionTexts {
                match self {
                    $(Self::$action => &ActionTexts {
                        word: $word,
                        would: concat!("would-", $word),
                        $($field: $value,)*
                    },)*
                }
            }
        }
    };
}

actions! {
    /// Passes the robot's request to the application.
    ///
    /// A rule without methods applies to all methods.
    #[default]
    Pass = "pass" {
        done: "passed",
        help: &["the robot gets the same page as a human visitor"],
        keys: &[],
        is_for_redirected_methods: false,
        may: "let robots pass",
        gets: ("passes", ""),
        joint: "",
    }
    /// Redirects the robot to robot heaven, or to the rule's redirect URL.
    ///
    /// A rule without methods applies to the [redirected methods](super::PolicyBuilder::methods).
    Redirect = "redirect" {
        done: "redirected",
        help: &["the robot is redirected to redirect_url, by default the site's"],
        keys: &["redirect_url"],
        is_for_redirected_methods: true,
        may: "redirect robots",
        gets: ("is redirected to", ""),
        joint: " to",
    }
    /// Serves the robot a page of robot heaven at the requested URL, without a redirect.
    ///
    /// A rule without methods applies to the [redirected methods](super::PolicyBuilder::methods).
    Serve = "serve" {
        done: "served",
        help: &["the robot is served the page of redirect_url, without a redirect"],
        keys: &["redirect_url"],
        is_for_redirected_methods: true,
        may: "serve robots another page",
        gets: ("is served the page", " without a redirect"),
        joint: "",
    }
    /// Responds to the robot with a status and a text.
    ///
    /// A rule without methods applies to all methods.
    Refuse = "refuse" {
        done: "refused",
        help: &["the robot gets status (403) and text"],
        keys: &["status", "text"],
        is_for_redirected_methods: false,
        may: "refuse robots",
        gets: ("is refused with", ""),
        joint: " with",
    }
    /// Passes the robot's requests up to a rate limit, and responds to further requests with 429.
    ///
    /// [`RateKey`](super::RateKey) determines which requests share a limit. A rule without methods
    /// applies to all methods.
    Slow = "slow" {
        done: "slowed",
        help: &[
            "allows requests per per_seconds (60), up to burst at once, and gives 429",
            "beyond the limit; within it, the rules after this one decide. An unlisted",
            "robot is identified by its name (without numbers) and its network",
            "(/24, /48). per: one limit per address, network, asn, user-agent, or for the",
            "whole site. errors: counts responses with 403, 404 and 410, not requests",
        ],
        keys: &["text", "requests", "per_seconds", "burst", "per", "errors", "when.requests_per_second", "when.upstream_milliseconds"],
        is_for_redirected_methods: false,
        may: "slow robots down",
        gets: ("is slowed down", ""),
        joint: "",
    }
}

impl Action {
    /// Returns the word for the action, as used in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.words().word
    }

    /// Returns the action for a word used in settings.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|action| action.as_str() == word)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A map with one value for each action.
///
/// # Example
///
/// ```
/// use robot_detection_layer::policy::{Action, ByAction};
///
/// let lengths = ByAction::new(|action| action.as_str().len());
/// assert_eq!(*lengths.get(Action::Refuse), 6);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ByAction<T> {
    /// The values, in the order of [`Action::ALL`].
    values: [T; Action::ALL.len()],
}

impl<T> ByAction<T> {
    /// Creates a map by calling `value` for each action.
    pub fn new(mut value: impl FnMut(Action) -> T) -> Self {
        let mut all = Action::ALL.iter().copied();
        Self {
            values: std::array::from_fn(|_| value(all.next().unwrap_or_default())),
        }
    }

    /// Returns the value of an action.
    #[must_use]
    #[expect(
        clippy::indexing_slicing,
        reason = "there are as many values as actions"
    )]
    pub const fn get(&self, action: Action) -> &T {
        &self.values[action as usize]
    }

    /// Returns each action with its value, in the order of [`Action::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Action, &T)> {
        Action::ALL.iter().copied().zip(&self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_belongs_to_its_action() {
        let words = ByAction::new(Action::as_str);
        for &action in Action::ALL {
            assert_eq!(*words.get(action), action.as_str());
            assert_eq!(Action::from_word(action.as_str()), Some(action));
        }
        assert!(words.iter().all(|(action, word)| action.as_str() == *word));
    }
}
