//! A writer for the flat file format.

use std::fmt::Write as _;

use super::{
    fields::holds_field,
    robot::{patterns_of, product_token},
};
use crate::registry::{
    Exclusion, Pattern, Purpose, Robot, Status,
    text::{decode_entities, tidy},
};

/// Writes robots in the schema of the Web Robots Database, including the additional fields.
///
/// Parsing the output with the same source yields the same robots, except that quarantined robots
/// become active. Patterns that do not result from the User-Agent are written individually.
#[must_use]
pub fn write_flat_file<'a>(robots: impl IntoIterator<Item = &'a Robot>) -> String {
    let mut file = String::new();
    for robot in robots {
        if !file.is_empty() {
            file.push('\n');
        }
        write_robot(robot, &mut file);
    }
    file
}

fn write_robot(robot: &Robot, file: &mut String) {
    let mut field = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(file, "robot-{name}: {}", protect(value));
    };
    field("id", &robot.id);
    field("name", &robot.name);
    if let Some(url) = &robot.details_url {
        field("details-url", url);
    }
    if !robot.useragent.is_empty() {
        field("useragent", &robot.useragent);
    }
    if robot.exclusion != Exclusion::Unknown {
        field("exclusion", robot.exclusion.as_str());
    }
    if let Some(token) = &robot.product_token {
        field("exclusion-useragent", token);
    }
    if robot.purpose != Purpose::Unknown {
        field("purpose", robot.purpose.as_str());
    }
    if !robot.evidence.is_empty() {
        field("evidence", &robot.evidence.join(", "));
    }
    if let Some(operator) = &robot.operator {
        field("operator", operator);
    }
    if !robot.host_suffixes.is_empty() {
        field("host", &robot.host_suffixes.join(", "));
    }
    if let Some(url) = &robot.ranges_url {
        field("ranges-url", url);
    }
    if !robot.signature_agents.is_empty() {
        field("signature-agent", &robot.signature_agents.join(", "));
    }
    if robot.has_partial_proofs {
        field("proofs", "partial");
    }
    if let Some(day) = &robot.checked {
        field("checked", day);
    }
    write_patterns(robot, file);
}

/// Writes patterns and a status that do not result from the User-Agent and the product token.
fn write_patterns(robot: &Robot, file: &mut String) {
    let token = robot.product_token.as_deref().and_then(product_token);
    let derived = patterns_of(&robot.useragent, token.as_deref().unwrap_or_default());
    match (&robot.status, derived) {
        (Status::Unusable { reason }, derived) => {
            if derived.map_err(|error| error.to_string()).as_ref() != Err(reason) {
                let _ = writeln!(file, "robot-unusable: {}", protect(reason));
            }
        }
        (Status::Active | Status::Quarantined { .. }, Ok(derived)) if derived == robot.patterns => {
        }
        (Status::Active | Status::Quarantined { .. }, _) => {
            for (number, pattern) in (1_usize..).zip(&robot.patterns) {
                write_pattern(number, pattern, file);
            }
        }
    }
}

fn write_pattern(number: usize, pattern: &Pattern, file: &mut String) {
    let number = if number == 1 {
        String::new()
    } else {
        number.to_string()
    };
    let kind = pattern.kind.as_str();
    let _ = writeln!(
        file,
        "robot-pattern{number}: {kind} {}",
        protect_verbatim(&pattern.text)
    );
}

/// Escapes a value so that it is read back unchanged.
fn protect(value: &str) -> String {
    protect_verbatim(&tidy(value))
}

/// Escapes a value, preserving its spaces; control characters are removed.
fn protect_verbatim(value: &str) -> String {
    let mut text: String = value.chars().filter(|c| !c.is_control()).collect();
    if decode_entities(&text) != text {
        text = text.replace('&', "&amp;");
    }
    if holds_field(&text) {
        for robot in ["robot-", "Robot-", "ROBOT-"] {
            text = text.replace(robot, &robot.replace('-', "&#45;"));
        }
    }
    // If the word is in mixed case, its spelling is preserved and the colon is escaped instead.
    if holds_field(&text) {
        text = text.replace(':', "&#58;");
    }
    // The parser would remove a trailing space.
    if let Some(blank) = text.chars().next_back().filter(|c| c.is_whitespace()) {
        text.pop();
        let _ = write!(text, "&#{};", u32::from(blank));
    }
    text
}

#[cfg(test)]
mod tests;
