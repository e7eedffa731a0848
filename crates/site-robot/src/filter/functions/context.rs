//! What a built-in function is made with: parameters, and what its filter has so far.

use std::sync::Arc;

use robot_detection_store::description::ResourceDescription;

use crate::filter::{
    Directive, Files, FilterRules, MimeTypes, Note, Parameters, Resource, Stage, Step, StepOutcome,
    Work, step::Compiled,
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

/// Step of a directive, or why there is none.
pub(super) type Made = Result<Box<dyn Step>, String>;

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

    /// Makes a directive of its step.
    pub(super) fn compiled(&self, step: Box<dyn Step>, is_counting: bool) -> Compiled {
        Compiled {
            line: self.directive.line(),
            function: self.directive.function().into(),
            step,
            is_counting,
        }
    }
}

/// Media type that a function is restricted to, if it is.
pub(super) struct MediaType(Option<String>);

impl MediaType {
    pub(super) fn of(making: &FunctionContext<'_>) -> Self {
        let named = making.parameters.optional("type");
        Self(named.map(|it| it.trim().to_ascii_lowercase()))
    }

    /// Returns `true` if a resource is of the type.
    pub(super) fn fits(&self, resource: &Resource) -> bool {
        let Some(wanted) = &self.0 else {
            return true;
        };
        resource.media_type().as_ref() == Some(wanted)
    }

    /// Returns `true` unless the name of what a link leads to tells of another type.
    ///
    /// A name without an extension, or with one that is not known, may be anything.
    pub(super) fn may_be_of(&self, link: &str, types: &MimeTypes) -> bool {
        let Some(wanted) = &self.0 else {
            return true;
        };
        types.of_name(link).is_none_or(|known| known == wanted)
    }
}

/// Returns a step that denies a resource with a reason, or lets it pass.
pub(super) fn test(
    run: impl Fn(&mut Work<'_>) -> Result<(), String> + Send + Sync + 'static,
) -> Box<dyn Step> {
    Box::new(Closure(run))
}

/// Returns a step that changes something, and denies nothing.
pub(super) fn change(run: impl Fn(&mut Work<'_>) + Send + Sync + 'static) -> Box<dyn Step> {
    test(move |work| {
        run(work);
        Ok(())
    })
}

/// Returns a step that adds to the description of a resource.
pub(super) fn describe(
    run: impl Fn(&Resource, &mut ResourceDescription) + Send + Sync + 'static,
) -> Box<dyn Step> {
    change(move |work| {
        if let Some(description) = work.description.as_deref_mut() {
            run(work.resource, description);
        }
    })
}

/// Returns a step that does nothing: all was done when the filter was made.
pub(super) fn nothing() -> Box<dyn Step> {
    change(|_| {})
}

struct Closure<F>(F);

impl<F: Fn(&mut Work<'_>) -> Result<(), String> + Send + Sync> Step for Closure<F> {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        match (self.0)(work) {
            Ok(()) => StepOutcome::Continue,
            Err(reason) => StepOutcome::Deny(reason),
        }
    }
}
