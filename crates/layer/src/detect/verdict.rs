//! What became of a claim once somebody looked into it.

use std::fmt;

/// Verdict on a robot's claim to be who it says.
///
/// The room `verify` proves claims; where nobody does, every claim
/// is unverifiable.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Verdict {
    /// It is who it says, by a proof that its operator offers.
    Verified,
    /// What its operator publishes contradicts the claim.
    Spoofed,
    /// Its operator publishes nothing, or what it publishes could not be had.
    #[default]
    Unverifiable,
    /// The proof is under way.
    Pending,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: &'static [Self] = &[
        Self::Verified,
        Self::Spoofed,
        Self::Unverifiable,
        Self::Pending,
    ];

    /// Returns the word for it, for settings, logs and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Spoofed => "spoofed",
            Self::Unverifiable => "unverifiable",
            Self::Pending => "pending",
        }
    }

    /// Returns the verdict that a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|verdict| verdict.as_str() == word)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
