//! The page, its JSON and its CSV.

use askama::Template;
use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};

use super::{
    super::{
        fields::Params,
        moment::Moment,
        page::{Page, html},
        problem::Problem,
        state::AdminState,
    },
    question::{PathParams, PathQuestion, TIMES},
};
use crate::traffic::{PEOPLE, PathFigure, PathFigures, PathGroup, path_csv};

/// Rows of each table.
const ROWS: usize = 100;
/// Rows of the table of visitors.
const VISITORS: usize = 20;

const MINUTE_MS: i64 = 60_000;

#[derive(Template)]
#[template(path = "admin/paths.html")]
struct PathsPage {
    page: Page,
    question: PathQuestion,
    view: PathsView,
}

/// What the page shows.
struct PathsView {
    since: Moment,
    until: Moment,
    /// What can be chosen, with its link and whether it is.
    times: Vec<ChoiceView>,
    sites: Vec<ChoiceView>,
    /// The filter, step by step.
    steps: Vec<ChoiceView>,
    total: RowView,
    paths: TableView,
    visitors: TableView,
    forms: TableView,
    csv: String,
    json: String,
}

struct ChoiceView {
    name: String,
    link: String,
    is_chosen: bool,
}

struct TableView {
    rows: Vec<RowView>,
    /// Rows that are not shown.
    more: usize,
}

struct RowView {
    name: String,
    /// Page about it alone; empty: none.
    link: String,
    /// What is counted with the pattern that the page is about.
    is_rest: bool,
    figure: PathFigure,
    /// Widths of the bar, in hundredths of the widest row.
    robots_width: u64,
    people_width: u64,
}

/// Shows the tree of patterns, who asked, and for which forms.
pub(in super::super) async fn show(
    State(state): State<AdminState>,
    Params(params): Params<PathParams>,
    page: Page,
) -> Result<Response, Problem> {
    let (question, figures, minutes) = load(&state, &params).await?;
    let view = PathsView::new(&state, &question, &figures, minutes);
    Ok(html(&PathsPage {
        page,
        question,
        view,
    }))
}

/// Returns the same as JSON, each table whole.
pub(in super::super) async fn json(
    State(state): State<AdminState>,
    Params(params): Params<PathParams>,
) -> Result<Json<Value>, Problem> {
    let (_, figures, (since, until)) = load(&state, &params).await?;
    let table = |group, name: &str| {
        let (rows, _) = figures.top(group, 0);
        let rows: Vec<_> = rows.iter().map(|row| row.to_json(name)).collect();
        rows
    };
    Ok(Json(json!({
        "since": since,
        "until": until,
        "total": figures.total().to_json("name"),
        "paths": table(PathGroup::Path, "path"),
        "patterns": table(PathGroup::Pattern, "pattern"),
        "visitors": table(PathGroup::Visitor, "visitor"),
        "forms": table(PathGroup::Form, "form"),
    })))
}

/// Returns the paths as CSV.
pub(in super::super) async fn download(
    State(state): State<AdminState>,
    Params(params): Params<PathParams>,
) -> Result<Response, Problem> {
    let (_, figures, _) = load(&state, &params).await?;
    let (rows, _) = figures.top(PathGroup::Path, 0);
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        // Robots have written it: a browser saves it, and renders nothing.
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"paths.csv\"",
        ),
    ];
    Ok((headers, path_csv("path", &rows)).into_response())
}

type Loaded = (PathQuestion, PathFigures, (Moment, Moment));

async fn load(state: &AdminState, params: &PathParams) -> Result<Loaded, Problem> {
    let now_ms = state.now_ms();
    let question = PathQuestion::parse(params, now_ms)?;
    let (minutes, site) = (question.minutes.clone(), question.site.as_deref());
    let store = &state.admin().store;
    let sums = store.traffic_paths(minutes, site, now_ms).await?;
    let moment = |minute: i64| Moment::new(minute.saturating_mul(MINUTE_MS), now_ms);
    let told = (moment(sums.minutes.start), moment(sums.minutes.end));
    let figures = PathFigures::new(sums, question.filter.clone());
    Ok((question, figures, told))
}

impl PathsView {
    fn new(
        state: &AdminState,
        question: &PathQuestion,
        figures: &PathFigures,
        (since, until): (Moment, Moment),
    ) -> Self {
        let path = |name: &str| question.link("paths", &[("path", name)]);
        let robot = |name: &str| question.link("paths", &[("robot", name)]);
        let none = |_: &str| String::new();
        let filter = question.filter.path.as_deref().unwrap_or("/*");
        Self {
            since,
            until,
            times: times(question),
            sites: sites(state, question),
            steps: steps(question),
            total: RowView::new(figures.total(), 1, String::new(), false),
            paths: TableView::new(figures, PathGroup::Below, ROWS, filter, path),
            visitors: TableView::new(figures, PathGroup::Visitor, VISITORS, "", robot),
            forms: TableView::new(figures, PathGroup::Form, ROWS, "", none),
            csv: question.link("paths/export", &[]),
            json: question.link("api/traffic/paths", &[]),
        }
    }
}

impl TableView {
    fn new(
        figures: &PathFigures,
        group: PathGroup,
        top: usize,
        filter: &str,
        link: impl Fn(&str) -> String,
    ) -> Self {
        let (rows, all) = figures.top(group, top);
        let most = rows.iter().map(|row| row.count.requests).max().unwrap_or(1);
        let more = all - rows.len();
        let row = |figure: PathFigure| {
            let is_rest = figure.name == filter && filter.ends_with('*');
            let link = if is_rest {
                String::new()
            } else {
                link(&figure.name)
            };
            RowView::new(figure, most, link, is_rest)
        };
        Self {
            rows: rows.into_iter().map(row).collect(),
            more,
        }
    }
}

impl RowView {
    fn new(figure: PathFigure, most: u64, link: String, is_rest: bool) -> Self {
        let width = |requests: u64| requests.saturating_mul(100) / most.max(1);
        Self {
            name: figure.name.clone(),
            link,
            is_rest,
            robots_width: width(figure.robots()),
            people_width: width(figure.people),
            figure,
        }
    }
}

fn times(question: &PathQuestion) -> Vec<ChoiceView> {
    let times = TIMES.iter().map(|(word, name)| ChoiceView {
        name: (*name).to_owned(),
        link: question.link("paths", &[("since", word), ("until", "")]),
        is_chosen: question.since == *word && question.until.is_empty(),
    });
    times.collect()
}

/// Returns the sites, if there are several.
fn sites(state: &AdminState, question: &PathQuestion) -> Vec<ChoiceView> {
    let sites = state.admin().sites.load();
    let names: Vec<_> = sites.iter().map(|site| site.name.as_str()).collect();
    if names.len() < 2 && question.site.is_none() {
        return Vec::new();
    }
    let all = [("", "all sites")].into_iter();
    let named = names.into_iter().map(|name| (name, name));
    let choice = |(value, name): (&str, &str)| ChoiceView {
        name: name.to_owned(),
        link: question.link("paths", &[("site", value)]),
        is_chosen: question.site.as_deref().unwrap_or_default() == value,
    };
    all.chain(named).map(choice).collect()
}

/// Returns the way from all paths to the one that is asked for.
fn steps(question: &PathQuestion) -> Vec<ChoiceView> {
    let Some(path) = &question.filter.path else {
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
        link: question.link("paths", &[("path", &value)]),
        is_chosen: value == *path,
        name,
    };
    steps.into_iter().map(choice).collect()
}
