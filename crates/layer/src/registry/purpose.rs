//! The purposes of robots.

use std::fmt;

macro_rules! purposes {
    ($($(#[doc = $doc:literal])* $variant:ident = $word:literal),* $(,)?) => {
        /// The purpose of a robot.
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Purpose {
            $($(#[doc = $doc])* $variant,)*
            /// No robot's purpose: many visitors share the User-Agent.
            Shared,
            /// A purpose that is not stated, or that is not one of the known purposes.
            #[default]
            Unknown,
        }

        impl Purpose {
            /// All purposes, in the order used in the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)* Self::Shared, Self::Unknown];

            /// All purposes that robots can have, which are all purposes except `Shared`.
            pub const ROBOTS: &'static [Self] = &[$(Self::$variant,)* Self::Unknown];

            /// Returns `true` for programs that anyone may use for any purpose: libraries and
            /// automated browsers.
            pub(crate) fn is_general_tool(self) -> bool {
                matches!(self, Self::Library | Self::Automation)
            }

            /// Returns the word for the purpose, as used in settings.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Shared => "shared",
                    Self::Unknown => "unknown",
                }
            }

            /// Returns the purpose for a word, ignoring ASCII case.
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
    /// Indexing for the search of an AI assistant.
    AiSearch = "ai-search",
    /// Requests made on behalf of a user of an AI assistant.
    AiUser = "ai-user",
    /// Analysis of links and rankings for marketing.
    Seo = "seo",
    /// Checks of the availability or speed of sites.
    Monitoring = "monitoring",
    /// Creation of previews for shared links.
    Preview = "preview",
    /// Retrieval of feeds for feed readers.
    Feed = "feed",
    /// Long-term archiving of pages.
    Archive = "archive",
    /// Academic research.
    Academic = "academic",
    /// Checks of pages that contain advertisements, or of the pages that advertisements link to.
    Advertising = "advertising",
    /// Scans for security vulnerabilities.
    Scanner = "scanner",
    /// A library or command-line tool that anyone may use for any purpose.
    Library = "library",
    /// A browser that is controlled by a program.
    Automation = "automation",
    /// Software that acts for a person who cannot see or type: treated like a person's browser if
    /// verified, and otherwise like `automation`.
    Assistive = "assistive",
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
