//! What the proof of a claim has found.

use std::sync::{Arc, OnceLock};

use crate::detect::Verdict;

/// Finding on one claim, which may come after the request was answered; clones share it.
///
/// # Example
///
/// ```
/// use robot_detection_layer::{detect::Verdict, layer::ClaimProof};
///
/// let proof = ClaimProof::default();
/// assert_eq!(proof.verdict(), None);
/// proof.end(Verdict::Spoofed, "192.0.2.7 is nobody's");
/// assert_eq!(proof.verdict(), Some(Verdict::Spoofed));
/// assert_eq!(proof.evidence(), "192.0.2.7 is nobody's");
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClaimProof {
    found: Arc<OnceLock<(Verdict, Box<str>)>>,
}

impl ClaimProof {
    /// Creates one that has ended.
    #[must_use]
    pub fn ended(verdict: Verdict, evidence: &str) -> Self {
        let proof = Self::default();
        proof.end(verdict, evidence);
        proof
    }

    /// Notes what was found; a second finding changes nothing.
    pub fn end(&self, verdict: Verdict, evidence: &str) {
        self.found.get_or_init(|| (verdict, evidence.into()));
    }

    /// Returns the verdict; `None` while the proof is under way, and where it was given up.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.found.get().map(|(verdict, _)| *verdict)
    }

    /// Returns what contradicts the claim, where something does.
    #[must_use]
    pub fn evidence(&self) -> &str {
        self.found.get().map_or("", |(_, evidence)| evidence)
    }
}
