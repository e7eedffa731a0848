//! `filterrules-setup`, `filterrules-process` and `filterrules-shutdown`.

use std::sync::Arc;

use crate::filter::{
    FileErrors, FilterRules, LogType, RuleVerdict, Step, StepOutcome, Work, unknown,
};

use super::{FunctionContext, setup::NoStep};

/// Reads the rules that the filter follows.
pub(super) fn setup(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    let log_type = making.parameters.optional("logtype");
    making.state.log_type = log_type.map_or(Ok(LogType::default()), read_log_type)?;
    let path = making.parameters.required("config")?.to_owned();
    if let Some(text) = making.read(&path)? {
        let rules = FilterRules::parse(&text);
        FileErrors::check(&path, rules.notes()).map_err(|error| error.to_string())?;
        making.state.rules = Some(Arc::new(rules));
    } else {
        making.state.rules.get_or_insert_default();
    }
    Ok(Box::new(NoStep))
}

/// Makes the test of the rules.
pub(super) fn process(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    let Some(rules) = making.state.rules.as_ref().map(Arc::clone) else {
        making.warn("no rules to process: the filter has no Setup fn=filterrules-setup");
        return Box::new(NoStep);
    };
    Box::new(Process(rules))
}

/// Gives back what the rules use, which is nothing.
pub(super) fn shutdown(_making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    Box::new(NoStep)
}

struct Process(Arc<FilterRules>);

impl Step for Process {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        match self.0.verdict(work.resource) {
            RuleVerdict::Included => StepOutcome::Continue,
            RuleVerdict::Excluded(reason) => StepOutcome::Deny(reason),
        }
    }
}

fn read_log_type(name: &str) -> Result<LogType, String> {
    match name {
        "verbose" => Ok(LogType::Verbose),
        "normal" => Ok(LogType::Normal),
        "terse" => Ok(LogType::Terse),
        _ => Err(unknown("logtype", name, ["verbose", "normal", "terse"])),
    }
}
