//! The filter for stored requests.

use serde::Deserialize;

use crate::{page::encode, problem::Problem};
use robot_detection_layer::suspect::Reason;
use robot_detection_store::store::{ANY_REASON, EvidenceQuery};
use robot_detection_traffic::traffic::{decision_words, verdict_words};

/// Maximum number of characters in the name of a site or robot.
const MAX_NAME_CHARS: usize = 200;

/// The conditions that requests must meet; an empty field matches all requests.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
pub(crate) struct EvidenceFilter {
    #[serde(default)]
    pub(super) site: String,
    #[serde(default)]
    pub(super) robot: String,
    #[serde(default)]
    pub(super) decision: String,
    #[serde(default)]
    pub(super) verdict: String,
    /// Code of a reason for suspicion, or the word that means any reason.
    #[serde(default)]
    pub(super) suspect: String,
}

impl EvidenceFilter {
    /// Returns the filter, with names truncated to the maximum length.
    ///
    /// # Errors
    ///
    /// Returns a message that lists the valid words if a word is unknown.
    pub(super) fn validated(mut self) -> Result<Self, Problem> {
        check_word("decision", &self.decision, &decision_words())?;
        check_word("verdict", &self.verdict, &verdict_words())?;
        check_word("suspect", &self.suspect, &reason_words())?;
        for name in [&mut self.site, &mut self.robot] {
            *name = name.trim().chars().take(MAX_NAME_CHARS).collect();
        }
        Ok(self)
    }

    pub(super) fn query(&self) -> EvidenceQuery {
        EvidenceQuery {
            site: self.site.clone(),
            robot: self.robot.clone(),
            decision: self.decision.clone(),
            verdict: self.verdict.clone(),
            suspect: self.suspect.clone(),
            ..EvidenceQuery::default()
        }
    }

    /// Returns `true` if the filter excludes some requests.
    pub(super) fn is_narrowed(&self) -> bool {
        *self != Self::default()
    }

    /// Returns the filter as a query string that starts with `?`.
    pub(super) fn address_query(&self) -> String {
        let parts = [
            ("site", &self.site),
            ("robot", &self.robot),
            ("decision", &self.decision),
            ("verdict", &self.verdict),
            ("suspect", &self.suspect),
        ];
        let parts = parts.iter().filter(|(_, value)| !value.is_empty());
        let parts: Vec<_> = parts
            .map(|(name, value)| format!("{name}={}", encode(value)))
            .collect();
        format!("?{}", parts.join("&"))
    }
}

/// Returns the codes of the reasons for suspicion, preceded by the word that means any reason.
pub(crate) fn reason_words() -> Vec<&'static str> {
    let codes = Reason::ALL.iter().map(|reason| reason.code());
    [ANY_REASON].into_iter().chain(codes).collect()
}

/// Returns an error if a word is not in the list of valid words.
pub(super) fn check_word(name: &str, word: &str, words: &[&str]) -> Result<(), Problem> {
    if word.is_empty() || words.contains(&word) {
        return Ok(());
    }
    Err(Problem::invalid(format!(
        "{name} must be one of {}",
        words.join(", ")
    )))
}
