//! `setup-regex-cache` and `setup-type-by-extension`.

use std::sync::Arc;

use crate::filter::{MimeTypes, Outcome, Step, Work};

use super::Making;

/// Does nothing for a resource: all was done when the filter was made.
pub(super) struct Done;

impl Step for Done {
    fn run(&self, _work: &mut Work<'_>) -> Outcome {
        Outcome::Continue
    }
}

/// Reads the size, which changes nothing: patterns are compiled once, with their filter.
pub(super) fn regex_cache(making: &mut Making<'_>) -> Result<Box<dyn Step>, String> {
    making.parameters.number("cache-size")?;
    Ok(Box::new(Done))
}

/// Reads the file of types.
pub(super) fn type_by_extension(making: &mut Making<'_>) -> Result<Box<dyn Step>, String> {
    let path = making.parameters.required("file")?.to_owned();
    if let Some(text) = making.read(&path)? {
        let types = MimeTypes::parse(&text);
        if let Some(note) = types.notes().first() {
            making.warn(format!("{path:?}, {note}"));
        }
        making.state.types = Some(Arc::new(types));
    }
    Ok(Box::new(Done))
}
