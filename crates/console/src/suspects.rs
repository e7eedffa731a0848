//! The suspects page: fleets of robots that claim to be browsers, and unusual behaviour.

use std::sync::Arc;

use askama::Template;
use axum::{Json, extract::State, response::Response};
use robot_detection_fleets::{Conduct, Flags, Fleet};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Moment,
    page::{Page, html},
    state::AdminState,
    traffic::group_digits,
};
use robot_detection_traffic::suspicion::{conduct_value, fleet_value, percent};
use robot_detection_traffic::traffic::SuspectFigures;

/// Maximum number of addresses and networks on the page; the JSON version contains all of them.
const SHOWN: usize = 100;

/// Period, in minutes, for which the numbers of requests from suspects are shown.
const TOLD_MINUTES: i64 = 7 * 24 * 60;

/// A fleet, as shown on the page.
#[derive(Clone, Debug)]
struct FleetCard {
    user_agent: Arc<str>,
    requests: u64,
    addresses: u64,
    per_address: String,
    assets: String,
    share: String,
    usual: Option<String>,
    since: Moment,
    reasons: Vec<(&'static str, &'static str)>,
    samples: Vec<Arc<str>>,
}

/// An address or network, as shown on the page.
#[derive(Clone, Debug)]
struct ConductRow {
    network: String,
    requests: u64,
    pages: u64,
    missing: u64,
    since: Moment,
    reasons: Vec<(&'static str, &'static str)>,
}

#[derive(Template)]
#[template(path = "admin/suspects.html")]
struct SuspectsPage {
    page: Page,
    is_on: bool,
    fleets: Vec<FleetCard>,
    conduct: Vec<ConductRow>,
    all: usize,
    missed: u64,
    /// Numbers of requests from suspects, by outcome; empty if the numbers are not stored.
    figures: Vec<(&'static str, String)>,
    /// Names of the sites that have traps, each with the link to a trap.
    traps: Vec<(String, String)>,
}

impl FleetCard {
    fn new(fleet: &Fleet, now_ms: i64) -> Self {
        let figures = fleet.figures;
        Self {
            user_agent: Arc::clone(&fleet.user_agent),
            requests: figures.requests,
            addresses: figures.addresses,
            per_address: format!("{:.1}", figures.per_address),
            assets: percent(figures.assets),
            share: percent(figures.share),
            usual: figures.usual_share.map(percent),
            since: moment(fleet.since_s, now_ms),
            reasons: sentences(fleet.reasons),
            samples: fleet.samples.clone(),
        }
    }
}

impl ConductRow {
    fn new(conduct: &Conduct, now_ms: i64) -> Self {
        Self {
            network: conduct.network().to_string(),
            requests: conduct.requests,
            pages: conduct.pages,
            missing: conduct.missing,
            since: moment(conduct.since_s, now_ms),
            reasons: sentences(conduct.reasons),
        }
    }
}

fn moment(at_s: i64, now_ms: i64) -> Moment {
    Moment::new(at_s.saturating_mul(1_000), now_ms)
}

fn sentences(reasons: robot_detection_fleets::Reasons) -> Vec<(&'static str, &'static str)> {
    let reasons = reasons.iter();
    reasons
        .map(|reason| (reason.code(), reason.sentence()))
        .collect()
}

/// Returns the flagged clients and the number of requests that were not examined; `None` if
/// detection is off.
fn load(state: &AdminState) -> Option<(Arc<Flags>, u64)> {
    let suspicion = state.operations().traffic.suspicion()?;
    suspicion.catch_up();
    Some(suspicion.flags())
}

/// Returns the numbers of requests from suspects; `None` if the database is unavailable.
async fn figures(state: &AdminState) -> Option<SuspectFigures> {
    let (now_ms, store) = (state.now_ms(), &state.operations().store);
    let now = now_ms.div_euclid(60_000);
    let sums = store
        .traffic()
        .read(now - TOLD_MINUTES..now + 1, now_ms)
        .await;
    Some(SuspectFigures::from_sums(&sums.ok()?))
}

/// Shows the suspects page.
pub(super) async fn show(State(state): State<AdminState>, page: Page) -> Response {
    let now_ms = state.now_ms();
    let figures = figures(&state).await;
    let rows = figures.iter().flat_map(SuspectFigures::rows);
    let rows = rows.map(|(name, _, requests)| (name, group_digits(requests)));
    let found = load(&state);
    let fleets = found.iter().flat_map(|(flags, _)| flags.fleets());
    let conduct = found.iter().flat_map(|(flags, _)| flags.conducts());
    let conduct: Vec<_> = conduct.map(|one| ConductRow::new(one, now_ms)).collect();
    html(&SuspectsPage {
        page,
        is_on: found.is_some(),
        fleets: fleets.map(|fleet| FleetCard::new(fleet, now_ms)).collect(),
        all: conduct.len(),
        conduct: conduct.into_iter().take(SHOWN).collect(),
        missed: found.as_ref().map_or(0, |(_, missed)| *missed),
        figures: rows.collect(),
        traps: traps(&state),
    })
}

/// Returns the sites that have traps, each with the link to a trap.
fn traps(state: &AdminState) -> Vec<(String, String)> {
    let sites = state.operations().sites.load();
    let traps = sites
        .iter()
        .filter_map(|site| Some((site.name.clone(), site.traps.clone()?)));
    traps.collect()
}

/// The fleets and clients that claim to be browsers.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Suspects")]
pub(super) struct SuspectsAnswer {
    last_7_days: Option<Map<String, Value>>,
    /// Whether fleet detection is on.
    #[serde(rename = "enabled")]
    on: bool,
    #[schemars(with = "Vec<Map<String, Value>>")]
    fleets: Vec<Value>,
    #[schemars(with = "Vec<Map<String, Value>>")]
    conduct: Vec<Value>,
    /// Number of requests that were not examined.
    #[serde(rename = "unexamined")]
    missed: u64,
}

pub(super) async fn json(State(state): State<AdminState>) -> Json<SuspectsAnswer> {
    let figures = figures(&state).await.map(|figures| figures.object());
    let found = load(&state);
    let fleets = found.iter().flat_map(|(flags, _)| flags.fleets());
    let conduct = found.iter().flat_map(|(flags, _)| flags.conducts());
    Json(SuspectsAnswer {
        last_7_days: figures,
        on: found.is_some(),
        fleets: fleets.map(fleet_value).collect(),
        conduct: conduct.map(conduct_value).collect(),
        missed: found.as_ref().map_or(0, |(_, missed)| *missed),
    })
}
