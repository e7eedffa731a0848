//! Export to the `bots.yml` format of Matomo's device detector.

use std::{borrow::Borrow, fmt::Write as _};

use super::{
    exported::{Exported, one_line},
    expression::{BEHIND_TOKEN, Expression},
};
use crate::registry::{
    Pattern, PatternKind, Purpose, Robot,
    import::published::{matomo_category, matomo_inner},
    pattern::MAX_BYTES,
};

/// Maximum number of bytes that the import prepends to an expression.
const MAX_BOUNDARY_BYTES: usize = 100;

/// Writes the active robots as a list in the format of Matomo's device detector.
///
/// The format implies a prefix before each expression: the match is case-insensitive and must not
/// follow a letter, digit, `-` or `_`, so names after such characters are lost. When the list is
/// read back, a robot's ID is `matomo:` followed by the slug of its name, and its name, details,
/// operator and purpose are unchanged; product token, exclusion, hosts and ranges are lost.
/// Expressions imported from such lists are written unchanged.
#[must_use]
pub fn write_matomo<R: Borrow<Robot>>(robots: &[R]) -> Exported {
    let mut exported = Exported::default();
    let mut text = String::new();
    for robot in exported.active(robots) {
        let robot = robot.borrow();
        let said: Vec<String> = robot.patterns.iter().filter_map(expression).collect();
        let joined = said.join("|");
        let fits = joined.len() + MAX_BOUNDARY_BYTES <= MAX_BYTES;
        if said.len() < robot.patterns.len() || !fits {
            exported.omit(robot, "with an expression that other programs cannot read");
        }
        if !said.is_empty() && fits {
            exported.robots += 1;
            write_robot(robot, &joined, &mut text);
        }
    }
    exported.text = text;
    exported
}

fn write_robot(robot: &Robot, regex: &str, text: &mut String) {
    let mut field = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}: {}", scalar(value));
    };
    field("- regex", regex);
    field("  name", &one_line(&robot.name));
    if robot.purpose != Purpose::Unknown {
        field("  category", matomo_category(robot.purpose));
    }
    let url = robot.details_url.as_deref().map(one_line);
    field("  url", &url.unwrap_or_default());
    if let Some(operator) = &robot.operator {
        text.push_str("  producer:\n");
        let _ = writeln!(
            text,
            "    name: {}\n    url: ''",
            scalar(&one_line(operator))
        );
    }
    text.push('\n');
}

/// Returns a pattern as an expression for the list, without the implied prefix.
fn expression(pattern: &Pattern) -> Option<String> {
    if let Some(inner) = matomo_inner(pattern) {
        return Some(inner.to_owned());
    }
    if pattern.kind == PatternKind::Token {
        let token = Expression::literal("", pattern.text.as_bytes(), BEHIND_TOKEN, true);
        return Some(token.as_str().to_owned());
    }
    let expression = Expression::from_pattern(pattern)?;
    Some(if expression.is_caseless() {
        expression.as_str().to_owned()
    } else {
        format!("(?-i:{})", expression.as_str())
    })
}

/// Returns a value in quotation marks on one line.
fn scalar(value: &str) -> String {
    if value.chars().all(|c| matches!(c, ' '..='~')) {
        // YAML 1.2 §7.3.2: in single quotation marks, only such marks are escaped, by doubling.
        return format!("'{}'", value.replace('\'', "''"));
    }
    let mut scalar = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => scalar.extend(['\\', c]),
            ' '..='~' => scalar.push(c),
            c => {
                let _ = write!(scalar, "\\U{:08X}", u32::from(c));
            }
        }
    }
    scalar.push('"');
    scalar
}
