//! Writes groups of a robots.txt.

use std::{
    borrow::Borrow,
    collections::{BTreeMap, HashSet},
};

use super::{exported::Exported, text::one_line};
use crate::registry::Robot;

/// Bytes of the longest product token.
const MAX_TOKEN_BYTES: usize = 100;

/// Writes a group for each operator that shuts its active robots out.
///
/// Robots are named by their product tokens, those without one left out. RFC
/// 9309 §2.2.1 knows letters, `_` and `-` only; tokens that operators publish
/// with digits, dots, `!` or blanks are written as they are, others left out.
#[must_use]
pub fn write_robots_txt<R: Borrow<Robot>>(robots: &[R]) -> Exported {
    let mut exported = Exported::default();
    let mut seen = HashSet::new();
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for robot in exported.active(robots) {
        let robot = robot.borrow();
        match robot.product_token.as_deref() {
            None => exported.leave_out(robot, "without a product token"),
            Some(token) if !is_product_token(token) => {
                exported.leave_out(robot, "with a product token of odd characters");
            }
            Some(token) => {
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

/// Tells whether a token names robots and nothing else; `*` would name everybody.
fn is_product_token(token: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || " _-.!".contains(c);
    token.len() <= MAX_TOKEN_BYTES
        && token.starts_with(|c: char| c.is_ascii_alphanumeric())
        && token.chars().all(is_inside)
        && !token.ends_with(' ')
}
