//! Outcomes of requests from suspects, computed from the stored traffic.

use serde_json::{Map, Value};

use robot_detection_store::store::{TrafficKey, TrafficSum};

/// The cause recorded for suspects that are only marked.
pub const MARKED: &str = "suspect";

/// The cause recorded for decisions by the `[suspects]` rule.
const RULE: &str = "suspects";

/// The cause recorded for submitted confirmations.
const WAY_OUT: &str = "way-out";

/// The status class of responses to accepted confirmations.
const REDIRECTED: u8 = 3;

/// The number of human requests, and the outcomes of requests from suspects.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SuspectFigures {
    /// Number of human requests, including those from suspects.
    pub people: u64,
    /// Number of requests from suspects to which no other rule applied.
    pub suspects: u64,
    /// Number of requests from suspects that were served a heaven page.
    pub copies: u64,
    /// Number of requests from suspects that were slowed down.
    pub slowed: u64,
    /// Number of requests from suspects that were refused.
    pub refused: u64,
    /// Number of accepted confirmations.
    pub let_out: u64,
}

/// Returns `true` if the requests are from suspects.
pub(super) fn is_suspect(key: &TrafficKey) -> bool {
    key.kind == "person" && matches!(&*key.cause, MARKED | RULE)
}

impl SuspectFigures {
    /// Computes the numbers from stored traffic sums.
    pub fn from_sums(sums: &[TrafficSum]) -> Self {
        let mut all = Self::default();
        for TrafficSum { key, count, .. } in sums {
            if key.kind != "person" {
                continue;
            }
            let requests = count.requests;
            all.people += requests;
            match (&*key.cause, &*key.decision) {
                (WAY_OUT, _) if key.status == REDIRECTED => all.let_out += requests,
                (MARKED, _) => all.suspects += requests,
                (RULE, decision) => {
                    all.suspects += requests;
                    match decision {
                        "serve" => all.copies += requests,
                        "slow" => all.slowed += requests,
                        "refuse" => all.refused += requests,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// Returns the numbers as a JSON object.
    pub fn object(&self) -> Map<String, Value> {
        let rows = self.rows().into_iter();
        rows.map(|(_, name, requests)| (name.to_owned(), requests.into()))
            .collect()
    }

    /// Returns the label, JSON name and value of each number.
    pub fn rows(&self) -> [(&'static str, &'static str, u64); 6] {
        [
            ("Human requests", "people", self.people),
            ("from suspects", "suspects", self.suspects),
            ("served a heaven page", "copies", self.copies),
            ("slowed down", "slowed", self.slowed),
            ("refused", "refused", self.refused),
            ("confirmed as human", "let_out", self.let_out),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_store::store::{TrafficCount, TrafficKey};

    #[test]
    fn requests_are_counted_by_outcome() {
        let sum = |kind: &str, decision: &str, cause: &str, status, requests| {
            let key = TrafficKey {
                kind: kind.to_owned(),
                decision: decision.to_owned(),
                cause: cause.to_owned(),
                status,
                ..TrafficKey::default()
            };
            let count = TrafficCount {
                requests,
                ..TrafficCount::default()
            };
            TrafficSum::new(key, count)
        };
        let figures = SuspectFigures::from_sums(&[
            sum("person", "pass", "not-a-robot", 2, 1),
            sum("person", "pass", "suspect", 2, 10),
            sum("person", "serve", "suspects", 2, 100),
            sum("person", "pass", "suspects", 2, 1_000),
            sum("person", "pass", "way-out", 3, 10_000),
            sum("person", "pass", "way-out", 4, 100_000),
            sum("listed", "serve", "suspects", 2, 1_000_000),
        ]);
        let expected = SuspectFigures {
            people: 111_111,
            suspects: 1_110,
            copies: 100,
            let_out: 10_000,
            ..SuspectFigures::default()
        };
        assert_eq!(figures, expected);
    }
}
