//! Stored evidence as JSON and CSV.

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    filter::{EvidenceFilter, check_word},
    row::{BrokenView, EvidenceView},
};
use crate::{fields::Params, problem::Problem, state::AdminState};
use robot_detection_operations::{Paging, cursor};
use robot_detection_store::store::{EVIDENCE_EVENTS, EvidenceQuery};
use robot_detection_traffic::summary::csv_row;
use robot_detection_traffic::traffic::Moment;

/// The query parameters of the evidence endpoint.
pub(crate) const PARAMETERS: &[&str] = &[
    "since", "until", "site", "robot", "decision", "verdict", "event", "suspect", "limit",
    "cursor", "format",
];

const MINUTE_MS: i64 = 60_000;

const COLUMNS: [&str; 25] = [
    "at",
    "event",
    "site",
    "kind",
    "robot",
    "verdict",
    "decision",
    "cause",
    "status",
    "method",
    "host",
    "path",
    "address",
    "user_agent",
    "referrer",
    "proof",
    "robots_txt_line",
    "robots_txt_rule",
    "robots_txt_group_line",
    "robots_txt_group",
    "crawl_delay_seconds",
    "gap_seconds",
    "suspect",
    "id",
    "explain",
];

/// The query parameters of the evidence endpoint that are not part of [`EvidenceFilter`].
#[derive(Debug, Deserialize)]
pub(crate) struct EvidenceParams {
    #[serde(default)]
    since: String,
    #[serde(default)]
    until: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    format: String,
}

/// A stored request, with its ID.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Evidence")]
struct StoredRequestView {
    id: i64,
    #[serde(flatten)]
    request: EvidenceView,
}

/// One page of stored requests.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct EvidencePage {
    /// Stored requests, newest first.
    evidence: Vec<StoredRequestView>,
    /// Cursor of the next page; absent on the last page.
    next: Option<String>,
    kept_days: u32,
    /// Number of requests that were not stored because the queue was full.
    lost: u64,
}

/// Returns stored requests, newest first, or status 422 if a parameter is invalid.
pub(crate) async fn json(
    State(state): State<AdminState>,
    Params(params): Params<EvidenceParams>,
    Params(paging): Params<Paging>,
    Params(filter): Params<EvidenceFilter>,
) -> Result<Response, Problem> {
    let query = params.query(&filter.validated()?, &paging, state.now_ms())?;
    check_word("format", &params.format, &["json", "csv"])?;
    let traffic = &state.operations().traffic;
    // The response includes decisions made just before this request.
    traffic.catch_up().await;
    let found = state.operations().store.evidence().list(&query).await?;
    let is_last = (found.len() as u64) < query.limit;
    let last = found.last().filter(|_| !is_last);
    let next = last.map(|last| cursor(&last.id));
    let now_ms = state.now_ms();
    let rows = found.iter().map(|found| StoredRequestView {
        id: found.id,
        request: EvidenceView::new(&found.evidence, now_ms),
    });
    let rows: Vec<_> = rows.collect();
    if params.format == "csv" {
        return Ok(csv(&rows));
    }
    Ok(Json(EvidencePage {
        evidence: rows,
        next,
        kept_days: traffic.evidence_days(),
        lost: traffic.lost_evidence(),
    })
    .into_response())
}

impl EvidenceParams {
    fn query(
        &self,
        filter: &EvidenceFilter,
        paging: &Paging,
        now_ms: i64,
    ) -> Result<EvidenceQuery, Problem> {
        check_word("event", &self.event, &EVIDENCE_EVENTS)?;
        let now = now_ms.div_euclid(MINUTE_MS);
        let time = |name: &str, text: &str, all: i64| match text {
            "" => Ok(all),
            text => match text.parse::<Moment>() {
                Ok(Moment::All) => Ok(all),
                Ok(moment) => Ok(moment.minute(now, 0).saturating_mul(MINUTE_MS)),
                Err(error) => Err(Problem::invalid(format!("{name}: {error}"))),
            },
        };
        Ok(EvidenceQuery {
            times_ms: time("since", &self.since, i64::MIN)?..time("until", &self.until, i64::MAX)?,
            event: self.event.clone(),
            before: paging.after()?,
            limit: paging.limit()? as u64,
            ..filter.query()
        })
    }
}

/// Returns the requests as a CSV file.
fn csv(rows: &[StoredRequestView]) -> Response {
    let mut text = csv_row(COLUMNS.map(str::to_owned));
    for row in rows {
        text.push_str(&csv_row(cells(row.id, &row.request)));
    }
    // Sent as an attachment, so that a browser saves the third-party text instead of rendering it.
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"evidence.csv\"",
        ),
    ];
    (headers, text).into_response()
}

fn cells(id: i64, row: &EvidenceView) -> [String; COLUMNS.len()] {
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut broken: [String; 6] = Default::default();
    match &row.robots_txt {
        Some(BrokenView::Rule {
            line,
            rule,
            group_line,
            group,
        }) => {
            let [of_line, of_rule, of_group_line, of_group, ..] = &mut broken;
            (*of_line, *of_rule) = (line.to_string(), rule.clone());
            (*of_group_line, *of_group) = (group_line.to_string(), group.clone());
        }
        Some(BrokenView::Delay {
            delay_seconds,
            gap_seconds,
        }) => {
            let [.., of_delay, of_gap] = &mut broken;
            (*of_delay, *of_gap) = (delay_seconds.to_string(), gap_seconds.to_string());
        }
        None => {}
    }
    let [line, rule, group_line, group, delay, gap] = broken;
    [
        row.at.iso.clone(),
        row.event.clone(),
        row.site.clone(),
        row.kind.clone(),
        optional(&row.robot),
        row.verdict.clone(),
        row.decision.clone(),
        row.cause.clone(),
        row.status
            .map_or_else(String::new, |status| status.to_string()),
        row.method.clone(),
        row.host.clone(),
        row.path.clone(),
        optional(&row.address),
        row.user_agent.clone(),
        optional(&row.referrer),
        optional(&row.proof),
        line,
        rule,
        group_line,
        group,
        delay,
        gap,
        row.suspect.join(" "),
        id.to_string(),
        row.explain.clone(),
    ]
}
