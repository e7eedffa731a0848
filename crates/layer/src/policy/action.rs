//! What a rule can do with a robot, and every word that is written of it.
//!
//! Settings and their help, metrics, logs, explanations and the admin page ask an
//! [`Action`] for its words: one that is added here is known to all of them.

use std::fmt;

/// What is written of an action.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ActionWords {
    /// The word of settings, logs, metrics and JSON.
    pub word: &'static str,
    /// The word in a dry run, where it is only noted.
    pub would: &'static str,
    /// What became of a request: "redirected".
    pub done: &'static str,
    /// What the robot gets, in lines for the commented configuration.
    pub help: &'static [&'static str],
    /// Settings of a rule that it makes use of, beside the conditions.
    pub keys: &'static [&'static str],
    /// Whether a rule without methods is about those that are redirected, and no others.
    pub is_for_redirected_methods: bool,
    /// What a rule may do, after "There, rule 1 may".
    pub may: &'static str,
    /// What a request gets: before the location or status that it gets, and behind it.
    pub gets: (&'static str, &'static str),
    /// What stands between the word and the location or status of a rule.
    pub joint: &'static str,
}

/// Declares the actions from one list, so that none lacks a word or its place in `ALL`.
macro_rules! actions {
    ($($(#[$attribute:meta])* $action:ident = $word:literal {
        $($field:ident: $value:expr,)*
    })*) => {
        /// What a rule does with a robot.
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum Action {
            $($(#[$attribute])* $action,)*
        }

        impl Action {
            /// Every action.
            pub const ALL: &'static [Self] = &[$(Self::$action),*];

            /// Returns what is written of it.
            #[doc(hidden)]
            #[must_use]
            pub const fn words(self) -> &'static ActionWords {
                match self {
                    $(Self::$action => &ActionWords {
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
    /// The robot's request goes on to the application.
    ///
    /// Without methods of its own the rule is about every method.
    #[default]
    Pass = "pass" {
        done: "passed",
        help: &["the robot gets what a person gets"],
        keys: &[],
        is_for_redirected_methods: false,
        may: "let robots pass",
        gets: ("passes", ""),
        joint: "",
    }
    /// The robot is sent to heaven, or to the rule's own redirect URL.
    ///
    /// Without methods of its own the rule is about those that are
    /// [redirected](super::PolicyBuilder::methods).
    Redirect = "redirect" {
        done: "redirected",
        help: &["it is sent to redirect_url, by default the site's"],
        keys: &["redirect_url"],
        is_for_redirected_methods: true,
        may: "redirect robots",
        gets: ("is redirected to", ""),
        joint: " to",
    }
    /// The robot gets heaven's page at the URL that it asked for.
    ///
    /// Without methods of its own the rule is about those that are
    /// [redirected](super::PolicyBuilder::methods).
    Serve = "serve" {
        done: "served",
        help: &["it gets the page of redirect_url at the URL that it asked for"],
        keys: &["redirect_url"],
        is_for_redirected_methods: true,
        may: "serve robots another page",
        gets: ("gets the page of", " in its place"),
        joint: "",
    }
    /// The robot gets a status and a text, and nothing else.
    ///
    /// Without methods of its own the rule is about every method.
    Refuse = "refuse" {
        done: "refused",
        help: &["it gets status (403) and text"],
        keys: &["status", "text"],
        is_for_redirected_methods: false,
        may: "refuse robots",
        gets: ("is refused with", ""),
        joint: " with",
    }
    /// The robot passes as long as it does not come too fast; otherwise it gets 429.
    ///
    /// [`RateKey`](super::RateKey) says who has a pace of his own.
    /// Without methods of its own the rule is about every method.
    Slow = "slow" {
        done: "slowed",
        help: &[
            "it gets 429 beyond so many requests per_seconds (60), burst of them at",
            "once; within that pace the rules behind this one are asked. An unlisted",
            "robot is known by its name, numbers aside, and by its network (/24, /48);",
            "per counts by address, network, asn, user-agent or for the whole site; in",
            "place of requests errors counts the answers 403, 404 and 410",
        ],
        keys: &["text", "requests", "per_seconds", "burst", "per", "errors", "when.requests_per_second", "when.upstream_milliseconds"],
        is_for_redirected_methods: false,
        may: "slow robots down",
        gets: ("is slowed down", ""),
        joint: "",
    }
}

impl Action {
    /// Returns the word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.words().word
    }

    /// Returns the action that a word names.
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

/// One value for each action.
///
/// # Example
///
/// ```
/// use robot_detection_layer::policy::{Action, ByAction};
///
/// let lengths = ByAction::new(|action| action.as_str().len());
/// assert_eq!(*lengths.of(Action::Refuse), 6);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ByAction<T> {
    /// In the order of the list of actions.
    values: [T; Action::ALL.len()],
}

impl<T> ByAction<T> {
    /// Creates the values by asking for that of each action.
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
    pub const fn of(&self, action: Action) -> &T {
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
    fn each_value_is_that_of_its_action() {
        let words = ByAction::new(Action::as_str);
        for &action in Action::ALL {
            assert_eq!(*words.of(action), action.as_str());
            assert_eq!(Action::from_word(action.as_str()), Some(action));
        }
        assert!(words.iter().all(|(action, word)| action.as_str() == *word));
    }
}
