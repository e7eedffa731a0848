//! A robot as pages and JSON show it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Moment, page::encode, sources::title};
use robot_detection_layer::detect::Duplicates;
use robot_detection_layer::registry::{Purpose, Robot, Source, Status};
use robot_detection_store::store::StoredRobot;

/// Row of the robots table.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct RobotView {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) source: String,
    pub(super) source_title: String,
    pub(super) status: &'static str,
    /// Why it is not active; empty otherwise.
    pub(super) reason: String,
    pub(super) useragent: String,
    pub(super) patterns: Vec<PatternView>,
    pub(super) purpose: &'static str,
    pub(super) operator: Option<String>,
    /// Its name in robots.txt.
    pub(super) product_token: Option<String>,
    /// "published", or "derived" from its name.
    pub(super) product_token_origin: Option<&'static str>,
    /// Its operator's word on obeying robots.txt; "unknown" where there is none.
    pub(super) exclusion: &'static str,
    /// Endings of the host names that its requests come from.
    pub(super) host_suffixes: Vec<String>,
    /// Always `http:` or `https:`.
    pub(super) details_url: Option<String>,
    /// List of the addresses that it uses; always `http:` or `https:`.
    pub(super) ranges_url: Option<String>,
    /// Hosts whose keys sign its requests.
    pub(super) signature_agents: Vec<String>,
    /// Public lists that saw it; `operator` for a page of its own.
    pub(super) evidence: Vec<String>,
    /// Day on which its facts were compared with the operator's page.
    pub(super) checked: Option<String>,
    pub(super) inserted: Moment,
    pub(super) modified: Moment,
    /// Pattern and browser of a quarantined robot.
    pub(super) hit: Option<HitView>,
    /// Robot of a better source that is named in its place.
    pub(super) duplicate_of: Option<RobotLinkView>,
}

/// Link to the page of another robot.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct RobotLinkView {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) source: String,
    pub(super) source_title: String,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct PatternView {
    pub(super) kind: &'static str,
    pub(super) text: String,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct HitView {
    pub(super) pattern: String,
    pub(super) browser: String,
}

impl RobotView {
    pub(super) fn new(stored: &StoredRobot, duplicates: &Duplicates<'_>, now_ms: i64) -> Self {
        let robot = &stored.robot;
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
            patterns: robot
                .patterns
                .iter()
                .map(|pattern| PatternView {
                    kind: pattern.kind.as_str(),
                    text: pattern.text.clone(),
                })
                .collect(),
            purpose: robot.purpose.as_str(),
            operator: robot.operator.clone(),
            product_token: token.map(|token| token.as_str().to_owned()),
            product_token_origin: token.map(|token| token.origin()),
            exclusion: robot.exclusion.as_str(),
            host_suffixes: robot.host_suffixes.clone(),
            details_url: robot.details_url.clone().filter(|url| is_web_link(url)),
            ranges_url: robot.ranges_url.clone().filter(|url| is_web_link(url)),
            signature_agents: robot.signature_agents.clone(),
            evidence: robot.evidence.clone(),
            checked: robot.checked.clone(),
            inserted: Moment::new(stored.insertion_ms, now_ms),
            modified: Moment::new(stored.modified_ms, now_ms),
            hit,
            duplicate_of: duplicates
                .winner(robot)
                .map(|other| RobotLinkView::new(other)),
        }
    }

    /// Returns the path of the page about the robot, from the top of the router.
    pub(super) fn link(&self) -> String {
        link(&self.source, &self.id)
    }

    /// Returns the path of the page of its verdicts over time.
    pub(super) fn verdicts_link(&self) -> String {
        verdicts_link(&self.id)
    }

    /// Returns what rules look at.
    pub(super) fn as_asked(&self) -> Robot {
        let mut robot = Robot::new(&self.id, Source::manual());
        robot.operator.clone_from(&self.operator);
        robot.purpose = Purpose::from_word(self.purpose).unwrap_or_default();
        robot
    }

    /// Returns the address of the page that shows what a rule would touch, before it is made.
    pub(super) fn rule_link(&self, action: &str) -> String {
        format!("rules/confirm?action={action}&robot={}", encode(&self.id))
    }

    /// Returns the same for all robots of the operator.
    pub(super) fn operator_rule_link(&self, action: &str) -> String {
        let operator = self.operator.as_deref().unwrap_or_default();
        format!(
            "rules/confirm?action={action}&operator={}",
            encode(operator)
        )
    }

    pub(super) fn is_manual(&self) -> bool {
        self.source == Source::manual().as_str()
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

    /// Returns the path of the page about the robot, from the top of the router.
    pub(super) fn link(&self) -> String {
        link(&self.source, &self.id)
    }
}

/// Returns the path of the page about a robot, from the top of the router.
pub(super) fn link(source: &str, id: &str) -> String {
    match id {
        // Browsers take these for steps up, encoded or not (URL Standard §4.3).
        "." | ".." => format!("robots/{}?id={id}", encode(source)),
        _ => format!("robots/{}/{}", encode(source), encode(id)),
    }
}

/// Returns the path of the page of a robot's verdicts over time.
pub(super) fn verdicts_link(id: &str) -> String {
    format!("verification?robot={}", encode(id))
}

/// Returns `true` if a link is safe in a page: http or https, not `javascript:` or `data:`.
///
/// Registries are written by others, and a click must not run their script.
pub(super) fn is_web_link(url: &str) -> bool {
    let lower = url.get(..8).unwrap_or(url).to_ascii_lowercase();
    (lower.starts_with("http://") || lower.starts_with("https://"))
        && !url.chars().any(|c| c.is_control() || c == ' ')
}

/// Returns the name for people, or the id where there is none.
pub(super) fn shown_name(robot: &Robot) -> String {
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
            format!("its pattern {pattern:?} hits a browser"),
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

    #[test]
    fn any_id_has_a_page() {
        assert_eq!(
            link("web-robots-db", "a/b c"),
            "robots/web-robots-db/a%2Fb%20c"
        );
        assert_eq!(link("manual", ".."), "robots/manual?id=..");
    }
}
