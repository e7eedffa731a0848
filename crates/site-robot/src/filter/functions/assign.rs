//! `assign-source`, `clear-source` and `assign-type-by-extension`.

use std::{borrow::Cow, sync::Arc};

use crate::filter::{MimeTypes, Source, Step, StepOutcome, Work};

use super::{FunctionContext, setup::NoStep};

/// Makes an assignment of a value or of another source.
pub(super) fn source(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    let parameters = &making.parameters;
    let to = parameters.source("dst")?;
    let from = match (parameters.optional("value"), parameters.optional("src")) {
        (Some(value), None) => AssignedValue::Value(value.to_owned()),
        (None, Some(source)) => AssignedValue::Source(Source::named(source)),
        (None, None) => return Err("value= or src= is missing; add one".to_owned()),
        (Some(_), Some(_)) => {
            return Err("value= and src= cannot stand together; leave one out".to_owned());
        }
    };
    Ok(Box::new(Assign { to, from }))
}

/// Removes a source.
pub(super) fn clear(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    Ok(Box::new(Clear(making.parameters.source("src")?)))
}

/// Makes the type of the file name's extension.
pub(super) fn type_by_extension(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    let from = Source::named(making.parameters.optional("src").unwrap_or("path"));
    let Some(types) = making.state.types.as_ref().map(Arc::clone) else {
        making.warn("no types are known: the filter has no Setup fn=setup-type-by-extension that could be read");
        return Box::new(NoStep);
    };
    let to = Source::named("type");
    Box::new(ByExtension { from, to, types })
}

enum AssignedValue {
    Value(String),
    Source(Source),
}

struct Assign {
    to: Source,
    from: AssignedValue,
}

struct Clear(Source);

struct ByExtension {
    from: Source,
    to: Source,
    types: Arc<MimeTypes>,
}

impl Step for Assign {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let resource = &mut *work.resource;
        match &self.from {
            AssignedValue::Value(value) => resource.assign(&self.to, value),
            AssignedValue::Source(from) => match resource.source(from).map(Cow::into_owned) {
                Some(value) => resource.assign(&self.to, value),
                // What stood there before must not pass for the value of a source that has none.
                None => resource.clear(&self.to),
            },
        }
        StepOutcome::Continue
    }
}

impl Step for Clear {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        work.resource.clear(&self.0);
        StepOutcome::Continue
    }
}

impl Step for ByExtension {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let name = work.resource.source(&self.from);
        let found = name.and_then(|name| self.types.of_name(&name));
        if let Some(media_type) = found {
            work.resource.assign(&self.to, media_type);
        }
        StepOutcome::Continue
    }
}
