//! The formats in which a registry is handed to others.

use crate::registry::Format;

/// Format of an export.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ExportFormat {
    /// One of the formats that are read too.
    Registry(Format),
    /// A `map` of nginx: from the User-Agent to the robot's id.
    Nginx,
    /// A map of `HAProxy`: a regular expression and the robot's id a line.
    HaProxy,
    /// Groups of a robots.txt that shut the robots out.
    RobotsTxt,
}

impl ExportFormat {
    /// Every format.
    pub const ALL: &'static [Self] = &[
        Self::Registry(Format::WebRobotsDb),
        Self::Registry(Format::CrawlerUserAgents),
        Self::Registry(Format::AiRobotsTxt),
        Self::Registry(Format::Matomo),
        Self::Registry(Format::List),
        Self::Nginx,
        Self::HaProxy,
        Self::RobotsTxt,
    ];

    /// Returns the word that the command line and the pages use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Registry(format) => format.as_str(),
            Self::Nginx => "nginx",
            Self::HaProxy => "haproxy",
            Self::RobotsTxt => "robots-txt",
        }
    }

    /// Returns the format that a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.as_str() == word)
    }

    /// Returns `true` if lines that begin with `#` are comments.
    #[must_use]
    pub fn has_comments(self) -> bool {
        !matches!(
            self,
            Self::Registry(Format::CrawlerUserAgents | Format::AiRobotsTxt)
        )
    }

    /// Returns the name that a file of this format usually has.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Registry(Format::WebRobotsDb) => "all.txt",
            Self::Registry(Format::CrawlerUserAgents) => "crawler-user-agents.json",
            Self::Registry(Format::AiRobotsTxt) => "robots.json",
            Self::Registry(Format::Matomo) => "bots.yml",
            Self::Registry(Format::List) => "robots.list",
            Self::Nginx => "robots.conf",
            Self::HaProxy => "robots.map",
            Self::RobotsTxt => "robots.txt",
        }
    }
}
