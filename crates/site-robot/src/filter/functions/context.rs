//! What a built-in function is made with: parameters, and what its filter has so far.

use std::sync::Arc;

use crate::filter::{
    Directive, Files, FilterRules, MimeTypes, Note, Parameters, Stage, filter::Compiled,
};

/// How much the rules of a filter log (`logtype` of `filterrules-setup`).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LogType {
    /// Denials only.
    Terse,
    /// Denials and what is generated.
    #[default]
    Normal,
    /// Every decision.
    Verbose,
}

/// What a missing file is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
// Filters that ship do without the file, a check warns of it, and a run is refused.
pub(in crate::filter) enum Missing {
    Fails,
    Warns,
    Ignored,
}

/// What the directives of one filter make for those after them.
#[derive(Default)]
pub(in crate::filter) struct FilterState {
    pub(super) rules: Option<Arc<FilterRules>>,
    pub(super) types: Option<Arc<MimeTypes>>,
    pub(in crate::filter) log_type: LogType,
    pub(super) has_md5: bool,
    /// Functions that stand once in a filter, with their lines.
    pub(super) once: Vec<(&'static str, usize)>,
    /// Tests that the stage `MetaData` cannot make yet.
    pub(in crate::filter) deferred: Vec<Compiled>,
}

/// One directive in the making.
pub(in crate::filter) struct FunctionContext<'a> {
    pub(super) directive: &'a Directive,
    pub(super) parameters: Parameters,
    pub(super) stage: Stage,
    pub(super) state: &'a mut FilterState,
    files: &'a dyn Files,
    missing: Missing,
    notes: Vec<Note>,
}

impl<'a> FunctionContext<'a> {
    pub(in crate::filter) fn new(
        directive: &'a Directive,
        files: &'a dyn Files,
        missing: Missing,
        state: &'a mut FilterState,
    ) -> Self {
        Self {
            directive,
            parameters: Parameters::new(&directive.pairs),
            stage: directive.stage,
            state,
            files,
            missing,
            notes: Vec::new(),
        }
    }

    pub(in crate::filter) fn into_notes(self) -> Vec<Note> {
        self.notes
    }

    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.notes.push(Note::warning(self.directive.line, text));
    }

    pub(super) fn error(&mut self, line: usize, text: impl Into<String>) {
        self.notes.push(Note::error(line, text));
    }

    /// Returns the text of a file that a parameter names; none where it may be missing.
    pub(super) fn read(&mut self, path: &str) -> Result<Option<String>, String> {
        let text = self.files.read(path)?;
        if text.is_none() {
            let missing = format!("file {path:?} is not there");
            match self.missing {
                Missing::Fails => return Err(format!("{missing}; write it or correct the path")),
                Missing::Warns => self.warn(missing),
                Missing::Ignored => {}
            }
        }
        Ok(text)
    }
}
