//! Context for building a function's step: the parameters and the state of the filter.

use std::sync::Arc;

use robot_detection_store::description::ResourceDescription;

use crate::filter::{
    Directive, Files, FilterRules, MimeTypes, Note, Parameters, Resource, Stage, Step, StepOutcome,
    Work, step::CompiledDirective,
};

/// Log level of a filter's rules (`logtype` in `filterrules-setup`).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LogType {
    /// Logs denials only.
    Terse,
    /// Logs denials and generated descriptions.
    #[default]
    Normal,
    /// Logs every decision.
    Verbose,
}

/// Action to take if a file that a directive references does not exist.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
// If a file is missing, bundled filters do nothing, checks report a warning, and runs fail.
pub(in crate::filter) enum Missing {
    Fails,
    Warns,
    Ignored,
}

/// State that a filter's directives share with the directives that follow them.
#[derive(Default)]
pub(in crate::filter) struct FilterState {
    pub(super) rules: Option<Arc<FilterRules>>,
    pub(super) types: Option<Arc<MimeTypes>>,
    pub(in crate::filter) log_type: LogType,
    pub(super) has_md5: bool,
    /// Functions that are allowed only once per filter, with the lines on which they occur.
    pub(super) once: Vec<(&'static str, usize)>,
    /// Tests that must be deferred until after retrieval.
    pub(in crate::filter) deferred: Vec<CompiledDirective>,
}

/// Context of the directive that is being compiled.
pub(in crate::filter) struct FunctionContext<'a> {
    pub(super) directive: &'a Directive,
    pub(super) parameters: Parameters,
    pub(super) stage: Stage,
    pub(super) state: &'a mut FilterState,
    files: &'a dyn Files,
    missing: Missing,
    notes: Vec<Note>,
}

/// The step of a directive, or an error message.
pub(super) type StepResult = Result<Box<dyn Step>, String>;

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

    /// Reads a referenced file; returns `None` if the file is optional and missing.
    pub(super) fn read(&mut self, path: &str) -> Result<Option<String>, String> {
        let text = self.files.read(path)?;
        if text.is_none() {
            let missing = format!("file {path:?} does not exist");
            match self.missing {
                Missing::Fails => return Err(format!("{missing}; create it or correct the path")),
                Missing::Warns => self.warn(missing),
                Missing::Ignored => {}
            }
        }
        Ok(text)
    }

    /// Creates a compiled directive from a step.
    pub(super) fn compiled(&self, step: Box<dyn Step>, is_counting: bool) -> CompiledDirective {
        CompiledDirective {
            line: self.directive.line(),
            function: self.directive.function().into(),
            step,
            is_counting,
        }
    }
}

/// Optional restriction of a function to a single media type.
pub(super) struct MediaType(Option<String>);

impl MediaType {
    pub(super) fn from_parameters(making: &FunctionContext<'_>) -> Self {
        let named = making.parameters.optional("type");
        Self(named.map(|it| it.trim().to_ascii_lowercase()))
    }

    /// Returns `true` if a resource has the required media type.
    pub(super) fn matches(&self, resource: &Resource) -> bool {
        let Some(wanted) = &self.0 else {
            return true;
        };
        resource.media_type().as_ref() == Some(wanted)
    }

    /// Returns `true` unless a link's file name extension indicates a different type.
    ///
    /// Names without a known extension may have any type.
    pub(super) fn may_be_of(&self, link: &str, types: &MimeTypes) -> bool {
        let Some(wanted) = &self.0 else {
            return true;
        };
        types.for_name(link).is_none_or(|known| known == wanted)
    }
}

/// Returns a step that either denies a resource with a reason or lets it pass.
pub(super) fn test_step(
    run: impl Fn(&mut Work<'_>) -> Result<(), String> + Send + Sync + 'static,
) -> Box<dyn Step> {
    Box::new(Closure(run))
}

/// Returns a step that changes the resource and never denies it.
pub(super) fn change_step(run: impl Fn(&mut Work<'_>) + Send + Sync + 'static) -> Box<dyn Step> {
    test_step(move |work| {
        run(work);
        Ok(())
    })
}

/// Returns a step that adds to the description of a resource.
pub(super) fn describe_step(
    run: impl Fn(&Resource, &mut ResourceDescription) + Send + Sync + 'static,
) -> Box<dyn Step> {
    change_step(move |work| {
        if let Some(description) = work.description.as_deref_mut() {
            run(work.resource, description);
        }
    })
}

/// Returns a step that has no effect, for functions that are evaluated at compile time.
pub(super) fn no_op_step() -> Box<dyn Step> {
    change_step(|_| {})
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
