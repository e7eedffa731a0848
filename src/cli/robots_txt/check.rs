//! `robots-txt check`: whether URLs may be fetched, with the line that decided.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::output;
use crate::robots_txt::{Dialect, ForRobot, Naming, Permission, RobotsTxt};

use super::{args::CheckArgs, input};

pub(super) fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let bytes = input::read(args.file.as_deref())?;
    let file = match &args.robots_url {
        Some(url) => RobotsTxt::parse_from(url, &bytes, args.dialect),
        None => RobotsTxt::parse(&bytes, args.dialect),
    };
    let robot = robot(&file, &args.user_agent);
    let answers: Vec<_> = args
        .urls
        .iter()
        .map(|url| (url.as_str(), file.covers(url).then(|| robot.check(url))))
        .collect();
    if args.json {
        let answers = answers
            .iter()
            .map(|(url, permission)| object(url, permission.as_ref()));
        output::json(&answers.collect::<Vec<_>>())?;
    } else {
        for (url, permission) in &answers {
            output::line(&output::clean(&text(url, permission.as_ref())))?;
        }
    }
    let is_allowed =
        |permission: &Option<Permission<'_>>| permission.is_some_and(|it| it.allowed());
    if answers.iter().all(|(_, permission)| is_allowed(permission)) {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

/// Where names are compared as a whole, the name is looked for in a header.
fn robot(file: &RobotsTxt, user_agent: &str) -> ForRobot {
    if is_header(user_agent, file.dialect()) {
        file.for_header(user_agent)
    } else {
        file.for_robot(user_agent)
    }
}

fn is_header(user_agent: &str, dialect: &Dialect) -> bool {
    // The other dialects look for the group's name in whatever the robot sends.
    matches!(dialect.names, Naming::Equal | Naming::TokenPrefix)
        && user_agent.contains(['/', ' ', '(', ';'])
}

fn text(url: &str, permission: Option<&Permission<'_>>) -> String {
    let Some(permission) = permission else {
        return format!("unknown  {url}  the file is about another site");
    };
    let word = if permission.allowed() {
        "allowed"
    } else {
        "refused"
    };
    let reason = match (permission.rule(), permission.group_line()) {
        (Some(rule), _) if rule.is_implied() => "a Host line names another site".to_owned(),
        (Some(rule), _) => format!("line {}: {rule}", rule.line()),
        (None, Some(_)) => "no rule matches".to_owned(),
        (None, None) => "no group is about the robot".to_owned(),
    };
    let group = match permission.group_line() {
        Some(line) if permission.is_fallback() => {
            format!(" (group of line {line}, for all robots)")
        }
        Some(line) => format!(" (group of line {line}, for this robot)"),
        None => String::new(),
    };
    format!("{word}  {url}  {reason}{group}")
}

fn object(url: &str, permission: Option<&Permission<'_>>) -> Value {
    let rule = permission.and_then(Permission::rule).map(|rule| {
        json!({
            "line": rule.line(),
            "allow": rule.is_allow(),
            "path": String::from_utf8_lossy(rule.path()),
            "implied": rule.is_implied(),
        })
    });
    json!({
        "url": url,
        "allowed": permission.map(Permission::allowed),
        "rule": rule,
        "group_line": permission.and_then(Permission::group_line),
        "fallback": permission.is_some_and(Permission::is_fallback),
    })
}
