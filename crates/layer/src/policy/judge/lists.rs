//! Evaluation of the robot lists, the purposes, and the setting for spoofed claims.

use std::sync::Arc;

use crate::detect::Claim;
use crate::policy::{
    Judgement, PassReason, Policy, Request, Spoofed, Visitor, decision::Trace, heaven::Heaven,
};

use super::{Site, require};

impl Policy {
    /// Evaluates the lists of allowed and denied robots, and the setting for spoofed claims.
    pub(super) fn judge_lists(
        &self,
        visitor: Visitor<'_>,
        site: Site,
        trace: &mut impl Trace,
    ) -> Option<Judgement<'_>> {
        if let Err(reason) = self.judge_allowed(visitor, trace) {
            return Some(Judgement::pass(reason));
        }
        if !site.by_default {
            return None;
        }
        if let Some(heaven) = self.judge_denied(visitor.claim, trace) {
            return Some(Judgement::deny(&heaven.redirect));
        }
        let spoofed = self.judge_spoofed(visitor, trace)?;
        Some(Judgement::redirect_spoofed(&spoofed.redirect))
    }

    fn judge_allowed(
        &self,
        visitor: Visitor<'_>,
        trace: &mut impl Trace,
    ) -> Result<(), PassReason> {
        if self.allowed.is_empty() {
            return Ok(());
        }
        let is_allowed = self.allows(visitor);
        trace.step("allow", || {
            let is_named = self.allowed.contains(visitor.claim);
            let not = if is_named { "" } else { "not " };
            let but = if is_named && !is_allowed {
                ", but the claim is spoofed"
            } else {
                ""
            };
            format!("The robot is {not}configured to always pass{but}.")
        });
        require(!is_allowed, PassReason::Allowed)
    }

    /// Returns `true` if a robot is configured to always pass and its claim is not spoofed.
    pub(in crate::policy) fn allows(&self, visitor: Visitor<'_>) -> bool {
        self.allowed.contains(visitor.claim) && !visitor.is_spoofed()
    }

    fn judge_denied(&self, claim: &Claim<'_>, trace: &mut impl Trace) -> Option<&Arc<Heaven>> {
        if self.denied.is_empty() {
            return None;
        }
        let is_denied = self.denied.contains(claim);
        trace.step("deny", || {
            let not = if is_denied { "" } else { "not " };
            format!("The robot is {not}configured to be redirected on every filtered path.")
        });
        self.heaven.as_ref().filter(|_| is_denied)
    }

    pub(super) fn judge_purpose(
        &self,
        visitor: Visitor<'_>,
        trace: &mut impl Trace,
    ) -> Result<(), PassReason> {
        let purpose = visitor.purpose();
        let is_redirected = self.purposes.contains(&purpose);
        trace.step("purpose", || {
            let not = if is_redirected { "" } else { "not " };
            format!("The robot's purpose, {purpose}, is {not}one of the redirected purposes.")
        });
        require(is_redirected, PassReason::Purpose)
    }

    /// Returns `true` if robots with a spoofed claim are redirected on filtered paths.
    pub(in crate::policy) fn redirects_spoofed(&self) -> bool {
        self.spoofed == Spoofed::Redirect && self.heaven.is_some()
    }

    /// Refuses a robot with a spoofed claim before all other steps.
    pub(super) fn refuse_spoofed(
        &self,
        request: &Request<'_>,
        visitor: Option<Visitor<'_>>,
        trace: &mut impl Trace,
    ) -> Option<Judgement<'_>> {
        if self.spoofed != Spoofed::Refuse || !visitor.is_some_and(Visitor::is_spoofed) {
            return None;
        }
        let is_exempt = self
            .reading
            .with_path(request.path, |path| self.is_exempt(path));
        trace.step("spoofed", || {
            if is_exempt {
                "The claim is spoofed, but the path is never refused.".to_owned()
            } else {
                "The claim is spoofed, and impostors are refused.".to_owned()
            }
        });
        (!is_exempt).then(|| Judgement::refuse_spoofed(&self.spoofed_refusal))
    }

    /// Redirects a robot with a spoofed claim on a filtered path.
    fn judge_spoofed(&self, visitor: Visitor<'_>, trace: &mut impl Trace) -> Option<&Heaven> {
        if !visitor.is_spoofed() {
            return None;
        }
        let is_redirected = self.redirects_spoofed();
        trace.step("spoofed", || {
            if is_redirected {
                "The claim is spoofed, and impostors are redirected on every filtered path."
                    .to_owned()
            } else {
                "The claim is spoofed, but spoofed claims are only reported.".to_owned()
            }
        });
        self.heaven.as_deref().filter(|_| is_redirected)
    }
}
