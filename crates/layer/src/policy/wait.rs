//! How long a decision may wait for a verdict.

use std::time::Duration;

use crate::detect::Verdict;

use super::{Policy, Request, Visitor, condition::Mismatch};

impl Policy {
    /// Returns how long to wait for a pending verdict, where the decision depends on it.
    ///
    /// Nobody waits in a [dry run](Self::is_dry_run). Otherwise a request waits where a rule
    /// that [waits](super::RuleBuilder::wait) is reached and nothing but the verdict decides
    /// whether it matches; the longest time of such rules counts. The caller then asks
    /// [`judge`](Self::judge) with the verdict that there is, pending or not.
    #[must_use]
    pub fn wait(&self, request: &Request<'_>, visitor: Visitor<'_>) -> Option<Duration> {
        if visitor.verdict != Verdict::Pending || self.idle.is_some() || self.is_dry_run {
            return None;
        }
        let site = self.site(request)?;
        let claim = visitor.claim;
        if self.allowed.contains(claim) || (site.by_default && self.denied.contains(claim)) {
            return None;
        }
        self.reading.with_path(request.path, |path| {
            let asked = site.asked(request, path);
            let mut wait = None;
            for rule in &self.rules {
                let mismatch = rule.mismatch(&asked, visitor);
                if rule.wait.is_some() && matches!(mismatch, None | Some(Mismatch::Verdict)) {
                    wait = wait.max(rule.wait);
                // It decides whatever the verdict is: no rule behind it is reached.
                } else if mismatch.is_none() && rule.rate_limiter().is_none() {
                    break;
                }
            }
            wait
        })
    }
}
