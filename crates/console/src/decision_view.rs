//! The decision on a request, and its reasons, as the pages and their JSON show it.

use schemars::JsonSchema;
use serde::Serialize;

use super::sites::SelectedSite;
use robot_detection_layer::detect::Verdict;
use robot_detection_layer::policy::{Request, Step, Visitor};
use robot_detection_layer::suspect::{Findings, Reason};

/// Decision on a request.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct DecisionView {
    /// Word of the action.
    pub(super) decision: &'static str,
    /// What the request gets: the words before its location or status, and those after it.
    #[serde(skip)]
    pub(super) gets: (&'static str, &'static str),
    /// "verified", "spoofed", "unverifiable" or "pending"; of a person none. Where
    /// robots.txt is asked, a verdict is that of the file.
    #[serde(skip)]
    pub(super) verdict: Option<&'static str>,
    /// Where it is redirected to, or the page that is served in its place.
    pub(super) location: Option<String>,
    pub(super) status: Option<u16>,
    /// Part of this program that answers it, where it passes and that is not the site.
    pub(super) answered_by: Option<String>,
    /// The rule that decided.
    pub(super) rule: Option<String>,
    /// How many requests of the robot are let through, where a rule slows it down.
    pub(super) slowed: Option<String>,
    /// The request passes, whatever was decided.
    pub(super) is_dry_run: bool,
    /// Codes of the reasons why the visitor is suspect, as far as its headers are known.
    pub(super) suspect: Vec<&'static str>,
    pub(super) steps: Vec<StepView>,
}

/// What is known of the visitor of a request beside his User-Agent; by default nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Suspicion {
    /// What is found of the browser that he names.
    pub(super) findings: Findings,
    /// Why he would get no copy of a page.
    pub(super) no_copy: Option<&'static str>,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct StepView {
    pub(super) name: &'static str,
    pub(super) text: String,
}

impl DecisionView {
    /// Asks the policy and robots.txt as the layer does; `target` is the path with its query.
    pub(super) fn new(
        site: &SelectedSite,
        request: &Request<'_>,
        target: &str,
        visitor: Option<Visitor<'_>>,
        user_agent: &[u8],
        suspicion: &Suspicion,
    ) -> Self {
        let policy = site.policy.load();
        let enforcer = &site.enforcer;
        let explained = enforcer.explain_all(&policy, request, target, visitor, user_agent);
        let mut explained = explained.suspicion(&suspicion.findings);
        let mut answered_by = None;
        if let Some(site) = &site.site {
            let own = explained.own_page(|to| (site.own_pages)(target, to));
            explained = own.copy(suspicion.no_copy);
            // What is refused or redirected is answered by the layer.
            if explained.passes() {
                answered_by = (site.answers)(request, target);
            }
        }
        let slowed = explained.slowed();
        Self {
            answered_by,
            decision: explained.action.as_str(),
            gets: explained.action.words().gets,
            verdict: explained.verdict.map(Verdict::as_str),
            location: explained.location,
            status: explained.status,
            rule: explained.rule.map(|rule| rule.label().to_owned()),
            slowed,
            is_dry_run: explained.is_dry_run,
            suspect: explained.reasons.iter().map(Reason::code).collect(),
            steps: explained.steps.into_iter().map(StepView::from).collect(),
        }
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
