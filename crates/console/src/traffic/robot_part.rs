//! The traffic of one robot, as shown on the robot's page.

use crate::{problem::Problem, state::AdminState};
use robot_detection_traffic::summary::Summary as _;
use robot_detection_traffic::traffic::{By, KnownRobots};

use super::{
    TrafficParams,
    area::AreaChart,
    bar::BarView,
    change::ChangeView,
    explore::{TableView, chart, table},
    loaded::Traffic,
    number::FigureView,
    question::{invalid, parse_grouping},
    robots_page::seen,
};

/// The groupings offered for the chart of a robot.
const STACKED: &[By] = &[By::Decision, By::Verdict, By::Status, By::Site];

/// The traffic section of a robot's page.
#[derive(Debug)]
pub(crate) struct RobotTraffic {
    pub(crate) bar: BarView,
    pub(crate) total: FigureView,
    pub(crate) bytes: FigureView,
    pub(crate) change: ChangeView,
    pub(crate) seen: String,
    pub(crate) seen_exact: String,
    pub(crate) chart: AreaChart,
    pub(crate) by: &'static str,
    /// Name and link of each grouping, and whether the grouping is selected.
    pub(crate) stacks: Vec<(&'static str, String, bool)>,
    /// Tables of verdicts, of decisions with their causes, and of statuses, each with its name.
    pub(crate) tables: Vec<(&'static str, TableView)>,
}

impl RobotTraffic {
    /// Loads the traffic of a robot; `path` is the robot's page, relative to the console's root.
    pub(crate) async fn load(
        state: &AdminState,
        params: &TrafficParams,
        id: &str,
        path: &str,
    ) -> Result<Self, Problem> {
        refuse_others(params, id)?;
        let stacked = parse_grouping(&params.by, STACKED)?.unwrap_or(By::Decision);
        let traffic = Traffic::load_for_robot(state, params, id).await?;
        let detector = state.operations().detector.load();
        let known = KnownRobots::new(&detector);
        let figures = traffic.figures(&known);
        let before = traffic.figures_before(&known);
        let all = figures.all();
        let bar = bar(state, &traffic, stacked, path);
        let steps = figures.last_seen().map(|(_, step)| step);
        let newest = steps.max_by_key(|step| step.began + step.span.minutes());
        let (seen, seen_exact, _) = seen(newest, &traffic);
        let named = [
            ("Verdicts", By::Verdict),
            ("Decisions", By::Cause),
            ("Statuses", By::Status),
        ];
        Ok(Self {
            total: FigureView::requests(all.hits, traffic.question.link("traffic", &[])),
            bytes: FigureView::bytes(all.bytes),
            change: ChangeView::new(all.hits, before.as_ref().map(|before| before.all().hits)),
            seen,
            seen_exact,
            chart: chart(&traffic, &figures, stacked),
            by: stacked.as_str(),
            stacks: STACKED
                .iter()
                .map(|one| {
                    let other = [("robot", ""), ("by", one.as_str())];
                    let link = traffic.question.link(path, &other);
                    (one.as_str(), link, *one == stacked)
                })
                .collect(),
            tables: named
                .into_iter()
                .map(|(name, by)| {
                    let mut table = table(&traffic, &known, &figures, before.as_ref(), by);
                    if by == By::Verdict {
                        table.drop_first_column();
                    }
                    (name, table)
                })
                .collect(),
            bar,
        })
    }
}

/// Refuses filters that select a robot other than the robot of the page.
fn refuse_others(params: &TrafficParams, id: &str) -> Result<(), Problem> {
    for (key, value) in [
        ("robot", &params.robot),
        ("operator", &params.operator),
        ("purpose", &params.purpose),
        ("visitors", &params.visitors),
    ] {
        if !value.is_empty() && value != id {
            return Err(invalid(format!("{key} is not supported on a robot's page")));
        }
    }
    Ok(())
}

fn bar(state: &AdminState, traffic: &Traffic, stacked: By, path: &str) -> BarView {
    let word = if stacked == By::Decision {
        ""
    } else {
        stacked.as_str()
    };
    // The path of the page already identifies the robot.
    let own = [("robot", ""), ("by", word)];
    let mut bar = BarView::new(path, &own, traffic, state);
    bar.inputs.clear();
    bar.selects.retain(|select| select.key != "purpose");
    bar.kept_by_range.retain(|(key, _)| *key != "robot");
    if traffic.question.filters().len() < 2 {
        bar.clear.clear();
    }
    bar
}
