//! Detects the kind of a configuration file by name or content.

use std::path::Path;
use std::process::ExitCode;

use super::args::FmtArgs;
use crate::cli::output::{WrongUsage, write_file};
use crate::cli::{input, output};
use crate::filter::{
    ClassificationRules, FilterConf, FilterRules, Note, Severity, Stage, has_error,
};
use crate::site_robot::{RobotConfFile, RobotKey};

/// The kind of a configuration file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FileKind {
    Filter,
    Robot,
    FilterRules,
    Classification,
    MimeTypes,
}

impl FileKind {
    const ALL: [Self; 5] = [
        Self::Filter,
        Self::Robot,
        Self::FilterRules,
        Self::Classification,
        Self::MimeTypes,
    ];

    /// Returns the usual name of this kind of file.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter.conf",
            Self::Robot => "robot.conf",
            Self::FilterRules => "filterrules.conf",
            Self::Classification => "classification.conf",
            Self::MimeTypes => "mime.types",
        }
    }

    /// Detects the kind of a file by its name, or otherwise by its first characteristic line.
    pub(super) fn detect(file: &Path, text: &str) -> Option<Self> {
        let name = file.file_name().map(|name| name.to_string_lossy());
        let by_name = |kind: &Self| name.as_deref() == Some(kind.as_str());
        let by_line = || text.lines().find_map(|line| of_line(line.trim()));
        Self::ALL.into_iter().find(by_name).or_else(by_line)
    }
}

fn of_line(line: &str) -> Option<FileKind> {
    if line.starts_with('#') {
        return None;
    }
    let end = line.find(|c: char| c.is_whitespace() || c == '=' || c == '>');
    let (word, rest) = line.split_at(end.unwrap_or(line.len()));
    let is = |known: &str| word.eq_ignore_ascii_case(known);
    if is("<filter") || Stage::from_name(word).is_some() {
        Some(FileKind::Filter)
    } else if ["<site", "<newsites", "<rules"].into_iter().any(is) {
        Some(FileKind::FilterRules)
    } else if is("class") || is("<classes") {
        Some(FileKind::Classification)
    // mime.types has `text/html html` in Apache's format and `type=text/html` in Sun's.
    } else if is("type") || (!rest.starts_with('=') && word.split('/').count() == 2) {
        Some(FileKind::MimeTypes)
    } else if rest.trim_start().starts_with('=') && (is("seed") || RobotKey::find(word).is_some()) {
        Some(FileKind::Robot)
    } else {
        None
    }
}

pub(super) use crate::cli::input::{is_standard_input, name};

/// The maximum size of a configuration file, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Reads a configuration file or standard input as UTF-8.
pub(super) fn read(file: &Path) -> Result<String, WrongUsage> {
    let bytes = input::read(file, MAX_BYTES, "is larger than 4 MiB")?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let name = name(file);
        WrongUsage(format!(
            "{name} is not valid UTF-8 at byte {at}; convert the file with iconv"
        ))
    })
}

pub(super) fn format(args: &FmtArgs) -> anyhow::Result<ExitCode> {
    let text = read(&args.file)?;
    let (normal, notes) = normal(&args.file, &text)?;
    // Rewriting a file with errors could lose the parts that could not be parsed.
    if has_error(&notes) {
        let name = name(&args.file);
        for note in notes.iter().filter(|it| it.severity == Severity::Error) {
            output::note(&format!(
                "{name}:{}: {}",
                note.line,
                output::clean(&note.text)
            ));
        }
        output::note(&format!("error: {name} has errors and was not changed"));
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
    } else if is_standard_input(&args.file) {
        return Err(WrongUsage("--write requires a file, not standard input".to_owned()).into());
    } else if normal != text {
        write_file(&args.file, &normal)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the formatted text, and the parser's notes.
fn normal(file: &Path, text: &str) -> Result<(String, Vec<Note>), WrongUsage> {
    match FileKind::detect(file, text) {
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
            let name = name(file);
            let names = "filter.conf, robot.conf, filterrules.conf or classification.conf";
            Err(WrongUsage(format!(
                "{name} is not {names} and cannot be formatted"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_kind_is_detected_by_name_or_content() {
        for (name, text, kind) in [
            ("config/filter.conf", "", Some(FileKind::Filter)),
            ("mime.types", "", Some(FileKind::MimeTypes)),
            ("a", "# x\n\n<Filter name=a>", Some(FileKind::Filter)),
            ("a", "metadata fn=x", Some(FileKind::Filter)),
            ("a", "what=1\ndepth = 10", Some(FileKind::Robot)),
            ("a", "<NewSites>", Some(FileKind::FilterRules)),
            ("a", "Class name=x", Some(FileKind::Classification)),
            ("a", "text/html html", Some(FileKind::MimeTypes)),
            ("a", "type=text/html exts=htm", Some(FileKind::MimeTypes)),
            ("a", "", None),
            ("a", "User-agent: *", None),
        ] {
            assert_eq!(
                FileKind::detect(Path::new(name), text),
                kind,
                "{name} {text}"
            );
        }
    }
}
