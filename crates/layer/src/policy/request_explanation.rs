//! What a request gets, rules and robots.txt taken together.

use std::fmt;

use crate::detect::{Claim, Verdict};
use crate::suspect::{Findings, Reasons, SUSPECT_WEIGHT};

use super::{
    Action, Answer, Decision, Enforcer, Finding, PassReason, Policy, RateLimiter, Request, Rule,
    Step, Visitor,
};

/// What a robot's or a person's request gets, with the reason of each step.
///
/// How fast the robot comes is not looked at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestExplanation<'p> {
    /// Steps in the order in which they were taken; about a robot the verdict comes first.
    pub steps: Vec<Step>,
    /// The verdict on the claim; neither people nor a nameless visitor make one.
    pub verdict: Option<Verdict>,
    /// What is done, or in a [dry run](Self::is_dry_run) would be.
    pub action: Action,
    /// Status of a redirect or refusal.
    pub status: Option<u16>,
    /// Where it is redirected to, or which page is served in its place.
    pub location: Option<String>,
    /// Why it passes, where it does.
    pub pass_reason: Option<PassReason>,
    /// The rule that decided, if one did.
    pub rule: Option<&'p Rule>,
    /// The rule that slows the robot down, if one does.
    pub slowed_by: Option<&'p Rule>,
    /// The rule that does so by the errors that it has met, if one does.
    pub errors_by: Option<&'p Rule>,
    /// The rule that would do something, were it [confirmed](super::RuleBuilder::people).
    pub noted: Option<&'p Rule>,
    /// Whether the request passes, whatever was decided.
    pub is_dry_run: bool,
    /// Whether that is so as enforcement is paused.
    pub is_paused: bool,
    /// Why the visitor is suspect; none where it is not.
    pub reasons: Reasons,
    /// Whether the location is the start of heaven, in whose place a page's own may be.
    leads_to_heaven: bool,
}

impl Enforcer {
    /// Explains what a request gets: asks the policy, then robots.txt; nothing is counted.
    ///
    /// `visitor` is the robot that `user_agent` names, if any; `target` is the path with
    /// its query.
    #[must_use]
    pub fn explain_all<'p>(
        &self,
        policy: &'p Policy,
        request: &Request<'_>,
        target: &str,
        visitor: Option<Visitor<'_>>,
        user_agent: &[u8],
    ) -> RequestExplanation<'p> {
        let mut explanation = policy.explain(request, visitor);
        let is_felt = visitor.is_some() && explanation.judgement.is_felt();
        if is_felt && self.names(request.host, target) {
            explanation.pass_named();
        }
        let claimant = visitor.filter(|visitor| !visitor.claims_nothing());
        let judgement = explanation.judgement;
        let mut explained = RequestExplanation {
            steps: claimant.map(verdict_step).into_iter().collect(),
            verdict: claimant.map(|visitor| visitor.verdict),
            action: judgement.decision.action(),
            status: None,
            location: None,
            pass_reason: None,
            rule: judgement.rule,
            slowed_by: judgement.slowed_by,
            errors_by: judgement.errors_by,
            noted: judgement.noted,
            is_dry_run: policy.is_dry_run(),
            is_paused: policy.is_paused(),
            reasons: visitor
                .map(|visitor| visitor.sender.reasons)
                .unwrap_or_default(),
            leads_to_heaven: false,
        };
        explained.steps.extend(explanation.steps);
        let is_asked = explained.add_decision(judgement.decision);
        if is_asked {
            let finding = self.explain(policy, request, target, visitor, user_agent);
            explained.add_finding(policy, finding);
        } else if let (Decision::Redirect(_), Some(visitor)) = (judgement.decision, claimant)
            && let Some(finding) = self.explain_redirected(policy, request, target, visitor)
        {
            explained.add_finding(policy, finding);
        }
        explained.add_mode();
        explained
    }
}

impl RequestExplanation<'_> {
    /// Adds what led to the verdict, a sentence each, after it.
    #[must_use]
    pub fn evidence(mut self, texts: impl IntoIterator<Item = String>) -> Self {
        let is_verdict = |step: &Step| step.name == "verdict";
        let at = self.steps.iter().position(is_verdict);
        let at = at.map_or(0, |at| at + 1);
        let name = "evidence";
        let steps = texts.into_iter().map(|text| Step { name, text });
        self.steps.splice(at..at, steps);
        self
    }

    /// Adds why the robot is sent to a page's canonical URL, or is not.
    #[must_use]
    pub fn canonical(mut self, text: String, location: Option<String>) -> Self {
        let name = "canonical";
        self.steps.push(Step { name, text });
        if location.is_some() {
            self.action = Action::Redirect;
            self.status = Some(301);
            self.pass_reason = None;
            self.location = location;
        }
        self
    }

    /// Replaces the decision by the refusal of every request of this kind, whatever the policy.
    #[must_use]
    pub fn refused(mut self, status: u16, text: &str) -> Self {
        let (name, text) = (Action::Refuse.as_str(), text.to_owned());
        self.steps.push(Step { name, text });
        self.action = Action::Refuse;
        self.status = Some(status);
        (self.location, self.pass_reason) = (None, None);
        self.is_dry_run = false;
        self
    }

    /// Adds what was found of the browser that the visitor names, behind what it says it is.
    #[must_use]
    pub fn suspicion(mut self, findings: &Findings) -> Self {
        let reasons = findings.reasons;
        let named = match &findings.browser {
            Some(browser) => format!("The User-Agent is that of {browser}. What else came"),
            None if reasons.is_empty() => return self,
            None => "What is known of the User-Agent".to_owned(),
        };
        let mark = if !reasons.are_suspect() {
            "nobody is suspect by that"
        } else if self.reasons.is_empty() {
            "a rule lets the visitor pass, who is no suspect therefore"
        } else {
            "the visitor is suspect"
        };
        let text = format!(
            "{named} weighs {} of {SUSPECT_WEIGHT}: {mark}.",
            reasons.weight()
        );
        let step = |name, text| Step { name, text };
        let found = findings.seen.iter().map(|(reason, seen)| {
            let (weight, sentence) = (reason.weight(), reason.sentence());
            step(
                "reason",
                format!("{reason} ({weight}): {sentence}. It has {seen}."),
            )
        });
        let steps: Vec<_> = [step("suspect", text)].into_iter().chain(found).collect();
        let is_robot = |step: &Step| step.name == "robot";
        let at = self.steps.iter().position(is_robot);
        let at = at.map_or(self.steps.len(), |at| at + 1);
        self.steps.splice(at..at, steps);
        self
    }

    /// Replaces the start of heaven with the page of heaven that is made from the one asked for.
    ///
    /// `find` returns it for the location that was decided, if there is one. Whom
    /// robots.txt sends to heaven goes to its start.
    #[must_use]
    pub fn own_page(mut self, find: impl FnOnce(&str) -> Option<String>) -> Self {
        let start = self.location.as_deref().filter(|_| self.leads_to_heaven);
        let Some(page) = start.and_then(find) else {
            return self;
        };
        let is_answer = |step: &&mut Step| step.name == self.action.as_str();
        if let Some(step) = self.steps.iter_mut().rfind(is_answer) {
            step.text = match self.status {
                Some(status) => {
                    format!("The answer is {status} to {page}, the page that heaven has of it.")
                }
                None => format!("The answer is {page}, the page that heaven has of it."),
            };
        }
        self.location = Some(page);
        self
    }

    /// Adds what comes of the copy of a page that a suspect is to get: `refusal` is why there is none.
    #[must_use]
    pub fn copy(mut self, refusal: Option<&str>) -> Self {
        if self.reasons.is_empty() || self.action != Action::Serve {
            return self;
        }
        let text = match refusal {
            Some(why) => format!("The visitor gets no copy of heaven, as {why}: the request passes."),
            None => "The answer is the copy that heaven has of the page, at the same URL, with a button \
                     for people."
                .to_owned(),
        };
        let is_answer = |step: &&mut Step| step.name == Action::Serve.as_str();
        if let Some(step) = self.steps.iter_mut().rfind(is_answer) {
            step.text = text;
        }
        if refusal.is_some() {
            self.action = Action::Pass;
            self.location = None;
        }
        self
    }

    /// Returns how much is served to the visitor, if a rule slows it down.
    #[must_use]
    pub fn slowed(&self) -> Option<String> {
        let rules = [self.slowed_by, self.errors_by].into_iter().flatten();
        let limits: Vec<_> = rules
            .filter_map(Rule::rate_limiter)
            .map(RateLimiter::to_string)
            .collect();
        (!limits.is_empty()).then(|| limits.join("; "))
    }

    /// Returns `true` if the request passes.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.is_dry_run || self.action == Action::Pass
    }

    /// Returns whether robots.txt is to be asked too.
    fn add_decision(&mut self, decision: Decision<'_>) -> bool {
        self.pass_reason = decision.pass_reason();
        self.status = decision.status();
        self.location = decision.location().map(str::to_owned);
        self.leads_to_heaven = self.location.is_some();
        decision.goes_on()
    }

    fn add_finding(&mut self, policy: &Policy, finding: Finding) {
        if finding.answer.is_refusal() {
            // What was decided before does not come.
            self.steps.retain(|step| step.name != self.action.as_str());
        }
        self.steps.extend(finding.steps);
        let (action, status) = match finding.answer {
            Answer::Pass => return,
            Answer::TooManyRequests { .. } => (Action::Refuse, 429),
            Answer::Redirect => match policy.redirect() {
                Some(redirect) => {
                    self.location = Some(redirect.location.clone());
                    (Action::Redirect, redirect.status)
                }
                None => (Action::Refuse, 403),
            },
            _ => (Action::Refuse, 403),
        };
        if action == Action::Refuse {
            self.location = None;
        }
        self.leads_to_heaven = false;
        self.action = action;
        self.status = Some(status);
        self.pass_reason = None;
        self.rule = None;
    }

    fn add_mode(&mut self) {
        if self.is_dry_run {
            let why = if self.is_paused {
                "Enforcement is paused"
            } else {
                "The mode is report"
            };
            let text = match self.action {
                Action::Pass => format!("{why}: nothing is done to anybody."),
                _ => format!("{why}: this is only noted, and the request passes."),
            };
            self.steps.push(Step { name: "mode", text });
        }
    }
}

fn verdict_step(visitor: Visitor<'_>) -> Step {
    let text = match visitor.verdict {
        Verdict::Verified => "The claim is verified: the robot is who it says.",
        Verdict::Spoofed => {
            "The claim is spoofed: what the robot's operator publishes contradicts it."
        }
        Verdict::Unverifiable if is_signed(visitor.claim) => {
            "The claim is unverifiable: the signature holds, and no registry says whose it is."
        }
        Verdict::Unverifiable => "The claim is unverifiable: nothing proves it here.",
        Verdict::Pending => "The claim is pending: its proof is under way.",
    };
    Step {
        name: "verdict",
        text: text.to_owned(),
    }
}

/// Returns `true` if it is known which host has signed.
fn is_signed(claim: &Claim<'_>) -> bool {
    matches!(claim, Claim::Signed(signed) if signed.signer.is_some())
}

/// Shows what is done: "pass", "redirect 302 /robot-heaven/", "refuse 403", "serve /robot-heaven/".
impl fmt::Display for RequestExplanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.action.fmt(f)?;
        if let Some(status) = self.status {
            write!(f, " {status}")?;
        }
        match &self.location {
            Some(location) => write!(f, " {location}"),
            None => Ok(()),
        }
    }
}
