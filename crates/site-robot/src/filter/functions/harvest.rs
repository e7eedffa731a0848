//! `harvest-summarizer`.

use crate::filter::{CommandLine, Step, StepOutcome, Work};

use super::{FunctionContext, soif};

/// Runs a summarizer and adds what it says to the description.
pub(super) fn make(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    let program = making.parameters.required("summarizer")?;
    if program.chars().any(char::is_control) {
        return Err(format!("summarizer={program:?} is no name of a program"));
    }
    Ok(Box::new(Harvest(CommandLine::new(program))))
}

struct Harvest(CommandLine);

impl Step for Harvest {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let Some(description) = work.description.as_deref_mut() else {
            return StepOutcome::Continue;
        };
        match work.commands.run(&self.0, work.resource.body()) {
            Ok(output) => {
                for (name, value) in soif::attributes(&output) {
                    description.set(&name, value);
                }
            }
            Err(error) => {
                let program = &self.0.program;
                let trouble = format!("summarizer {program:?} failed: {error}");
                work.resource.note_trouble(trouble);
            }
        }
        StepOutcome::Continue
    }

    fn waits(&self) -> bool {
        true
    }
}
