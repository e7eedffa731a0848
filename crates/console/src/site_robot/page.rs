//! The site robot's page, which shows its state, its live progress and its history.

use askama::Template;
use axum::{Json, extract::State, response::Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    robot_site::RobotSite,
    status::{RunView, StatusView},
};
use crate::{
    fields::Params,
    page::{Page, html},
    problem::Problem,
    state::AdminState,
};

#[derive(Template)]
#[template(path = "admin/site_robot.html")]
struct RobotPage {
    page: Page,
    of: RobotSite,
    target: &'static str,
    status: StatusView,
    runs: Vec<RunView>,
    note: &'static str,
    can_explain: bool,
    /// Text about the use of the descriptions, and whether they are unused.
    heaven: Option<(String, bool)>,
}

#[derive(Debug, serde::Deserialize)]
pub(crate) struct NoteParams {
    #[serde(default)]
    note: String,
}

/// Shows the state of the current run and the outcomes of recent runs.
pub(crate) async fn show(
    State(state): State<AdminState>,
    of: RobotSite,
    Params(params): Params<NoteParams>,
    page: Page,
) -> Result<Response, Problem> {
    let (status, runs) = StatusView::load(&state, &of.name).await?;
    let can_explain = state.operations().robot_runs.robot(&of.name).is_some();
    let heaven = state.operations().robot_runs.heaven(&of.name);
    let note = match params.note.as_str() {
        "cleared" => "Descriptions, URLs and runs of the site were deleted.",
        "accepted" => "The results that were held for review are being published.",
        "none" => "The run no longer exists, so nothing was changed.",
        _ => "",
    };
    Ok(html(&RobotPage {
        page,
        of,
        target: "site-robot",
        status,
        runs,
        note,
        can_explain,
        heaven: heaven.map(|heaven| (heaven.to_string(), heaven.is_idle())),
    }))
}

/// Returns the state of the site robot's run as JSON.
pub(crate) async fn json(
    State(state): State<AdminState>,
    of: RobotSite,
) -> Result<Json<StatusView>, Problem> {
    let (status, _) = StatusView::load(&state, &of.name).await?;
    Ok(Json(status))
}

/// The recent runs of a site robot.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RunList")]
pub(crate) struct Runs {
    site: String,
    runs: Vec<RunView>,
}

/// Returns the recent runs of a site robot as JSON.
pub(crate) async fn runs_json(
    State(state): State<AdminState>,
    of: RobotSite,
) -> Result<Json<Runs>, Problem> {
    let (_, runs) = StatusView::load(&state, &of.name).await?;
    let site = of.name;
    Ok(Json(Runs { site, runs }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Moment,
        site_robot::status::{DifferingView, HostView, LiveView, ParityView, RunStatus},
    };
    use robot_detection_store::store::RunCounts;

    const HOSTILE: &str = "<script>alert('x')</script>\"&";

    #[test]
    #[expect(
        clippy::too_many_lines,
        reason = "includes everything that a page shows"
    )]
    fn hostile_text_is_escaped() {
        let at = Moment::new(0, 0);
        let run = RunView {
            id: 1,
            outcome: "running",
            started: at.clone(),
            finished: Some(at.clone()),
            took: String::new(),
            counts: RunCounts::default(),
        };
        let page = RobotPage {
            page: Page::default(),
            of: RobotSite {
                name: HOSTILE.to_owned(),
                choices: Vec::new(),
            },
            target: "site-robot",
            status: StatusView {
                site: HOSTILE.to_owned(),
                state: RunStatus::Running,
                text: "",
                running: true,
                can_run: true,
                can_pause: true,
                can_resume: true,
                can_stop: true,
                can_accept: true,
                held: Some(HOSTILE.to_owned()),
                question: Some(HOSTILE.to_owned()),
                hidden: 1,
                missing: 1,
                parity: ParityView {
                    compared: 2,
                    differing: 1,
                    withdrawn: 1,
                    pages: vec![DifferingView {
                        url: HOSTILE.to_owned(),
                        sentence: HOSTILE.to_owned(),
                        since: at,
                        withdrawn: true,
                    }],
                },
                is_resumable: true,
                descriptions: 1,
                failure: Some(HOSTILE.to_owned()),
                run: Some(run.clone()),
                live: Some(LiveView {
                    state: "running",
                    rate: "1.0".to_owned(),
                    waiting: 1,
                    active: 1,
                    last_url: HOSTILE.to_owned(),
                    last_outcome: HOSTILE.to_owned(),
                    hosts: vec![HostView {
                        host: HOSTILE.to_owned(),
                        fetched: 1,
                        failed: 0,
                        bytes: 1,
                    }],
                }),
            },
            runs: vec![run],
            note: "",
            can_explain: true,
            heaven: Some((HOSTILE.to_owned(), true)),
        };
        let text = page.render().unwrap();
        assert!(!text.contains("<script>alert"), "{text}");
        assert!(!text.contains("\"&\""), "{text}");
        assert!(text.matches("&#60;script&#62;alert").count() >= 8, "{text}");
    }
}
