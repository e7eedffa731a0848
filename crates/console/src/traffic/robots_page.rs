//! The page that lists the robots that visited, with the actions that were taken.

use std::collections::BTreeMap;

use askama::Template;
use axum::{extract::State, response::Response};

use crate::{
    Moment,
    fields::Params,
    page::{Page, html},
    problem::Problem,
    sorting::{Column, SortColumn, Sorting},
    state::AdminState,
};
use robot_detection_operations::robots::shown_name;
use robot_detection_store::store::{TrafficSpan, TrafficStep};
use robot_detection_traffic::summary::Count;
use robot_detection_traffic::traffic::{By, Figures, KnownRobots, NONE_KNOWN};

use super::{
    TrafficParams,
    bar::BarView,
    change::ChangeView,
    explore::bar_width,
    loaded::Traffic,
    number::FigureView,
    question::{TrafficQuestion, invalid, parse_grouping},
};

const MINUTE_MS: i64 = 60_000;

/// The groupings that the list supports.
const GROUPINGS: &[By] = &[By::Robot, By::Operator];

/// The columns by which the list can be sorted.
const COLUMNS: &[SortColumn] = &[
    SortColumn::name("robot", "Robot"),
    SortColumn::name("purpose", "Purpose"),
    SortColumn::number("requests", "Requests"),
    SortColumn::number("change", "Change"),
    SortColumn::number("bytes", "Bytes"),
    SortColumn::number("seen", "Last seen"),
];

/// Maximum number of rows on the page; CSV and JSON contain all rows.
const MAX_ROWS: usize = 30;

#[derive(Template)]
#[template(path = "admin/robots.html")]
struct RobotsPage {
    page: Page,
    bar: BarView,
    /// Name and link of each grouping, and whether the grouping is selected.
    groupings: Vec<(&'static str, String, bool)>,
    is_by_operator: bool,
    columns: Vec<Column>,
    rows: Vec<RobotRow>,
    /// Number of rows that are not shown on the page.
    more: usize,
    csv: String,
    json: String,
    is_kept: bool,
}

/// A table row: a robot, or an operator with all of its robots.
struct RobotRow {
    name: String,
    /// Link to the robot's page, or to the list of the operator's robots.
    link: String,
    /// Operator of the robot, or number of the operator's robots.
    below: String,
    purpose: String,
    requests: FigureView,
    change: ChangeView,
    bytes: FigureView,
    verdicts: Vec<VerdictView>,
    seen: String,
    seen_exact: String,
    seen_minute: i64,
    decisions: Vec<(String, FigureView)>,
}

/// A part of the bar that shows the verdicts.
#[derive(Debug)]
struct VerdictView {
    word: String,
    figure: FigureView,
    x: u64,
    width: u64,
}

/// The sums for a row of the list.
#[derive(Default)]
struct Sums<'d> {
    robots: BTreeMap<String, u64>,
    count: Count,
    verdicts: BTreeMap<String, u64>,
    decisions: BTreeMap<String, u64>,
    seen: Option<&'d TrafficStep>,
}

/// Shows the list of robots.
pub(crate) async fn list(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
    page: Page,
) -> Result<Response, Problem> {
    let by = parse_grouping(&params.by, GROUPINGS)?.unwrap_or(By::Robot);
    let sorting = Sorting::parse(COLUMNS, &params.sort, &params.dir).map_err(invalid)?;
    let traffic = Traffic::load(&state, &params).await?;
    let detector = state.operations().detector.load();
    let known = KnownRobots::new(&detector);
    let question = &traffic.question;
    let mut rows = rows(&traffic, &known, by);
    sort_rows(&mut rows, sorting);
    let more = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    let by_word = if by == By::Robot { "" } else { by.as_str() };
    let own = [
        ("by", by_word),
        ("sort", &*params.sort),
        ("dir", &*params.dir),
    ];
    let word = [("by", by.as_str())];
    Ok(html(&RobotsPage {
        bar: BarView::new("robots", &own, &traffic, &state),
        groupings: GROUPINGS
            .iter()
            .map(|one| {
                let link = question.link("robots", &[("by", one.as_str())]);
                (one.as_str(), link, *one == by)
            })
            .collect(),
        is_by_operator: by == By::Operator,
        columns: headings(question, by_word, sorting),
        rows,
        more,
        csv: question.link("traffic/export", &word),
        json: question.link("api/v1/traffic", &word),
        is_kept: traffic.first.is_some(),
        page,
    }))
}

fn headings(question: &TrafficQuestion, by: &str, sorting: Sorting) -> Vec<Column> {
    let by_operator = by == By::Operator.as_str();
    let link = |word: &str, dir: &str| {
        question.link("robots", &[("by", by), ("sort", word), ("dir", dir)])
    };
    // The robots of an operator may have different purposes.
    let shown = COLUMNS
        .iter()
        .filter(|column| !(by_operator && column.word == "purpose"));
    let heading = |column: &SortColumn| match column.word {
        "robot" if by_operator => Column {
            label: "Operator",
            ..sorting.heading(*column, link)
        },
        _ => sorting.heading(*column, link),
    };
    shown.map(heading).collect()
}

fn sort_rows(rows: &mut [RobotRow], sorting: Sorting) {
    rows.sort_by(|a, b| {
        let name = |row: &RobotRow| row.name.to_lowercase();
        let order = match sorting.word {
            "robot" => name(a).cmp(&name(b)),
            "purpose" => a.purpose.cmp(&b.purpose),
            "change" => a.change.weight.cmp(&b.change.weight),
            "bytes" => a.bytes.value.cmp(&b.bytes.value),
            "seen" => a.seen_minute.cmp(&b.seen_minute),
            _ => a.requests.value.cmp(&b.requests.value),
        };
        let order = if sorting.is_descending {
            order.reverse()
        } else {
            order
        };
        order.then_with(|| name(a).cmp(&name(b)))
    });
}

fn rows(traffic: &Traffic, known: &KnownRobots<'_>, by: By) -> Vec<RobotRow> {
    let figures = traffic.figures(known);
    let before = traffic.figures_before(known);
    let then = before.map(|before| sums(&before, known, by));
    let all = sums(&figures, known, by).into_iter();
    all.map(|(name, sums)| {
        let before = then
            .as_ref()
            .map(|then| then.get(&name).map_or(0, |sums| sums.count.hits));
        RobotRow::new(&name, &sums, before, (traffic, known, by))
    })
    .collect()
}

/// Returns the sums of the traffic by robot ID or by operator.
fn sums<'d>(figures: &Figures<'d>, known: &KnownRobots<'_>, by: By) -> BTreeMap<String, Sums<'d>> {
    let name = |robot: &str| match by {
        By::Operator => {
            let operator = known.by_id(robot).and_then(|robot| robot.operator.clone());
            operator.unwrap_or_else(|| NONE_KNOWN.to_owned())
        }
        _ => robot.to_owned(),
    };
    let mut all = BTreeMap::<String, Sums<'d>>::new();
    for (key, count) in figures.sums().filter(|(key, _)| !key.robot.is_empty()) {
        let sums = all.entry(name(&key.robot)).or_default();
        sums.count.add(count);
        *sums.robots.entry(key.robot.clone()).or_default() += count.hits;
        *sums.verdicts.entry(key.verdict.clone()).or_default() += count.hits;
        *sums.decisions.entry(key.decision.clone()).or_default() += count.hits;
    }
    let end = |step: &TrafficStep| step.began + step.span.minutes();
    for (key, step) in figures.last_seen() {
        if let Some(sums) = all.get_mut(&name(&key.robot))
            && sums.seen.is_none_or(|seen| end(seen) < end(step))
        {
            sums.seen = Some(step);
        }
    }
    all
}

impl RobotRow {
    fn new(
        name: &str,
        sums: &Sums<'_>,
        before: Option<u64>,
        (traffic, known, by): (&Traffic, &KnownRobots<'_>, By),
    ) -> Self {
        let question = &traffic.question;
        let robot = known.by_id(name).filter(|_| by == By::Robot);
        let of = |other: &[(&str, &str)]| {
            let mut all = vec![(by.as_str(), name)];
            all.extend(other);
            question.link("traffic", &all)
        };
        let (seen, seen_exact, seen_minute) = seen(sums.seen, traffic);
        Self {
            name: match (by, robot) {
                (By::Operator, _) if name == NONE_KNOWN => "unknown".to_owned(),
                (_, Some(robot)) => shown_name(robot),
                _ => name.to_owned(),
            },
            link: match (by, robot) {
                (By::Operator, _) => question.link("robots", &[("operator", name), ("by", "")]),
                (_, Some(robot)) => question.robot_link(robot),
                _ => of(&[]),
            },
            below: match (by, sums.robots.len()) {
                (By::Operator, 1) => "1 robot".to_owned(),
                (By::Operator, robots) => format!("{robots} robots"),
                _ => robot
                    .and_then(|robot| robot.operator.clone())
                    .unwrap_or_default(),
            },
            purpose: robot.map_or_else(String::new, |robot| robot.purpose.to_string()),
            requests: FigureView::requests(sums.count.hits, of(&[])),
            change: ChangeView::new(sums.count.hits, before),
            bytes: FigureView::bytes(sums.count.bytes),
            verdicts: verdicts(sums, |word| of(&[("verdict", word)])),
            seen,
            seen_exact,
            seen_minute,
            decisions: sums
                .decisions
                .iter()
                .map(|(word, hits)| {
                    let link = of(&[("decision", word)]);
                    (word.clone(), FigureView::requests(*hits, link))
                })
                .collect(),
        }
    }
}

/// Returns the time of the last visit, or only the day if nothing more precise is stored.
pub(super) fn seen(step: Option<&TrafficStep>, traffic: &Traffic) -> (String, String, i64) {
    let Some(step) = step else {
        return (String::new(), String::new(), i64::MIN);
    };
    let ended_ms = (step.began + step.span.minutes()).saturating_mul(MINUTE_MS);
    let ended_ms = ended_ms.min(traffic.now_ms);
    let began = traffic.exact(step.began);
    let word = match step.span {
        TrafficSpan::Minute => "the minute",
        TrafficSpan::Hour => "the hour",
        TrafficSpan::Day => "the day",
    };
    let minute = ended_ms.div_euclid(MINUTE_MS);
    let moment = Moment::new(ended_ms, traffic.now_ms);
    (moment.ago, format!("in {word} from {began}"), minute)
}

fn verdicts(sums: &Sums<'_>, link: impl Fn(&str) -> String) -> Vec<VerdictView> {
    let mut x = 0;
    let view = |(word, hits): (&String, &u64)| {
        let width = bar_width(*hits, sums.count.hits).min(100 - x);
        let view = VerdictView {
            word: word.clone(),
            figure: FigureView::requests(*hits, link(word)),
            x,
            width,
        };
        x += width;
        view
    };
    sums.verdicts.iter().map(view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_bar_fill_it_exactly() {
        let mut sums = Sums::default();
        for (word, hits) in [("a", 1), ("b", 1), ("c", 99_998)] {
            sums.verdicts.insert(word.to_owned(), hits);
            sums.count.add(Count { hits, bytes: 0 });
        }
        let views = verdicts(&sums, |_| String::new());
        let ends: Vec<_> = views.iter().map(|view| view.x + view.width).collect();
        assert_eq!(ends, [1, 2, 100]);
    }
}
