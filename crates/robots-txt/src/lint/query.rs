//! Rules for a query parameter that match only one of the parameter's positions.

use crate::{RobotsTxt, Rule, written::Path};

use super::{
    WarningKind,
    inherit::{MAX_OCTETS, spend},
    warnings::{Warnings, quote},
};

/// Adds a warning for each `Disallow` that matches a parameter only at the start of a query, or
/// only after another parameter.
pub(super) fn query_positions(file: &RobotsTxt, warnings: &mut Warnings) {
    if !file.dialect().wildcards {
        return;
    }
    let mut left = MAX_OCTETS / file.as_bytes().len().max(1);
    for group in file.groups() {
        let mut robot = None;
        for rule in group.rules.iter().filter(|rule| !rule.is_allow()) {
            let Some(other) = OtherPosition::of(rule.path()) else {
                continue;
            };
            let Some(name) = group.agents.first().filter(|_| spend(&mut left, 1)) else {
                break;
            };
            let robot = robot.get_or_insert_with(|| file.for_robot(name));
            let permission = robot.check(&other.example);
            // An `Allow` line for the other position is a decision of the site.
            let is_open = permission.rule().as_ref().is_none_or(Rule::is_root);
            if permission.allowed() && is_open {
                warnings.add(rule.line(), WarningKind::QueryPosition, || {
                    other.warning(rule)
                });
            }
        }
    }
}

/// The spelling of a path for the position of a parameter that a rule does not match.
struct OtherPosition<'p> {
    parameter: &'p str,
    path: String,
    /// A path with a query that only this spelling matches.
    example: String,
    is_first: bool,
}

impl<'p> OtherPosition<'p> {
    /// Returns the other position for a path such as `/*?name=` or `/*&name=`.
    fn of(path: &'p [u8]) -> Option<Self> {
        let path = str::from_utf8(path).ok()?;
        let mark = path.rfind(['?', '&'])?;
        let (before, rest) = path.split_at_checked(mark)?;
        let is_first = rest.starts_with('&');
        let rest = rest.get(1..)?;
        let name = rest.split(['=', '*', '$']).next()?;
        // A path with a fixed query, such as `/*title=*&diff=`, states where the parameter is.
        let is_pinned = before.contains(['=', '&']) || before.trim_end_matches("?*").contains('?');
        // The start of a short name, such as `?v*`, can mean many names.
        let is_vague = name.len() < 3 && !rest.contains('=');
        if is_pinned || is_vague || !name.contains(|c: char| c.is_ascii_alphanumeric()) {
            return None;
        }
        // `/*?*&name=` matches the parameter only after another one, as does `/*&name=`.
        let before = before.strip_suffix("*?*").or(before.strip_suffix('*'))?;
        let (mark, first) = if is_first { ("?", "?") } else { ("&", "?0=0&") };
        let value = rest.replace('*', "0").replace('$', "");
        let slash = if path.starts_with('/') { "" } else { "/" };
        Some(Self {
            parameter: name,
            path: format!("{before}*{mark}{rest}"),
            example: format!("{slash}{}{first}{value}", before.replace('*', "0")),
            is_first,
        })
    }

    fn warning(&self, rule: &Rule<'_>) -> String {
        let (name, other) = (quote(self.parameter.as_bytes()), Path(self.path.as_bytes()));
        let position = if self.is_first {
            "at the start of a query"
        } else {
            "after another parameter"
        };
        format!(
            "the rule does not match the parameter {name} {position}, as in {}; both lines are needed: {} and {}",
            quote(self.example.as_bytes()),
            quote(rule.to_string().as_bytes()),
            quote(format!("Disallow: {other}").as_bytes()),
        )
    }
}
