//! What one file holds, and what is to be said about it.

use std::path::Path;

use crate::filter::{
    ClassificationRules, FilterConf, FilterRules, FilterText, Filters, Functions, MimeTypes, Note,
    Site, has_error,
};
use crate::site_robot::{ConfigFiles, RobotConfFile, RobotConfRow};

use super::kind::Kind;

/// What is in a file.
#[derive(Debug)]
pub(super) struct Checked {
    /// None: it is none of those that are known.
    pub(super) kind: Option<Kind>,
    /// What it holds, in words.
    pub(super) summary: String,
    /// Filters of a filter.conf.
    pub(super) filters: Vec<FilterText>,
    /// Keys of a robot.conf.
    pub(super) rows: Vec<RobotConfRow>,
    /// Starting points: URL and depth.
    pub(super) starting_points: Vec<(String, Option<i64>)>,
    pub(super) notes: Vec<Note>,
}

impl Checked {
    /// Reads a file of any kind.
    pub(super) fn of(file: &Path, text: &str) -> Self {
        match Kind::of(file, text) {
            Some(Kind::Filter) => filter(file, text),
            Some(Kind::Robot) => robot(text),
            Some(Kind::FilterRules) => filter_rules(text),
            Some(Kind::Classification) => {
                let rules = ClassificationRules::parse(text);
                let summary = count(rules.len(), "rule");
                Self::new(Kind::Classification, summary, rules.notes())
            }
            Some(Kind::MimeTypes) => {
                let types = MimeTypes::parse(text);
                let summary = count(types.len(), "extension");
                Self::new(Kind::MimeTypes, summary, types.notes())
            }
            None => Self {
                kind: None,
                ..Self::new(Kind::Filter, "unknown file".to_owned(), &[unknown()])
            },
        }
    }

    pub(super) fn is_usable(&self) -> bool {
        !has_error(&self.notes)
    }

    fn new(kind: Kind, summary: String, notes: &[Note]) -> Self {
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

fn filter(file: &Path, text: &str) -> Checked {
    let conf = FilterConf::parse(text);
    let files = ConfigFiles::beside(file);
    let notes = Filters::check(&conf, &Functions::new(), &files);
    let summary = count(conf.filters().len(), "filter");
    Checked {
        filters: conf.filters().to_vec(),
        ..Checked::new(Kind::Filter, summary, &notes)
    }
}

fn robot(text: &str) -> Checked {
    let file = RobotConfFile::parse(text);
    let rows = file.conf().rows();
    let set = rows.iter().filter(|row| !row.is_default).count();
    let seeds = file.conf().seeds.iter();
    let summary = format!("{}, {set} set", count(rows.len(), "key"));
    Checked {
        rows,
        starting_points: seeds.map(|it| (it.url.to_string(), it.depth)).collect(),
        ..Checked::new(Kind::Robot, summary, file.notes())
    }
}

fn filter_rules(text: &str) -> Checked {
    let rules = FilterRules::parse(text);
    let starts = rules.sites().iter().flat_map(Site::starting_points);
    let summary = count(rules.sites().len(), "site");
    Checked {
        starting_points: starts.map(|it| (it.url.to_string(), it.depth)).collect(),
        ..Checked::new(Kind::FilterRules, summary, rules.notes())
    }
}

fn unknown() -> Note {
    let names = "filter.conf, robot.conf, filterrules.conf, classification.conf or mime.types";
    Note::error(1, format!("neither name nor content is of {names}"))
}

/// Returns a number with its word.
pub(super) fn count(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
