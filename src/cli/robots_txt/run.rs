//! Runs a `robots-txt` command.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::{
    RobotsTxtCommand,
    args::{CheckArgs, FmtArgs, LintArgs},
    eval,
    preferences::preferences,
};
use crate::cli::output::WrongUsage;
use crate::cli::{Cli, context, input, output};
use crate::registry::{Robot, bundled};
use crate::robots_file;
use crate::robots_txt::{Dialect, Naming, Permission, RobotRules, RobotsTxt, Warning, WarningKind};

pub(in crate::cli) fn run(cli: &Cli, command: &RobotsTxtCommand) -> anyhow::Result<ExitCode> {
    match command {
        RobotsTxtCommand::Check(args) => check(args),
        RobotsTxtCommand::Lint(args) => lint(cli, args),
        RobotsTxtCommand::Fmt(args) => fmt(args),
        RobotsTxtCommand::Preferences(args) => preferences(args),
        RobotsTxtCommand::Eval => eval::run(),
    }
}

/// The maximum size of a robots.txt file, which is far more than any robot reads.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Returns the name of a file to show in messages; `None` means standard input.
fn name(file: Option<&Path>) -> String {
    input::name(or_standard_input(file))
}

/// Reads a robots.txt file; `None` means standard input.
pub(super) fn read(file: Option<&Path>) -> Result<Vec<u8>, WrongUsage> {
    input::read(
        or_standard_input(file),
        MAX_BYTES,
        "is larger than 16 MiB, but robots read only 500 KiB; is the file a robots.txt?",
    )
}

fn or_standard_input(file: Option<&Path>) -> &Path {
    file.unwrap_or(Path::new("-"))
}

fn lint(cli: &Cli, args: &LintArgs) -> anyhow::Result<ExitCode> {
    let file = args.file.as_deref();
    let bytes = read(file)?;
    let warnings = warnings(cli, &RobotsTxt::parse(&bytes, args.dialect));
    if args.json {
        output::json(&warnings.iter().map(warning_json).collect::<Vec<_>>())?;
    } else {
        let name = name(file);
        for Warning {
            line, kind, text, ..
        } in &warnings
        {
            output::line(&format!("{name}:{line}: {kind}: {}", output::clean(text)))?;
        }
    }
    if warnings.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

fn fmt(args: &FmtArgs) -> anyhow::Result<ExitCode> {
    let file = RobotsTxt::parse(&read(args.file.as_deref())?, args.dialect);
    let text = if args.inherit {
        file.inherited()
    } else {
        file.to_string().into_bytes()
    };
    if std::io::stdout().is_terminal() {
        let text = String::from_utf8_lossy(&text);
        text.lines()
            .try_for_each(|line| output::line(&output::clean(line)))?;
    } else {
        std::io::stdout().lock().write_all(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the warnings about a file, except warnings about the names of robots in the registry.
fn warnings(cli: &Cli, file: &RobotsTxt) -> Vec<Warning> {
    let warnings = file.warnings();
    // Only warnings about names need the registry; other files are checked without a database.
    let is_name = |warning: &Warning| warning.kind == WarningKind::BadAgent;
    if !warnings.iter().any(is_name) {
        return warnings;
    }
    // A file can be checked even if the configuration is missing or invalid.
    let robots = robots(cli).unwrap_or_else(|_| bundled().robots);
    robots_file::lint(file, &robots)
}

/// Returns the robots in the database, or the bundled robots.
fn robots(cli: &Cli) -> anyhow::Result<Vec<Robot>> {
    let loaded = context::load(cli)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(context::robots(&loaded))
}

fn warning_json(warning: &Warning) -> Value {
    json!({
        "line": warning.line,
        "kind": warning.kind.as_str(),
        "text": warning.text,
    })
}

fn check(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let bytes = read(args.file.as_deref())?;
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

/// Returns the rules for a robot; extracts the robot's name if the dialect compares whole names.
fn robot(file: &RobotsTxt, user_agent: &str) -> RobotRules {
    if is_header(user_agent, file.dialect()) {
        file.for_header(user_agent)
    } else {
        file.for_robot(user_agent)
    }
}

fn is_header(user_agent: &str, dialect: &Dialect) -> bool {
    // Other dialects search the User-Agent for the name of the group.
    matches!(dialect.names, Naming::Equal | Naming::TokenPrefix)
        && user_agent.contains(['/', ' ', '(', ';'])
}

fn text(url: &str, permission: Option<&Permission<'_>>) -> String {
    let Some(permission) = permission else {
        return format!("unknown  {url}  the robots.txt file belongs to another site");
    };
    let word = if permission.allowed() {
        "allowed"
    } else {
        "refused"
    };
    let reason = match (permission.rule(), permission.group_line()) {
        (Some(rule), _) if rule.is_implied() => "a Host line specifies another site".to_owned(),
        (Some(rule), _) => format!("line {}: {rule}", rule.line()),
        (None, Some(_)) => "no rule matches".to_owned(),
        (None, None) => "no group applies to the robot".to_owned(),
    };
    let group = match permission.group_line() {
        Some(line) if permission.is_fallback() => {
            format!(" (group at line {line}, for all robots)")
        }
        Some(line) => format!(" (group at line {line}, for this robot)"),
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
