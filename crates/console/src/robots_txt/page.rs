//! The robots.txt page, and its JSON version.

use std::ptr;

use askama::Template;
use axum::{Json, extract::State, response::Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::{
    fields::Params,
    page::{Page, encode, html},
    problem::Problem,
    sites::SelectedSite,
    state::AdminState,
    traffic::History,
};
use super::{
    check::{CheckParams, CheckResult, check},
    days::ViolationDays,
    file::{Excerpt, FileView, WarningView, sorted},
    violations::ViolationsView,
};
use robot_detection_layer::detect::Detector;
use robot_detection_layer::policy::{Enforcement, EnforcementMode, Refusal, RobotsFiles};

/// Maximum number of hosts listed on the page.
const MAX_HOSTS: usize = 200;

/// Maximum number of violations of each kind listed on the page.
const MAX_ROWS: usize = 200;

#[derive(Template)]
#[template(path = "admin/robots_txt.html")]
struct RobotsTxtPage {
    page: Page,
    of: SelectedSite,
    mode: ModeView,
    hosts: Vec<HostView>,
    file: Option<ShownFile>,
    question: CheckParams,
    checked: Option<CheckResult>,
    violations: ViolationsView,
    days: ViolationDays,
    /// Decisions based on robots.txt over time; `None` while the database is unavailable.
    history: Option<History>,
    /// Link to the list of robots that fetched the robots.txt.
    fetches: String,
    /// Number of days for which violations are stored; 0 if violations are not stored.
    kept_days: u32,
    /// Number of stored violations that are not shown on the page.
    more: usize,
}

/// A description of how robots.txt is enforced.
struct ModeView {
    is_on: bool,
    heading: &'static str,
    text: String,
}

struct HostView {
    label: String,
    query: String,
    is_shown: bool,
}

/// The robots.txt that the page shows.
struct ShownFile {
    label: String,
    dialect: &'static str,
    bytes: usize,
    excerpt: Excerpt,
    warnings: Vec<WarningView>,
}

/// Shows the robots.txt files, the tester with its result, and the violations.
pub(in super::super) async fn show(
    State(state): State<AdminState>,
    Params(question): Params<CheckParams>,
    of: SelectedSite,
    page: Page,
) -> Result<Response, Problem> {
    let has_asked = page.location.local.contains("robot=");
    let checked = if has_asked {
        Some(check(&state, &question, &of)?)
    } else {
        None
    };
    let enforcer = of.enforcer.clone();
    let files = enforcer.files().load();
    let wanted = match &checked {
        Some(checked) => checked.host.clone(),
        None => Some(question.host.trim().to_owned()).filter(|host| !host.is_empty()),
    };
    let mut violations = ViolationsView::load(&state, &of.name).await?;
    let kept = violations.rules.len() + violations.delays.len();
    violations.rules.truncate(MAX_ROWS);
    violations.delays.truncate(MAX_ROWS);
    let detector = state.operations().detector.load();
    let shown = ShownFile::new(&files, wanted.as_deref(), checked.as_ref(), &detector);
    let days = ViolationDays::load(&state, &of.name).await?;
    let fetches = match &*of.name {
        "" => "paths?path=%2Frobots.txt&time=30d".to_owned(),
        site => format!("paths?path=%2Frobots.txt&time=30d&site={}", encode(site)),
    };
    Ok(html(&RobotsTxtPage {
        history: History::robots_txt(&state, &of.name, &page).await?,
        days,
        fetches,
        page,
        of,
        mode: ModeView::new(enforcer.settings(), shown.is_some()),
        hosts: hosts(&files, shown.as_ref()),
        file: shown,
        question,
        checked,
        kept_days: state.operations().traffic.evidence_days(),
        more: kept - violations.rules.len() - violations.delays.len(),
        violations,
    }))
}

/// The robots.txt in force, and the violations of it.
#[derive(Debug, JsonSchema, Serialize)]
pub(in super::super) struct RobotsTxtState {
    enforce: &'static str,
    refusal: &'static str,
    crawl_delay: &'static str,
    files: Vec<FileView>,
    violations: ViolationsView,
    violation_days: ViolationDays,
}

/// Returns the robots.txt in force and its violations as JSON.
pub(in super::super) async fn json(
    State(state): State<AdminState>,
    of: SelectedSite,
) -> Result<Json<RobotsTxtState>, Problem> {
    let enforcer = &of.enforcer;
    let settings = enforcer.settings();
    let detector = state.operations().detector.load();
    let files = FileView::all(&enforcer.files().load(), &detector);
    let violations = ViolationsView::load(&state, &of.name).await?;
    let days = ViolationDays::load(&state, &of.name).await?;
    Ok(Json(RobotsTxtState {
        enforce: settings.rules.as_str(),
        refusal: settings.refusal.as_str(),
        crawl_delay: settings.crawl_delay.as_str(),
        files,
        violations,
        violation_days: days,
    }))
}

/// Checks a URL, and returns the result as JSON.
pub(in super::super) async fn check_json(
    State(state): State<AdminState>,
    Params(question): Params<CheckParams>,
    of: SelectedSite,
) -> Result<Json<CheckResult>, Problem> {
    check(&state, &question, &of).map(Json)
}

impl ModeView {
    fn new(settings: Enforcement, has_file: bool) -> Self {
        let heading = match settings.rules {
            _ if !has_file => "No robots.txt is in force",
            EnforcementMode::Off => "robots.txt is not enforced",
            EnforcementMode::Report => "Violations of robots.txt are only reported",
            EnforcementMode::On => "robots.txt is enforced",
        };
        Self {
            is_on: has_file && settings.rules == EnforcementMode::On,
            heading,
            text: format!("{} {}", rules_text(settings), delay_text(settings)),
        }
    }
}

fn rules_text(settings: Enforcement) -> &'static str {
    match (settings.rules, settings.refusal) {
        (EnforcementMode::Off, _) => "Disallow rules are ignored.",
        (EnforcementMode::Report, _) | (EnforcementMode::On, Refusal::Pass) => {
            "Requests for disallowed paths are allowed, but counted."
        }
        (EnforcementMode::On, Refusal::TooManyRequests) => {
            "Requests for disallowed paths are refused with status 429."
        }
        (EnforcementMode::On, Refusal::Redirect) => {
            "Requests for disallowed paths are redirected to robot heaven."
        }
        (EnforcementMode::On, _) => "Requests for disallowed paths are refused with status 403.",
    }
}

fn delay_text(settings: Enforcement) -> &'static str {
    match settings.crawl_delay {
        EnforcementMode::Off => "Crawl-delay is ignored.",
        EnforcementMode::Report => "Requests sent before the Crawl-delay elapses are counted.",
        EnforcementMode::On => "Requests sent before the Crawl-delay elapses get status 429.",
    }
}

impl ShownFile {
    /// Returns the robots.txt of a host, or the first robots.txt if no host is given; `None` if
    /// there is no robots.txt.
    fn new(
        files: &RobotsFiles,
        host: Option<&str>,
        checked: Option<&CheckResult>,
        detector: &Detector,
    ) -> Option<Self> {
        let of_host = files.get(host);
        // Showing another host's file next to a result would be misleading.
        let file = match checked {
            Some(_) => of_host,
            None => of_host.or_else(|| sorted(files).first().map(|(_, file)| *file)),
        }?;
        let verdict = checked.and_then(|checked| checked.robots_txt.as_ref());
        let found = files.iter().find(|(_, known)| ptr::eq(*known, file))?;
        Some(Self {
            label: label(files, found.0),
            dialect: file.dialect().name,
            bytes: file.as_bytes().len(),
            excerpt: Excerpt::new(file, verdict.and_then(|verdict| verdict.line)),
            warnings: WarningView::all(file, detector),
        })
    }
}

fn hosts(files: &RobotsFiles, shown: Option<&ShownFile>) -> Vec<HostView> {
    let view = |host: Option<&str>| HostView {
        label: label(files, host),
        query: format!("?host={}", encode(host.unwrap_or_default())),
        is_shown: shown.is_some_and(|shown| shown.label == label(files, host)),
    };
    let hosts = sorted(files).into_iter().take(MAX_HOSTS);
    hosts.map(|(host, _)| view(host)).collect()
}

fn label(files: &RobotsFiles, host: Option<&str>) -> String {
    match host {
        Some(host) => host.to_owned(),
        None if files.iter().count() == 1 => "all hosts".to_owned(),
        None => "all other hosts".to_owned(),
    }
}
