//! Use of the site robot's descriptions.

use std::{fmt, path::PathBuf};

/// Use that a process makes of the descriptions of a site.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HeavenUse {
    /// Robot heaven is made of them on request.
    Served,
    /// They are published in the directory that robot heaven is served from.
    Published(PathBuf),
    /// They are published in a directory that is not served from here.
    PublishedElsewhere(PathBuf),
    /// Nothing is made of them.
    Nothing,
}

impl HeavenUse {
    /// Returns the word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Served => "database",
            Self::Published(_) => "files",
            Self::PublishedElsewhere(_) => "elsewhere",
            Self::Nothing => "none",
        }
    }

    /// Returns `true` if no robot is sent to pages made of them by this program.
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::PublishedElsewhere(_) | Self::Nothing)
    }
}

/// Writes it as a predicate of the descriptions, with the settings to change where they are unused.
impl fmt::Display for HeavenUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Served => f.write_str("robot heaven is made of them"),
            Self::Published(directory) => {
                let directory = directory.display();
                write!(
                    f,
                    "robot heaven is made of them with each run, in {directory}"
                )
            }
            Self::PublishedElsewhere(directory) => {
                let directory = directory.display();
                write!(
                    f,
                    "their pages are published in {directory}, where no robot is sent from here: \
                     set heaven.directory to it as well"
                )
            }
            Self::Nothing => f.write_str(
                "nothing is made of them: set heaven.source = \"database\", or site_robot.publish \
                 and heaven.directory to the same directory, and robots are sent to their pages",
            ),
        }
    }
}
