//! The page of changes, its JSON and its CSV.

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
        traffic::grouped,
    },
    view::{ChangeQuery, ChangeView},
};
use robot_detection_operations::past_ms;

/// Changes that the page shows; JSON and CSV have all.
const SHOWN: usize = 200;

#[derive(Template)]
#[template(path = "admin/changes.html")]
struct ChangesPage {
    page: Page,
    changes: Vec<ChangeView>,
    /// How many there are, in words.
    all: String,
    events: Vec<String>,
    params: ChangeParams,
}

/// Filter of the changes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ChangeParams {
    event: String,
    since: String,
    until: String,
}

/// Shows the changes, newest first.
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

/// Returns how many changes there are, and how many of them are shown.
fn all(total: usize) -> String {
    match total {
        1 => "1 change".to_owned(),
        total if total > SHOWN => format!(
            "{} changes; shown are the newest {SHOWN}, the file has all",
            grouped(total as u64)
        ),
        total => format!("{total} changes"),
    }
}

/// Entries of the change log.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ChangeList")]
pub(crate) struct Changes {
    changes: Vec<ChangeView>,
}

/// Returns the changes as JSON.
pub(crate) async fn json(
    State(state): State<AdminState>,
    Params(params): Params<ChangeParams>,
) -> Result<Json<Changes>, Problem> {
    let (changes, _) = params.query(&state)?.load(&state).await?;
    Ok(Json(Changes { changes }))
}

/// Returns the changes as a file of CSV.
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
    /// Returns the address of the file with what is shown.
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

/// Returns a cell, which no spreadsheet takes for a formula.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let mark = if is_formula { "'" } else { "" };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_no_formula_and_ends_where_it_ends() {
        assert_eq!(cell("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(cell("=1+1"), "\"'=1+1\"");
    }
}
