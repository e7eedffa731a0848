//! The sites page, and the selection of a site on other pages.

use askama::Template;
use axum::{
    Extension, Json,
    extract::{FromRequestParts, Query, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::{
    AdminSite, Moment, ReloadOutcome, Reloads, UpstreamRow,
    access::Visitor,
    fields::{CsrfProof, Fields, Params},
    guard::host,
    page::{Page, encode, html},
    problem::Problem,
    state::AdminState,
    traffic::{SiteTraffic, TrafficParams},
};
use robot_detection_layer::policy::{ByAction, Enforcer, SharedPolicy};

#[derive(Template)]
#[template(path = "admin/sites.html")]
struct SitesPage {
    page: Page,
    sites: Vec<SiteView>,
    can_reload: bool,
    reload: Option<ReloadView>,
    /// Traffic of the sites; `None` while the database is unavailable.
    traffic: Option<SiteTraffic>,
}

/// The site that was selected for a page; an extractor.
///
/// This is the site in the query parameter `site` or, without the parameter, the site that serves
/// the request's host. If there is no such site, the first site is selected.
#[derive(Clone, Debug)]
pub(super) struct SelectedSite {
    pub(super) name: String,
    pub(super) policy: SharedPolicy,
    pub(super) enforcer: Enforcer,
    /// Site as described by the server; `None` if an application itself serves the site.
    pub(super) site: Option<AdminSite>,
    /// Host that is assumed for requests without a host.
    pub(super) host: Option<String>,
    /// All sites that can be selected, if there are several.
    pub(super) choices: Vec<ChoiceView>,
}

/// A site that can be selected for a page.
#[derive(Clone, Debug)]
pub(super) struct ChoiceView {
    pub(super) name: String,
    pub(super) query: String,
    pub(super) is_chosen: bool,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Site")]
struct SiteView {
    name: String,
    hosts: Vec<String>,
    path: String,
    upstreams: Vec<UpstreamRow>,
    rules: usize,
    /// Whether some robots are redirected on this site.
    filters: bool,
    heaven: Option<String>,
    heaven_directory: Option<String>,
    robots_txt: String,
    people: u64,
    nameless_passed: u64,
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, u64>")]
    robots: RobotNumbers,
    #[serde(skip)]
    query: String,
}

/// The numbers of robot requests by action, in JSON as `robots_passed` and so on.
#[derive(Clone, Copy, Debug)]
struct RobotNumbers(ByAction<u64>);

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "LastReload")]
struct ReloadView {
    at: Moment,
    by: String,
    is_done: bool,
    /// Whether the reload would remove something and therefore requires confirmation.
    is_held_back: bool,
    /// Changes that the reload made or would make, or the errors in the configuration.
    lines: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SiteParam {
    #[serde(default)]
    pub(super) site: String,
    /// Host whose site is selected; by default, the host of the page.
    #[serde(default)]
    host: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReloadForm {
    /// Set to `true` to apply a reload that was held for review.
    #[serde(default)]
    accept: String,
}

/// Shows the sites and the outcome of the most recent reload.
pub(super) async fn list(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
    page: Page,
) -> Result<Response, Problem> {
    let traffic = match SiteTraffic::load(&state, &params).await {
        Ok(traffic) => Some(traffic),
        // A reload is possible even without the database.
        Err(problem) if page.already_reports(&problem) => None,
        Err(problem) => return Err(problem),
    };
    let reloads = &state.operations().reloads;
    let now_ms = state.now_ms();
    Ok(html(&SitesPage {
        page,
        traffic,
        sites: SiteView::all(&state),
        can_reload: reloads.is_served(),
        reload: reloads.last().map(|last| ReloadView::new(&last, now_ms)),
    }))
}

/// Reloads the configuration, and shows the outcome.
pub(super) async fn reload(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<ReloadForm>,
) -> Result<Response, Problem> {
    request_reload(&state, &visitor, &form.accept).await?;
    Ok(page.location.see_other("sites#reload"))
}

/// All sites, and the most recent reload.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "SiteList")]
pub(super) struct Sites {
    sites: Vec<SiteView>,
    reload: Option<ReloadView>,
}

/// The outcome of a configuration reload.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ReloadResult")]
pub(super) struct Reload {
    reload: ReloadView,
}

/// Returns the sites and the most recent reload as JSON.
pub(super) async fn json(State(state): State<AdminState>) -> Json<Sites> {
    let last = state.operations().reloads.last();
    let now_ms = state.now_ms();
    Json(Sites {
        sites: SiteView::all(&state),
        reload: last.map(|last| ReloadView::new(&last, now_ms)),
    })
}

/// Reloads the configuration at the request of a program; returns 409 if the configuration has
/// errors.
pub(super) async fn reload_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
    Query(form): Query<ReloadForm>,
) -> Result<(StatusCode, Json<Reload>), Problem> {
    let view = request_reload(&state, &visitor, &form.accept).await?;
    let status = if view.is_done {
        StatusCode::OK
    } else {
        StatusCode::CONFLICT
    };
    Ok((status, Json(Reload { reload: view })))
}

async fn request_reload(
    state: &AdminState,
    visitor: &Visitor,
    accept: &str,
) -> Result<ReloadView, Problem> {
    let reloads = &state.operations().reloads;
    if !reloads.is_served() {
        let message = "This process has no configuration file to reload.";
        return Err(Problem::not_found(message));
    }
    let asker = if accept == "true" {
        Reloads::ACCEPTED
    } else {
        Reloads::ADMIN_PAGE
    };
    // An internal error, because `is_served` guarantees that a task handles reloads.
    let Some(outcome) = reloads.request_reload(asker).await else {
        return Err(Problem::internal("no response to the reload request"));
    };
    let view = ReloadView::new(&outcome, state.now_ms());
    let event = if view.is_done {
        "reloaded"
    } else {
        "reload-failed"
    };
    let caller = state.caller_as(visitor);
    caller
        .record(event, "configuration", &view.lines.join("; "))
        .await;
    Ok(view)
}

impl SelectedSite {
    pub(super) fn new(
        state: &AdminState,
        named_site: &str,
        own_host: Option<&str>,
    ) -> Option<Self> {
        let operations = state.operations();
        let sites = operations.sites.load();
        let is_at_host = |site: &&AdminSite| own_host.is_some_and(|host| site.matches_host(host));
        let found = if named_site.is_empty() {
            let by_host = sites.iter().find(is_at_host);
            // The site for all other hosts, which the server also selects.
            let rest = || sites.iter().find(|site| site.hosts.is_empty());
            by_host.or_else(rest).or_else(|| sites.first())
        } else {
            Some(sites.iter().find(|site| site.name == named_site)?)
        };
        let Some(site) = found else {
            return Some(Self {
                name: String::new(),
                policy: operations.policy.clone(),
                enforcer: operations.enforcer.clone(),
                site: None,
                host: own_host.map(str::to_owned),
                choices: Vec::new(),
            });
        };
        let named = site.hosts.iter().find(|host| !host.starts_with('*'));
        let host = own_host.map(str::to_owned);
        Some(Self {
            name: site.name.clone(),
            policy: site.policy.clone(),
            enforcer: site.enforcer.clone(),
            site: Some(site.clone()),
            host: match named {
                // A decision on a request to the site is shown for one of the site's hosts, not for
                // the host of the admin page.
                Some(named) if !is_at_host(&site) => Some(named.clone()),
                _ => host,
            },
            choices: ChoiceView::all(&sites, &site.name),
        })
    }
}

impl FromRequestParts<AdminState> for SelectedSite {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AdminState) -> Result<Self, Problem> {
        let Params(param) = Params::<SiteParam>::from_request_parts(parts, state).await?;
        let SiteParam { site, host: named } = param;
        let own_host = match named.trim() {
            "" => host(&parts.uri, &parts.headers),
            named => Some(named),
        };
        Self::new(state, &site, own_host)
            .ok_or_else(|| Problem::not_found("This site does not exist."))
    }
}

impl ChoiceView {
    fn all(sites: &[AdminSite], chosen: &str) -> Vec<Self> {
        if sites.len() < 2 {
            return Vec::new();
        }
        let view = |site: &AdminSite| Self {
            query: query(&site.name),
            is_chosen: site.name == chosen,
            name: site.name.clone(),
        };
        sites.iter().map(view).collect()
    }
}

impl SiteView {
    fn all(state: &AdminState) -> Vec<Self> {
        state
            .operations()
            .sites
            .load()
            .iter()
            .map(Self::new)
            .collect()
    }

    fn new(site: &AdminSite) -> Self {
        let policy = site.policy.load();
        let counts = (site.counts)();
        let (heaven, directory) = site.heaven.clone().unzip();
        Self {
            name: site.name.clone(),
            hosts: site.hosts.clone(),
            path: site.path.clone(),
            upstreams: (site.upstreams)(),
            rules: policy.rules().count(),
            filters: !policy.is_disabled(),
            heaven,
            heaven_directory: directory.filter(|directory| !directory.is_empty()),
            robots_txt: site.robots_txt.clone(),
            people: counts.people,
            nameless_passed: counts.nameless,
            robots: RobotNumbers(counts.robots),
            query: query(&site.name),
        }
    }
}

impl RobotNumbers {
    /// Returns the actions that were taken, such as "redirected", each with its number of requests.
    fn by_done(&self) -> impl Iterator<Item = (&'static str, &u64)> {
        let numbers = self.0.iter();
        numbers.map(|(action, number)| (action.words().done, number))
    }
}

impl Serialize for RobotNumbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers = self.by_done();
        serializer.collect_map(numbers.map(|(done, number)| (format!("robots_{done}"), number)))
    }
}

impl ReloadView {
    fn new(outcome: &ReloadOutcome, now_ms: i64) -> Self {
        let (text, is_held_back) = match &outcome.result {
            Ok(text) => (text, false),
            Err(failure) => (&failure.text, failure.is_held_back),
        };
        Self {
            at: Moment::new(outcome.at_ms, now_ms),
            by: outcome.by.clone(),
            is_done: outcome.result.is_ok(),
            is_held_back,
            lines: text.lines().map(str::to_owned).collect(),
        }
    }
}

/// Returns the query string that selects a site.
pub(super) fn query(name: &str) -> String {
    format!("?site={}", encode(name))
}
