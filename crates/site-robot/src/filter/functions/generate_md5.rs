//! `generate-md5`.

use std::sync::Arc;

use crate::filter::{Source, Step, StepOutcome, Work};

use super::FunctionContext;

/// Makes the source `md5` of the body, as it was received.
pub(super) fn make(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    making.state.has_md5 = true;
    Box::new(Md5(Source::named("md5")))
}

struct Md5(Source);

impl Step for Md5 {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        if let Some(content) = work.resource.content().map(Arc::clone) {
            work.resource.assign(&self.0, content.md5());
        }
        StepOutcome::Continue
    }
}
