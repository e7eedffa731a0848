//! The steps that lead to the decision about a request.

mod lists;
mod rules;

use crate::detect::{Claim, Kind};

use super::{
    Decision, Judgement, PassReason, Policy, Request, Rule, Visitor,
    decision::{NoTrace, NormalizedRequest, Trace, quoted},
    glob::FilterPattern,
    judgement::{Effects, NonDecidingMatches},
    path::PathReading,
    subtree::is_for_robots,
};
use rules::judge_rules;

/// The properties of a request that do not depend on the visitor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    /// Whether a filter pattern matches the path.
    is_filtered: bool,
    /// Whether robots to which no rule applies are redirected.
    pub(super) by_default: bool,
    reading: PathReading,
    reach: Effects,
}

impl Policy {
    /// Evaluates the steps in order, beginning with the cheapest steps, which allow most requests
    /// to pass.
    pub(super) fn judge_traced(
        &self,
        request: &Request<'_>,
        visitor: Option<Visitor<'_>>,
        trace: &mut impl Trace,
    ) -> Judgement<'_> {
        // This precedes the settings, because impostors are refused even if nothing is filtered.
        if let Some(refused) = self.refuse_spoofed(request, visitor, trace) {
            refused.add_steps(trace);
            return refused;
        }
        if let Some(idle) = self.idle {
            trace.step("settings", || format!("Nothing is filtered: {idle}."));
            return Judgement::pass(PassReason::NothingFiltered);
        }
        let site = self
            .judge_method(request.method, trace)
            .and_then(|is_redirected| self.judge_site(request, is_redirected, trace));
        let site = match site {
            Ok(site) => site,
            Err(reason) => return Judgement::pass(reason),
        };
        let judgement = match judge_robot(visitor, trace) {
            Ok(visitor) => self.judge_visitor(visitor, request, site, trace),
            Err(reason) => Judgement::pass(reason),
        };
        judgement.add_steps(trace);
        judgement.with_effects(site.reach)
    }

    /// Returns the properties of a request if robots may be treated differently from human
    /// visitors.
    pub(super) fn site(&self, request: &Request<'_>) -> Option<Site> {
        let is_redirected = self.judge_method(request.method, &mut NoTrace).ok()?;
        self.judge_site(request, is_redirected, &mut NoTrace).ok()
    }

    /// Returns `true` if a rule allows a visitor to pass, even if no rule has any other action.
    #[must_use]
    pub fn passes(&self, request: &Request<'_>, visitor: Visitor<'_>) -> bool {
        let site = Site {
            is_filtered: self.is_filtered(request.path),
            by_default: false,
            reading: self.reading,
            reach: Effects::Acts,
        };
        let nothing = NonDecidingMatches::default();
        let (decided, _) = judge_rules(&self.rules, nothing, visitor, request, site, &mut NoTrace);
        decided.is_some_and(|judgement| judgement.decision.pass_reason().is_some())
    }

    /// Returns `true` if all paths that the pattern matches are exempt from redirects.
    pub(super) fn is_never_redirected(&self, pattern: &FilterPattern) -> bool {
        pattern.only_path().is_some_and(|path| self.is_exempt(path))
            || self
                .never
                .iter()
                .any(|subtree| subtree.contains_all(pattern.literal_start()))
    }

    /// Checks the method. Returns whether the method is redirected, or an error if neither
    /// redirects nor rules apply to the method.
    fn judge_method(&self, method: &str, trace: &mut impl Trace) -> Result<bool, PassReason> {
        let is_redirected = self.methods.iter().any(|redirected| redirected == method);
        let may = |rule: &Rule| rule.does_anything() && rule.scope.has_method(method);
        let has_rule = !is_redirected && self.rules.iter().any(may);
        trace.step("method", || {
            let method = quoted(method.as_bytes());
            let not = if is_redirected { "" } else { "not " };
            let methods = self.methods.join(", ");
            let but = if has_rule {
                ", but a rule may apply to it"
            } else {
                ""
            };
            format!("The method {method} is {not}one of the redirected methods {methods}{but}.")
        });
        require(is_redirected || has_rule, PassReason::Method)?;
        Ok(is_redirected)
    }

    /// Returns the properties of a request if robots may be treated differently from human
    /// visitors.
    fn judge_site(
        &self,
        request: &Request<'_>,
        is_redirected: bool,
        trace: &mut impl Trace,
    ) -> Result<Site, PassReason> {
        self.reading.with_path(request.path, |path| {
            let pattern = self.judge_patterns(path, trace);
            let is_filtered = pattern.is_some();
            let mut site = Site {
                is_filtered,
                by_default: is_filtered && is_redirected,
                reading: self.reading,
                reach: Effects::Acts,
            };
            if !self.rules.is_empty() {
                site.reach = self.judge_reach(&site.asked(request, path), site, trace)?;
            } else if !is_filtered {
                return Err(PassReason::PathNotFiltered);
            }
            let is_plain = pattern.and_then(|at| self.plain.get(at));
            let is_plain = is_plain.copied().unwrap_or_default();
            self.judge_never(path, is_plain, trace)?;
            self.judge_heaven(request.host, path, is_plain, trace)?;
            Ok(site)
        })
    }

    /// Returns the index of the first matching filter pattern.
    fn judge_patterns(&self, path: &[u8], trace: &mut impl Trace) -> Option<usize> {
        let matches = |pattern: &FilterPattern| pattern.matches(path);
        // A request without a path requests no page, although a single `*` would match the path.
        let at = if path.is_empty() {
            None
        } else {
            self.patterns.iter().position(matches)
        };
        trace.step("path", || match at.and_then(|at| self.patterns.get(at)) {
            Some(pattern) => format!(
                "The path, read as {}, matches the filter pattern {}.",
                quoted(path),
                pattern.as_str()
            ),
            None if path.is_empty() => "The request has no path.".to_owned(),
            None => format!(
                "The path, read as {}, matches no filter pattern.",
                quoted(path)
            ),
        });
        at
    }

    fn judge_never(
        &self,
        path: &[u8],
        is_plain: bool,
        trace: &mut impl Trace,
    ) -> Result<(), PassReason> {
        let is_exempt = !is_plain && self.is_exempt(path);
        trace.step("never", || {
            if is_exempt {
                "The path is never redirected.".to_owned()
            } else {
                "The path is not exempt from redirects.".to_owned()
            }
        });
        require(!is_exempt, PassReason::NeverFiltered)
    }

    fn judge_heaven(
        &self,
        host: Option<&str>,
        path: &[u8],
        is_plain: bool,
        trace: &mut impl Trace,
    ) -> Result<(), PassReason> {
        let covering = if is_plain {
            None
        } else {
            self.heavens.covering(host, path)
        };
        trace.step("heaven", || {
            if let Some(heaven) = covering {
                let location = &heaven.redirect.location;
                format!("The path belongs to robot heaven, {location}.")
            } else {
                let locations = self.heavens.redirects();
                let locations: Vec<_> = locations.map(|redirect| &*redirect.location).collect();
                let locations = locations.join(", ");
                format!("The path does not belong to robot heaven, {locations}.")
            }
        });
        require(covering.is_none(), PassReason::Heaven)
    }

    /// Evaluates the overlay, the lists, the rules and the default purposes, in that order.
    fn judge_visitor(
        &self,
        visitor: Visitor<'_>,
        request: &Request<'_>,
        site: Site,
        trace: &mut impl Trace,
    ) -> Judgement<'_> {
        let (overlaid, own) = self.rules.split_at(self.overlaid.min(self.rules.len()));
        let nothing = NonDecidingMatches::default();
        let (decided, aside) = judge_rules(overlaid, nothing, visitor, request, site, trace);
        if let Some(decided) = decided {
            return decided.with_non_deciding(aside);
        }
        if let Some(listed) = self.judge_lists(visitor, site, trace) {
            return listed.with_non_deciding(aside);
        }
        let (decided, aside) = judge_rules(own, aside, visitor, request, site, trace);
        let decided = decided.unwrap_or_else(|| self.judge_default(visitor, site, trace));
        decided.with_non_deciding(aside)
    }

    fn judge_default(
        &self,
        visitor: Visitor<'_>,
        site: Site,
        trace: &mut impl Trace,
    ) -> Judgement<'_> {
        match &self.heaven {
            _ if visitor.claims_nothing() => {
                let kind = visitor.kind();
                trace.step("rule", || match kind {
                    Kind::Person => "No rule on this path applies to the human visitor.".to_owned(),
                    _ => format!(
                        "No rule on this path applies to {kind} visitors, so the request passes."
                    ),
                });
                Judgement::pass(match kind {
                    Kind::Person => PassReason::NotARobot,
                    Kind::Shared => PassReason::Shared,
                    _ => PassReason::Nameless,
                })
            }
            Some(heaven) if site.by_default => match self.judge_purpose(visitor, trace) {
                Ok(()) => Judgement::new(Decision::Redirect(&heaven.redirect)),
                Err(reason) => Judgement::pass(reason),
            },
            _ => {
                trace.step("rule", || {
                    "No rule on this path applies to the robot, so the request passes.".to_owned()
                });
                Judgement::pass(PassReason::NoRule)
            }
        }
    }

    pub(super) fn is_exempt(&self, path: &[u8]) -> bool {
        is_for_robots(path) || self.never.iter().any(|subtree| subtree.contains(path))
    }
}

impl Site {
    pub(super) fn asked<'r>(self, request: &Request<'r>, path: &'r [u8]) -> NormalizedRequest<'r> {
        NormalizedRequest {
            method: request.method,
            host: request.host,
            path,
            query: request.query,
            is_filtered: self.is_filtered,
        }
    }
}

fn judge_robot<'v>(
    visitor: Option<Visitor<'v>>,
    trace: &mut impl Trace,
) -> Result<Visitor<'v>, PassReason> {
    trace.step("robot", || {
        match visitor.map(|visitor| (visitor.claim, visitor.claim.robot())) {
            None | Some((Claim::Person, _)) => "The User-Agent does not belong to a known robot.".to_owned(),
            Some((Claim::Nameless, _)) => {
                "The request has no User-Agent, or an empty one: the visitor is nameless."
                    .to_owned()
            }
            Some((claim @ Claim::Shared(shared), _)) => {
                let name = quoted(shared.robot.name.as_bytes());
                format!("Many visitors share the User-Agent of {name}, recognised by the {claim}.")
            }
            Some((claim, Some(robot))) if claim.pattern().is_none() => {
                let id = quoted(robot.id.as_bytes());
                format!("The request is signed, with the Signature-Agent of the robot {id}.")
            }
            Some((claim, Some(robot))) => {
                let id = quoted(robot.id.as_bytes());
                format!("The User-Agent identifies the robot {id} by the {claim}.")
            }
            Some((Claim::Signed(signed), None)) => match &signed.signer {
                Some(signer) => {
                    let name = quoted(signer.as_str().as_bytes());
                    format!("The request is signed by {name}, which is not in the registry: the robot is unlisted.")
                }
                None => "The request is signed, but the signature does not belong to a robot in the registry: the robot is unlisted.".to_owned(),
            },
            Some((claim, None)) => {
                format!("The User-Agent belongs to an unlisted robot, recognised by its {claim}.")
            }
        }
    });
    visitor.ok_or(PassReason::NotARobot)
}

fn require(holds: bool, otherwise: PassReason) -> Result<(), PassReason> {
    if holds { Ok(()) } else { Err(otherwise) }
}

#[cfg(test)]
mod tests;
