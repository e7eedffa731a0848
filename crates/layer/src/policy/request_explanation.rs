//! Explanations of the response to a request, by rules and robots.txt together.

use std::fmt;

use crate::detect::{Claim, Verdict};
use crate::suspect::{Findings, Reasons, SUSPECT_WEIGHT};

use super::{
    Action, Answer, Decision, Enforcer, Finding, PassReason, Policy, RateLimiter, Request, Rule,
    Step, Visitor,
};

/// An explanation of the response to a request, with the reason for each step.
///
/// Rate limits are not taken into account.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestExplanation<'p> {
    /// The explanation steps in order; for a robot, the verdict comes first.
    pub steps: Vec<Step>,
    /// The verdict on the claim; `None` for human and nameless visitors, which make no claim.
    pub verdict: Option<Verdict>,
    /// The decided action, which is not carried out in a [dry run](Self::is_dry_run).
    pub action: Action,
    /// The status of a redirect or a refusal.
    pub status: Option<u16>,
    /// The redirect target, or the path of the page that is served instead.
    pub location: Option<String>,
    /// The reason why the request passes; `None` if it does not pass.
    pub pass_reason: Option<PassReason>,
    /// The rule that decided, if the decision was made by a rule.
    pub rule: Option<&'p Rule>,
    /// The rule that limits the robot's request rate, if any.
    pub slowed_by: Option<&'p Rule>,
    /// The rule that limits the robot's error rate, if any.
    pub errors_by: Option<&'p Rule>,
    /// The rule that would act if it were [confirmed for people](super::RuleBuilder::people).
    pub noted: Option<&'p Rule>,
    /// Whether the request passes regardless of the decision.
    pub is_dry_run: bool,
    /// Whether the dry run is due to a pause of enforcement.
    pub is_paused: bool,
    /// The reasons why the visitor is a suspect; empty if the visitor is not a suspect.
    pub reasons: Reasons,
    /// Whether the location is the start page of robot heaven, which may be replaced by a specific
    /// page.
    leads_to_heaven: bool,
}

impl Enforcer {
    /// Explains the response to a request, first by the policy and then by robots.txt. Nothing is
    /// counted.
    ///
    /// `visitor` is the robot that `user_agent` identifies, if any; `target` is the path with its
    /// query.
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
        let is_felt = visitor.is_some() && explanation.judgement.affects_robots();
        if is_felt && self.is_named_page(request.host, target) {
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
    /// Adds the evidence for the verdict as steps after the verdict, one sentence per step.
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

    /// Adds the reason why the robot is or is not redirected to the canonical URL of the page.
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

    /// Replaces the decision with a refusal that is independent of the policy.
    #[must_use]
    pub fn with_refusal(mut self, status: u16, text: &str) -> Self {
        let (name, text) = (Action::Refuse.as_str(), text.to_owned());
        self.steps.push(Step { name, text });
        self.action = Action::Refuse;
        self.status = Some(status);
        (self.location, self.pass_reason) = (None, None);
        self.is_dry_run = false;
        self
    }

    /// Adds the findings about the claimed browser after the step about the User-Agent.
    #[must_use]
    pub fn suspicion(mut self, findings: &Findings) -> Self {
        let reasons = findings.reasons;
        let named = match &findings.browser {
            Some(browser) => {
                format!("The User-Agent claims to be {browser}. The request's suspicion weight is")
            }
            None if reasons.is_empty() => return self,
            None => "The suspicion weight of the User-Agent is".to_owned(),
        };
        let mark = if !reasons.is_suspect() {
            "the visitor is not a suspect"
        } else if self.reasons.is_empty() {
            "a rule lets the visitor pass, so the visitor is not a suspect"
        } else {
            "the visitor is a suspect"
        };
        let text = format!(
            "{named} {} (threshold {SUSPECT_WEIGHT}): {mark}.",
            reasons.weight()
        );
        let step = |name, text| Step { name, text };
        let found = findings.seen.iter().map(|(reason, seen)| {
            let (weight, sentence) = (reason.weight(), reason.sentence());
            step(
                "reason",
                format!("{reason} ({weight}): {sentence}. The request has {seen}."),
            )
        });
        let steps: Vec<_> = [step("suspect", text)].into_iter().chain(found).collect();
        let is_robot = |step: &Step| step.name == "robot";
        let at = self.steps.iter().position(is_robot);
        let at = at.map_or(self.steps.len(), |at| at + 1);
        self.steps.splice(at..at, steps);
        self
    }

    /// Replaces the start page of robot heaven with the page generated from the requested page.
    ///
    /// `find` returns the generated page for the decided location, if such a page exists. A
    /// redirect due to robots.txt retains the start page.
    #[must_use]
    pub fn with_heaven_page(mut self, find: impl FnOnce(&str) -> Option<String>) -> Self {
        let start = self.location.as_deref().filter(|_| self.leads_to_heaven);
        let Some(page) = start.and_then(find) else {
            return self;
        };
        let is_answer = |step: &&mut Step| step.name == self.action.as_str();
        if let Some(step) = self.steps.iter_mut().rfind(is_answer) {
            step.text = match self.status {
                Some(status) => {
                    format!(
                        "The response is {status}, a redirect to {page}, heaven's version of the page."
                    )
                }
                None => format!("The response is {page}, heaven's version of the page."),
            };
        }
        self.location = Some(page);
        self
    }

    /// Explains that a suspect is served heaven's copy of the page, or why the suspect is not.
    #[must_use]
    pub fn with_heaven_copy(mut self, refusal: Option<&str>) -> Self {
        if self.reasons.is_empty() || self.action != Action::Serve {
            return self;
        }
        let text = match refusal {
            Some(why) => {
                format!("The visitor is not served heaven's copy ({why}): the request passes.")
            }
            None => {
                "The response is heaven's copy of the page, at the same URL, with a button for \
                     human visitors."
                    .to_owned()
            }
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

    /// Returns a description of the rate limits for the visitor, if any.
    #[must_use]
    pub fn rate_limit_text(&self) -> Option<String> {
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

    /// Adds the steps of a decision. Returns `true` if robots.txt must be checked too.
    fn add_decision(&mut self, decision: Decision<'_>) -> bool {
        self.pass_reason = decision.pass_reason();
        self.status = decision.status();
        self.location = decision.location().map(str::to_owned);
        self.leads_to_heaven = self.location.is_some();
        decision.reaches_application()
    }

    fn add_finding(&mut self, policy: &Policy, finding: Finding) {
        if finding.answer.is_refusal() {
            // The steps of the earlier decision, and headers of the page, no longer apply.
            let dropped = [self.action.as_str(), "header", "tag"];
            self.steps.retain(|step| !dropped.contains(&step.name));
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
                Action::Pass => format!("{why}: no action is taken."),
                _ => format!("{why}: this is only reported, and the request passes."),
            };
            self.steps.push(Step { name: "mode", text });
        }
    }
}

fn verdict_step(visitor: Visitor<'_>) -> Step {
    let text = match visitor.verdict {
        Verdict::Verified => "The claim is verified: the request comes from the claimed robot.",
        Verdict::Spoofed => {
            "The claim is spoofed: data published by the robot's operator contradicts the claim."
        }
        Verdict::Unverifiable if is_signed(visitor.claim) => {
            "The claim is unverifiable: the signature is valid, but the registry does not list the signer."
        }
        Verdict::Unverifiable => "The claim is unverifiable: no verification method is available.",
        Verdict::Pending => "The claim is pending: verification is in progress.",
    };
    Step {
        name: "verdict",
        text: text.to_owned(),
    }
}

/// Returns `true` if the claim is signed by a known host.
fn is_signed(claim: &Claim<'_>) -> bool {
    matches!(claim, Claim::Signed(signed) if signed.signer.is_some())
}

/// Displays the response, such as "pass", "redirect 302 /robot-heaven/", "refuse 403" or "serve
/// /robot-heaven/".
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
