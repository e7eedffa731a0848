//! `extract-source`.

use crate::filter::{Source, Step, StepOutcome, Work, quoted};

use super::FunctionContext;

/// Makes attributes of sources.
pub(super) fn make(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    let mappings = mappings(making.parameters.required("src")?)?;
    let sources = mappings.into_iter();
    let sources = sources.map(|it| (Source::named(&it.from), it.to));
    Ok(Box::new(ExtractSource(sources.collect())))
}

/// One name made another: `a->b`; without an arrow both are the same.
pub(super) struct Mapping {
    pub(super) from: String,
    pub(super) to: String,
}

/// Reads names with commas between them.
pub(super) fn mappings(list: &str) -> Result<Vec<Mapping>, String> {
    let names = list
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let mapping = |name: &str| {
        let (from, to) = name.split_once("->").unwrap_or((name, name));
        let (from, to) = (from.trim().to_owned(), to.trim().to_owned());
        if from.is_empty() || to.is_empty() || to.contains("->") {
            return Err(format!(
                "{} in src= is no name and no \"old->new\"",
                quoted(name)
            ));
        }
        Ok(Mapping { from, to })
    };
    let mappings = names.map(mapping).collect::<Result<Vec<_>, _>>()?;
    if mappings.is_empty() {
        return Err("src= names no source".to_owned());
    }
    Ok(mappings)
}

struct ExtractSource(Vec<(Source, String)>);

impl Step for ExtractSource {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        if let Some(description) = work.description.as_deref_mut() {
            for (source, name) in &self.0 {
                if let Some(value) = work.resource.source(source) {
                    description.set(name, value);
                }
            }
        }
        StepOutcome::Continue
    }
}
