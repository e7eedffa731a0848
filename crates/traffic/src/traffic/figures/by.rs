//! What traffic is added up by.

use crate::summary::Grouping;

/// Declares the groupings from one list, so that none lacks a word.
macro_rules! groupings {
    ($($(#[$attribute:meta])* $By:ident = $word:literal, $plural:literal;)*) => {
        /// What traffic is added up by.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[derive(clap::ValueEnum)]
        pub enum By {
            $($(#[$attribute])* $By,)*
        }

        impl By {
            /// Every one of them, in the order of the tables.
            pub const ALL: &'static [Self] = &[$(Self::$By),*];

            /// Returns the word of parameters and options.
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
    /// Robots
    Robot = "robot", "robots";
    /// Companies and projects that run them
    Operator = "operator", "operators";
    /// What they are for
    Purpose = "purpose", "purposes";
    /// Robots and the verdicts on their claims
    Verdict = "verdict", "verdicts";
    /// What was done
    Decision = "decision", "decisions";
    /// Rules and words that decided
    Cause = "cause", "causes";
    /// Sites
    Site = "site", "sites";
    /// Classes of statuses
    Status = "status", "statuses";
    /// People, robots, unlisted robots, requests without User-Agent
    Total = "total", "totals";
}

impl By {
    /// Returns what a word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|by| by.as_str() == word)
    }
}
