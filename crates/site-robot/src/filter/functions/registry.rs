//! The functions that directives may name.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::filter::{Function, Stage, Step, filter::Compiled, unknown};

use super::{
    FunctionContext,
    table::{BUILT_IN, BuiltIn},
};

/// Functions that directives may name: the built-in ones, and one's own.
#[derive(Clone, Default)]
pub struct Functions {
    own: BTreeMap<String, Arc<dyn Function>>,
}

impl Functions {
    /// Returns the built-in functions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a function; one of the same name is replaced, a built-in one too.
    ///
    /// See [`Function`] for an example.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, function: impl Function + 'static) -> Self {
        self.own.insert(name.into(), Arc::new(function));
        self
    }

    /// Returns all names, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let built_in = BUILT_IN.iter().map(|it| it.name);
        let mut names: Vec<_> = built_in
            .chain(self.own.keys().map(String::as_str))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Makes what a directive says.
    pub(in crate::filter) fn make(
        &self,
        making: &mut FunctionContext<'_>,
    ) -> Result<Compiled, String> {
        let name = making.directive.function();
        let (step, is_counting) = if let Some(own) = self.own.get(name) {
            may_stand(name, own.stages(), making.stage)?;
            (own.step(&making.parameters, making.stage)?, false)
        } else if let Some(built_in) = BUILT_IN.iter().find(|it| it.name == name) {
            may_stand(name, built_in.stages, making.stage)?;
            once(built_in, making)?;
            ((built_in.make)(making)?, built_in.is_counting)
        } else {
            return Err(unknown("function", name, self.names()));
        };
        // Only now is it known which parameters the function has asked for.
        for (line, text) in making.parameters.unknown() {
            making.error(line, format!("{name}: {text}"));
        }
        Ok(compiled(making, step, is_counting))
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Makes a directive of its step.
pub(super) fn compiled(
    making: &FunctionContext<'_>,
    step: Box<dyn Step>,
    is_counting: bool,
) -> Compiled {
    Compiled {
        line: making.directive.line(),
        function: making.directive.function().into(),
        step,
        is_counting,
    }
}

fn may_stand(name: &str, stages: &[Stage], stage: Stage) -> Result<(), String> {
    if stages.contains(&stage) {
        return Ok(());
    }
    let names: Vec<_> = stages.iter().map(|stage| stage.as_str()).collect();
    let names = names.join(", ");
    Err(format!(
        "{name} cannot stand at {stage}; it stands at {names}"
    ))
}

fn once(built_in: &BuiltIn, making: &mut FunctionContext<'_>) -> Result<(), String> {
    let name = built_in.name;
    if !built_in.is_once {
        return Ok(());
    }
    if let Some((_, line)) = making.state.once.iter().find(|(known, _)| *known == name) {
        return Err(format!(
            "{name} may stand once in a filter; it stands at line {line} too"
        ));
    }
    making.state.once.push((name, making.directive.line()));
    Ok(())
}
