//! Use of the site robot's descriptions.

use std::{fmt, path::PathBuf};

/// The way in which this process uses a site's descriptions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HeavenUse {
    /// Robot heaven is generated from the descriptions on request.
    Served,
    /// Pages are published in the directory from which robot heaven is served.
    Published(PathBuf),
    /// Pages are published in a directory from which this process does not serve robot heaven.
    PublishedElsewhere(PathBuf),
    /// The site robot's descriptions are not used.
    Nothing,
}

impl HeavenUse {
    /// Returns the word for the use of descriptions.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Served => "database",
            Self::Published(_) => "files",
            Self::PublishedElsewhere(_) => "elsewhere",
            Self::Nothing => "none",
        }
    }

    /// Returns `true` if this program redirects no robots to pages generated from the descriptions.
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::PublishedElsewhere(_) | Self::Nothing)
    }
}

/// Writes the use as a predicate of the descriptions, including the settings to change if unused.
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
