//! Groupings of traffic figures.

use crate::summary::Grouping;

/// Declares all groupings in a single list, each with its words.
macro_rules! groupings {
    ($($(#[$attribute:meta])* $By:ident = $word:literal, $plural:literal;)*) => {
        /// An attribute by which traffic is grouped.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[derive(clap::ValueEnum)]
        pub enum By {
            $($(#[$attribute])* $By,)*
        }

        impl By {
            /// All groupings, in the order in which their tables are shown.
            pub const ALL: &'static [Self] = &[$(Self::$By),*];

            /// Returns the word for this grouping in parameters and options.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$By => $word,)* }
            }
        }

        impl Grouping for By {
            const TOTAL: Self = Self::Total;

            fn plural(self) -> &'static str {
                match self { $(Self::$By => $plural,)* }
            }
        }
    };
}

groupings! {
    /// Group by class: impostors, suspects, robots by purpose, and people
    Class = "class", "classes";
    /// Group by robot
    Robot = "robot", "robots";
    /// Group by operator, the company or project that runs a robot
    Operator = "operator", "operators";
    /// Group by purpose of the robot
    Purpose = "purpose", "purposes";
    /// Group by robot and by the verdict on its claim
    Verdict = "verdict", "verdicts";
    /// Group by decision
    Decision = "decision", "decisions";
    /// Group by rule or other cause of the decision
    Cause = "cause", "causes";
    /// Group by site
    Site = "site", "sites";
    /// Group by class of the HTTP status
    Status = "status", "statuses";
    /// Group by kind of visitor: people, robots, unlisted robots, and requests without a User-Agent
    Total = "total", "totals";
}

impl By {
    /// Returns the grouping with the given word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|by| by.as_str() == word)
    }
}
