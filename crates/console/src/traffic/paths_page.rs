//! The page about paths requested by robots and people, with its JSON and CSV versions.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use askama::Template;
use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    fields::Params,
    page::{Page, html},
    problem::Problem,
    rfc3339,
    state::AdminState,
};
use robot_detection_store::store::PathSums;
use robot_detection_traffic::traffic::{
    PEOPLE, Parameter, Parameters, PathFigures, PathFilter, PathGroup, path_csv,
};

use super::{
    TrafficParams,
    bar::{BarView, InputView, PresetView, SelectView},
    missing::DescribedPages,
    paths_table::{CountsView, ParametersView, TableView, proposed_rule},
    question::{Period, TIMES, TrafficQuestion, invalid, text},
};

/// The query parameters of the page and of its JSON and CSV versions.
pub(crate) const PATHS: &[&str] = &["time", "since", "until", "site", "robot", "path"];

/// Maximum number of rows in each table, except the table of visitors.
const ROWS: usize = 100;
/// Maximum number of rows in the table of visitors.
const VISITORS: usize = 20;

const MINUTE_MS: i64 = 60_000;

/// The query parameter of the paths page that other traffic pages do not have.
#[derive(Debug, Deserialize)]
pub(crate) struct PathParam {
    #[serde(default)]
    path: String,
}

#[derive(Template)]
#[template(path = "admin/paths.html")]
struct PathsPage {
    page: Page,
    bar: BarView,
    view: PathsView,
}

/// The data shown on the page of requested paths.
struct PathsView {
    /// Selected path or pattern; empty if all paths are selected.
    path: String,
    robot: String,
    /// Breadcrumb links from all paths to the selected path.
    steps: Vec<ChoiceView>,
    total: CountsView,
    paths: TableView,
    visitors: TableView,
    forms: TableView,
    parameters: ParametersView,
    csv: String,
    json: String,
}

struct ChoiceView {
    name: String,
    link: String,
    is_chosen: bool,
}

/// The selected period and filter, with the path counts for this selection.
struct PathSelection {
    question: TrafficQuestion,
    path: Option<String>,
    figures: PathFigures,
    parameters: Parameters,
    minutes: Range<i64>,
    sites: Vec<String>,
}

/// Shows the tree of path patterns, the visitors, and the requested formats.
pub(crate) async fn show(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
    Params(path): Params<PathParam>,
    page: Page,
) -> Result<Response, Problem> {
    let asked = PathSelection::load(&state, &params, &path).await?;
    let mut view = PathsView::new(&asked);
    // The site of a path is known if a site is selected or if there is only one site.
    if let Some(site) = asked.site()
        && let Some(described) = DescribedPages::of(&state, site).await?
    {
        described.mark_missing(&mut view.paths.rows).await?;
    }
    Ok(html(&PathsPage {
        page,
        bar: asked.bar(&state),
        view,
    }))
}

/// The approximate request counts by path.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "TrafficPaths")]
pub(crate) struct PathsAnswer {
    since: String,
    until: String,
    #[schemars(with = "Map<String, Value>")]
    total: Value,
    #[schemars(with = "Vec<Map<String, Value>>")]
    paths: Vec<Value>,
    #[schemars(with = "Vec<Map<String, Value>>")]
    patterns: Vec<Value>,
    #[schemars(with = "Vec<Map<String, Value>>")]
    visitors: Vec<Value>,
    #[schemars(with = "Vec<Map<String, Value>>")]
    forms: Vec<Value>,
    #[schemars(with = "Vec<Map<String, Value>>")]
    parameters: Vec<Value>,
}

/// Returns all tables as JSON, including the rows that the page does not show.
pub(crate) async fn json(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
    Params(path): Params<PathParam>,
) -> Result<Json<PathsAnswer>, Problem> {
    let asked = PathSelection::load(&state, &params, &path).await?;
    let figures = &asked.figures;
    let table = |group, name: &str| {
        let (rows, _) = figures.top(group, 0);
        let rows: Vec<_> = rows.iter().map(|row| row.to_json(name)).collect();
        rows
    };
    let at = |minute: i64| rfc3339(minute.saturating_mul(MINUTE_MS));
    Ok(Json(PathsAnswer {
        since: at(asked.minutes.start),
        until: at(asked.minutes.end),
        total: figures.total().to_json("name"),
        paths: table(PathGroup::Path, "path"),
        patterns: table(PathGroup::Pattern, "pattern"),
        visitors: table(PathGroup::Visitor, "visitor"),
        forms: table(PathGroup::Form, "form"),
        parameters: asked
            .parameters()
            .map(|one| {
                let rule = proposed_rule(&one, asked.site());
                let mut row = json!(one);
                if let Some(fields) = row.as_object_mut() {
                    fields.insert("rule".to_owned(), json!(rule.map(BTreeMap::from_iter)));
                }
                row
            })
            .collect(),
    }))
}

/// Returns the table of paths as CSV.
pub(crate) async fn download(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
    Params(path): Params<PathParam>,
) -> Result<Response, Problem> {
    let asked = PathSelection::load(&state, &params, &path).await?;
    let (rows, _) = asked.figures.top(PathGroup::Path, 0);
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        // Robots determine the content, so browsers must save the file instead of rendering it.
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"paths.csv\"",
        ),
    ];
    Ok((headers, path_csv("path", &rows)).into_response())
}

impl PathSelection {
    async fn load(
        state: &AdminState,
        params: &TrafficParams,
        path: &PathParam,
    ) -> Result<Self, Problem> {
        let (store, now_ms) = (&state.operations().store, state.now_ms());
        let question = TrafficQuestion::parse(params, state.admin().time_zone)?;
        let path = text("path", path.path.trim())?;
        let is_path = |path: &String| path.starts_with(['/', '*']);
        if path.as_ref().is_some_and(|path| !is_path(path)) {
            let told = "path must be a path such as /docs/start.html or a pattern such as /docs/*";
            return Err(invalid(told));
        }
        let first = store.traffic().first_day().await?;
        let minutes = question.times.within(first, now_ms);
        let minutes = minutes.ok_or_else(|| invalid("since must be earlier than until"))?;
        let site = question.filter.site.as_deref();
        let sums: PathSums = store.traffic().paths(minutes, site, now_ms).await?;
        let robot = question.filter.robot.as_deref();
        let parameters = Parameters::read(store, &sums.minutes, site, robot).await?;
        let known = state.operations().sites.load();
        let mut sites: BTreeSet<_> = known.iter().map(|site| site.name.clone()).collect();
        sites.extend(sums.rows.iter().map(|row| row.key.site.clone()));
        if let Some(site) = site
            && !sites.contains(site)
        {
            let names: Vec<_> = sites.into_iter().collect();
            return Err(invalid(format!("site must be one of {}", names.join(", "))));
        }
        let filter = PathFilter {
            robot: question.filter.robot.clone(),
            path: path.clone(),
        };
        Ok(Self {
            minutes: sums.minutes.clone(),
            figures: PathFigures::new(sums, filter),
            parameters,
            sites: sites.into_iter().collect(),
            question,
            path,
        })
    }

    /// Returns the query parameters on the selected paths, the most frequent first.
    fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> {
        let below = self.path.as_deref().unwrap_or_default();
        let below = below.strip_suffix('*').unwrap_or(below);
        let all = self.parameters.sorted().into_iter();
        all.filter(move |one| one.path.starts_with(below))
    }

    /// Returns the site to which the path counts belong, if it is a single site.
    fn site(&self) -> Option<&str> {
        match (&self.question.filter.site, &*self.sites) {
            (Some(site), _) | (None, [site]) => Some(site),
            _ => None,
        }
    }

    /// Returns the link to a page with the same selection, except for one parameter.
    fn link(&self, page: &str, key: &str, value: &str) -> String {
        let path = self.path.as_deref().unwrap_or_default();
        if key == "path" {
            return self.question.link(page, &[(key, value)]);
        }
        self.question.link(page, &[(key, value), ("path", path)])
    }

    fn bar(&self, state: &AdminState) -> BarView {
        let zone = state.admin().time_zone;
        let exact = |minute: i64| zone.exact(minute.saturating_mul(MINUTE_MS));
        let filter = &self.question.filter;
        let (since, until) = match &self.question.time {
            Period::Word(_) => (String::new(), String::new()),
            Period::Range { since, until } => (since.clone(), until.clone()),
        };
        let path = self.path.clone().map(|path| ("path", path));
        let is_filtered = self.path.is_some() || !filter.is_empty();
        let times = self.question.pairs().into_iter();
        let is_time = |key: &str| ["time", "since", "until"].contains(&key);
        BarView {
            page: "paths".to_owned(),
            times: TIMES
                .iter()
                .map(|(word, name)| self.preset(word, name))
                .collect(),
            kept_by_filters: times.filter(|(key, _)| is_time(key)).collect(),
            kept_by_range: self.question.filters().into_iter().chain(path).collect(),
            selects: vec![self.site_select()],
            inputs: vec![
                InputView {
                    key: "robot",
                    label: "Robot or people",
                    value: filter.robot.clone().unwrap_or_default(),
                    names: "visitor",
                },
                InputView {
                    key: "path",
                    label: "Path or pattern",
                    value: self.path.clone().unwrap_or_default(),
                    names: "",
                },
            ],
            clear: if is_filtered {
                let none = [("site", ""), ("robot", ""), ("path", "")];
                self.question.link("paths", &none)
            } else {
                String::new()
            },
            is_range: matches!(self.question.time, Period::Range { .. }),
            since,
            until,
            shown: format!(
                "{} to {}",
                exact(self.minutes.start),
                exact(self.minutes.end)
            ),
            ..BarView::default()
        }
    }

    fn preset(&self, word: &'static str, name: &'static str) -> PresetView {
        let path = self.path.as_deref().unwrap_or_default();
        let other = [("since", ""), ("until", ""), ("time", word), ("path", path)];
        PresetView {
            word,
            name,
            link: self.question.link("paths", &other),
            is_chosen: self.question.time == Period::Word(word),
        }
    }

    fn site_select(&self) -> SelectView {
        let chosen = self.question.filter.site.as_ref();
        let all = (String::new(), "All".to_owned(), chosen.is_none());
        let site = |name: &String| (name.clone(), name.clone(), chosen == Some(name));
        SelectView {
            key: "site",
            label: "Site",
            choices: [all]
                .into_iter()
                .chain(self.sites.iter().map(site))
                .collect(),
        }
    }
}

impl PathsView {
    fn new(asked: &PathSelection) -> Self {
        let figures = &asked.figures;
        let path = |name: &str| asked.link("paths", "path", name);
        let robot = |name: &str| asked.link("paths", "robot", name);
        let none = |_: &str| String::new();
        let filter = asked.path.as_deref().unwrap_or("/*");
        Self {
            path: asked.path.clone().unwrap_or_default(),
            robot: asked.question.filter.robot.clone().unwrap_or_default(),
            steps: steps(asked),
            total: CountsView::new(&figures.total()),
            paths: TableView::new(figures, PathGroup::Below, ROWS, filter, path),
            visitors: TableView::new(figures, PathGroup::Visitor, VISITORS, "", robot),
            forms: TableView::new(figures, PathGroup::Form, ROWS, "", none),
            parameters: ParametersView::new(asked.parameters(), asked.site(), ROWS),
            csv: asked.link("paths/export", "path", filter_of(asked)),
            json: asked.link("api/v1/traffic/paths", "path", filter_of(asked)),
        }
    }

    /// Returns `true` if robot heaven has no page for at least one of the paths.
    fn has_missing(&self) -> bool {
        self.paths.rows.iter().any(|row| !row.missing.is_empty())
    }
}

fn filter_of(asked: &PathSelection) -> &str {
    asked.path.as_deref().unwrap_or_default()
}

/// Returns the breadcrumb links from all paths to the selected path.
fn steps(asked: &PathSelection) -> Vec<ChoiceView> {
    let Some(path) = &asked.path else {
        return Vec::new();
    };
    let mut steps = vec![(String::new(), "all paths".to_owned())];
    let segments: Vec<_> = path.split('/').skip(1).collect();
    for length in 1..segments.len().min(3) {
        if let Some(first) = segments.get(..length) {
            let pattern = format!("/{}/*", first.join("/"));
            steps.push((pattern.clone(), pattern));
        }
    }
    if steps.last().is_none_or(|(_, name)| name != path) {
        steps.push((path.clone(), path.clone()));
    }
    let choice = |(value, name): (String, String)| ChoiceView {
        link: asked.link("paths", "path", &value),
        is_chosen: value == *path,
        name,
    };
    steps.into_iter().map(choice).collect()
}
