//! The requests page, to which every number links: requests over time and by group.

use askama::Template;
use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};

use crate::{
    fields::Params,
    page::{Page, html},
    problem::Problem,
    state::AdminState,
};
use robot_detection_traffic::summary::{Count, Rows, Summary as _, write_csv};
use robot_detection_traffic::traffic::{By, Figures, KnownRobots};

use super::{
    TrafficParams,
    area::{AreaChart, Named},
    bar::BarView,
    change::ChangeView,
    loaded::Traffic,
    number::{FigureView, percent},
    question::parse_grouping,
};

/// Maximum number of rows on the page; CSV and JSON contain all rows.
const MAX_ROWS: usize = 200;

#[derive(Template)]
#[template(path = "admin/traffic.html")]
struct TrafficPage {
    page: Page,
    bar: BarView,
    total: FigureView,
    bytes: FigureView,
    change: ChangeView,
    chart: AreaChart,
    by: &'static str,
    table: TableView,
    /// Name and link of each grouping, and whether the grouping is selected.
    groupings: Vec<(&'static str, String, bool)>,
}

/// A table of traffic figures, with links to the CSV and JSON versions.
#[derive(Debug)]
pub(crate) struct TableView {
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<RowView>,
    /// Number of rows that are not shown on the page.
    pub(crate) more: usize,
    pub(crate) csv: String,
    pub(crate) json: String,
}

#[derive(Debug)]
pub(crate) struct RowView {
    pub(crate) cells: Vec<String>,
    /// Link to the page about the row's robot; empty if there is no such page.
    pub(crate) link: String,
    pub(crate) requests: FigureView,
    pub(crate) share: String,
    /// Length of the row's bar, from 0 to 100.
    pub(crate) width: u64,
    pub(crate) bytes: FigureView,
    pub(crate) change: ChangeView,
}

/// Shows the requests page.
pub(crate) async fn show(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
    page: Page,
) -> Result<Response, Problem> {
    let by = parse_grouping(&params.by, By::ALL)?.unwrap_or(By::Robot);
    let traffic = Traffic::load(&state, &params).await?;
    let detector = state.operations().detector.load();
    let known = KnownRobots::new(&detector);
    let figures = traffic.figures(&known);
    let before = traffic.figures_before(&known);
    let all = figures.all();
    let question = &traffic.question;
    let own = [("by", if by == By::Robot { "" } else { by.as_str() })];
    let grouping = |one: &By| {
        let link = question.link("traffic", &[("by", one.as_str())]);
        (one.as_str(), link, *one == by)
    };
    Ok(html(&TrafficPage {
        bar: BarView::new("traffic", &own, &traffic, &state),
        total: FigureView::requests(all.hits, String::new()),
        bytes: FigureView::bytes(all.bytes),
        change: ChangeView::new(all.hits, before.as_ref().map(|before| before.all().hits)),
        chart: chart(&traffic, &figures, by),
        by: by.as_str(),
        table: table(&traffic, &known, &figures, before.as_ref(), by),
        groupings: By::ALL.iter().map(grouping).collect(),
        page,
    }))
}

/// Returns the table for one grouping as CSV.
pub(crate) async fn download(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
) -> Result<Response, Problem> {
    let by = parse_grouping(&params.by, By::ALL)?.unwrap_or(By::Robot);
    let traffic = Traffic::load(&state, &params).await?;
    let detector = state.operations().detector.load();
    let figures = traffic.figures(&KnownRobots::new(&detector));
    let mut out = Vec::new();
    write_csv(&figures, &[by], 0, &mut out)
        .map_err(|error| Problem::internal(&error.to_string()))?;
    let name = format!("attachment; filename=\"traffic-by-{}.csv\"", by.as_str());
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, out).into_response())
}

impl TableView {
    /// Removes the first column if the page already shows the value in this column.
    pub(super) fn drop_first_column(&mut self) {
        self.columns.drain(..1);
        for row in &mut self.rows {
            row.cells.drain(..1);
        }
    }
}

/// Returns the chart for a grouping.
pub(super) fn chart(traffic: &Traffic, figures: &Figures<'_>, by: By) -> AreaChart {
    let course = traffic.time_steps();
    let lines = figures.lines(by, &course);
    AreaChart::new(&lines, &course, traffic.zone, |line| Named {
        name: match by {
            By::Robot => cells(&line.cells, by).swap_remove(0),
            _ => cells(&line.cells, by).join(", "),
        },
        link: traffic.question.row_link(by, &line.cells),
    })
}

/// Returns the table for a grouping.
pub(super) fn table(
    traffic: &Traffic,
    known: &KnownRobots<'_>,
    figures: &Figures<'_>,
    before: Option<&Figures<'_>>,
    by: By,
) -> TableView {
    let all = figures.rows(by).rows.len();
    let shown = rows(traffic, known, figures, before, by, MAX_ROWS);
    let word = [("by", by.as_str())];
    TableView {
        columns: columns(figures.rows(by).columns, by),
        more: all.saturating_sub(shown.len()),
        rows: shown,
        csv: traffic.question.link("traffic/export", &word),
        json: traffic.question.link("api/v1/traffic", &word),
    }
}

/// Returns the table rows with the most requests.
pub(super) fn rows(
    traffic: &Traffic,
    known: &KnownRobots<'_>,
    figures: &Figures<'_>,
    before: Option<&Figures<'_>>,
    by: By,
    top: usize,
) -> Vec<RowView> {
    let all = figures.all();
    let then = before.map(|before| before.rows(by));
    let rows = figures.rows(by).rows;
    let most = rows
        .iter()
        .map(|row| row.count.hits)
        .max()
        .unwrap_or_default();
    let shown = rows.into_iter().take(top);
    shown
        .map(|row| {
            let Count { hits, bytes } = row.count;
            let before = then.as_ref().map(|then| hits_of(then, &row.cells));
            RowView {
                requests: FigureView::requests(hits, traffic.question.row_link(by, &row.cells)),
                share: percent(hits, all.hits),
                width: bar_width(hits, most),
                bytes: FigureView::bytes(bytes),
                change: ChangeView::new(hits, before),
                link: page_of(traffic, known, &row.cells, by),
                cells: cells(&row.cells, by),
            }
        })
        .collect()
}

/// Returns the link to the page of a known robot; empty for other rows.
fn page_of(traffic: &Traffic, known: &KnownRobots<'_>, cells: &[Option<String>], by: By) -> String {
    let id = cells.first().and_then(Option::as_deref);
    let robot = id
        .filter(|_| by == By::Robot)
        .and_then(|id| known.by_id(id));
    robot.map_or_else(String::new, |robot| traffic.question.robot_link(robot))
}

fn hits_of(rows: &Rows, cells: &[Option<String>]) -> u64 {
    let found = rows.rows.iter().find(|row| row.cells == cells);
    found.map_or(0, |row| row.count.hits)
}

/// Returns the length of a bar from 1 to 100, or 0 if there are no requests.
pub(super) fn bar_width(part: u64, most: u64) -> u64 {
    let scaled = u128::from(part) * 100 / u128::from(most.max(1));
    u64::try_from(scaled)
        .unwrap_or(100)
        .max(u64::from(part > 0))
}

/// Returns the columns that pages show; for robots, these are the name, operator and purpose.
fn columns(all: &[&'static str], by: By) -> Vec<&'static str> {
    match by {
        By::Robot => vec!["robot", "operator", "purpose"],
        _ => all.to_vec(),
    }
}

fn cells(all: &[Option<String>], by: By) -> Vec<String> {
    let cell = |at: usize| all.get(at).cloned().flatten();
    let none = || "\u{2013}".to_owned();
    match by {
        By::Robot => vec![
            cell(1)
                .filter(|name| !name.trim().is_empty())
                .or(cell(0))
                .unwrap_or_else(none),
            cell(2).unwrap_or_default(),
            cell(3).unwrap_or_default(),
        ],
        By::Operator | By::Purpose => vec![cell(0).unwrap_or_else(|| "unknown".to_owned())],
        _ => all
            .iter()
            .map(|cell| cell.clone().unwrap_or_else(none))
            .collect(),
    }
}
