//! `robots-txt lint`: warnings, a line each.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::output;
use crate::robots_txt::{RobotsTxt, Warning};

use super::{args::LintArgs, input};

pub(super) fn run(args: &LintArgs) -> anyhow::Result<ExitCode> {
    let file = args.file.as_deref();
    let bytes = input::read(file)?;
    let warnings = RobotsTxt::parse(&bytes, args.dialect).warnings();
    if args.json {
        output::json(&warnings.iter().map(object).collect())?;
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

fn object(warning: &Warning) -> Value {
    json!({
        "line": warning.line,
        "kind": warning.kind.as_str(),
        "text": warning.text,
    })
}
