//! The traffic that a page shows, loaded from the database.

use std::{collections::BTreeSet, ops::Range};

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{TimeZone, fields::Params, problem::Problem, state::AdminState};
use robot_detection_layer::detect::Detector;
use robot_detection_store::store::{TrafficSeries, TrafficSpan};
use robot_detection_traffic::traffic::{
    Figures, KnownRobots, NONE_KNOWN, PEOPLE, TimeSteps, TrafficFilter, reported_range,
};

use super::{
    TrafficParams,
    question::{TrafficQuestion, invalid, text},
};

const MINUTE_MS: i64 = 60_000;

/// Maximum number of names listed in an error message or suggested.
const MAX_NAMES: usize = 20;

/// The traffic that a page shows: of a period, and of the previous period of the same length.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(super) question: TrafficQuestion,
    series: TrafficSeries,
    /// Length of the period shown on the page, in minutes.
    pub(super) told: Range<i64>,
    /// Minutes of the previous period, if that period was fully recorded.
    pub(super) before: Option<Range<i64>>,
    /// First day for which traffic is stored.
    pub(super) first: Option<i64>,
    pub(super) zone: TimeZone,
    pub(super) now_ms: i64,
}

impl Traffic {
    /// Loads the traffic that the query parameters select.
    pub(super) async fn load(state: &AdminState, params: &TrafficParams) -> Result<Self, Problem> {
        let zone = state.admin().time_zone;
        let question = TrafficQuestion::parse(params, zone)?;
        let traffic = Self::read(state, question, None).await?;
        traffic.check_names(state)?;
        Ok(traffic)
    }

    /// Loads the traffic of one robot, by the hour if the chart needs hours and hours are stored.
    pub(super) async fn load_for_robot(
        state: &AdminState,
        params: &TrafficParams,
        robot: &str,
    ) -> Result<Self, Problem> {
        let zone = state.admin().time_zone;
        let mut question = TrafficQuestion::parse(params, zone)?;
        question.filter.robot = Some(robot.to_owned());
        let traffic = Self::read(state, question, Some(TrafficSpan::Hour)).await?;
        traffic.check_names(state)?;
        Ok(traffic)
    }

    /// Loads the traffic for a period and filter, without checking the names in the filter.
    pub(super) async fn read(
        state: &AdminState,
        question: TrafficQuestion,
        most: Option<TrafficSpan>,
    ) -> Result<Self, Problem> {
        let (store, now_ms) = (&state.operations().store, state.now_ms());
        let first = store.traffic().first_day().await?;
        let minutes = question.times.within(first, now_ms);
        let minutes = minutes.ok_or_else(|| invalid("since must be earlier than until"))?;
        let told = reported_range(&minutes, now_ms);
        let length = told.end - told.start;
        let before = told.start - length..told.start;
        // Compared with a period that was only partly recorded, the traffic of every robot would
        // appear to increase.
        let is_whole = first.is_some_and(|first| first <= before.start) && length > 0;
        let span = TimeSteps::span(&minutes);
        let longest = most.map_or(span, |most| most.min(span));
        let mut times = vec![(minutes.clone(), Some(longest))];
        times.extend(is_whole.then_some((before.clone(), None)));
        let robot = question.filter.robot.as_deref();
        let series = store.traffic().series(&times, robot, now_ms).await?;
        Ok(Self {
            before: series.parts.get(1).map(|part| part.minutes.clone()),
            question,
            series,
            told,
            first,
            zone: state.admin().time_zone,
            now_ms,
        })
    }

    /// Refuses unknown names, because a page full of zeros would suggest that there were no
    /// visitors.
    fn check_names(&self, state: &AdminState) -> Result<(), Problem> {
        let detector = state.operations().detector.load();
        let names = Names::of(self, state, &detector);
        let filter = &self.question.filter;
        for (key, asked, known) in [
            ("site", &filter.site, &names.sites),
            ("robot", &filter.robot, &names.robots),
            ("operator", &filter.operator, &names.operators),
            ("cause", &filter.cause, &names.causes),
        ] {
            if let Some(asked) = asked
                && !known.contains(asked)
            {
                return Err(invalid(unknown(key, known)));
            }
        }
        Ok(())
    }

    /// Returns the figures of the traffic that matches the filter.
    pub(super) fn figures<'d>(&'d self, robots: &KnownRobots<'d>) -> Figures<'d> {
        self.filtered(0, &self.question.filter, robots)
    }

    /// Returns the figures of the previous period, if the periods can be compared.
    pub(super) fn figures_before<'d>(&'d self, robots: &KnownRobots<'d>) -> Option<Figures<'d>> {
        let filter = &self.question.filter;
        self.before
            .as_ref()
            .map(|_| self.filtered(1, filter, robots))
    }

    /// Returns only the figures of traffic from robots, unless the filter selects other visitors.
    pub(super) fn robots_only<'d>(&'d self, robots: &KnownRobots<'d>) -> Figures<'d> {
        let mut filter = self.question.filter.clone();
        filter.visitors.get_or_insert_with(|| "robots".to_owned());
        self.filtered(0, &filter, robots)
    }

    fn filtered<'d>(
        &'d self,
        part: usize,
        filter: &TrafficFilter,
        robots: &KnownRobots<'d>,
    ) -> Figures<'d> {
        match self.series.parts.get(part) {
            Some(part) => Figures::over_time(&self.series.keys, part, filter, robots.clone()),
            None => Figures::empty(robots.clone()),
        }
    }

    /// Returns the time steps of the charts.
    pub(super) fn time_steps(&self) -> TimeSteps {
        let part = self.series.parts.first();
        part.map_or_else(TimeSteps::default, |part| {
            TimeSteps::new(&self.told, &part.steps)
        })
    }

    /// Returns the names of the sites that can be selected as a filter.
    pub(super) fn sites(&self, state: &AdminState) -> BTreeSet<String> {
        let sites = state.operations().sites.load();
        let mut names = sites.iter().map(|site| site.name.clone()).collect();
        for key in &self.series.keys {
            insert(&mut names, &key.site);
        }
        names
    }

    /// Returns a time, given in minutes, as text in the pages' time zone.
    pub(super) fn exact(&self, minute: i64) -> String {
        self.zone.exact(minute.saturating_mul(MINUTE_MS))
    }
}

/// The names that start with the search text.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "TrafficNames")]
pub(crate) struct NamesAnswer {
    names: Vec<String>,
}

/// Returns the names that start with a text, as suggestions for the filters on a page.
pub(crate) async fn names(
    State(state): State<AdminState>,
    Params(asked): Params<NamesParams>,
) -> Result<Json<NamesAnswer>, Problem> {
    let begun = text("q", &asked.q)?.unwrap_or_default().to_lowercase();
    let traffic = Traffic::load(&state, &TrafficParams::default()).await?;
    let mut names = Names::of(&traffic, &state, &state.operations().detector.load());
    let names = match &*asked.of {
        "" | "robot" => names.robots,
        "operator" => names.operators,
        "visitor" => {
            names.robots.insert(PEOPLE.to_owned());
            names.robots
        }
        _ => return Err(invalid("of must be one of robot, operator, visitor")),
    };
    let is_meant = |name: &String| name.to_lowercase().starts_with(&begun);
    let names: Vec<_> = names.into_iter().filter(is_meant).take(MAX_NAMES).collect();
    Ok(Json(NamesAnswer { names }))
}

/// The query parameters with which filter values are searched.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NamesParams {
    of: String,
    q: String,
}

/// The names that can be used in filters.
#[derive(Debug, Default)]
struct Names {
    sites: BTreeSet<String>,
    robots: BTreeSet<String>,
    operators: BTreeSet<String>,
    causes: BTreeSet<String>,
}

impl Names {
    fn of(traffic: &Traffic, state: &AdminState, detector: &Detector) -> Self {
        let mut names = Self {
            sites: traffic.sites(state),
            ..Self::default()
        };
        for robot in detector.robots() {
            names.robots.insert(robot.id.clone());
            names.operators.extend(robot.operator.clone());
        }
        names.operators.insert(NONE_KNOWN.to_owned());
        for key in &traffic.series.keys {
            insert(&mut names.causes, &key.cause);
            if !key.robot.is_empty() {
                insert(&mut names.robots, &key.robot);
            }
        }
        names
    }
}

/// Inserts a name without cloning duplicates, because there may be thousands of duplicates.
fn insert(names: &mut BTreeSet<String>, name: &String) {
    if !names.contains(name) {
        names.insert(name.clone());
    }
}

fn unknown(key: &str, known: &BTreeSet<String>) -> String {
    let listed: Vec<&str> = known.iter().take(MAX_NAMES).map(String::as_str).collect();
    let more = match known.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if listed.is_empty() {
        return format!("{key} has no values yet; omit it");
    }
    format!("{key} must be one of {}{more}", listed.join(", "))
}
