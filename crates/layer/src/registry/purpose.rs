//! What robots are for.

use std::fmt;

macro_rules! purposes {
    ($($(#[doc = $doc:literal])* $variant:ident = $word:literal),* $(,)?) => {
        /// What a robot is for.
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Purpose {
            $($(#[doc = $doc])* $variant,)*
            /// None, for it is no robot: its User-Agent stands for many people.
            Shared,
            /// Not stated, or not one of the words above.
            #[default]
            Unknown,
        }

        impl Purpose {
            /// Every purpose, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)* Self::Shared, Self::Unknown];

            /// Purposes of robots: every one but that of User-Agents that many people share.
            pub const ROBOTS: &'static [Self] = &[$(Self::$variant,)* Self::Unknown];

            /// Returns `true` for programs that anybody runs: libraries, driven browsers.
            pub(crate) fn is_anybody_s(self) -> bool {
                matches!(self, Self::Library | Self::Automation)
            }

            /// Returns the word for it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Shared => "shared",
                    Self::Unknown => "unknown",
                }
            }

            /// Returns the purpose that a word names, ignoring ASCII case.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL
                    .iter()
                    .copied()
                    .find(|purpose| purpose.as_str().eq_ignore_ascii_case(word))
            }
        }
    };
}

purposes! {
    /// Builds the index of a search engine.
    Search = "search",
    /// Gathers text to train models.
    AiTraining = "ai-training",
    /// Builds the index that an assistant searches.
    AiSearch = "ai-search",
    /// Fetches what a person asked an assistant for.
    AiUser = "ai-user",
    /// Gathers links and ranks for marketing.
    Seo = "seo",
    /// Checks that sites are up or fast.
    Monitoring = "monitoring",
    /// Makes the preview of a shared link.
    Preview = "preview",
    /// Fetches feeds for readers.
    Feed = "feed",
    /// Keeps copies for later generations.
    Archive = "archive",
    /// Does research.
    Academic = "academic",
    /// Checks pages that carry or are the target of advertisements.
    Advertising = "advertising",
    /// Looks for open doors.
    Scanner = "scanner",
    /// A library or command-line tool, used by anybody for anything.
    Library = "library",
    /// A browser driven by a program.
    Automation = "automation",
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
