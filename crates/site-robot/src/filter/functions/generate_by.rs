//! `generate-by-exact`, `generate-by-prefix` and `generate-by-regex`.

use crate::filter::{Source, Step, StepOutcome, Work, pattern::Pattern};

use super::FunctionContext;

/// Makes a value where a source equals another one.
pub(super) fn exact(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    make(making, |text| Ok(Pattern::exact(text)))
}

/// Makes a value where a source begins with another one.
pub(super) fn prefix(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    make(making, |text| Ok(Pattern::prefix(text)))
}

/// Makes a value where a source matches a regular expression.
pub(super) fn regex(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    make(making, Pattern::regex)
}

struct GenerateBy {
    source: Source,
    pattern: Pattern,
    to: Source,
    value: String,
}

fn make(
    making: &mut FunctionContext<'_>,
    pattern: impl Fn(&str) -> Result<Pattern, String>,
) -> Result<Box<dyn Step>, String> {
    let parameters = &making.parameters;
    Ok(Box::new(GenerateBy {
        source: parameters.source("src")?,
        pattern: pattern(parameters.required("match")?)?,
        to: parameters.source("dst")?,
        value: parameters.required("value")?.to_owned(),
    }))
}

impl Step for GenerateBy {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        if self.pattern.matches(work.resource, &self.source) {
            work.resource.assign(&self.to, self.value.as_str());
            // At `Generate` a destination is an attribute as well (chapter 44).
            if let Some(description) = work.description.as_deref_mut() {
                description.set(self.to.name(), self.value.as_str());
            }
        }
        StepOutcome::Continue
    }
}
