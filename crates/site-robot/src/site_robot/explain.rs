//! Explains why a URL is or is not visited and described.

use std::{fmt, sync::Arc};

use url::Url;

use crate::document::normalise;
use crate::filter::{Filter, FilterRun, Resource, Surroundings};
use robot_detection_store::store::KnownUrl;

use super::{
    Rejection, SiteRobotError, Step,
    links::{check, to_canonical_form},
    robots::{HostRules, Permission},
    settings::Settings,
};

/// Step-by-step explanation of how the site robot handles a URL, with the outcome of the last
/// visit.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// URL that is explained, in its normalized form.
    pub url: String,
    /// Steps, up to the step that rejects the URL.
    pub steps: Vec<ExplainedStep>,
    /// State of the URL after the most recent visit.
    pub known: Option<KnownUrl>,
}

/// A step in the explanation of a URL.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ExplainedStep {
    /// Check that the step performs.
    pub step: Step,
    /// Whether the URL passes the step.
    pub goes_on: bool,
    /// Reason for the result of the step.
    pub reason: String,
}

impl Explanation {
    /// Returns `true` if the site robot would visit the URL.
    pub fn is_visited(&self) -> bool {
        self.steps.iter().all(|step| step.goes_on)
    }

    fn pass(&mut self, step: Step, reason: impl Into<String>) {
        self.steps.push(ExplainedStep {
            step,
            goes_on: true,
            reason: reason.into(),
        });
    }

    fn reject(mut self, rejection: Rejection) -> Self {
        self.steps.push(ExplainedStep {
            step: rejection.step,
            goes_on: false,
            reason: rejection.reason,
        });
        self
    }
}

/// Writes one step per line, followed by the last known state.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.url)?;
        for step in &self.steps {
            let word = if step.goes_on { "ok" } else { "no" };
            writeln!(f, "  {word}  {}: {}", step.step, step.reason)?;
        }
        match &self.known {
            None => writeln!(f, "  --  never visited"),
            Some(known) => {
                let outcome = known.outcome.as_deref().unwrap_or("not visited yet");
                let depth = known.depth;
                writeln!(f, "  --  {}, depth {depth}: {outcome}", known.state)
            }
        }
    }
}

/// Explains how the site robot handles a URL.
pub(super) async fn explain(
    settings: &Settings,
    text: &str,
) -> Result<Explanation, SiteRobotError> {
    let mut explanation = Explanation {
        url: text.to_owned(),
        steps: Vec::new(),
        known: None,
    };
    let Some(url) = Url::parse(text.trim())
        .ok()
        .and_then(normalise)
        .map(|url| to_canonical_form(settings, url))
    else {
        let rejection = Rejection::new(Step::Url, "not an http: or https: URL");
        return Ok(explanation.reject(rejection));
    };
    explanation.url = url.as_str().to_owned();
    let known = settings.frontier().known_url(&settings.site, url.as_str());
    explanation.known = known.await?;
    explanation.pass(Step::Url, "the URL can be fetched");
    let judged = check(settings, &url);
    if !matches!(&judged, Err(it) if it.step != Step::Trap) {
        explanation.pass(Step::Scope, "the host and path are in scope");
    }
    if let Err(rejection) = judged {
        return Ok(explanation.reject(rejection));
    }
    let rules = HostRules::read(settings, &url).await;
    match rules.permission(url.as_str()) {
        Permission::Allowed => {
            explanation.pass(Step::RobotsTxt, allowed(settings, &rules, &url));
        }
        Permission::Refused(rejection) => return Ok(explanation.reject(rejection)),
        Permission::Unknown(reason) => {
            let reason = format!("the host is currently not visited: {reason}");
            return Ok(explanation.reject(Rejection::new(Step::RobotsTxt, reason)));
        }
    }
    // An unknown URL is evaluated as if a starting point contained a link to it.
    let depth = explanation.known.as_ref().map_or(1, |known| known.depth);
    Ok(filters(settings, &url, depth, explanation))
}

/// Returns the reason why robots.txt allows a URL, and whether robots.txt specifies another host
/// for that URL.
fn allowed(settings: &Settings, rules: &HostRules, url: &Url) -> String {
    let Some(main) = rules.on_main_host(url) else {
        return "the URL is allowed".to_owned();
    };
    let main_shown = main.as_str().escape_debug();
    match check(settings, &main) {
        Ok(()) => {
            format!("the URL is allowed, but is visited at {main_shown}, as a Host line specifies")
        }
        Err(_) => format!(
            "the URL is allowed; a Host line specifies {main_shown}, which is not among the starting \
             points and is ignored"
        ),
    }
}

fn filters(
    settings: &Settings,
    url: &Url,
    depth: u32,
    mut explanation: Explanation,
) -> Explanation {
    let resource = Resource::new(url.clone(), depth).in_run(Arc::clone(&settings.names));
    let run = FilterRun::new();
    let around = Surroundings {
        run: &run,
        commands: &*settings.commands,
        now_ms: settings.clock.now_ms(),
    };
    let denial = |filter: &Filter| {
        filter
            .metadata(&mut resource.clone(), &around)
            .denial()
            .cloned()
    };
    match (denial(&settings.enumeration), denial(&settings.generation)) {
        (None, None) => explanation.pass(Step::MetaData, "both filters allow the URL"),
        (Some(denial), None) => {
            let reason = format!("the page is described, but its links are not followed: {denial}");
            explanation.pass(Step::MetaData, reason);
        }
        (None, Some(denial)) => {
            let reason =
                format!("the page's links are followed, but the page is not described: {denial}");
            explanation.pass(Step::MetaData, reason);
        }
        (Some(_), Some(denial)) => {
            let rejection = Rejection::new(Step::MetaData, denial.to_string());
            return explanation.reject(rejection);
        }
    }
    explanation
}
