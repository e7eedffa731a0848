//! Decisions about requests, with the rules that led to these decisions.

use super::{
    Action, Decision, PassReason, Redirect, Refuse, Rule, Step, decision::Trace, rule::label,
};

/// The decision about one request, with the rules that led to the decision.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Judgement<'p> {
    /// The decision, which applies unless the robot exceeds a rate limit.
    pub decision: Decision<'p>,
    /// The rule that decided, if the decision was made by a rule.
    pub rule: Option<&'p Rule>,
    /// The rule that limits the robot's request rate, if any; its [rate
    /// limiter](Rule::rate_limiter) is checked before the decision is carried out.
    pub slowed_by: Option<&'p Rule>,
    /// The rule that limits the robot's error rate, if any; its rate limiter is checked before the
    /// decision is carried out.
    pub errors_by: Option<&'p Rule>,
    /// The rule that would act if it were [confirmed for people](super::RuleBuilder::people).
    pub noted: Option<&'p Rule>,
    /// The word for the cause, if neither a rule nor a pass reason decided.
    pub(super) word: &'static str,
}

/// A decision, with the steps that led to the decision.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation<'p> {
    /// The steps in order. The last step before the steps about tags decided.
    pub steps: Vec<Step>,
    /// The result of [`Policy::decide`](super::Policy::decide) for the same request.
    pub decision: Decision<'p>,
    /// The result of [`Policy::judge`](super::Policy::judge) for the same request.
    pub judgement: Judgement<'p>,
}

/// The possible effect of rules and lists on a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Effects {
    /// Some robots may get a different response than human visitors.
    Acts,
    /// All passing requests get the same response, but robots may be slowed down.
    Alike,
}

/// Rules that matched a request but did not decide.
#[derive(Clone, Copy, Default)]
pub(super) struct NonDecidingMatches<'p> {
    pub(super) slowed_by: Option<&'p Rule>,
    pub(super) errors_by: Option<&'p Rule>,
    /// The first rule whose action is only reported.
    pub(super) noted: Option<&'p Rule>,
}

impl<'p> NonDecidingMatches<'p> {
    /// Returns the slot for the first rate-limiting rule of the same type (requests or errors).
    pub(super) fn first_of_type(&mut self, rule: &Rule) -> Option<&mut Option<&'p Rule>> {
        let limiter = rule.rate_limiter()?;
        Some(match limiter.errors() {
            Some(_) => &mut self.errors_by,
            None => &mut self.slowed_by,
        })
    }
}

impl<'p> Judgement<'p> {
    pub(super) fn new(decision: Decision<'p>) -> Self {
        Self {
            decision,
            rule: None,
            slowed_by: None,
            errors_by: None,
            noted: None,
            word: "purpose",
        }
    }

    /// Returns `true` if the response to a robot may differ from the response to a human visitor.
    pub(super) fn affects_robots(&self) -> bool {
        self.rate_limits().next().is_some() || !matches!(self.decision, Decision::Pass(_))
    }

    pub(crate) fn pass(reason: PassReason) -> Self {
        Self::new(Decision::Pass(reason))
    }

    /// Creates the judgement for a robot in the list of denied robots.
    pub(super) fn deny(redirect: &'p Redirect) -> Self {
        Self {
            word: "deny",
            ..Self::new(Decision::Redirect(redirect))
        }
    }

    pub(super) fn redirect_spoofed(redirect: &'p Redirect) -> Self {
        Self {
            word: "spoofed",
            ..Self::new(Decision::Redirect(redirect))
        }
    }

    pub(super) fn refuse_spoofed(refuse: &'p Refuse) -> Self {
        Self {
            word: "spoofed",
            ..Self::new(Decision::Refuse(refuse))
        }
    }

    /// Returns the cause: "rule", "deny", "spoofed", "purpose" or the word of the pass reason.
    #[must_use]
    pub fn cause(&self) -> &'static str {
        match self.decision {
            Decision::Pass(reason) => reason.as_str(),
            _ if self.rule.is_some() => "rule",
            _ => self.word,
        }
    }

    /// Marks the page as the same for all visitors, if rules only slow robots down or add the same
    /// headers for all visitors.
    pub(super) fn with_effects(mut self, reach: Effects) -> Self {
        if let (Decision::Pass(_), Effects::Alike) = (self.decision, reach) {
            self.decision = Decision::Pass(PassReason::PathNotFiltered);
        }
        self
    }

    /// Adds the rules that matched the request before the deciding rule.
    pub(super) fn with_non_deciding(mut self, aside: NonDecidingMatches<'p>) -> Self {
        let NonDecidingMatches {
            slowed_by,
            errors_by,
            noted,
        } = aside;
        (self.slowed_by, self.errors_by, self.noted) = (slowed_by, errors_by, noted);
        self
    }

    /// Returns `true` unless the page is intended for robots.
    #[must_use]
    pub fn is_for_application(&self) -> bool {
        let made = [
            PassReason::Heaven,
            PassReason::NeverFiltered,
            PassReason::Trap,
        ];
        self.decision
            .pass_reason()
            .is_none_or(|reason| !made.contains(&reason))
    }

    /// Returns the rules whose rate limiters must be checked.
    pub fn rate_limits(&self) -> impl Iterator<Item = &'p Rule> + use<'p> {
        [self.slowed_by, self.errors_by].into_iter().flatten()
    }

    /// Returns an explanation step for each header that the rules add.
    pub(super) fn header_steps(&self) -> impl Iterator<Item = Step> {
        let slowed = self.slowed_by.map(|rule| (rule, "The 429 response has"));
        let whose = if self.decision.reaches_application() {
            "The response gets"
        } else {
            "The response has"
        };
        let decided = self.rule.map(|rule| (rule, whose));
        let rules = slowed.into_iter().chain(decided);
        rules.flat_map(|(rule, whose)| {
            let lines = rule.headers.iter().flat_map(|headers| headers.shown());
            lines.map(move |line| Step {
                name: "header",
                text: format!("{whose} {line}, added by {}.", label(rule)),
            })
        })
    }

    /// Adds the explanation steps that describe the action.
    pub(super) fn add_steps(&self, trace: &mut impl Trace) {
        for limiter in self.rate_limits().filter_map(Rule::rate_limiter) {
            trace.step(Action::Slow.as_str(), || limiter.sentence());
        }
        if !matches!(self.decision, Decision::Pass(_)) {
            let word = self.decision.action().as_str();
            trace.step(word, || self.decision.sentence().unwrap_or_default());
        }
    }
}

impl Explanation<'_> {
    /// Allows a request to pass because robots.txt lists the page.
    pub(super) fn pass_named(&mut self) {
        let name = "never";
        let text = "But /robots.txt lists the page for robots, so the request passes.".to_owned();
        self.steps.push(Step { name, text });
        self.judgement = Judgement::pass(PassReason::NeverFiltered);
        self.decision = self.judgement.decision;
    }
}
