//! What is done with a request, and why, as the pages and their JSON show it.

use serde::Serialize;

use super::settings::Admin;
use crate::detect::Claim;
use crate::policy::{Answer, Decision, Finding, Policy, Request, Step};

/// What is done with a request.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Decided {
    /// "pass", "redirect" or "refuse".
    pub(super) decision: &'static str,
    pub(super) location: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) steps: Vec<StepView>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct StepView {
    pub(super) name: &'static str,
    pub(super) text: String,
}

impl Decided {
    /// Asks the policy and robots.txt, as the layer does; `target` is the path with its query.
    pub(super) fn new(
        admin: &Admin,
        request: &Request<'_>,
        target: &str,
        claim: Option<&Claim<'_>>,
        user_agent: &[u8],
    ) -> Self {
        let policy = admin.policy.load();
        let explanation = policy.explain(request, claim);
        let steps = explanation.steps.into_iter();
        let mut decided = Self {
            steps: steps.map(StepView::from).collect(),
            ..Self::pass()
        };
        match explanation.decision {
            Decision::Redirect(redirect) => {
                decided.decision = "redirect";
                decided.location = Some(redirect.location.clone());
                decided.status = Some(redirect.status);
            }
            Decision::Pass(_) => {
                let enforcer = &admin.enforcer;
                let finding = enforcer.explain(&policy, request, target, claim, user_agent);
                decided.add(&policy, finding);
            }
        }
        decided
    }

    /// A request that passes without a question.
    pub(super) fn pass() -> Self {
        Self {
            decision: "pass",
            location: None,
            status: None,
            steps: Vec::new(),
        }
    }

    fn add(&mut self, policy: &Policy, finding: Finding) {
        let steps = finding.steps.into_iter();
        self.steps.extend(steps.map(StepView::from));
        let redirect = policy.redirect();
        (self.decision, self.status) = match finding.answer {
            Answer::Pass => return,
            Answer::TooManyRequests { .. } => ("refuse", Some(429)),
            Answer::Redirect if let Some(redirect) = redirect => {
                self.location = Some(redirect.location.clone());
                ("redirect", Some(redirect.status))
            }
            _ => ("refuse", Some(403)),
        };
    }
}

impl From<Step> for StepView {
    fn from(step: Step) -> Self {
        Self {
            name: step.name,
            text: step.text,
        }
    }
}
