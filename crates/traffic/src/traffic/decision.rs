//! Words for what was done with a request.

use robot_detection_layer::layer::Outcome;
use robot_detection_layer::policy::Action;

/// Returns the word for what was done, or would have been done in a dry run.
#[must_use]
pub fn decision_word(outcome: &Outcome) -> &'static str {
    Decision::of(outcome).word()
}

/// What was done, or would have been.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Decision {
    action: Action,
    /// Whether it was only noted; what passes passes in a dry run too.
    is_noted: bool,
}

impl Decision {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let action = outcome.decision();
        Self {
            action,
            is_noted: outcome.is_dry_run() && action != Action::Pass,
        }
    }

    pub(super) fn word(self) -> &'static str {
        let words = self.action.words();
        if self.is_noted {
            words.would
        } else {
            words.word
        }
    }

    /// Returns a number that tells it from all others.
    pub(super) fn number(self) -> u64 {
        2 * (self.action as u64) + u64::from(self.is_noted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_its_two_words_and_a_number_for_each() {
        let mut numbers = Vec::new();
        for action in Action::ALL {
            let done = Decision {
                action: *action,
                is_noted: false,
            };
            let noted = Decision {
                is_noted: true,
                ..done
            };
            assert_eq!(done.word(), action.as_str());
            assert_eq!(noted.word(), format!("would-{action}"));
            numbers.extend([done.number(), noted.number()]);
        }
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
    }
}
