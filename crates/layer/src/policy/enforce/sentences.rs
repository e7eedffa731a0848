//! Sentences for the enforcer's explanations.

use crate::policy::{PassReason, RefusalReason, decision::quoted};
use robot_detection_robots_txt::{Permission, RobotsTxt};

use super::{
    answer::{Answer, Breach},
    settings::{Enforcement, EnforcementMode},
};

pub(super) fn rule_text(permission: &Permission<'_>) -> String {
    match permission.rule() {
        Some(rule) if rule.is_implied() => format!("{rule} (implied by Host)"),
        Some(rule) => rule.to_string(),
        None => String::new(),
    }
}

/// Returns the user agents of the group that begins at the given line.
pub(super) fn group_name(file: &RobotsTxt, line: usize) -> String {
    let group = file.groups().find(|group| group.line == line);
    group
        .map(|group| group.agents.join(", "))
        .unwrap_or_default()
}

pub(super) fn exempt(reason: PassReason) -> &'static str {
    match reason {
        PassReason::Allowed => {
            "The robot is configured to always pass, so robots.txt is not checked."
        }
        PassReason::Heaven => "The path belongs to robot heaven, so robots.txt is not checked.",
        _ => "The path is never refused, so robots.txt is not checked.",
    }
}

/// Describes whether the rules of a file allow a path.
pub(super) fn describe(
    file: &RobotsTxt,
    permission: &Permission<'_>,
    read_as: Option<&str>,
) -> String {
    let Some(group_line) = permission.group_line() else {
        return "No group in robots.txt applies to the robot, so the path is allowed.".to_owned();
    };
    let group = quoted(group_name(file, group_line).as_bytes());
    let group = format!("the group at line {group_line}, {group}");
    let Some(rule) = permission.rule() else {
        return format!("No rule in {group}, matches, so the path is allowed.");
    };
    let allows = if permission.allowed() {
        "allows"
    } else {
        "disallows"
    };
    let text = quoted(rule_text(permission).as_bytes());
    let read_as = read_as.map_or_else(String::new, |path| {
        format!(", read as {}", quoted(path.as_bytes()))
    });
    format!(
        "Line {}, {text}, {allows} the path{read_as}, in {group}.",
        rule.line()
    )
}

/// Describes why the site refuses a robot although the file allows the path.
pub(super) fn describe_refusal(reason: RefusalReason) -> String {
    match reason {
        RefusalReason::Purpose(purpose) => format!(
            "The site refuses all robots with the purpose {purpose}, regardless of robots.txt."
        ),
        RefusalReason::Itself => "The site refuses the robot, regardless of robots.txt.".to_owned(),
    }
}

/// Describes why robot heaven is refused for a robot that the site refuses completely.
pub(super) fn describe_heaven_refusal(breach: &Breach) -> String {
    format!("Robot heaven is refused too: {breach}.")
}

/// Describes the response to a violation.
pub(super) fn describe_response(breach: &Breach, answer: Answer, settings: Enforcement) -> String {
    match answer {
        Answer::Pass if breach.mode(settings) == EnforcementMode::On => {
            "The request passes and is counted, because robots_txt.refusal is pass.".to_owned()
        }
        Answer::Pass => {
            let key = match breach {
                Breach::Disallowed {
                    is_about_usage: true,
                    ..
                } => "enforce_usage",
                _ => "enforce",
            };
            format!("The request passes and is counted, because robots_txt.{key} is report.")
        }
        Answer::Redirect => "The robot is redirected to robot heaven.".to_owned(),
        answer => format!("The response is {answer}."),
    }
}
