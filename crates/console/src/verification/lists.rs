//! The address lists that robots reference, and the age of the stored copies.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::robots::{RobotIndex, RobotRef};
use crate::{Moment, problem::Problem, state::AdminState};
use robot_detection_layer::detect::Detector;
use robot_detection_store::fetch::shown_url;
use robot_detection_store::verify::RangesState;

/// An address list that registered robots reference, or of which a copy is still stored.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RangesList")]
pub(super) struct ListView {
    /// URL of the list, with the password removed.
    pub(super) url: String,
    /// Robots in force that reference the list; empty if only an old copy of the list is stored.
    pub(super) robots: Vec<RobotRef>,
    /// State of the copy: "fresh", "stale", "missing" (no copy available) or "unused" (not fetched
    /// yet).
    pub(super) state: &'static str,
    /// Number of prefixes in the list; `None` if no copy is stored.
    pub(super) prefixes: Option<usize>,
    /// Number of entries in the list that could not be read.
    pub(super) unreadable: usize,
    /// Day on which the operator created the list.
    pub(super) created: Option<String>,
    pub(super) fetched: Option<Moment>,
    /// Time when the copy was last confirmed to be current.
    pub(super) checked: Option<Moment>,
    /// Time of the most recent attempt to fetch the list, successful or not.
    pub(super) tried: Option<Moment>,
    /// Reason why the most recent fetch of the list failed.
    pub(super) error: Option<String>,
}

impl ListView {
    /// Returns all address lists, sorted by URL.
    pub(super) fn all(
        state: &AdminState,
        detector: &Detector,
        known: &RobotIndex<'_>,
    ) -> Vec<Self> {
        let now_ms = state.now_ms();
        let mut robots: BTreeMap<String, Vec<RobotRef>> = BTreeMap::new();
        for robot in detector.robots() {
            if let Some(url) = &robot.ranges_url {
                let named = robots.entry(shown_url(url)).or_default();
                named.push(known.find(&robot.id));
            }
        }
        let mut states: BTreeMap<_, _> = BTreeMap::new();
        for list in state.operations().ranges.states() {
            // A copy that no robot references any longer is still stored, and therefore shown.
            robots.entry(list.url.clone()).or_default();
            states.insert(list.url.clone(), list);
        }
        let lists = robots.into_iter();
        lists
            .map(|(url, robots)| {
                let found = states.remove(&url);
                Self::new(url, robots, found, now_ms)
            })
            .collect()
    }

    fn new(url: String, robots: Vec<RobotRef>, list: Option<RangesState>, now_ms: i64) -> Self {
        let moment = |at_ms: Option<i64>| at_ms.map(|at_ms| Moment::new(at_ms, now_ms));
        let Some(list) = list else {
            return Self {
                url,
                robots,
                state: "unused",
                prefixes: None,
                unreadable: 0,
                created: None,
                fetched: None,
                checked: None,
                tried: None,
                error: None,
            };
        };
        let has_copy = list.has_copy();
        Self {
            url,
            robots,
            state: list.as_str(),
            prefixes: has_copy.then_some(list.prefixes),
            unreadable: list.unreadable,
            created: list.created,
            fetched: moment(list.fetched_ms),
            checked: moment(list.checked_ms),
            tried: moment(list.tried_ms),
            error: list.error,
        }
    }
}

/// Returns the URLs to fetch for the URL of a list as displayed; an empty URL selects all lists in
/// use.
///
/// Only lists that a robot in force references can be requested, so no request can make this server
/// fetch arbitrary URLs (server-side request forgery, CWE-918).
pub(super) fn wanted_urls(state: &AdminState, shown: &str) -> Result<Vec<String>, Problem> {
    let detector = state.operations().detector.load();
    let urls: BTreeSet<&String> = (detector.robots().iter())
        .filter_map(|robot| robot.ranges_url.as_ref())
        .filter(|url| shown.is_empty() || shown_url(url) == shown)
        .collect();
    if urls.is_empty() {
        return Err(Problem::invalid(if shown.is_empty() {
            "No robot in force has an address list.".to_owned()
        } else {
            format!("No robot in force uses the address list {shown:?}.")
        }));
    }
    Ok(urls.into_iter().cloned().collect())
}
