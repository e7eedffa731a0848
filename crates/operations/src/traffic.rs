//! Traffic figures, as JSON for programs.

use std::{collections::BTreeMap, ops::Range};

use robot_detection_traffic::{
    summary::json_object,
    traffic::{By, Figures},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::rfc3339;

const MINUTE_MS: i64 = 60_000;

/// The traffic figures of a period, by group.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct TrafficFigures {
    /// Start of the period.
    pub since: String,
    /// End of the period.
    pub until: String,
    /// Totals of the previous period, if that period was fully recorded.
    pub before: Option<Box<Self>>,
    /// The totals, and an array for each requested grouping.
    #[serde(flatten)]
    #[schemars(with = "Groups")]
    groups: Map<String, Value>,
}

/// The totals, and an array for each requested grouping.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Groups {
    /// Totals by kind of visitor: `all`, `people`, `robots`, …
    pub totals: BTreeMap<String, Figure>,
    /// Traffic figures by robot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robots: Option<Vec<GroupFigure>>,
    /// Traffic figures by operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operators: Option<Vec<GroupFigure>>,
    /// Traffic figures by purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purposes: Option<Vec<GroupFigure>>,
    /// Traffic figures by robot and verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<Vec<GroupFigure>>,
    /// Traffic figures by decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<GroupFigure>>,
    /// Traffic figures by decision and cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub causes: Option<Vec<GroupFigure>>,
    /// Traffic figures by site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sites: Option<Vec<GroupFigure>>,
    /// Traffic figures by response status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statuses: Option<Vec<GroupFigure>>,
}

/// The number of requests and bytes, with their shares.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Figure {
    /// Number of requests in the period.
    pub hits: u64,
    /// Share of all requests, from 0 to 1.
    pub hits_share: f64,
    /// Number of bytes in the responses.
    pub bytes: u64,
    /// Share of all bytes, from 0 to 1.
    pub bytes_share: f64,
}

/// The requests and bytes of a group, which is identified by its names.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct GroupFigure {
    /// Numbers of requests and bytes of the group.
    #[serde(flatten)]
    pub figure: Figure,
    /// Names that identify the group: `robot`, `name`, `operator`, `purpose`, `source`, `verdict`,
    /// `decision`, `cause`, `site` or `status`.
    #[serde(flatten)]
    pub names: BTreeMap<String, Option<String>>,
}

impl TrafficFigures {
    /// Returns the figures of a period, given in minutes since 1970, with at most `top` rows; 0
    /// means all.
    pub fn new(minutes: &Range<i64>, figures: &Figures<'_>, by: &[By], top: usize) -> Self {
        let iso = |minute: i64| rfc3339(minute.saturating_mul(MINUTE_MS));
        Self {
            since: iso(minutes.start),
            until: iso(minutes.end),
            before: None,
            groups: json_object(figures, by, top),
        }
    }
}
