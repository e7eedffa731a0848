//! The page that shows stored requests.

use askama::Template;
use axum::{extract::State, response::Response};

use super::{
    filter::{EvidenceFilter, reason_words},
    row::EvidenceView,
};
use crate::{
    DEFAULT_SITE,
    fields::Params,
    page::{Page, html},
    problem::Problem,
    state::AdminState,
};
use robot_detection_store::store::EvidenceQuery;
use robot_detection_traffic::traffic::{decision_words, verdict_words};

/// Number of rows on the page.
const ROWS: u64 = 50;

#[derive(Template)]
#[template(path = "admin/evidence.html")]
struct RequestsPage {
    page: Page,
    filter: EvidenceFilter,
    sites: Vec<String>,
    rows: Vec<EvidenceView>,
    /// Number of requests that were lost because the evidence queue was full.
    lost: u64,
}

/// Shows the most recent stored requests; none while the database is unavailable.
pub(crate) async fn show(
    State(state): State<AdminState>,
    Params(filter): Params<EvidenceFilter>,
    page: Page,
) -> Result<Response, Problem> {
    let filter = filter.validated()?;
    let traffic = &state.operations().traffic;
    traffic.catch_up().await;
    let query = EvidenceQuery {
        limit: ROWS,
        ..filter.query()
    };
    let stored = match state.operations().store.evidence().list(&query).await {
        Err(error) if error.outage().is_some() => Vec::new(),
        stored => stored?,
    };
    let now_ms = state.now_ms();
    let rows = stored.iter();
    Ok(html(&RequestsPage {
        page,
        sites: sites(&state),
        rows: rows
            .map(|stored| EvidenceView::new(&stored.evidence, now_ms))
            .collect(),
        lost: traffic.lost_evidence(),
        filter,
    }))
}

impl RequestsPage {
    /// Returns the words for decisions, and whether each word is selected in the filter.
    fn decisions(&self) -> Vec<(&'static str, bool)> {
        let words = decision_words().into_iter();
        words
            .map(|word| (word, word == self.filter.decision))
            .collect()
    }

    /// Returns the reasons for suspicion, and whether each reason is selected in the filter.
    fn reasons(&self) -> Vec<(&'static str, bool)> {
        let words = reason_words().into_iter();
        words
            .map(|word| (word, word == self.filter.suspect))
            .collect()
    }

    /// Returns the words for verdicts, and whether each word is selected in the filter.
    fn verdicts(&self) -> Vec<(&'static str, bool)> {
        let words = verdict_words().into_iter();
        words
            .map(|word| (word, word == self.filter.verdict))
            .collect()
    }
}

fn sites(state: &AdminState) -> Vec<String> {
    let sites = state.operations().sites.load();
    let names: Vec<_> = sites.iter().map(|site| site.name.clone()).collect();
    if names.is_empty() {
        return vec![DEFAULT_SITE.to_owned()];
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_store::store::{BrokenRule, Evidence};

    const HOSTILE: &str = "<script>alert('x')</script>\"&";

    #[test]
    fn hostile_text_is_escaped() {
        let text = HOSTILE.to_owned();
        let evidence = Evidence {
            robot: text.clone(),
            kind: text.clone(),
            verdict: text.clone(),
            decision: text.clone(),
            cause: text.clone(),
            method: text.clone(),
            host: text.clone(),
            path: text.clone(),
            address: text.clone(),
            user_agent: text.clone(),
            referrer: text.clone(),
            proof: text.clone(),
            site: text.clone(),
            suspect: text.clone(),
            broken: Some(BrokenRule::Rule {
                line: 1,
                rule: text.clone(),
                group_line: 1,
                group: text.clone(),
            }),
            ..Evidence::default()
        };
        let page = RequestsPage {
            page: Page::default(),
            filter: EvidenceFilter {
                site: text.clone(),
                robot: text.clone(),
                ..EvidenceFilter::default()
            },
            sites: vec![text],
            rows: vec![EvidenceView::new(&evidence, 0)],
            lost: 2,
        };
        let text = page.render().unwrap();
        assert!(!text.contains("<script>alert"), "{text}");
        assert!(!text.contains("\"&\""), "{text}");
        assert!(
            text.matches("&#60;script&#62;alert").count() >= 10,
            "{text}"
        );
        assert!(!text.contains(" style="), "inline styles are not allowed");
    }
}
