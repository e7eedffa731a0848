//! `filter-by-md5`.

use crate::filter::{Source, Step, StepOutcome, Work};

use super::FunctionContext;

/// Makes a test for a checksum that no better URL has too.
pub(super) fn make(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    if !making.state.has_md5 {
        making.warn("no generate-md5 before filter-by-md5: the body's checksum is taken");
    }
    Box::new(BestCopy(Source::named("md5")))
}

struct BestCopy(Source);

impl Step for BestCopy {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let resource = &*work.resource;
        let url = resource.url().as_str();
        let assigned = resource.source(&self.0);
        let of_body = || Some(resource.content()?.md5().into());
        let Some(md5) = assigned.or_else(of_body) else {
            return StepOutcome::Continue;
        };
        let better = work.run.better_with(&md5, url, resource.preference());
        let Some(better) = better else {
            return StepOutcome::Continue;
        };
        let reason = format!("md5 {md5:?} was seen in another resource");
        work.resource.set_better(better);
        StepOutcome::Deny(reason)
    }
}
