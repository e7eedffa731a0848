//! Purposes of robots.

use std::fmt;

macro_rules! purposes {
    ($($(#[doc = $doc:literal])* $variant:ident = $word:literal),* $(,)?) => {
        /// Purpose of a robot.
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Purpose {
            $($(#[doc = $doc])* $variant,)*
            /// No robot: many visitors share the User-Agent.
            Shared,
            /// Purpose that is not stated, or not one of the other words.
            #[default]
            Unknown,
        }

        impl Purpose {
            /// All purposes, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)* Self::Shared, Self::Unknown];

            /// Purposes of robots: all except `Shared`.
            pub const ROBOTS: &'static [Self] = &[$(Self::$variant,)* Self::Unknown];

            /// Returns `true` for programs with arbitrary users: libraries and automated browsers.
            pub(crate) fn is_general_tool(self) -> bool {
                matches!(self, Self::Library | Self::Automation)
            }

            /// Returns the word of the purpose.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Shared => "shared",
                    Self::Unknown => "unknown",
                }
            }

            /// Returns the purpose with the given word, ignoring ASCII case.
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
    /// Indexing for a search engine.
    Search = "search",
    /// Collection of text to train AI models.
    AiTraining = "ai-training",
    /// Indexing for an AI assistant's search.
    AiSearch = "ai-search",
    /// Requests on behalf of a user of an AI assistant.
    AiUser = "ai-user",
    /// Analysis of links and rankings for marketing.
    Seo = "seo",
    /// Checks of the availability or speed of sites.
    Monitoring = "monitoring",
    /// Creation of previews for shared links.
    Preview = "preview",
    /// Retrieval of feeds for readers.
    Feed = "feed",
    /// Long-term archiving of pages.
    Archive = "archive",
    /// Academic research.
    Academic = "academic",
    /// Checks of pages with advertisements, or of their targets.
    Advertising = "advertising",
    /// Scans for security vulnerabilities.
    Scanner = "scanner",
    /// Library or command-line tool with arbitrary users and purposes.
    Library = "library",
    /// Browser controlled by a program.
    Automation = "automation",
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
