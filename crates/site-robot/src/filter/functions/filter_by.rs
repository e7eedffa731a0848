//! `filter-by-exact`, `filter-by-prefix` and `filter-by-regex`.

use crate::filter::{
    Source, Stage, Step, StepOutcome, Work,
    pattern::{Pattern, shown},
    quoted,
};

use super::{FunctionContext, registry::compiled};

/// Makes a test for a whole value.
pub(super) fn exact(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    make(making, "equals", |text| Ok(Pattern::exact(text)))
}

/// Makes a test for the beginning of a value.
pub(super) fn prefix(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    make(making, "begins with", |text| Ok(Pattern::prefix(text)))
}

/// Makes a test for a regular expression.
pub(super) fn regex(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    make(making, "matches", Pattern::regex)
}

/// Test of one source: `deny` denies what matches, `allow` what does not.
#[derive(Clone)]
struct Test {
    source: Source,
    pattern: Pattern,
    written: String,
    verb: &'static str,
    is_allow: bool,
    /// A source that is not there yet denies nothing.
    waits: bool,
}

fn make(
    making: &mut FunctionContext<'_>,
    verb: &'static str,
    pattern: impl Fn(&str) -> Result<Pattern, String>,
) -> Result<Box<dyn Step>, String> {
    let source = making.parameters.source("src")?;
    let allow = making.parameters.optional("allow");
    let (written, is_allow) = match (allow, making.parameters.optional("deny")) {
        (Some(allow), None) => (allow, true),
        (None, Some(deny)) => (deny, false),
        (None, None) => return Err("allow= or deny= is missing; add one".to_owned()),
        (Some(_), Some(_)) => {
            return Err("allow= and deny= cannot stand together; write two directives".to_owned());
        }
    };
    let test = Test {
        pattern: pattern(written)?,
        written: written.to_owned(),
        source,
        verb,
        is_allow,
        waits: false,
    };
    Ok(Box::new(defer(making, test)))
}

/// What is known only after retrieval is tested then, and before it only where it was assigned.
fn defer(making: &mut FunctionContext<'_>, test: Test) -> Test {
    if making.stage != Stage::MetaData || test.source.is_metadata() {
        return test;
    }
    let source = test.source.name();
    making.warn(format!(
        "{} is known only after retrieval unless it is assigned before: tested again at Data",
        quoted(source)
    ));
    let again = compiled(making, Box::new(test.clone()), false);
    making.state.deferred.push(again);
    Test {
        waits: true,
        ..test
    }
}

impl Step for Test {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let resource = &*work.resource;
        if self.waits && resource.source(&self.source).is_none() {
            return StepOutcome::Continue;
        }
        if self.pattern.matches(resource, &self.source) == self.is_allow {
            return StepOutcome::Continue;
        }
        let value = shown(resource, &self.source);
        let (verb, written) = (self.verb, quoted(&self.written));
        StepOutcome::Deny(if self.is_allow {
            format!("{value}, allowed is only what {verb} {written}")
        } else {
            format!("{value} {verb} {written}")
        })
    }
}
