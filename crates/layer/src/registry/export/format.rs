//! Export formats of a registry.

use std::sync::Arc;

use super::{Exported, write_ai_robots_txt, write_crawler_user_agents, write_list, write_matomo};
use crate::registry::{Format, Robot, write_flat_file};

/// A format in which a registry can be exported.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ExportFormat {
    /// A format that can also be imported.
    Registry(Format),
    /// An nginx `map` from the User-Agent to the robot's ID.
    Nginx,
    /// A `HAProxy` map, in which each line contains a regular expression and a robot's ID.
    HaProxy,
    /// Groups of a robots.txt that exclude the exported robots.
    RobotsTxt,
}

impl ExportFormat {
    /// All export formats.
    pub const ALL: &'static [Self] = Format::EXPORTS;

    /// Returns the name of the format used on the command line and in the console.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Registry(format) => format.as_str(),
            Self::Nginx => "nginx",
            Self::HaProxy => "haproxy",
            Self::RobotsTxt => "robots-txt",
        }
    }

    /// Returns the format with the given name.
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
        !self.is_json()
    }

    /// Returns the media type of a file in this format.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        if self.is_json() {
            "application/json"
        } else {
            "text/plain; charset=utf-8"
        }
    }

    /// Returns the usual name of a file in this format.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Registry(format) => format.row().file_name,
            Self::Nginx => "robots.conf",
            Self::HaProxy => "robots.map",
            Self::RobotsTxt => "robots.txt",
        }
    }

    fn is_json(self) -> bool {
        matches!(self, Self::Registry(format) if format.row().is_json)
    }
}

impl Format {
    /// Writes robots in this format.
    pub(crate) fn write(self, robots: &[Arc<Robot>]) -> Exported {
        match self {
            Self::WebRobotsDb => write_all(robots),
            Self::CrawlerUserAgents => write_crawler_user_agents(robots),
            Self::AiRobotsTxt => write_ai_robots_txt(robots),
            Self::Matomo => write_matomo(robots),
            Self::List => write_list(robots),
        }
    }
}

/// Writes all robots, including robots that do not take part in detection.
fn write_all(robots: &[Arc<Robot>]) -> Exported {
    Exported {
        text: write_flat_file(robots.iter().map(AsRef::as_ref)),
        robots: robots.len(),
        ..Exported::default()
    }
}
