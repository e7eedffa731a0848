//! The verification page, its JSON version, and the button that fetches address lists.

use askama::Template;
use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    fetches::{self, FailedList, FetchView},
    lists::{ListView, wanted_urls},
    robots::{RobotRow, headings},
    view::{View, ViewParams},
};
use crate::{
    fields::{Fields, JsonBody, Params},
    page::{Page, html},
    problem::Problem,
    sorting::Column,
    state::AdminState,
    traffic::History,
};

/// Maximum number of rows in a table on the page; the JSON version contains all rows.
const MAX_ROWS: usize = 100;

/// Maximum number of lists that failed to be fetched and are shown.
const MAX_FAILURES: usize = 10;

/// Maximum number of robots shown in the row of a list.
const MAX_NAMES: usize = 4;

#[derive(Template)]
#[template(path = "admin/verification.html")]
struct VerificationPage {
    page: Page,
    view: View,
    /// Verdicts over time; `None` while the database is unavailable.
    history: Option<History>,
    columns: Vec<Column>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FetchBody {
    /// URL of the list to fetch, as displayed; empty for all lists.
    #[serde(default)]
    url: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FetchForm {
    #[serde(default)]
    url: String,
}

/// Shows verdicts, impostors and address lists.
pub(crate) async fn show(
    State(state): State<AdminState>,
    Params(params): Params<ViewParams>,
    page: Page,
) -> Result<Response, Problem> {
    let view = View::load(&state, &params).await?;
    let robot = view.robot.as_deref().unwrap_or_default();
    let history = History::verdicts(&state, view.robot.as_deref(), &page).await?;
    Ok(html(&VerificationPage {
        history,
        page,
        columns: headings(view.sorting, robot),
        view,
    }))
}

/// Returns the verification data as JSON; status 422 if `sort` or `dir` is invalid.
pub(crate) async fn json(
    State(state): State<AdminState>,
    Params(params): Params<ViewParams>,
) -> Result<Response, Problem> {
    let view = View::load(&state, &params).await?;
    Ok(Json(view).into_response())
}

/// Fetches the address list specified in the form, or all lists, in the background.
pub(crate) async fn fetch(
    State(state): State<AdminState>,
    page: Page,
    Fields(form): Fields<FetchForm>,
) -> Result<Response, Problem> {
    fetches::start(&state, wanted_urls(&state, &form.url)?)?;
    Ok(page.location.see_other("verification#list-fetch"))
}

/// Fetches address lists at the request of a program: status 202, or 409 if lists are not used or
/// are already being fetched.
///
/// The body is `{}` to fetch all lists, or `{"url": "https://…"}` to fetch one list; status 422 if
/// no robot uses this list.
pub(crate) async fn fetch_json(
    State(state): State<AdminState>,
    JsonBody(body): JsonBody<FetchBody>,
) -> Result<Response, Problem> {
    fetches::start(&state, wanted_urls(&state, &body.url)?)?;
    // Status 202, because the lists are fetched in the background (RFC 9110 §15.3.3).
    let view = View::load(&state, &ViewParams::default()).await?;
    Ok((StatusCode::ACCEPTED, Json(view)).into_response())
}

/// Returns the state of the running or most recent fetch; `null` before the first fetch.
pub(crate) async fn progress(State(state): State<AdminState>) -> Json<Option<FetchView>> {
    Json(state.list_fetches().view(state.now_ms()))
}

impl VerificationPage {
    fn robots(&self) -> &[RobotRow] {
        let rows = &self.view.robots;
        rows.get(..MAX_ROWS).unwrap_or(rows)
    }

    fn lists(&self) -> &[ListView] {
        let rows = &self.view.lists;
        rows.get(..MAX_ROWS).unwrap_or(rows)
    }

    fn failures(&self) -> &[FailedList] {
        let fetch = self.view.fetch.as_ref();
        let failed = fetch.map_or(&[][..], |fetch| &fetch.failed);
        failed.get(..MAX_FAILURES).unwrap_or(failed)
    }

    /// Returns `true` if there is an address list that can be fetched.
    fn can_fetch(&self) -> bool {
        let mut lists = self.view.lists.iter();
        self.view.uses_lists() && lists.any(|list| !list.robots.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Moment,
        verification::{
            robots::{RobotRef, sorting},
            totals::TotalsView,
            view::SpoofedView,
        },
    };

    const HOSTILE: &str = "<script>alert('x')</script>\"&";

    fn hostile() -> View {
        let robot = RobotRef {
            id: HOSTILE.to_owned(),
            name: HOSTILE.to_owned(),
            link: None,
        };
        let moment = Moment::new(0, 0);
        let counts = TotalsView {
            verified: 1,
            unverifiable: 2,
            spoofed: 3,
        };
        View {
            methods: vec!["ranges"],
            kept_days: 30,
            is_counted: true,
            resolver_is_doubted: true,
            totals: counts,
            pending: 4,
            robot: Some(HOSTILE.to_owned()),
            robots: vec![RobotRow {
                robot: robot.clone(),
                requests: 6,
                counts,
            }],
            spoofed: vec![SpoofedView {
                at: moment,
                robot: robot.clone(),
                address: None,
                site: HOSTILE.to_owned(),
                method: HOSTILE.to_owned(),
                user_agent: HOSTILE.to_owned(),
                decision: HOSTILE.to_owned(),
                host: HOSTILE.to_owned(),
                path: HOSTILE.to_owned(),
                evidence: HOSTILE.to_owned(),
            }],
            lists: vec![ListView {
                url: HOSTILE.to_owned(),
                robots: vec![robot],
                state: "missing",
                prefixes: None,
                unreadable: 0,
                created: Some(HOSTILE.to_owned()),
                fetched: None,
                checked: None,
                tried: None,
                error: Some(HOSTILE.to_owned()),
            }],
            fetching: false,
            fetch: Some(hostile_fetch()),
            sorting: sorting("", "").ok().unwrap(),
        }
    }

    fn hostile_fetch() -> FetchView {
        FetchView {
            running: false,
            text: HOSTILE.to_owned(),
            lists: 1,
            done: 1,
            busy: 0,
            failed: vec![FailedList {
                url: HOSTILE.to_owned(),
                error: HOSTILE.to_owned(),
            }],
            finished: None,
        }
    }

    #[test]
    fn hostile_text_is_escaped() {
        let view = hostile();
        let page = VerificationPage {
            page: Page::default(),
            history: Some(History::default()),
            columns: headings(view.sorting, HOSTILE),
            view,
        };
        let text = page.render().unwrap();
        assert!(!text.contains("<script>alert"), "{text}");
        assert!(!text.contains("\"&\""), "{text}");
        assert!(
            text.matches("&#60;script&#62;alert").count() >= 10,
            "{text}"
        );
        assert!(
            text.contains("The resolver returns no host names for IP addresses"),
            "{text}"
        );
        assert!(!text.contains(" style="), "inline styles are not allowed");
    }
}
