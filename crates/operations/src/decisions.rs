//! Decisions on requests, with the reasons.

use robot_detection_layer::detect::{Claim, Verdict};
use robot_detection_layer::policy::{Action, PassReason, RequestExplanation, Rule};
use robot_detection_layer::suspect::Reason;
use schemars::JsonSchema;
use serde::Serialize;

use crate::robots::{PatternView, title};

/// An explained request: its claim and the decision on it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Explanation {
    /// Line number in the log, starting with 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// User-Agent of the explained request.
    pub user_agent: String,
    /// Method of the explained request.
    pub method: String,
    /// Host of the explained request.
    pub host: Option<String>,
    /// Path of the explained request, including its query.
    pub path: String,
    /// The robot that the User-Agent claims to be; absent for people.
    pub claim: Option<ClaimView>,
    /// Decision on the explained request.
    #[serde(flatten)]
    pub decided: DecisionView,
}

/// The claim that a User-Agent or a signature makes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Claim")]
pub struct ClaimView {
    /// ID of the claimed robot; `shared` for a User-Agent that many people share.
    pub id: String,
    /// Kind of visitor.
    pub kind: &'static str,
    /// Purpose of the claimed robot.
    pub purpose: &'static str,
    /// Evidence in the User-Agent: a pattern, or the sign of an unlisted robot.
    pub evidence: String,
    /// Name of the robot in the registry; absent for an unlisted robot.
    pub name: Option<String>,
    /// ID of the robot in the registry, even if many people share the User-Agent.
    pub robot: Option<String>,
    /// Source that lists the claimed robot.
    pub source: Option<String>,
    /// Display name of the claimed robot's source.
    pub source_title: Option<String>,
    /// Company or project that runs the claimed robot.
    pub operator: Option<String>,
    /// URL of a page about the claimed robot.
    pub details_url: Option<String>,
    /// Pattern that matched the User-Agent.
    pub pattern: Option<PatternView>,
    /// Byte offset of the start of the match.
    pub start: usize,
    /// Byte offset of the end of the match, exclusive.
    pub end: usize,
}

/// The decision on a request.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Decision")]
pub struct DecisionView {
    /// Word for the action that was decided on.
    pub decision: &'static str,
    /// Action that was decided on, even if a dry run does not enforce it.
    #[serde(skip)]
    pub action: Action,
    /// Description of the decision.
    #[serde(skip)]
    pub text: String,
    /// Texts before and after the location or status in the decision's description.
    #[serde(skip)]
    pub gets: (&'static str, &'static str),
    /// Verdict on the request's claim.
    pub verdict: Option<&'static str>,
    /// Target of a redirect, or location of the directly served page.
    pub location: Option<String>,
    /// HTTP status of a redirect or refusal.
    pub status: Option<u16>,
    /// Part of this program that responds to a request that passes; absent if the site responds.
    pub answered_by: Option<String>,
    /// Rule that determined the decision.
    pub rule: Option<String>,
    /// Rule that would apply if it were confirmed for people.
    #[serde(rename = "unconfirmed_rule")]
    pub noted: Option<String>,
    /// Action that is not enforced because of a dry run or a missing confirmation.
    pub would: Option<String>,
    /// Reason why the request passes.
    pub pass_reason: Option<&'static str>,
    /// Request rate that a slow-down rule allows.
    pub slowed: Option<String>,
    /// Whether the request passes regardless of the decision, because of a dry run.
    pub is_dry_run: bool,
    /// Codes of the reasons for suspicion.
    pub suspect: Vec<&'static str>,
    /// Steps that led to the decision.
    pub steps: Vec<StepView>,
}

/// A step in the evaluation of a request.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Step")]
pub struct StepView {
    /// Name of the step.
    pub name: &'static str,
    /// Result of the step, with its reason.
    pub text: String,
}

impl ClaimView {
    /// Describes the claim that a User-Agent makes.
    pub fn new(claim: &Claim<'_>, user_agent: &[u8]) -> Self {
        let range = claim.range();
        let (robot, pattern) = match claim {
            Claim::Listed(listed) | Claim::Shared(listed) => (Some(listed.robot), listed.pattern),
            Claim::Unlisted(_) | Claim::Signed(_) | Claim::Nameless | Claim::Person => (None, None),
        };
        let evidence = match claim {
            Claim::Unlisted(unlisted) => {
                let text = user_agent.get(range.clone()).unwrap_or_default();
                format!("{} {:?}", unlisted.sign, String::from_utf8_lossy(text))
            }
            claim => claim.to_string(),
        };
        Self {
            id: claim.id().to_owned(),
            kind: claim.kind().as_str(),
            purpose: claim.purpose().as_str(),
            evidence,
            name: robot.map(|robot| robot.name.clone()),
            robot: robot.map(|robot| robot.id.clone()),
            source: robot.map(|robot| robot.source.to_string()),
            source_title: robot.map(|robot| title(&robot.source)),
            operator: robot.and_then(|robot| robot.operator.clone()),
            details_url: robot.and_then(|robot| robot.details_url.clone()),
            pattern: pattern.map(PatternView::from),
            start: range.start,
            end: range.end,
        }
    }
}

impl DecisionView {
    /// Describes a decision, and the part of this program that responds to a request that passes.
    pub fn new(explained: RequestExplanation<'_>, answered_by: Option<String>) -> Self {
        let label = |rule: &Rule| rule.label().to_owned();
        let passes = explained.passes();
        let is_kept = explained.is_dry_run && explained.pass_reason.is_none();
        let noted = explained.noted.filter(|_| passes);
        let would = is_kept.then(|| explained.to_string());
        Self {
            answered_by,
            decision: if is_kept {
                "pass"
            } else {
                explained.action.as_str()
            },
            action: explained.action,
            text: if is_kept {
                "pass".to_owned()
            } else {
                explained.to_string()
            },
            gets: explained.action.words().gets,
            verdict: explained.verdict.map(Verdict::as_str),
            status: explained.status,
            rule: explained.rule.map(label),
            noted: explained.noted.map(label),
            would: would.or_else(|| noted.map(|rule| rule.action().to_string())),
            pass_reason: explained
                .pass_reason
                .filter(|_| passes)
                .map(PassReason::as_str),
            slowed: explained.rate_limit_text(),
            is_dry_run: explained.is_dry_run,
            suspect: explained.reasons.iter().map(Reason::code).collect(),
            location: explained.location,
            steps: explained
                .steps
                .into_iter()
                .map(|step| StepView {
                    name: step.name,
                    text: step.text,
                })
                .collect(),
        }
    }
}
