//! `site-robot fmt`: the normal form of a file.

use std::{path::Path, process::ExitCode};

use crate::cli::{file::write_file, output, usage::WrongUsage};
use crate::filter::{ClassificationRules, FilterConf, FilterRules, Note, Severity, has_error};
use crate::site_robot::RobotConfFile;

use super::{args::FmtArgs, file_kind::FileKind, input};

pub(super) fn run(args: &FmtArgs) -> anyhow::Result<ExitCode> {
    let text = input::read(&args.file)?;
    let (normal, notes) = normal(&args.file, &text)?;
    // Writing a file that was not understood as a whole could lose what was not.
    if has_error(&notes) {
        let name = input::name(&args.file);
        for note in notes.iter().filter(|it| it.severity == Severity::Error) {
            output::note(&format!(
                "{name}:{}: {}",
                note.line,
                output::clean(&note.text)
            ));
        }
        output::note(&format!("error: {name} has errors and is left as it is"));
        return Ok(ExitCode::FAILURE);
    }
    if args.check {
        let is_normal = normal == text;
        return Ok(if is_normal {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    if !args.write {
        output::line(normal.trim_end_matches('\n'))?;
    } else if input::is_standard_input(&args.file) {
        return Err(WrongUsage("--write needs a file, not standard input".to_owned()).into());
    } else if normal != text {
        write_file(&args.file, &normal)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the normal form, and the notes of the parser.
fn normal(file: &Path, text: &str) -> Result<(String, Vec<Note>), WrongUsage> {
    match FileKind::of(file, text) {
        Some(FileKind::Filter) => {
            let conf = FilterConf::parse(text);
            Ok((conf.to_string(), conf.notes().to_vec()))
        }
        Some(FileKind::Robot) => {
            let conf = RobotConfFile::parse(text);
            Ok((conf.to_string(), conf.notes().to_vec()))
        }
        Some(FileKind::FilterRules) => {
            let rules = FilterRules::parse(text);
            Ok((rules.to_string(), rules.notes().to_vec()))
        }
        Some(FileKind::Classification) => {
            let rules = ClassificationRules::parse(text);
            Ok((rules.to_string(), rules.notes().to_vec()))
        }
        Some(FileKind::MimeTypes) | None => {
            let name = input::name(file);
            let names = "filter.conf, robot.conf, filterrules.conf or classification.conf";
            Err(WrongUsage(format!(
                "{name} is not {names}: it has no normal form"
            )))
        }
    }
}
