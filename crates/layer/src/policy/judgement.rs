//! A decision, and what led to it.

use super::{
    Action, Decision, PassReason, Redirect, Refuse, Rule, Step, decision::Trace, rule::named,
};

/// Decision about one request, and what led to it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Judgement<'p> {
    /// What to do, unless the robot comes too fast.
    pub decision: Decision<'p>,
    /// The rule that decided, if one did.
    pub rule: Option<&'p Rule>,
    /// The rule that slows the robot down, if one does; its
    /// [rate limiter](Rule::rate_limiter) is asked before anything else is done.
    pub slowed_by: Option<&'p Rule>,
    /// The rule that does so by the errors that it has met, if one does; its rate limiter is asked
    /// likewise.
    pub errors_by: Option<&'p Rule>,
    /// The rule that would do something, were it [confirmed](super::RuleBuilder::people).
    pub noted: Option<&'p Rule>,
    /// Word for what decided, where neither a rule did nor a reason to pass.
    pub(super) word: &'static str,
}

/// Decision with the reason of each step.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation<'p> {
    /// Steps in the order in which they were taken; the last one but those of tags decided.
    pub steps: Vec<Step>,
    /// What [`Policy::decide`](super::Policy::decide) says of the same request.
    pub decision: Decision<'p>,
    /// What [`Policy::judge`](super::Policy::judge) says of it.
    pub judgement: Judgement<'p>,
}

/// What rules and lists may do to robots on a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reach {
    /// Some robot may get something else.
    Acts,
    /// Whoever passes gets the same, and robots may be slowed down.
    Alike,
}

/// Rules that matched and decided nothing.
#[derive(Clone, Copy, Default)]
pub(super) struct Aside<'p> {
    pub(super) slowed_by: Option<&'p Rule>,
    pub(super) errors_by: Option<&'p Rule>,
    /// The first of those that only note what they would do.
    pub(super) noted: Option<&'p Rule>,
}

impl<'p> Aside<'p> {
    /// Returns the place of the first rule that counts what this one does, if it slows down.
    pub(super) fn first_like(&mut self, rule: &Rule) -> Option<&mut Option<&'p Rule>> {
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

    /// Returns `true` if the robot gets something else than a person, or may.
    pub(super) fn is_felt(&self) -> bool {
        self.paced_by().next().is_some() || !matches!(self.decision, Decision::Pass(_))
    }

    pub(crate) fn pass(reason: PassReason) -> Self {
        Self::new(Decision::Pass(reason))
    }

    /// Decides by the list of denied robots.
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

    /// Returns the word for what decided: "rule", "deny", "spoofed", "purpose" or why it passes.
    #[must_use]
    pub fn cause(&self) -> &'static str {
        match self.decision {
            Decision::Pass(reason) => reason.as_str(),
            _ if self.rule.is_some() => "rule",
            _ => self.word,
        }
    }

    /// Where rules do no more than slow robots down, or give the same headers to everybody, the page
    /// is the same for all.
    pub(super) fn within(mut self, reach: Reach) -> Self {
        if let (Decision::Pass(_), Reach::Alike) = (self.decision, reach) {
            self.decision = Decision::Pass(PassReason::PathNotFiltered);
        }
        self
    }

    /// Adds the rules that matched before it.
    pub(super) fn beside(mut self, aside: Aside<'p>) -> Self {
        let Aside {
            slowed_by,
            errors_by,
            noted,
        } = aside;
        (self.slowed_by, self.errors_by, self.noted) = (slowed_by, errors_by, noted);
        self
    }

    /// Returns `true` unless the page is one that is made for robots to find.
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

    /// Returns the rules whose rate limiters are asked.
    pub fn paced_by(&self) -> impl Iterator<Item = &'p Rule> + use<'p> {
        [self.slowed_by, self.errors_by].into_iter().flatten()
    }

    /// Returns a step for each header that its rules give.
    pub(super) fn header_steps(&self) -> impl Iterator<Item = Step> {
        let slowed = self.slowed_by.map(|rule| (rule, "The 429 has"));
        let whose = if self.decision.goes_on() {
            "The response gets"
        } else {
            "The answer has"
        };
        let decided = self.rule.map(|rule| (rule, whose));
        let rules = slowed.into_iter().chain(decided);
        rules.flat_map(|(rule, whose)| {
            let lines = rule.headers.iter().flat_map(|headers| headers.shown());
            lines.map(move |line| Step {
                name: "header",
                text: format!("{whose} {line}, by {}.", named(rule)),
            })
        })
    }

    /// Adds the steps that say what is done.
    pub(super) fn tell(&self, trace: &mut impl Trace) {
        for limiter in self.paced_by().filter_map(Rule::rate_limiter) {
            trace.step(Action::Slow.as_str(), || limiter.sentence());
        }
        if !matches!(self.decision, Decision::Pass(_)) {
            let word = self.decision.action().as_str();
            trace.step(word, || self.decision.sentence().unwrap_or_default());
        }
    }
}

impl Explanation<'_> {
    /// Lets a request pass after all: robots.txt names the page.
    pub(super) fn pass_named(&mut self) {
        let name = "never";
        let text = "But /robots.txt names the page for robots, so that it passes.".to_owned();
        self.steps.push(Step { name, text });
        self.judgement = Judgement::pass(PassReason::NeverFiltered);
        self.decision = self.judgement.decision;
    }
}
