//! Groupings of traffic figures.

use crate::summary::Grouping;

/// Declares all groupings in one list, so that each has its words.
macro_rules! groupings {
    ($($(#[$attribute:meta])* $By:ident = $word:literal, $plural:literal;)*) => {
        /// Attribute by which traffic is grouped.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[derive(clap::ValueEnum)]
        pub enum By {
            $($(#[$attribute])* $By,)*
        }

        impl By {
            /// All groupings, in the order of the tables.
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
    /// Robots
    Robot = "robot", "robots";
    /// Companies and projects that run robots
    Operator = "operator", "operators";
    /// Purposes of robots
    Purpose = "purpose", "purposes";
    /// Robots with the verdicts on their claims
    Verdict = "verdict", "verdicts";
    /// Decisions for requests
    Decision = "decision", "decisions";
    /// Rules and other causes of decisions
    Cause = "cause", "causes";
    /// Sites
    Site = "site", "sites";
    /// Classes of HTTP statuses
    Status = "status", "statuses";
    /// People, robots, unlisted robots and requests without User-Agent
    Total = "total", "totals";
}

impl By {
    /// Returns the grouping for a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|by| by.as_str() == word)
    }
}
