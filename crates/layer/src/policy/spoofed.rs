//! What is done with robots that are not who they say.

use std::fmt;

use super::Refuse;

/// Text for whom is refused as an impostor.
const TEXT: &str = "This request does not come from the robot that it names.\n";

/// What is done with a request whose claim is spoofed.
///
/// Whatever it is, an impostor gains nothing by the name: neither the list of
/// [allowed](super::PolicyBuilder::allow_robots) robots nor a rule that lets
/// certain robots pass is about it, unless the rule names the verdict.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Spoofed {
    /// It is told and counted, and treated like the robot that it claims to be.
    #[default]
    Report,
    /// It is redirected on every filtered path, whatever its purpose.
    Redirect,
    /// It gets 403 everywhere but on the paths that are never redirected.
    Refuse,
}

impl Spoofed {
    /// Every treatment.
    pub const ALL: &'static [Self] = &[Self::Report, Self::Redirect, Self::Refuse];

    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Redirect => "redirect",
            Self::Refuse => "refuse",
        }
    }

    /// Returns the treatment that a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|treatment| treatment.as_str() == word)
    }
}

impl fmt::Display for Spoofed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns what an impostor is told.
pub(super) fn refusal() -> Refuse {
    Refuse {
        status: 403,
        text: TEXT.to_owned(),
    }
}
