//! Explains why the site robot does or does not visit and describe a URL.

use askama::Template;
use axum::{Json, extract::State, response::Response};
use schemars::JsonSchema;
use serde::Serialize;
use tracing::warn;

use super::{descriptions::UrlParam, robot_site::RobotSite};
use crate::{
    Moment,
    fields::Params,
    page::{Page, html},
    problem::Problem,
    state::AdminState,
};
use robot_detection_site_robot::site_robot::Explanation;

#[derive(Template)]
#[template(path = "admin/site_robot_explain.html")]
struct ExplainPage {
    page: Page,
    of: RobotSite,
    target: &'static str,
    asked: String,
    explained: Option<ExplanationView>,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "UrlExplanation")]
struct ExplanationView {
    url: String,
    /// Whether the site robot would visit the URL.
    #[serde(rename = "would_visit")]
    visited: bool,
    steps: Vec<StepView>,
    /// Result of the most recent visit to the URL; `None` if no run has found the URL.
    #[serde(rename = "last_visit")]
    known: Option<LastVisitView>,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ExplainedStep")]
struct StepView {
    step: String,
    #[serde(rename = "continues")]
    goes_on: bool,
    reason: String,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "LastVisit")]
struct LastVisitView {
    state: String,
    depth: u32,
    found_on: String,
    described: bool,
    status: Option<u16>,
    outcome: String,
    fetched: Option<Moment>,
}

/// Shows the form and, if a URL was entered, the explanation.
pub(crate) async fn explain(
    State(state): State<AdminState>,
    of: RobotSite,
    Params(params): Params<UrlParam>,
    page: Page,
) -> Result<Response, Problem> {
    let explained = match params.url.trim() {
        "" => None,
        url => Some(explained(&state, &of.name, url).await?),
    };
    Ok(html(&ExplainPage {
        page,
        of,
        target: "site-robot/explain",
        asked: params.url,
        explained,
    }))
}

/// An explanation of why a URL is described or not.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ExplainedUrl")]
pub(crate) struct Explained {
    site: String,
    explained: ExplanationView,
}

/// Returns the explanation for a URL as JSON.
pub(crate) async fn explain_json(
    State(state): State<AdminState>,
    of: RobotSite,
    Params(params): Params<UrlParam>,
) -> Result<Json<Explained>, Problem> {
    let explained = explained(&state, &of.name, &params.url).await?;
    Ok(Json(Explained {
        site: of.name,
        explained,
    }))
}

async fn explained(state: &AdminState, site: &str, url: &str) -> Result<ExplanationView, Problem> {
    let Some(robot) = state.operations().robot_runs.robot(site) else {
        let message = "This process has no site robot for the site, so it cannot explain URLs.";
        return Err(Problem::not_found(message));
    };
    match robot.explain(url).await {
        Ok(explanation) => Ok(ExplanationView::new(explanation, state.now_ms())),
        Err(error) => {
            warn!(%error, site, "could not explain a URL: {error}");
            Err(Problem::internal("the site robot cannot explain a URL"))
        }
    }
}

impl ExplanationView {
    fn new(explanation: Explanation, now_ms: i64) -> Self {
        let visited = explanation.is_visited();
        let steps = explanation.steps.into_iter().map(|explained| StepView {
            step: explained.step.to_string(),
            goes_on: explained.goes_on,
            reason: explained.reason,
        });
        Self {
            visited,
            steps: steps.collect(),
            known: explanation.known.map(|known| LastVisitView {
                state: known.state,
                depth: known.depth,
                found_on: known.found_on,
                described: known.is_described,
                status: known.status,
                outcome: known.outcome.unwrap_or_default(),
                fetched: known.fetched_ms.map(|at_ms| Moment::new(at_ms, now_ms)),
            }),
            url: explanation.url,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_escaped() {
        const HOSTILE: &str = "<script>alert('x')</script>\"&";
        let hostile = || HOSTILE.to_owned();
        let page = ExplainPage {
            page: Page::default(),
            of: RobotSite {
                name: hostile(),
                choices: Vec::new(),
            },
            target: "",
            asked: hostile(),
            explained: Some(ExplanationView {
                url: hostile(),
                visited: false,
                steps: vec![StepView {
                    step: hostile(),
                    goes_on: false,
                    reason: hostile(),
                }],
                known: Some(LastVisitView {
                    state: "done".to_owned(),
                    depth: 1,
                    found_on: hostile(),
                    described: true,
                    status: Some(200),
                    outcome: hostile(),
                    fetched: Some(Moment::new(0, 0)),
                }),
            }),
        };
        let text = page.render().unwrap();
        assert!(!text.contains("<script>alert"), "{text}");
        assert!(text.matches("&#60;script&#62;alert").count() >= 6, "{text}");
    }
}
