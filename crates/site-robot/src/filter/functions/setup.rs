//! `setup-regex-cache` and `setup-type-by-extension`.

use std::sync::Arc;

use crate::filter::{MimeTypes, Step, StepOutcome, Work};

use super::FunctionContext;

/// Does nothing for a resource: all was done when the filter was made.
pub(super) struct NoStep;

impl Step for NoStep {
    fn run(&self, _work: &mut Work<'_>) -> StepOutcome {
        StepOutcome::Continue
    }
}

/// Reads the size, which changes nothing: patterns are compiled once, with their filter.
pub(super) fn regex_cache(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    making.parameters.number("cache-size")?;
    Ok(Box::new(NoStep))
}

/// Reads the file of types.
pub(super) fn type_by_extension(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    let path = making.parameters.required("file")?.to_owned();
    if let Some(text) = making.read(&path)? {
        let types = MimeTypes::parse(&text);
        if let Some(note) = types.notes().first() {
            making.warn(format!("{path:?}, {note}"));
        }
        making.state.types = Some(Arc::new(types));
    }
    Ok(Box::new(NoStep))
}
