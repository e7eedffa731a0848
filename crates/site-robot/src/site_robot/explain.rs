//! Explanation why a URL is visited and described, or not.

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

/// Explanation of what the robot would do with a URL, step by step, and of what it did.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The URL in the form in which it is known.
    pub url: String,
    /// Steps, up to the one that gives it up.
    pub steps: Vec<ExplainedStep>,
    /// State from the last visit.
    pub known: Option<KnownUrl>,
}

/// One step.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ExplainedStep {
    /// The step.
    pub step: Step,
    /// `true` if the URL passes.
    pub goes_on: bool,
    /// Reason.
    pub reason: String,
}

impl Explanation {
    /// Returns `true` if the URL would be visited.
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

/// Writes a step a line, and what is known.
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

/// Explains a URL.
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
        let rejection = Rejection::new(Step::Url, "it is no http: or https: URL");
        return Ok(explanation.reject(rejection));
    };
    explanation.url = url.as_str().to_owned();
    let known = settings.frontier().known_url(&settings.site, url.as_str());
    explanation.known = known.await?;
    explanation.pass(Step::Url, "it can be fetched");
    let judged = check(settings, &url);
    if !matches!(&judged, Err(it) if it.step != Step::Trap) {
        explanation.pass(Step::Scope, "host and path were asked for");
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
            let reason = format!("nothing is visited for now: {reason}");
            return Ok(explanation.reject(Rejection::new(Step::RobotsTxt, reason)));
        }
    }
    // A URL that was never met is judged as if a starting point linked to it.
    let depth = explanation.known.as_ref().map_or(1, |known| known.depth);
    Ok(filters(settings, &url, depth, explanation))
}

/// Returns the sentence that robots.txt allows a URL, and whether it names another host for it.
fn allowed(settings: &Settings, rules: &HostRules, url: &Url) -> String {
    let Some(main) = rules.on_main_host(url) else {
        return "it is allowed".to_owned();
    };
    let main_shown = main.as_str().escape_debug();
    match check(settings, &main) {
        Ok(()) => format!("it is allowed; a Host line says it is {main_shown}, visited there"),
        Err(_) => format!(
            "it is allowed; a Host line says it is {main_shown}, which is not among the starting \
             points, and is not obeyed"
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
        (None, None) => explanation.pass(Step::MetaData, "both filters let it pass"),
        (Some(denial), None) => {
            let reason = format!("it is described, its links are not followed: {denial}");
            explanation.pass(Step::MetaData, reason);
        }
        (None, Some(denial)) => {
            let reason = format!("its links are followed, it is not described: {denial}");
            explanation.pass(Step::MetaData, reason);
        }
        (Some(_), Some(denial)) => {
            let rejection = Rejection::new(Step::MetaData, denial.to_string());
            return explanation.reject(rejection);
        }
    }
    explanation
}
