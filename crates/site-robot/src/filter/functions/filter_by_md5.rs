//! `filter-by-md5`.

use crate::filter::{Outcome, Source, Step, Work};

use super::Making;

/// Makes a test for a checksum that no better URL has too.
pub(super) fn make(making: &mut Making<'_>) -> Box<dyn Step> {
    if !making.state.has_md5 {
        making.warn("no generate-md5 before filter-by-md5: the body's checksum is taken");
    }
    Box::new(Best(Source::named("md5")))
}

struct Best(Source);

impl Step for Best {
    fn run(&self, work: &mut Work<'_>) -> Outcome {
        let resource = &*work.resource;
        let assigned = resource.source(&self.0);
        let of_body = || Some(resource.content()?.md5().into());
        let Some(md5) = assigned.or_else(of_body) else {
            return Outcome::Continue;
        };
        if work.run.is_best_with(&md5, resource.url().as_str()) {
            return Outcome::Continue;
        }
        Outcome::Deny(format!("md5 {md5:?} was seen in another resource"))
    }
}
