//! `robots-txt lint`: warnings, a line each.

use std::{collections::HashSet, process::ExitCode};

use serde_json::{Value, json};

use crate::cli::{Cli, context, output};
use crate::registry::{Robot, bundled};
use crate::robots_txt::{RobotsTxt, Warning, WarningKind};

use super::{args::LintArgs, input};

pub(super) fn run(cli: &Cli, args: &LintArgs) -> anyhow::Result<ExitCode> {
    let file = args.file.as_deref();
    let bytes = input::read(file)?;
    let warnings = warnings(cli, &RobotsTxt::parse(&bytes, args.dialect));
    if args.json {
        output::json(&warnings.iter().map(object).collect::<Vec<_>>())?;
    } else {
        let name = input::name(file);
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

/// Returns the warnings but those about names that robots of the registry use.
fn warnings(cli: &Cli, file: &RobotsTxt) -> Vec<Warning> {
    let warnings = file.warnings();
    // Only warnings about names need the registry: other files are linted without a database.
    let is_name = |warning: &Warning| warning.kind == WarningKind::BadAgent;
    if !warnings.iter().any(is_name) {
        return warnings;
    }
    // A file can be linted where there is no configuration, or one that is wrong.
    let robots = robots(cli).unwrap_or_else(|_| bundled().robots);
    let tokens = robots
        .iter()
        .filter_map(|robot| Some(robot.token().ok()?.as_str()));
    let tokens: HashSet<String> = tokens.map(str::to_ascii_lowercase).collect();
    file.warnings_but_for(|name| tokens.contains(&name.to_ascii_lowercase()))
}

/// Returns the robots of the database, else the bundled ones.
fn robots(cli: &Cli) -> anyhow::Result<Vec<Robot>> {
    let loaded = context::load(cli)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(context::robots(&loaded))
}

fn object(warning: &Warning) -> Value {
    json!({
        "line": warning.line,
        "kind": warning.kind.as_str(),
        "text": warning.text,
    })
}
