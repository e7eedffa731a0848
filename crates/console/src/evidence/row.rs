//! A request as shown on the page, in JSON and in CSV.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Moment, page::encode};
use robot_detection_store::store::{BrokenRule, Evidence};

/// A request, with the details of its decision.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct EvidenceView {
    pub(super) at: Moment,
    pub(super) event: String,
    pub(super) site: String,
    pub(super) kind: String,
    /// ID of the robot; `None` for a person.
    pub(super) robot: Option<String>,
    pub(super) verdict: String,
    pub(super) decision: String,
    pub(super) cause: String,
    /// Response status; `None` if another proxy sent the response.
    pub(super) status: Option<u16>,
    pub(super) method: String,
    pub(super) host: String,
    pub(super) path: String,
    pub(super) address: Option<String>,
    pub(super) user_agent: String,
    pub(super) referrer: Option<String>,
    /// Evidence that the robot is an impostor.
    pub(super) proof: Option<String>,
    pub(super) robots_txt: Option<BrokenView>,
    /// Codes of the reasons for suspicion.
    pub(super) suspect: Vec<String>,
    /// Link to the page that explains the decision, relative to the console's root.
    pub(super) explain: String,
}

/// The part of robots.txt that a request violated, as in force at the time of the request.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(untagged)]
#[schemars(rename = "RobotsTxtViolation")]
pub(super) enum BrokenView {
    Rule {
        line: u64,
        rule: String,
        group_line: u64,
        group: String,
    },
    Delay {
        delay_seconds: f64,
        gap_seconds: f64,
    },
}

impl EvidenceView {
    pub(super) fn new(evidence: &Evidence, now_ms: i64) -> Self {
        let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Self {
            at: Moment::new(evidence.at_ms, now_ms),
            event: evidence.event.clone(),
            site: evidence.site.clone(),
            kind: evidence.kind.clone(),
            robot: some(&evidence.robot),
            verdict: evidence.verdict.clone(),
            decision: evidence.decision.clone(),
            cause: evidence.cause.clone(),
            status: Some(evidence.status).filter(|status| *status > 0),
            method: evidence.method.clone(),
            host: evidence.host.clone(),
            path: evidence.path.clone(),
            address: some(&evidence.address),
            user_agent: evidence.user_agent.clone(),
            referrer: some(&evidence.referrer),
            proof: some(&evidence.proof),
            robots_txt: evidence.broken.as_ref().map(BrokenView::new),
            suspect: evidence
                .suspect
                .split(',')
                .filter(|code| !code.is_empty())
                .map(str::to_owned)
                .collect(),
            explain: explain(evidence),
        }
    }

    /// Returns the ID of the robot, or the kind of visitor.
    pub(super) fn who(&self) -> &str {
        self.robot.as_deref().unwrap_or(&self.kind)
    }
}

impl BrokenView {
    fn new(broken: &BrokenRule) -> Self {
        let seconds = |ms: u64| std::time::Duration::from_millis(ms).as_secs_f64();
        match broken {
            BrokenRule::Rule {
                line,
                rule,
                group_line,
                group,
            } => Self::Rule {
                line: *line,
                rule: rule.clone(),
                group_line: *group_line,
                group: group.clone(),
            },
            BrokenRule::Delay { delay_ms, gap_ms } => Self::Delay {
                delay_seconds: seconds(*delay_ms),
                gap_seconds: seconds(*gap_ms),
            },
        }
    }
}

fn explain(evidence: &Evidence) -> String {
    let parts = [
        ("user_agent", &evidence.user_agent),
        ("path", &evidence.path),
        ("method", &evidence.method),
        ("host", &evidence.host),
    ];
    let parts = parts.map(|(name, value)| format!("{name}={}", encode(value)));
    format!("identify?{}", parts.join("&"))
}
