//! Signs that reveal an unlisted robot.

use std::{fmt, ops::Range};

use crate::registry::Purpose;

/// A robot that is not in the registry, with the sign that reveals it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unlisted {
    /// The sign that reveals the robot.
    pub sign: Sign,
    /// Byte range of the sign in the User-Agent.
    pub range: Range<usize>,
}

/// A sign by which the generic rule recognises the User-Agent of a robot.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Sign {
    /// A word that robots use in their names, such as `crawler`.
    Word,
    /// A URL, such as the URL of a page about the robot.
    Url,
    /// An e-mail address.
    Address,
    /// The word `compatible;` in a place where no browser uses it.
    Compatible,
    /// Code that attacks vulnerable servers.
    Attack,
    /// The name of a library or a command-line tool at the start of the User-Agent.
    Library,
    /// A program's name without any sign of a browser or a device.
    Program,
}

impl Sign {
    /// Returns the purpose of robots with this sign, if known.
    #[must_use]
    pub fn purpose(self) -> Purpose {
        match self {
            Self::Library => Purpose::Library,
            Self::Attack => Purpose::Scanner,
            _ => Purpose::Unknown,
        }
    }

    /// Returns the name of the sign used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Url => "url",
            Self::Address => "address",
            Self::Compatible => "compatible",
            Self::Attack => "attack",
            Self::Library => "library",
            Self::Program => "program",
        }
    }
}

/// Displays the sign as part of a sentence ("by its …").
impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Word => "robot word",
            Self::Url => "contact URL",
            Self::Address => "contact address",
            Self::Compatible => "\"compatible\" without a browser",
            Self::Attack => "attack on the server",
            Self::Library => "library name",
            Self::Program => "name without a browser or a device",
        })
    }
}
