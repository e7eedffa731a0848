//! What is done with a request: the stages taken together.

use std::time::Duration;

use crate::layer::{head::StageAnswer, outcome::Cause};
use crate::policy::{Action, Answer, Breach, CountedBreach, Decision, Judgement, Rule};

/// What is done with a request.
#[derive(Debug)]
pub(crate) enum Disposition<'p> {
    /// It goes on to the application as it is.
    Pass,
    /// What the policy decided, and the rule that did; no rule does to an impostor.
    Decided(Decision<'p>, Option<&'p Rule>),
    /// A stage has answered it.
    // In a box, as what is decided is moved with every request.
    Answer(Box<StageAnswer>),
    /// It goes on, and it is noted what a rule would do that nobody has confirmed.
    Noted(&'p Rule),
    /// The robot is told to wait, as it comes faster than a rule allows.
    Slow(&'p Rule, Duration),
    /// The robot is told that it does not keep to robots.txt.
    Violation(Box<CountedBreach>),
}

impl Disposition<'_> {
    /// Returns `true` if the application is asked.
    pub(crate) fn goes_on(&self) -> bool {
        match self {
            Self::Pass | Self::Noted(_) => true,
            Self::Decided(decision, _) => decision.goes_on(),
            Self::Answer(_) | Self::Slow(..) | Self::Violation(_) => false,
        }
    }

    /// Returns the action that it amounts to.
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

    /// Returns what decided it.
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
