//! Conversion between robots and database rows.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{
    StoreError, StoreErrorKind,
    error::DatabaseLocation,
    statement::{Value, without_nul},
};
use robot_detection_layer::registry::{
    Exclusion, Pattern, PatternKind, Purpose, Robot, Source, Status,
};

/// A row of the robots table.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StoredRobot {
    /// The robot, as defined by its source.
    pub robot: Robot,
    /// The time when the robot first appeared in its source (`insertion_date`).
    pub insertion_ms: i64,
    /// The time when the source last changed the robot (`modified_date`).
    pub modified_ms: i64,
}

columns! {
    /// A row of the robots table, as stored in the database.
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub(super) struct RobotRow {
        pub(super) source: String,
        pub(super) robot_id: String,
        robot_name: String,
        robot_details_url: Option<String>,
        robot_useragent: String,
        patterns: String,
        purpose: String,
        operator: Option<String>,
        product_token: Option<String>,
        status: String,
        status_detail: Option<String>,
        facts: String,
        pub(super) insertion_date: i64,
        pub(super) modified_date: i64,
    }
}

/// The columns to read; `search_text` is write-only.
macro_rules! robot_columns {
    () => {
        "source, robot_id, robot_name, robot_details_url, robot_useragent, patterns, purpose, \
         operator, product_token, status, status_detail, facts, insertion_date, modified_date"
    };
}

#[derive(Deserialize, Serialize)]
struct PatternJson<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    text: String,
}

#[derive(Default, Deserialize, Serialize)]
struct StatusJson {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pattern: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    browser: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
}

/// Data about a robot for verification and robots.txt, stored as JSON; unknown facts are omitted.
#[derive(Default, Deserialize, Serialize)]
struct FactsJson {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    exclusion: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    host_suffixes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ranges_url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    signature_agents: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_partial_proofs: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checked: Option<String>,
}

impl RobotRow {
    /// Creates the row of a robot; `source` takes precedence over the robot's own source.
    pub(super) fn new(robot: &Robot, source: &Source, now_ms: i64) -> Self {
        Self {
            source: source.as_str().to_owned(),
            robot_id: clean(&robot.id),
            robot_name: clean(&robot.name),
            robot_details_url: robot.details_url.as_deref().map(clean),
            robot_useragent: clean(&robot.useragent),
            patterns: patterns_to_json(&robot.patterns),
            purpose: robot.purpose.as_str().to_owned(),
            operator: robot.operator.as_deref().map(clean),
            product_token: robot.product_token.as_deref().map(clean),
            status: robot.status.as_str().to_owned(),
            status_detail: status_to_json(&robot.status),
            facts: facts_to_json(robot),
            insertion_date: now_ms,
            modified_date: now_ms,
        }
    }

    /// Returns `true` if two rows are equal except for their dates.
    pub(super) fn equals_ignoring_dates(&self, other: &Self) -> bool {
        let dated = Self {
            insertion_date: self.insertion_date,
            modified_date: self.modified_date,
            ..other.clone()
        };
        *self == dated
    }

    /// Returns the values in the column order of the `INSERT` statement.
    pub(super) fn values(&self) -> [Value<'_>; 14] {
        values![
            self; source, robot_id, robot_name, robot_details_url, robot_useragent, patterns,
            purpose, operator, product_token, status, status_detail, facts, insertion_date,
            modified_date;
        ]
    }

    /// Converts the row to a robot. A robot with unreadable data is marked as unusable, with the
    /// reason.
    pub(super) fn into_stored(self, place: &DatabaseLocation) -> Result<StoredRobot, StoreError> {
        let source = self.source.parse::<Source>().map_err(|error| {
            let (id, source) = (&self.robot_id, &self.source);
            StoreError::new(
                StoreErrorKind::Corrupt,
                format!(
                    "cannot read the robot {id:?} in {place}: invalid source {source:?}: \
                     {error}; remove the row"
                ),
            )
        })?;
        // A single invalid row must not prevent all other robots from being used.
        let (patterns, status, facts) = self.decoded().unwrap_or_else(|what| {
            let reason = format!("the stored {what} cannot be read; refresh the source");
            (
                Vec::new(),
                Status::Unusable { reason },
                FactsJson::default(),
            )
        });
        let mut robot = Robot::new(self.robot_id, source);
        robot.name = self.robot_name;
        robot.details_url = self.robot_details_url.filter(|url| is_web_url(url));
        robot.useragent = self.robot_useragent;
        robot.patterns = patterns;
        robot.purpose = Purpose::from_word(&self.purpose).unwrap_or_default();
        robot.operator = self.operator;
        robot.product_token = self.product_token;
        robot.exclusion = Exclusion::from_value(&facts.exclusion);
        robot.host_suffixes = facts.host_suffixes;
        robot.ranges_url = facts.ranges_url.filter(|url| is_web_url(url));
        robot.signature_agents = facts.signature_agents;
        robot.has_partial_proofs = facts.has_partial_proofs;
        robot.evidence = facts.evidence;
        robot.checked = facts.checked;
        robot.status = status;
        Ok(StoredRobot {
            robot,
            insertion_ms: self.insertion_date,
            modified_ms: self.modified_date,
        })
    }

    /// Decodes the JSON columns, or returns the name of the column that cannot be decoded.
    fn decoded(&self) -> Result<(Vec<Pattern>, Status, FactsJson), &'static str> {
        let patterns = patterns_from_json(&self.patterns).ok_or("list of patterns")?;
        let detail = self.status_detail.as_deref();
        let status = status_from_json(&self.status, detail).ok_or("status")?;
        let facts = serde_json::from_str(&self.facts).map_err(|_| "list of facts")?;
        Ok((patterns, status, facts))
    }
}

fn clean(text: &str) -> String {
    without_nul(text).into_owned()
}

/// Returns `false` for URLs with other schemes, so that database contents cannot inject links into
/// pages.
fn is_web_url(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

fn patterns_to_json(patterns: &[Pattern]) -> String {
    let patterns: Vec<PatternJson<'_>> = patterns
        .iter()
        .map(|pattern| PatternJson {
            kind: Cow::Borrowed(pattern.kind.as_str()),
            text: pattern.text.clone(),
        })
        .collect();
    to_json(&patterns)
}

fn patterns_from_json(json: &str) -> Option<Vec<Pattern>> {
    let patterns: Vec<PatternJson<'_>> = serde_json::from_str(json).ok()?;
    patterns
        .into_iter()
        .map(|pattern| {
            let kind = PatternKind::from_word(&pattern.kind)?;
            Some(Pattern::new(kind, pattern.text))
        })
        .collect()
}

fn status_to_json(status: &Status) -> Option<String> {
    let detail = match status {
        Status::Active => return None,
        Status::Quarantined { pattern, browser } => StatusJson {
            pattern: pattern.clone(),
            browser: browser.clone(),
            ..StatusJson::default()
        },
        Status::Unusable { reason } => StatusJson {
            reason: reason.clone(),
            ..StatusJson::default()
        },
    };
    Some(to_json(&detail))
}

fn status_from_json(word: &str, detail: Option<&str>) -> Option<Status> {
    let detail: StatusJson = match detail {
        Some(json) => serde_json::from_str(json).ok()?,
        None => StatusJson::default(),
    };
    match word {
        "active" => Some(Status::Active),
        "quarantined" => Some(Status::Quarantined {
            pattern: detail.pattern,
            browser: detail.browser,
        }),
        "unusable" => Some(Status::Unusable {
            reason: detail.reason,
        }),
        _ => None,
    }
}

fn facts_to_json(robot: &Robot) -> String {
    let exclusion = match robot.exclusion {
        Exclusion::Unknown => String::new(),
        known => known.as_str().to_owned(),
    };
    to_json(&FactsJson {
        exclusion,
        host_suffixes: robot.host_suffixes.clone(),
        ranges_url: robot.ranges_url.clone(),
        signature_agents: robot.signature_agents.clone(),
        has_partial_proofs: robot.has_partial_proofs,
        evidence: robot.evidence.clone(),
        checked: robot.checked.clone(),
    })
}

pub(super) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings and lists can always be serialised as JSON")
}
