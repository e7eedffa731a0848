//! Export to the `crawler-user-agents.json` format.

use std::borrow::Borrow;

use serde::Serialize;

use super::{exported::Exported, exported::one_line, expression::spelled_out};
use crate::registry::{
    Pattern, PatternKind, Purpose, Robot, import::published::cua_tag, pattern::MAX_BYTES,
};

#[derive(Serialize)]
struct Entry {
    pattern: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    tags: Vec<&'static str>,
    description: String,
    /// An array required by the format; empty because a registry contains names instead of
    /// User-Agents.
    instances: [String; 0],
}

/// Writes the active robots as a list in the format of crawler-user-agents.
///
/// Each robot becomes one entry, with its patterns as alternatives in one expression without flags,
/// which all regular expression engines can read. When the list is read back, a robot's ID is
/// `cua:` followed by the slug of its first name, which becomes its name; its details, purpose and
/// matches are unchanged; its original ID, operator, product token, exclusion, hosts and ranges are
/// lost. Expressions imported from such lists are written unchanged.
#[must_use]
pub fn write_crawler_user_agents<R: Borrow<Robot>>(robots: &[R]) -> Exported {
    let mut exported = Exported::default();
    let mut entries = Vec::new();
    for robot in exported.active(robots) {
        let robot = robot.borrow();
        let said: Vec<String> = robot.patterns.iter().filter_map(expression).collect();
        if said.len() < robot.patterns.len() {
            exported.omit(robot, "with an expression that other programs cannot read");
        }
        exported.robots += usize::from(!said.is_empty());
        entries.extend(branches(said).into_iter().map(|text| entry(robot, text)));
    }
    exported.text = serde_json::to_string_pretty(&entries).unwrap_or_default() + "\n";
    exported
}

fn entry(robot: &Robot, pattern: String) -> Entry {
    let description = match &robot.operator {
        Some(operator) => format!("{}, operated by {operator}", robot.name),
        None => robot.name.clone(),
    };
    Entry {
        pattern,
        url: robot.details_url.as_deref().map(one_line),
        tags: (robot.purpose != Purpose::Unknown)
            .then(|| cua_tag(robot.purpose))
            .into_iter()
            .collect(),
        description: one_line(&description),
        instances: [],
    }
}

/// Returns a pattern as an expression without flags; an expression that has no flags is unchanged.
fn expression(pattern: &Pattern) -> Option<String> {
    let has_flags = |text: &str| {
        let groups = text.match_indices("(?").map(|(at, _)| text.get(at + 2..));
        // Of the groups that begin with `(?`, all engines support only non-capturing groups.
        groups.flatten().any(|rest| !rest.starts_with(':'))
    };
    let is_fine = |text: &str| !has_flags(text) && !text.contains(char::is_control);
    let text = if pattern.kind == PatternKind::Regex && is_fine(&pattern.text) {
        pattern.text.clone()
    } else {
        spelled_out(pattern)?
    };
    (text.len() <= MAX_BYTES).then_some(text)
}

/// Joins expressions into one expression, or into several if one expression would be too long.
fn branches(said: Vec<String>) -> Vec<String> {
    if said.len() < 2 {
        return said;
    }
    let joined = format!("(?:{})", said.join("|"));
    if joined.len() <= MAX_BYTES {
        vec![joined]
    } else {
        said
    }
}
