//! What the enforcer says of what it finds.

use crate::policy::{PassReason, RefusedFor, decision::quoted};
use robot_detection_robots_txt::{Permission, RobotsTxt};

use super::{
    answer::{Answer, Breach},
    settings::{Enforce, Enforcement},
};

pub(super) fn rule_text(permission: &Permission<'_>) -> String {
    match permission.rule() {
        Some(rule) if rule.is_implied() => format!("{rule} (implied by Host)"),
        Some(rule) => rule.to_string(),
        None => String::new(),
    }
}

/// Returns the names of the group that begins on a line.
pub(super) fn group_name(file: &RobotsTxt, line: usize) -> String {
    let group = file.groups().find(|group| group.line == line);
    group
        .map(|group| group.agents.join(", "))
        .unwrap_or_default()
}

pub(super) fn exempt(reason: PassReason) -> &'static str {
    match reason {
        PassReason::Allowed => {
            "The robot is one of those that always pass, so that it is not asked."
        }
        PassReason::Heaven => "The path is part of robot heaven, so that it is not asked.",
        _ => "The path is one that is never refused, so that it is not asked.",
    }
}

/// Returns the sentence for what a file says.
pub(super) fn told(file: &RobotsTxt, permission: &Permission<'_>, read_as: Option<&str>) -> String {
    let Some(group_line) = permission.group_line() else {
        return "No group is about the robot, so that it is allowed.".to_owned();
    };
    let group = quoted(group_name(file, group_line).as_bytes());
    let group = format!("the group of line {group_line}, {group}");
    let Some(rule) = permission.rule() else {
        return format!("No rule matches in {group}, so that it is allowed.");
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
        "Line {}, {text}, {allows} it{read_as}, in {group}.",
        rule.line()
    )
}

/// Returns the sentence for a robot that the site refuses although the file lets it in.
pub(super) fn refused(reason: RefusedFor) -> String {
    match reason {
        RefusedFor::Purpose(purpose) => format!(
            "The site refuses all robots of the purpose {purpose}, whatever the file calls them."
        ),
        RefusedFor::Itself => "The site refuses the robot, whatever the file calls it.".to_owned(),
    }
}

/// Returns the sentence for a robot that the site refuses everything.
pub(super) fn refused_heaven(breach: &Breach) -> String {
    format!("Robot heaven is no exception, as {breach}.")
}

/// Returns the sentence for what is done about a breach.
pub(super) fn said(answer: Answer, settings: Enforcement) -> String {
    match answer {
        Answer::Pass if settings.rules == Enforce::On => {
            "It passes and is counted: robots_txt.refusal is pass.".to_owned()
        }
        Answer::Pass => "It passes and is counted: robots_txt.enforce is report.".to_owned(),
        Answer::Redirect => "The robot is redirected to robot heaven.".to_owned(),
        answer => format!("The answer is {answer}."),
    }
}
