//! What gives a robot away.

use std::{fmt, ops::Range};

use crate::registry::Purpose;

/// Robot that no registry lists: what gave it away, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unlisted {
    /// What gave it away.
    pub sign: Sign,
    /// Bytes of the User-Agent that are the sign.
    pub range: Range<usize>,
}

/// Sign by which the generic rule takes a User-Agent for a robot's.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Sign {
    /// A word that robots call themselves, such as `crawler`.
    Word,
    /// A URL, as that of a page about the robot.
    Url,
    /// An e-mail address.
    Address,
    /// `compatible;` where no browser says it.
    Compatible,
    /// Code that is meant for a careless server.
    Attack,
    /// The name of a library or command-line tool at the start.
    Library,
    /// A name as programs have it, and nothing of a browser or a device.
    Program,
}

impl Sign {
    /// Returns what robots with this sign are for, as far as it tells.
    #[must_use]
    pub fn purpose(self) -> Purpose {
        match self {
            Self::Library => Purpose::Library,
            Self::Attack => Purpose::Scanner,
            _ => Purpose::Unknown,
        }
    }

    /// Returns the word for it, for JSON.
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

/// Names the sign in a sentence: "by its …".
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
