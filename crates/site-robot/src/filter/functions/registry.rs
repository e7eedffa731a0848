//! Registry of the functions that directives can use.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::filter::{Function, Stage, step::CompiledDirective, unknown_word};

use super::{
    assigning,
    context::{FunctionContext, StepResult, no_op_step},
    enumerate, extraction, filtering,
};

/// Functions available to directives, both built-in and custom.
#[derive(Clone, Default)]
pub struct Functions {
    own: BTreeMap<String, Arc<dyn Function>>,
}

impl Functions {
    /// Creates a registry of the built-in filter functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a function, replacing any function with the same name, including built-in functions.
    ///
    /// See [`Function`] for an example.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, function: impl Function + 'static) -> Self {
        self.own.insert(name.into(), Arc::new(function));
        self
    }

    /// Returns the names of all filter functions, sorted.
    pub fn names(&self) -> Vec<&str> {
        let built_in = BUILT_IN.iter().map(|it| it.name);
        let mut names: Vec<_> = built_in
            .chain(self.own.keys().map(String::as_str))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Compiles a filter directive.
    pub(in crate::filter) fn compile(
        &self,
        making: &mut FunctionContext<'_>,
    ) -> Result<CompiledDirective, String> {
        let name = making.directive.function();
        let (step, is_counting) = if let Some(own) = self.own.get(name) {
            may_stand(name, own.stages(), making.stage)?;
            (own.step(&making.parameters, making.stage)?, false)
        } else if let Some(built_in) = BUILT_IN.iter().find(|it| it.name == name) {
            may_stand(name, built_in.stages, making.stage)?;
            check_once(built_in, making)?;
            ((built_in.make)(making)?, built_in.is_counting)
        } else {
            return Err(unknown_word("function", name, self.names()));
        };
        // All known parameters were queried while the step was being built, so any others are
        // unknown.
        for (line, text) in making.parameters.unknown() {
            making.error(line, format!("{name}: {text}"));
        }
        Ok(making.compiled(step, is_counting))
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

fn may_stand(name: &str, stages: &[Stage], stage: Stage) -> Result<(), String> {
    if stages.contains(&stage) {
        return Ok(());
    }
    let names: Vec<_> = stages.iter().map(|stage| stage.as_str()).collect();
    let names = names.join(", ");
    Err(format!(
        "{name} is not allowed at {stage}; use it at {names}"
    ))
}

fn check_once(built_in: &BuiltIn, making: &mut FunctionContext<'_>) -> Result<(), String> {
    let name = built_in.name;
    if !built_in.is_once {
        return Ok(());
    }
    if let Some((_, line)) = making.state.once.iter().find(|(known, _)| *known == name) {
        return Err(format!(
            "{name} may be used only once per filter; it is already used on line {line}"
        ));
    }
    making.state.once.push((name, making.directive.line()));
    Ok(())
}

/// A built-in filter function.
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    pub(super) stages: &'static [Stage],
    /// Whether the function may be used only once per filter.
    is_once: bool,
    /// Whether the function counts resources.
    is_counting: bool,
    make: Constructor,
}

type Constructor = fn(&mut FunctionContext<'_>) -> StepResult;

use Stage::{Data, Enumerate, Generate, MetaData, Setup, Shutdown};

const TESTED: &[Stage] = &[MetaData, Data];
const RETRIEVED: &[Stage] = &[Data, Enumerate, Generate];
const ANY_RESOURCE: &[Stage] = &[MetaData, Data, Enumerate, Generate];

const fn at(stages: &'static [Stage], name: &'static str, make: Constructor) -> BuiltIn {
    BuiltIn {
        name,
        stages,
        is_once: false,
        is_counting: false,
        make,
    }
}

const fn once(stages: &'static [Stage], name: &'static str, make: Constructor) -> BuiltIn {
    BuiltIn {
        is_once: true,
        is_counting: true,
        ..at(stages, name, make)
    }
}

/// The thirty functions in Sun's reference, in the same order.
pub(super) const BUILT_IN: [BuiltIn; 30] = [
    at(&[Setup], "filterrules-setup", filtering::setup_rules),
    at(&[Setup], "setup-regex-cache", assigning::regex_cache),
    at(&[Setup], "setup-type-by-extension", assigning::setup_types),
    at(TESTED, "filter-by-exact", filtering::exact),
    once(TESTED, "filter-by-max", filtering::max),
    once(RETRIEVED, "filter-by-md5", |making| {
        Ok(filtering::md5(making))
    }),
    at(TESTED, "filter-by-prefix", filtering::prefix),
    at(TESTED, "filter-by-regex", filtering::regex),
    at(TESTED, "filterrules-process", |making| {
        Ok(filtering::process_rules(making))
    }),
    at(ANY_RESOURCE, "assign-source", assigning::source),
    at(ANY_RESOURCE, "assign-type-by-extension", |making| {
        Ok(assigning::type_by_extension(making))
    }),
    at(ANY_RESOURCE, "clear-source", assigning::clear),
    at(RETRIEVED, "convert-to-html", assigning::convert),
    at(&[Generate], "copy-attribute", extraction::copy),
    at(ANY_RESOURCE, "generate-by-exact", assigning::by_exact),
    at(ANY_RESOURCE, "generate-by-prefix", assigning::by_prefix),
    at(ANY_RESOURCE, "generate-by-regex", assigning::by_regex),
    at(RETRIEVED, "generate-md5", |making| {
        Ok(assigning::md5(making))
    }),
    at(RETRIEVED, "generate-rd-expires", |making| {
        Ok(assigning::expires(making))
    }),
    at(RETRIEVED, "generate-rd-last-modified", |making| {
        Ok(assigning::last_modified(making))
    }),
    at(&[Generate], "rename-attribute", extraction::rename),
    at(&[Enumerate], "enumerate-urls", enumerate::urls),
    at(
        &[Enumerate],
        "enumerate-urls-from-text",
        enumerate::urls_from_text,
    ),
    at(&[Generate], "extract-full-text", extraction::full_text),
    at(&[Generate], "extract-html-meta", extraction::meta),
    at(&[Generate], "extract-html-text", extraction::first_text),
    at(&[Generate], "extract-html-toc", extraction::headings),
    at(&[Generate], "extract-source", extraction::source),
    at(&[Generate], "harvest-summarizer", extraction::harvest),
    at(&[Shutdown], "filterrules-shutdown", |_| Ok(no_op_step())),
];
