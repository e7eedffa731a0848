//! Evaluation of a policy's rules in order.

use std::time::Duration;

use crate::detect::Verdict;
use crate::policy::{
    Judgement, Policy, Request, Rule, Visitor,
    condition::Mismatch,
    decision::{Effect, NormalizedRequest, Trace},
    judgement::NonDecidingMatches,
    load::LoadGate,
    rule::label,
};

use super::Site;

/// Returns the decision of the first deciding rule, and the matching rules that precede it.
pub(super) fn judge_rules<'p>(
    rules: &'p [Rule],
    mut aside: NonDecidingMatches<'p>,
    visitor: Visitor<'_>,
    request: &Request<'_>,
    site: Site,
    trace: &mut impl Trace,
) -> (Option<Judgement<'p>>, NonDecidingMatches<'p>) {
    if rules.is_empty() {
        return (None, aside);
    }
    let decided = site.reading.with_path(request.path, |path| {
        let asked = site.asked(request, path);
        rules.iter().find_map(|rule| {
            // Only the first rule that limits requests and the first rule that limits errors apply.
            // Further limits would be used up needlessly.
            if aside
                .first_of_type(rule)
                .is_some_and(|first| first.is_some())
            {
                return None;
            }
            let decision = judge_rule(rule, visitor, &asked, trace)?.decision();
            if rule.is_unconfirmed() {
                aside.noted = aside.noted.or(Some(rule));
                return None;
            }
            if let Some(first) = aside.first_of_type(rule) {
                *first = Some(rule);
            }
            Some(Judgement {
                rule: Some(rule),
                ..Judgement::new(decision?)
            })
        })
    });
    (decided, aside)
}

/// Returns the effect of a rule if the rule matches.
fn judge_rule<'p>(
    rule: &'p Rule,
    visitor: Visitor<'_>,
    asked: &NormalizedRequest<'_>,
    trace: &mut impl Trace,
) -> Option<&'p Effect> {
    let mismatch = rule.mismatch(asked, visitor);
    trace.step("rule", || {
        let named = capitalised(&label(rule));
        let reason = || {
            let reason = rule.scope.sender.reason(visitor.sender, &rule.scope.places);
            reason.map_or_else(String::new, |reason| format!(", because {reason}"))
        };
        match mismatch {
            None if rule.is_unconfirmed() => format!(
                "{named} matches{}; its action, {}, is only reported because the rule applies to people; set people = true to confirm the rule.",
                reason(),
                rule.action()
            ),
            None => {
                let gate = rule.gate().map(|gate| format!(": {}", gate.reason()));
                let gate = gate.unwrap_or_default();
                let action = rule.action();
                format!("{named} matches{}; its action is {action}{gate}.", reason())
            }
            Some(Mismatch::Load) => {
                let reason = rule.gate().map(LoadGate::reason).unwrap_or_default();
                format!("{named} does not act now: {reason}.")
            }
            Some(mismatch) => {
                let reason = mismatch.reason(asked, Some(visitor), &rule.scope.places);
                format!("{named} does not match: {reason}.")
            }
        }
    });
    mismatch.is_none().then_some(&rule.effect)
}

impl Policy {
    /// Returns the time to wait for a pending verdict, if the decision depends on the verdict.
    ///
    /// In a [dry run](Self::is_dry_run), no request waits. Otherwise, a request waits if a rule
    /// that [waits](crate::policy::RuleBuilder::wait) is reached and whether it matches depends
    /// only on the verdict; if there are several such rules, the longest wait applies. Afterwards,
    /// the caller calls [`judge`](Self::judge) with the current verdict, even if it is still
    /// pending.
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
                // The rule decides regardless of the verdict, so no later rule is reached.
                } else if mismatch.is_none() && rule.rate_limiter().is_none() {
                    break;
                }
            }
            wait
        })
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).collect()
}
