//! How a site's heaven pages are made from the site robot's descriptions.

use std::{fmt, path::PathBuf};

/// How this process uses the site robot's descriptions of a site.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HeavenUse {
    /// Robot heaven is generated from the descriptions on request.
    Served,
    /// Pages are published in the directory from which this process serves robot heaven.
    Published(PathBuf),
    /// Pages are published in a directory other than the one from which this process serves robot
    /// heaven.
    PublishedElsewhere(PathBuf),
    /// The site robot's descriptions are not used.
    Nothing,
}

impl HeavenUse {
    /// Returns the name of this use of descriptions.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Served => "database",
            Self::Published(_) => "files",
            Self::PublishedElsewhere(_) => "elsewhere",
            Self::Nothing => "none",
        }
    }

    /// Returns `true` if this program does not redirect any robots to pages generated from the
    /// descriptions.
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::PublishedElsewhere(_) | Self::Nothing)
    }
}

/// Writes a predicate whose subject is the descriptions; if they are unused, it names the settings
/// to change.
impl fmt::Display for HeavenUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Served => f.write_str("robot heaven is generated from them"),
            Self::Published(directory) => {
                let directory = directory.display();
                write!(
                    f,
                    "robot heaven is generated from them with each run, in {directory}"
                )
            }
            Self::PublishedElsewhere(directory) => {
                let directory = directory.display();
                write!(
                    f,
                    "their pages are published in {directory}, but this process redirects no robots to that directory: \
                     set heaven.directory to it as well"
                )
            }
            Self::Nothing => f.write_str(
                "they are not used: set heaven.source = \"database\", or site_robot.publish \
                 and heaven.directory to the same directory, to redirect robots to their pages",
            ),
        }
    }
}
