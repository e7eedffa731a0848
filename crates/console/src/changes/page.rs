//! The audit log of changes as a page, as JSON and as CSV.

use askama::Template;
use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        fields::Params,
        page::{Page, encode, html},
        problem::Problem,
        state::AdminState,
        traffic::group_digits,
    },
    view::{ChangeQuery, ChangeView},
};
use robot_detection_operations::past_ms;

/// Maximum number of audit log entries on the page; JSON and CSV contain all entries.
const SHOWN: usize = 200;

#[derive(Template)]
#[template(path = "admin/changes.html")]
struct ChangesPage {
    page: Page,
    changes: Vec<ChangeView>,
    /// Text that contains the total number of entries.
    all: String,
    events: Vec<String>,
    params: ChangeParams,
}

/// The filter parameters of the audit log.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ChangeParams {
    event: String,
    since: String,
    until: String,
}

/// Shows the audit log, newest entry first.
pub(crate) async fn show(
    State(state): State<AdminState>,
    Params(params): Params<ChangeParams>,
    page: Page,
) -> Result<Response, Problem> {
    let (mut changes, events) = params.query(&state)?.load(&state).await?;
    let all = all(changes.len());
    changes.truncate(SHOWN);
    Ok(html(&ChangesPage {
        page,
        changes,
        all,
        events: events.into_iter().collect(),
        params,
    }))
}

/// Returns a text that contains the number of entries, and how many of them are shown.
fn all(total: usize) -> String {
    match total {
        1 => "1 change".to_owned(),
        total if total > SHOWN => format!(
            "{} changes; the newest {SHOWN} are shown here, and all of them are in the CSV file",
            group_digits(total as u64)
        ),
        total => format!("{total} changes"),
    }
}

/// The entries of the audit log.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ChangeList")]
pub(crate) struct Changes {
    changes: Vec<ChangeView>,
}

/// Returns the audit log as JSON.
pub(crate) async fn json(
    State(state): State<AdminState>,
    Params(params): Params<ChangeParams>,
) -> Result<Json<Changes>, Problem> {
    let (changes, _) = params.query(&state)?.load(&state).await?;
    Ok(Json(Changes { changes }))
}

/// Returns the audit log as a CSV file.
pub(crate) async fn download(
    State(state): State<AdminState>,
    Params(params): Params<ChangeParams>,
) -> Result<Response, Problem> {
    let (changes, _) = params.query(&state)?.load(&state).await?;
    let mut text = "time,by,event,subject,detail\r\n".to_owned();
    for change in &changes {
        let cells = [
            &change.at.iso,
            &change.by,
            &change.event,
            &change.subject,
            &change.detail,
        ];
        let cells = cells.map(|text| cell(text));
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    }
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"changes.csv\"",
        ),
    ];
    Ok((headers, text).into_response())
}

impl ChangeParams {
    fn query(&self, state: &AdminState) -> Result<ChangeQuery, Problem> {
        let now_ms = state.now_ms();
        let time = |name: &str, text: &str| {
            let found = past_ms(text, now_ms);
            found.map_err(|reason| Problem::invalid(format!("{name}: {reason}")))
        };
        Ok(ChangeQuery {
            event: self.event.trim().to_owned(),
            since_ms: time("since", &self.since)?,
            until_ms: time("until", &self.until)?,
        })
    }
}

impl ChangesPage {
    /// Returns the URL of the CSV file, including the current filter.
    fn export(&self) -> String {
        let ChangeParams {
            event,
            since,
            until,
        } = &self.params;
        let [event, since, until] = [event, since, until].map(|text| encode(text));
        format!("changes/export?event={event}&since={since}&until={until}")
    }
}

/// Returns a CSV cell that spreadsheets do not treat as a formula.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let mark = if is_formula { "'" } else { "" };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_is_quoted_and_not_a_formula() {
        assert_eq!(cell("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(cell("=1+1"), "\"'=1+1\"");
    }
}
