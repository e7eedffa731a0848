//! What became of suspects, by what is kept of traffic.

use serde_json::{Map, Value};

use robot_detection_store::store::TrafficSum;

/// Cause of those who are only marked.
const MARKED: &str = "suspect";

/// Cause by the rule of `[suspects]`.
const RULE: &str = "suspects";

/// Cause of those who press the button of a copy.
const WAY_OUT: &str = "way-out";

/// Class of the status of those who were let out.
const REDIRECTED: u8 = 3;

/// Requests of people, and what became of those that suspects sent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SuspectFigures {
    /// Requests of people, suspects among them.
    pub people: u64,
    /// Those of suspects that no other rule was about.
    pub suspects: u64,
    /// Those that were answered by a copy.
    pub copies: u64,
    /// Those that were slowed down.
    pub slowed: u64,
    /// Those that were refused.
    pub refused: u64,
    /// How often somebody said that he is a person, and got out.
    pub let_out: u64,
}

impl SuspectFigures {
    /// Adds up what was counted.
    pub fn of(sums: &[TrafficSum]) -> Self {
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

    /// Returns the numbers by their names for JSON.
    pub fn object(&self) -> Map<String, Value> {
        let rows = self.rows().into_iter();
        rows.map(|(_, name, requests)| (name.to_owned(), requests.into()))
            .collect()
    }

    /// Returns names, for people and for JSON, and numbers.
    pub fn rows(&self) -> [(&'static str, &'static str, u64); 6] {
        [
            ("Requests of people", "people", self.people),
            ("of suspects", "suspects", self.suspects),
            ("answered by a copy", "copies", self.copies),
            ("slowed down", "slowed", self.slowed),
            ("refused", "refused", self.refused),
            ("“I am a person”", "let_out", self.let_out),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_store::store::{TrafficCount, TrafficKey};

    #[test]
    fn each_request_is_counted_for_what_became_of_it() {
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
        let figures = SuspectFigures::of(&[
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
