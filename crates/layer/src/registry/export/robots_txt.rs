//! Export as robots.txt groups.

use std::{
    borrow::Borrow,
    collections::{BTreeMap, HashSet},
};

use super::{exported::Exported, exported::one_line};
use crate::registry::Robot;

/// Writes one group per operator, which excludes all active robots of that operator.
///
/// Robots are identified by their [tokens](Robot::token); robots without a token are left out. RFC
/// 9309 §2.2.1 allows only letters, `_` and `-`. Published tokens with digits, dots, `!` or spaces
/// are written unchanged; tokens with other characters are left out.
#[must_use]
pub fn write_robots_txt<R: Borrow<Robot>>(robots: &[R]) -> Exported {
    let mut exported = Exported::default();
    let mut seen = HashSet::new();
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for robot in exported.active(robots) {
        let robot = robot.borrow();
        match robot.token() {
            Err(reason) => exported.omit(robot, reason.as_str()),
            Ok(token) => {
                let token = token.as_str();
                exported.robots += 1;
                if seen.insert(token.to_ascii_lowercase()) {
                    let operator = robot.operator.as_deref().unwrap_or("No operator known");
                    groups.entry(one_line(operator)).or_default().push(token);
                }
            }
        }
    }
    exported.text = groups
        .iter()
        .map(|(operator, tokens)| group(operator, tokens))
        .collect::<Vec<_>>()
        .join("\n");
    exported
}

fn group(operator: &str, tokens: &[&str]) -> String {
    let mut group = format!("# {operator}\n");
    for token in tokens {
        group.push_str("User-agent: ");
        group.push_str(token);
        group.push('\n');
    }
    group.push_str("Disallow: /\n");
    group
}
