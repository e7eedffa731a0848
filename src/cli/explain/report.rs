//! Reports the decision for a request as text and JSON.

use std::io;

use crate::cli::output;
use crate::detect::{Claim, Detector};
use crate::layer::signed_claim;
use crate::log_report::SampledRequest;
use crate::operations::decisions::{ClaimView, DecisionView, Explanation};
use crate::policy::Request;
use http::{HeaderMap, HeaderValue, header::USER_AGENT};

/// A request to explain.
#[derive(Clone, Debug)]
pub(in crate::cli) struct ExplainedRequest {
    /// The line number of the request in the log, starting at 1.
    pub(super) line: Option<u64>,
    pub(super) method: String,
    pub(super) host: Option<String>,
    /// The request path, including the query.
    pub(super) target: String,
    pub(super) user_agent: Vec<u8>,
    /// Signature headers of the request, if present.
    pub(super) headers: HeaderMap,
}

impl ExplainedRequest {
    /// Returns a request whose only known header is the User-Agent: logs contain no other headers.
    pub(in crate::cli) fn from_log(request: SampledRequest) -> Self {
        Self {
            line: None,
            method: request.method,
            host: request.host,
            target: request.target,
            // The layer treats a missing header in the same way as an empty header.
            user_agent: request.user_agent,
            headers: HeaderMap::new(),
        }
    }

    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns the parts of the request that the policy evaluates.
    pub(super) fn of_policy(&self) -> Request<'_> {
        Request::for_target(&self.method, self.host.as_deref(), &self.target)
    }

    /// Returns the request's claim, as the layer determines it.
    pub(super) fn claim<'d>(&self, detector: &'d Detector) -> Option<Claim<'d>> {
        let claim = detector.claim(&self.user_agent);
        signed_claim(detector, &self.headers, claim)
    }

    /// Returns all request headers, including the User-Agent.
    pub(super) fn all_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Ok(user_agent) = HeaderValue::from_bytes(&self.user_agent) {
            headers.insert(USER_AGENT, user_agent);
        }
        headers
    }

    /// Returns the explanation of the decision for the request.
    pub(super) fn explanation(
        &self,
        claim: Option<&Claim<'_>>,
        decided: DecisionView,
    ) -> Explanation {
        Explanation {
            line: self.line,
            user_agent: String::from_utf8_lossy(&self.user_agent).into_owned(),
            method: self.method.clone(),
            host: self.host.clone(),
            path: self.target.clone(),
            claim: claim.map(|claim| ClaimView::new(claim, &self.user_agent)),
            decided,
        }
    }
}

/// Returns a text about a decision, with the action that a dry run does not carry out.
pub(super) fn with_would(text: &str, decided: &DecisionView) -> String {
    match &decided.would {
        Some(would) => format!("{text} (would {would})"),
        None => text.to_owned(),
    }
}

/// Prints a row for each step; for a log line, the request comes first and an empty line last.
pub(super) fn print(explained: &Explanation) -> io::Result<()> {
    let decided = &explained.decided;
    if let Some(number) = explained.line {
        let host = explained.host.as_deref().unwrap_or_default();
        let (method, path, user_agent) =
            (&explained.method, &explained.path, &explained.user_agent);
        row(
            "line",
            &format!("{number}: {method} {host}{path} from {user_agent:?}"),
        )?;
    }
    if let Some(claim) = &explained.claim {
        row("claim", &format!("{}, by {}", claim.id, claim.evidence))?;
    }
    for step in &decided.steps {
        row(step.name, &step.text)?;
    }
    row("decision", &with_would(&decided.text, decided))?;
    if let Some(answers) = &decided.answered_by {
        row("answered", &format!("by {answers}"))?;
    }
    match explained.line {
        Some(_) => output::line(""),
        None => Ok(()),
    }
}

/// Prints the explanation as an indented JSON object; for a log line, on one line (JSON Lines).
pub(super) fn print_json(explained: &Explanation) -> io::Result<()> {
    match explained.line {
        None => output::json(explained),
        Some(_) => output::line(&serde_json::to_string(explained)?),
    }
}

fn row(name: &str, text: &str) -> io::Result<()> {
    output::line(&format!("{name:<8}  {}", output::clean(text)))
}
