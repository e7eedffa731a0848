//! The report on a request, as text and JSON.

use std::io;

use http::{HeaderMap, HeaderValue, header::USER_AGENT};
use serde_json::{Value, json};

use crate::cli::{identify, output};
use crate::detect::{Claim, Detector, Verdict};
use crate::layer::signed_claim;
use crate::policy::{PassReason, Request, RequestExplanation, Rule};

/// Request that is explained.
#[derive(Clone, Debug)]
pub(in crate::cli) struct ExplainedRequest {
    /// Number of its line in the log, from 1.
    pub(super) line: Option<u64>,
    pub(super) method: String,
    pub(super) host: Option<String>,
    /// Path with its query.
    pub(super) target: String,
    pub(super) user_agent: Vec<u8>,
    /// Headers of its signature, if any.
    pub(super) headers: HeaderMap,
}

/// Report on what is done with a request, and why.
pub(in crate::cli) struct RequestReport<'t> {
    pub(super) request: &'t ExplainedRequest,
    pub(super) claim: Option<&'t Claim<'t>>,
    pub(super) explained: RequestExplanation<'t>,
    /// Part of the program that answers, for `/robots.txt` and for what passes; `None`: the site.
    pub(super) answered_by: Option<String>,
}

impl ExplainedRequest {
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns what the policy looks at.
    pub(super) fn of_policy(&self) -> Request<'_> {
        Request {
            method: &self.method,
            host: self.host.as_deref(),
            path: self.path(),
        }
    }

    /// Returns what the request claims, as the layer finds it.
    pub(super) fn claim<'d>(&self, detector: &'d Detector) -> Option<Claim<'d>> {
        let claim = detector.claim(&self.user_agent);
        signed_claim(detector, &self.headers, claim)
    }

    /// Returns all headers, the User-Agent among them.
    pub(super) fn all_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Ok(user_agent) = HeaderValue::from_bytes(&self.user_agent) {
            headers.insert(USER_AGENT, user_agent);
        }
        headers
    }

    fn user_agent(&self) -> String {
        String::from_utf8_lossy(&self.user_agent).into_owned()
    }
}

impl RequestReport<'_> {
    /// Prints a row for each step; for a line of a log, its request first and an empty line last.
    pub(super) fn print(&self) -> io::Result<()> {
        if let Some(number) = self.request.line {
            row("line", &format!("{number}: {}", self.request()))?;
        }
        if let Some(claim) = self.claim {
            row("claim", &claim_text(claim, &self.request.user_agent))?;
        }
        for step in &self.explained.steps {
            row(step.name, &step.text)?;
        }
        let would = self.would().map(|would| format!(" (would {would})"));
        let decision = self.decision() + &would.unwrap_or_default();
        row("decision", &decision)?;
        if let Some(answers) = &self.answered_by {
            row("answered", &format!("by {answers}"))?;
        }
        match self.request.line {
            Some(_) => output::line(""),
            None => Ok(()),
        }
    }

    /// Prints one object, indented; for a line of a log, on one line (JSON lines).
    pub(super) fn print_json(&self) -> io::Result<()> {
        let steps = self.explained.steps.iter();
        let steps = steps.map(|step| json!({"step": step.name, "reason": step.text}));
        let explained = &self.explained;
        let passes = explained.passes();
        let mut object = json!({
            "decision": self.decision(),
            "verdict": explained.verdict.map(Verdict::as_str),
            "suspect": Some(explained.reasons.to_string()).filter(|codes| !codes.is_empty()),
            "would": self.would(),
            "pass_reason": explained.pass_reason.filter(|_| passes).map(PassReason::as_str),
            "rule": explained.rule.map(Rule::label),
            "noted": explained.noted.map(Rule::label),
            "slowed": explained.slowed(),
            "claim": self.claim.map(identify::object),
            "steps": steps.collect::<Vec<_>>(),
            "answered_by": self.answered_by,
        });
        let Some(number) = self.request.line else {
            return output::json(&object);
        };
        for (key, value) in [
            ("line", json!(number)),
            ("method", json!(self.request.method)),
            ("host", json!(self.request.host)),
            ("path", json!(self.request.target)),
            ("user_agent", json!(self.request.user_agent())),
        ] {
            if let Value::Object(object) = &mut object {
                object.insert(key.to_owned(), value);
            }
        }
        output::line(&object.to_string())
    }

    /// Returns the decision; in a dry run every request passes.
    fn decision(&self) -> String {
        if self.explained.is_dry_run {
            return "pass".to_owned();
        }
        self.explained.to_string()
    }

    /// Returns what would be done but for the dry run.
    fn would(&self) -> Option<String> {
        let is_kept = self.explained.is_dry_run && self.explained.pass_reason.is_none();
        let noted = self.explained.noted.filter(|_| self.explained.passes());
        is_kept
            .then(|| self.explained.to_string())
            .or_else(|| noted.map(|rule| rule.action().to_string()))
    }

    fn request(&self) -> String {
        let ExplainedRequest {
            method,
            host,
            target,
            ..
        } = self.request;
        let host = host.as_deref().unwrap_or_default();
        format!("{method} {host}{target} by {:?}", self.request.user_agent())
    }
}

fn row(name: &str, text: &str) -> io::Result<()> {
    output::line(&format!("{name:<8}  {}", output::clean(text)))
}

/// Returns the claimed robot, and the part of the User-Agent that claims it.
fn claim_text(claim: &Claim<'_>, user_agent: &[u8]) -> String {
    let by = match claim {
        Claim::Listed(_)
        | Claim::Signed(_)
        | Claim::Nameless
        | Claim::Shared(_)
        | Claim::Person => claim.to_string(),
        Claim::Unlisted(unlisted) => {
            let text = user_agent.get(claim.range()).unwrap_or_default();
            format!("{} {:?}", unlisted.sign, String::from_utf8_lossy(text))
        }
    };
    format!("{}, by {by}", claim.id())
}
