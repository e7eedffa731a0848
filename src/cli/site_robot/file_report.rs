//! Reports the contents and errors of a configuration file.

use std::path::Path;

use crate::assembly::unused_keys;
use crate::filter::{
    ClassificationRules, FilterConf, FilterRules, FilterText, Filters, Functions, MimeTypes, Note,
    Site, has_error,
};
use crate::site_robot::{ConfigFiles, RobotConfFile, RobotConfRow};

use super::file_kind::FileKind;

/// A report about the contents and errors of a configuration file.
#[derive(Debug)]
pub(super) struct FileReport {
    /// The kind of the configuration file; `None` if unknown.
    pub(super) kind: Option<FileKind>,
    /// A summary of the file's contents, in words.
    pub(super) summary: String,
    /// Filters in a filter.conf file.
    pub(super) filters: Vec<FilterText>,
    /// Keys in a robot.conf file.
    pub(super) rows: Vec<RobotConfRow>,
    /// Starting points in the file, each with its URL and depth.
    pub(super) starting_points: Vec<(String, Option<i64>)>,
    pub(super) notes: Vec<Note>,
}

impl FileReport {
    /// Creates the report about a file of any kind.
    pub(super) fn read(file: &Path, text: &str) -> Self {
        match FileKind::detect(file, text) {
            Some(FileKind::Filter) => filter(file, text),
            Some(FileKind::Robot) => robot(text),
            Some(FileKind::FilterRules) => filter_rules(text),
            Some(FileKind::Classification) => {
                let rules = ClassificationRules::parse(text);
                let summary = count(rules.len(), "rule");
                Self::new(FileKind::Classification, summary, rules.notes())
            }
            Some(FileKind::MimeTypes) => {
                let types = MimeTypes::parse(text);
                let summary = count(types.len(), "extension");
                Self::new(FileKind::MimeTypes, summary, types.notes())
            }
            None => Self {
                kind: None,
                ..Self::new(FileKind::Filter, "unknown file".to_owned(), &[unknown()])
            },
        }
    }

    pub(super) fn is_usable(&self) -> bool {
        !has_error(&self.notes)
    }

    fn new(kind: FileKind, summary: String, notes: &[Note]) -> Self {
        Self {
            kind: Some(kind),
            summary,
            filters: Vec::new(),
            rows: Vec::new(),
            starting_points: Vec::new(),
            notes: notes.to_vec(),
        }
    }
}

fn filter(file: &Path, text: &str) -> FileReport {
    let conf = FilterConf::parse(text);
    let files = ConfigFiles::beside(file);
    let notes = Filters::check(&conf, &Functions::new(), &files);
    let summary = count(conf.filters().len(), "filter");
    FileReport {
        filters: conf.filters().to_vec(),
        ..FileReport::new(FileKind::Filter, summary, &notes)
    }
}

fn robot(text: &str) -> FileReport {
    let file = RobotConfFile::parse(text);
    let rows = file.conf().rows();
    let set = rows.iter().filter(|row| !row.is_default).count();
    let seeds = file.conf().seeds.iter();
    let unused = unused_keys(file.conf()).map(|(key, reason)| {
        // An administrator who sets a command port without a login must not assume that the port
        // works.
        let line = file.line_of(key).unwrap_or(1);
        Note::error(line, format!("{key} is not used: {reason}"))
    });
    let notes: Vec<_> = file.notes().iter().cloned().chain(unused).collect();
    let summary = format!("{}, {set} set", count(rows.len(), "key"));
    FileReport {
        rows,
        starting_points: seeds.map(|it| (it.url.to_string(), it.depth)).collect(),
        ..FileReport::new(FileKind::Robot, summary, &notes)
    }
}

fn filter_rules(text: &str) -> FileReport {
    let rules = FilterRules::parse(text);
    let starts = rules.sites().iter().flat_map(Site::starting_points);
    let summary = count(rules.sites().len(), "site");
    FileReport {
        starting_points: starts.map(|it| (it.url.to_string(), it.depth)).collect(),
        ..FileReport::new(FileKind::FilterRules, summary, rules.notes())
    }
}

fn unknown() -> Note {
    let names = "filter.conf, robot.conf, filterrules.conf, classification.conf or mime.types";
    Note::error(
        1,
        format!("neither the name nor the content matches {names}"),
    )
}

/// Returns a count followed by its noun, in the plural if necessary.
pub(super) fn count(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
