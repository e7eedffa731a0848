//! The action taken on a request, combined from the results of the stages.

use std::time::Duration;

use crate::layer::{head::StageAnswer, outcome::Cause};
use crate::policy::{Action, Answer, Breach, CountedViolation, Decision, Judgement, Rule};

/// The action taken on a request.
#[derive(Debug)]
pub(crate) enum Disposition<'p> {
    /// The request is forwarded unchanged to the application.
    Pass,
    /// The policy's decision with the deciding rule, which does not exist for a spoofed claim.
    Decided(Decision<'p>, Option<&'p Rule>),
    /// A stage has responded to the request.
    // Boxed, because this type is moved with every request.
    Answer(Box<StageAnswer>),
    /// The request is forwarded because the rule is not confirmed for human visitors; its action is
    /// only logged.
    Noted(&'p Rule),
    /// The robot exceeds the rate limit of a rule and must wait.
    Slow(&'p Rule, Duration),
    /// The robot is refused because it violates robots.txt.
    Violation(Box<CountedViolation>),
}

impl Disposition<'_> {
    /// Returns `true` if the request is forwarded to the application.
    pub(crate) fn is_forwarded(&self) -> bool {
        match self {
            Self::Pass | Self::Noted(_) => true,
            Self::Decided(decision, _) => decision.reaches_application(),
            Self::Answer(_) | Self::Slow(..) | Self::Violation(_) => false,
        }
    }

    /// Returns the resulting action.
    pub(crate) fn action(&self) -> Action {
        match self {
            Self::Pass => Action::Pass,
            Self::Decided(decision, _) => decision.action(),
            Self::Answer(answer) => answer.action,
            Self::Noted(rule) => rule.action(),
            Self::Slow(..) => Action::Slow,
            Self::Violation(outcome) => match (outcome.would, &outcome.breach) {
                (Answer::Redirect, _) => Action::Redirect,
                (_, Breach::TooSoon { .. }) => Action::Slow,
                _ => Action::Refuse,
            },
        }
    }

    /// Returns the cause of the action.
    pub(crate) fn cause(&self, judgement: &Judgement<'_>) -> Cause {
        match self {
            Self::Violation(outcome) => Cause::Word(match outcome.breach {
                Breach::TooSoon { .. } => "crawl-delay",
                _ => "robots.txt",
            }),
            Self::Slow(rule, _) | Self::Noted(rule) => Cause::Rule(rule.shared_label()),
            Self::Answer(answer) => answer.cause.map_or_else(|| by(judgement), Cause::Word),
            Self::Pass | Self::Decided(..) => by(judgement),
        }
    }
}

fn by(judgement: &Judgement<'_>) -> Cause {
    match judgement.rule {
        Some(rule) => Cause::Rule(rule.shared_label()),
        None => Cause::Word(judgement.cause()),
    }
}

impl From<StageAnswer> for Disposition<'_> {
    fn from(answer: StageAnswer) -> Self {
        Self::Answer(Box::new(answer))
    }
}
