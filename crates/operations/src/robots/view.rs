//! Robots, as shown on pages and in JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::Row;
use crate::Moment;
use robot_detection_layer::detect::Duplicates;
use robot_detection_layer::registry::{Pattern, Robot, Source, Status};

/// A robot, as shown in the robots table.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Robot")]
pub struct RobotView {
    /// ID of the robot.
    pub id: String,
    /// Display name of the robot.
    pub name: String,
    /// Name of the robot's source.
    pub source: String,
    /// Display name of the robot's source.
    pub source_title: String,
    /// Status of the robot: `active`, `quarantined` or `unusable`.
    pub status: &'static str,
    /// Reason why the robot is not active; empty if the robot is active.
    pub reason: String,
    /// User-Agent of the robot according to its source.
    pub useragent: String,
    /// Patterns to which User-Agents are compared.
    pub patterns: Vec<PatternView>,
    /// Purpose of the robot.
    pub purpose: &'static str,
    /// Company or project that runs the robot.
    pub operator: Option<String>,
    /// Name that the robot obeys in robots.txt.
    pub product_token: Option<String>,
    /// Origin of the name in robots.txt: "published", or "derived" from the robot's name.
    pub product_token_origin: Option<&'static str>,
    /// Whether the robot obeys robots.txt, according to its operator; "unknown" if the operator
    /// does not say.
    pub exclusion: &'static str,
    /// Domains of the host names from which the robot sends requests.
    pub host_suffixes: Vec<String>,
    /// URL of a page about the robot, always `http:` or `https:`.
    pub details_url: Option<String>,
    /// URL of the robot's address list, always `http:` or `https:`.
    pub ranges_url: Option<String>,
    /// Hosts whose keys sign the robot's requests.
    pub signature_agents: Vec<String>,
    /// Whether the robot also sends requests from addresses that its operator does not publish.
    pub has_partial_proofs: bool,
    /// Public lists that contain the robot; `operator` stands for the operator's own page.
    pub evidence: Vec<String>,
    /// Day on which the data was checked against the operator's page.
    pub checked: Option<String>,
    /// Time when the robot first appeared in its source; absent if no database is used.
    pub inserted: Option<Moment>,
    /// Time when the robot's source last changed the robot.
    pub modified: Option<Moment>,
    /// Pattern and browser that caused the robot's quarantine.
    pub hit: Option<HitView>,
    /// Robot from a preferred source that is reported instead of this robot.
    pub duplicate_of: Option<RobotLinkView>,
}

/// A link to the page of another robot.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RobotLink")]
pub struct RobotLinkView {
    /// ID of the linked robot.
    pub id: String,
    /// Display name of the linked robot.
    pub name: String,
    /// Name of the linked robot's source.
    pub source: String,
    /// Display name of the linked robot's source.
    pub source_title: String,
}

/// A User-Agent pattern of a robot.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Pattern")]
pub struct PatternView {
    /// Method by which User-Agents are compared to the text.
    pub kind: &'static str,
    /// Text of the pattern.
    pub text: String,
}

/// The pattern and the browser that caused a robot's quarantine.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "BrowserHit")]
pub struct HitView {
    /// Pattern that matched a browser.
    pub pattern: String,
    /// User-Agent of the browser that the pattern matched.
    pub browser: String,
}

impl RobotView {
    /// Creates the view of a robot.
    pub fn new(row: &Row, duplicates: &Duplicates<'_>, now_ms: i64) -> Self {
        let robot = &*row.robot;
        let moment = |at_ms| Moment::new(at_ms, now_ms);
        let (reason, hit) = why(&robot.status);
        let token = robot.token().ok();
        Self {
            id: robot.id.clone(),
            name: shown_name(robot),
            source: robot.source.to_string(),
            source_title: title(&robot.source),
            status: robot.status.as_str(),
            reason,
            useragent: robot.useragent.clone(),
            patterns: robot.patterns.iter().map(PatternView::from).collect(),
            purpose: robot.purpose.as_str(),
            operator: robot.operator.clone(),
            product_token: token.map(|token| token.as_str().to_owned()),
            product_token_origin: token.map(|token| token.origin()),
            exclusion: robot.exclusion.as_str(),
            host_suffixes: robot.host_suffixes.clone(),
            details_url: robot.details_url.clone().filter(|url| is_web_link(url)),
            ranges_url: robot.ranges_url.clone().filter(|url| is_web_link(url)),
            signature_agents: robot.signature_agents.clone(),
            has_partial_proofs: robot.has_partial_proofs,
            evidence: robot.evidence.clone(),
            checked: robot.checked.clone(),
            inserted: row.dates_ms.map(|(inserted_ms, _)| moment(inserted_ms)),
            modified: row.dates_ms.map(|(_, modified_ms)| moment(modified_ms)),
            hit,
            duplicate_of: duplicates
                .winner(robot)
                .map(|other| RobotLinkView::new(other)),
        }
    }
}

impl From<&Pattern> for PatternView {
    fn from(pattern: &Pattern) -> Self {
        Self {
            kind: pattern.kind.as_str(),
            text: pattern.text.clone(),
        }
    }
}

impl RobotLinkView {
    fn new(robot: &Robot) -> Self {
        Self {
            id: robot.id.clone(),
            name: shown_name(robot),
            source: robot.source.to_string(),
            source_title: title(&robot.source),
        }
    }
}

/// Returns `true` if a link is safe on a page: `http:` or `https:`, but not `javascript:` or
/// `data:`.
///
/// Registries are third-party data, and clicking a link must not run a script.
pub fn is_web_link(url: &str) -> bool {
    let lower = url.get(..8).unwrap_or(url).to_ascii_lowercase();
    (lower.starts_with("http://") || lower.starts_with("https://"))
        && !url.chars().any(|c| c.is_control() || c == ' ')
}

/// Returns the display name of a source.
pub fn title(source: &Source) -> String {
    match source.as_str() {
        "manual" => "Added by hand".to_owned(),
        "bundled" => "Bundled registry".to_owned(),
        "web-robots-db" => "Web Robots Database".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the display name of a robot: its name, or its ID if the name is empty.
pub fn shown_name(robot: &Robot) -> String {
    if robot.name.trim().is_empty() {
        robot.id.clone()
    } else {
        robot.name.clone()
    }
}

fn why(status: &Status) -> (String, Option<HitView>) {
    match status {
        Status::Active => (String::new(), None),
        Status::Quarantined { pattern, browser } => (
            format!("its pattern {pattern:?} matches a browser"),
            Some(HitView {
                pattern: pattern.clone(),
                browser: browser.clone(),
            }),
        ),
        Status::Unusable { reason } => (reason.clone(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_become_links() {
        assert!(is_web_link("http://example.com/"));
        assert!(is_web_link("HTTPS://example.com/"));
        for url in [
            "javascript:alert(1)",
            " http://example.com/",
            "java\nscript:alert(1)",
            "data:text/html,x",
            "//example.com",
            "http:example",
            "",
            "é",
        ] {
            assert!(!is_web_link(url), "{url}");
        }
    }
}
