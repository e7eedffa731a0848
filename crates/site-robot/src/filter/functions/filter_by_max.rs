//! `filter-by-max`.

use crate::filter::{Stage, Step, StepOutcome, Work, unknown};

use super::{FunctionContext, registry::compiled, setup::NoStep};

/// Makes a test of a number; that of bytes waits for the stage `Data`.
pub(super) fn make(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
    let source = making.parameters.source("src")?;
    making.parameters.required("value")?;
    let max = making.parameters.number("value")?.unwrap_or_default();
    let names = ["hosts", "objects", "depth", "content-length"];
    let step: Box<dyn Step> = match source.name() {
        "hosts" => Box::new(Hosts(max)),
        "objects" => Box::new(Objects(max)),
        "depth" => Box::new(Depth(max)),
        // Not among the three that the reference lists, but in its example, in units of 1024 bytes.
        "content-length" => return Ok(length(making, max)),
        other => return Err(unknown("source for filter-by-max", other, names)),
    };
    Ok(step)
}

fn length(making: &mut FunctionContext<'_>, max: u64) -> Box<dyn Step> {
    if making.stage != Stage::MetaData {
        return Box::new(Length(max));
    }
    making.warn("content-length is known only after retrieval: tested at Data");
    let later = compiled(making, Box::new(Length(max)), false);
    making.state.deferred.push(later);
    Box::new(NoStep)
}

struct Hosts(u64);
struct Objects(u64);
struct Depth(u64);
struct Length(u64);

impl Step for Hosts {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let host = work.resource.host_and_port();
        let is_in = work.run.count_host(host, self.0);
        outcome(is_in, || {
            format!("host {host:?} comes after {} others", self.0)
        })
    }
}

impl Step for Objects {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let is_in = work.run.count_object(self.0);
        outcome(is_in, || format!("{} objects came before it", self.0))
    }
}

impl Step for Depth {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let depth = work.resource.depth();
        let is_in = u64::from(depth) <= self.0;
        outcome(is_in, || format!("depth {depth} is more than {}", self.0))
    }
}

impl Step for Length {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let length = work.resource.received().map_or(0, |it| it.body.len());
        let is_in = (length as u64).div_ceil(1024) <= self.0;
        outcome(is_in, || {
            format!(
                "content-length {length} is more than {} times 1024 bytes",
                self.0
            )
        })
    }
}

fn outcome(is_in: bool, reason: impl FnOnce() -> String) -> StepOutcome {
    if is_in {
        return StepOutcome::Continue;
    }
    StepOutcome::Deny(reason())
}
