//! The steps on the way to a decision.

use std::sync::Arc;

use crate::detect::Claim;

use super::{
    Action, Decision, PassReason, Policy, Redirect, Request, Rule,
    glob::FilterPattern,
    heaven::Heaven,
    path::{is_for_robots, with_normal_path},
    rule::Outcome,
    trace::{Trace, quoted},
};

impl Policy {
    /// Takes the steps, those first that cost least and let most requests pass.
    pub(super) fn judge(
        &self,
        request: &Request<'_>,
        claim: Option<&Claim<'_>>,
        trace: &mut impl Trace,
    ) -> Decision<'_> {
        if let Some(idle) = self.idle {
            trace.step("settings", || format!("Nothing is filtered: {idle}."));
            return Decision::Pass(PassReason::NothingFiltered);
        }
        let judged = self
            .judge_method(request.method, trace)
            .and_then(|()| self.judge_path(request, trace))
            .and_then(|is_filtered| {
                let claim = judge_robot(claim, trace)?;
                self.judge_claim(claim, request.path, is_filtered, trace)
            });
        match judged {
            Err(reason) => Decision::Pass(reason),
            Ok(heaven) => {
                let Redirect { status, location } = &heaven.redirect;
                trace.step("redirect", || {
                    format!("The answer is {status} to {location}.")
                });
                Decision::Redirect(&heaven.redirect)
            }
        }
    }

    /// Finds out once whether anything is ever redirected.
    pub(super) fn with_idle(mut self) -> Self {
        let has_own_paths = |rule: &Rule| rule.paths.is_some();
        let redirects = |rule: &Rule| rule.action() == Action::Redirect;
        let may_redirect_elsewhere = self
            .rules
            .iter()
            .any(|rule| redirects(rule) && has_own_paths(rule));
        let may_redirect = may_redirect_elsewhere
            || (!self.patterns.is_empty()
                && (self.redirects_by_default()
                    || !self.denied.is_empty()
                    || self.rules.iter().any(redirects)));
        self.idle = if may_redirect && !self.methods.is_empty() {
            None
        } else if self.patterns.is_empty() && !may_redirect_elsewhere {
            Some("there is no filter pattern")
        } else if self.heavens.redirects().next().is_none() {
            Some("there is no redirect URL")
        } else if self.methods.is_empty() {
            Some("no method is redirected")
        } else {
            Some("no purpose is redirected")
        };
        self
    }

    /// Tells whether a path is exempt, all that the pattern matches.
    pub(super) fn is_never(&self, pattern: &FilterPattern) -> bool {
        pattern.only_path().is_some_and(|path| self.is_exempt(path))
            || self
                .never
                .iter()
                .any(|subtree| subtree.contains_all(pattern.literal_start()))
    }

    fn judge_method(&self, method: &str, trace: &mut impl Trace) -> Result<(), PassReason> {
        let is_redirected = self.methods.iter().any(|redirected| redirected == method);
        trace.step("method", || {
            let method = quoted(method.as_bytes());
            let not = if is_redirected { "" } else { "not " };
            let methods = self.methods.join(", ");
            format!("The method {method} is {not}one of those redirected: {methods}.")
        });
        require(is_redirected, PassReason::Method)
    }

    /// Returns whether a filter pattern matches, of a path on which robots may be redirected.
    fn judge_path(
        &self,
        request: &Request<'_>,
        trace: &mut impl Trace,
    ) -> Result<bool, PassReason> {
        with_normal_path(request.path, |path| {
            let is_filtered = self.judge_patterns(path, trace);
            if !self.rules.is_empty() {
                self.judge_reach(path, is_filtered, trace)?;
            } else if !is_filtered {
                return Err(PassReason::PathNotFiltered);
            }
            self.judge_never(path, trace)?;
            self.judge_heaven(request.host, path, trace)?;
            Ok(is_filtered)
        })
    }

    fn judge_patterns(&self, path: &[u8], trace: &mut impl Trace) -> bool {
        let pattern = if path.is_empty() {
            None
        } else {
            self.patterns.iter().find(|pattern| pattern.matches(path))
        };
        trace.step("path", || match pattern {
            Some(pattern) => format!(
                "The path, read as {}, matches the filter pattern {}.",
                quoted(path),
                pattern.as_str()
            ),
            None if path.is_empty() => "The request names no path.".to_owned(),
            None => format!(
                "The path, read as {}, matches no filter pattern.",
                quoted(path)
            ),
        });
        pattern.is_some()
    }

    /// Finds out whether any robot may be redirected on the path at all.
    fn judge_reach(
        &self,
        path: &[u8],
        is_filtered: bool,
        trace: &mut impl Trace,
    ) -> Result<(), PassReason> {
        if path.is_empty() {
            return Err(PassReason::PathNotFiltered);
        }
        if is_filtered && !self.denied.is_empty() {
            return Ok(());
        }
        let mut about = self
            .rules
            .iter()
            .filter(|rule| rule.is_about(path, is_filtered));
        let decisive = about.find(|rule| rule.action() == Action::Redirect || rule.is_for_all());
        let may_redirect = match decisive {
            Some(rule) => rule.action() == Action::Redirect,
            None => is_filtered && self.redirects_by_default(),
        };
        trace.step("rules", || match decisive {
            Some(rule) if may_redirect => format!("There, {} may redirect robots.", named(rule)),
            Some(rule) => format!("There, {} lets every robot pass.", named(rule)),
            None if may_redirect => "There, robots are redirected by their purpose.".to_owned(),
            None => "No rule redirects robots there.".to_owned(),
        });
        require(may_redirect, PassReason::PathNotFiltered)
    }

    fn judge_never(&self, path: &[u8], trace: &mut impl Trace) -> Result<(), PassReason> {
        let is_exempt = self.is_exempt(path);
        trace.step("never", || {
            if is_exempt {
                "The path is one that is never redirected.".to_owned()
            } else {
                "The path is none of those that are never redirected.".to_owned()
            }
        });
        require(!is_exempt, PassReason::NeverFiltered)
    }

    fn judge_heaven(
        &self,
        host: Option<&str>,
        path: &[u8],
        trace: &mut impl Trace,
    ) -> Result<(), PassReason> {
        let covering = self.heavens.covering(host, path);
        trace.step("heaven", || {
            if let Some(heaven) = covering {
                let location = &heaven.redirect.location;
                format!("The path is part of robot heaven, {location}.")
            } else {
                let locations = self.heavens.redirects();
                let locations: Vec<_> = locations.map(|redirect| &*redirect.location).collect();
                let locations = locations.join(", ");
                format!("The path is not part of robot heaven, {locations}.")
            }
        });
        require(covering.is_none(), PassReason::Heaven)
    }

    /// Asks the lists, the rules in their order, and the default purposes.
    fn judge_claim(
        &self,
        claim: &Claim<'_>,
        path: &str,
        is_filtered: bool,
        trace: &mut impl Trace,
    ) -> Result<&Arc<Heaven>, PassReason> {
        self.judge_allowed(claim, trace)?;
        if is_filtered && let Some(heaven) = self.judge_denied(claim, trace) {
            return Ok(heaven);
        }
        if !self.rules.is_empty()
            && let Some(outcome) = with_normal_path(path, |path| {
                let mut rules = self.rules.iter();
                rules.find_map(|rule| judge_rule(rule, claim, path, is_filtered, trace))
            })
        {
            return match outcome {
                Outcome::Pass => Err(PassReason::Rule),
                Outcome::Redirect(heaven) => Ok(heaven),
            };
        }
        match &self.heaven {
            Some(heaven) if is_filtered => self.judge_purpose(claim, trace).map(|()| heaven),
            _ => {
                trace.step("rule", || {
                    "No rule is about the robot there, so it passes.".to_owned()
                });
                Err(PassReason::NoRule)
            }
        }
    }

    fn judge_allowed(&self, claim: &Claim<'_>, trace: &mut impl Trace) -> Result<(), PassReason> {
        if self.allowed.is_empty() {
            return Ok(());
        }
        let is_allowed = self.allowed.contains(claim);
        trace.step("allow", || {
            let not = if is_allowed { "" } else { "not " };
            format!("The robot is {not}one of those that always pass.")
        });
        require(!is_allowed, PassReason::Allowed)
    }

    fn judge_denied(&self, claim: &Claim<'_>, trace: &mut impl Trace) -> Option<&Arc<Heaven>> {
        if self.denied.is_empty() {
            return None;
        }
        let is_denied = self.denied.contains(claim);
        trace.step("deny", || {
            let not = if is_denied { "" } else { "not " };
            format!("The robot is {not}one of those redirected on every filtered path.")
        });
        self.heaven.as_ref().filter(|_| is_denied)
    }

    fn judge_purpose(&self, claim: &Claim<'_>, trace: &mut impl Trace) -> Result<(), PassReason> {
        let purpose = claim.purpose();
        let is_redirected = self.purposes.contains(&purpose);
        trace.step("purpose", || {
            let not = if is_redirected { "" } else { "not " };
            format!("Its purpose, {purpose}, is {not}one of those redirected.")
        });
        require(is_redirected, PassReason::Purpose)
    }

    pub(super) fn is_exempt(&self, path: &[u8]) -> bool {
        is_for_robots(path) || self.never.iter().any(|subtree| subtree.contains(path))
    }

    fn redirects_by_default(&self) -> bool {
        self.heaven.is_some() && !self.purposes.is_empty()
    }
}

fn judge_robot<'c, 'd>(
    claim: Option<&'c Claim<'d>>,
    trace: &mut impl Trace,
) -> Result<&'c Claim<'d>, PassReason> {
    trace.step("robot", || {
        match claim.map(|claim| (claim, claim.robot())) {
            None => "The User-Agent names no known robot.".to_owned(),
            Some((claim, Some(robot))) => {
                let id = quoted(robot.id.as_bytes());
                format!("The User-Agent names the robot {id} by the {claim}.")
            }
            Some((claim, None)) => {
                format!("The User-Agent is that of an unlisted robot by its {claim}.")
            }
        }
    });
    claim.ok_or(PassReason::NotARobot)
}

/// Returns what a rule does, if it matches.
fn judge_rule<'p>(
    rule: &'p Rule,
    claim: &Claim<'_>,
    path: &[u8],
    is_filtered: bool,
    trace: &mut impl Trace,
) -> Option<&'p Outcome> {
    let mismatch = rule.mismatch(claim, path, is_filtered);
    trace.step("rule", || {
        let named = named(rule).replacen("rule", "Rule", 1);
        match mismatch {
            None => format!("{named} matches; its action is {}.", rule.action()),
            Some(mismatch) => format!("{named} does not match: {}.", mismatch.reason(claim)),
        }
    });
    mismatch.is_none().then_some(&rule.outcome)
}

/// Names a rule with its place in the settings.
fn named(rule: &Rule) -> String {
    match rule.origin() {
        "" => rule.label().to_owned(),
        origin => format!("{} ({origin})", rule.label()),
    }
}

fn require(holds: bool, otherwise: PassReason) -> Result<(), PassReason> {
    if holds { Ok(()) } else { Err(otherwise) }
}

#[cfg(test)]
mod tests {
    use crate::detect::{Sign, Unlisted};
    use crate::policy::{PolicyBuilder, PolicyError};
    use crate::registry::{Purpose, Source};

    use super::*;

    const REQUEST: Request<'static> = Request {
        method: "GET",
        host: None,
        path: "/members-only-stuff/a",
    };

    /// Decides about a robot that no registry lists.
    fn unlisted(
        sign: Sign,
        change: impl FnOnce(PolicyBuilder) -> PolicyBuilder,
    ) -> Option<PassReason> {
        let policy = change(Policy::builder()).build().unwrap();
        let claim = Claim::Unlisted(Unlisted { sign, range: 0..3 });
        match policy.decide(&REQUEST, Some(&claim)) {
            Decision::Pass(reason) => Some(reason),
            Decision::Redirect(_) => None,
        }
    }

    #[test]
    fn unlisted_robots_are_redirected_unless_they_are_libraries() {
        for sign in [Sign::Word, Sign::Url, Sign::Address] {
            assert_eq!(unlisted(sign, |policy| policy), None, "{sign}");
        }
        let library = unlisted(Sign::Library, |policy| policy);
        assert_eq!(library, Some(PassReason::Purpose));
        let only_search = unlisted(Sign::Word, |policy| policy.purposes([Purpose::Search]));
        assert_eq!(only_search, Some(PassReason::Purpose));
        let unknown = unlisted(Sign::Word, |policy| policy.purposes([Purpose::Unknown]));
        assert_eq!(unknown, None);
    }

    #[test]
    fn unlisted_robots_can_be_told_apart_by_rules_and_lists() {
        let pass = || Rule::builder(Action::Pass);
        let of = |rule| unlisted(Sign::Word, |policy| policy.rule(rule));
        assert_eq!(of(pass().unlisted(true)), Some(PassReason::Rule));
        assert_eq!(of(pass().robots(["unlisted"])), Some(PassReason::Rule));
        assert_eq!(
            of(pass().purposes([Purpose::Unknown])),
            Some(PassReason::Rule)
        );
        assert_eq!(of(pass().unlisted(false)), None);
        assert_eq!(of(pass().robots(["googlebot"])), None);
        assert_eq!(of(pass().operators(["Google"])), None);
        assert_eq!(of(pass().sources([Source::bundled()])), None);
        let allowed = unlisted(Sign::Word, |policy| policy.allow_robots(["unlisted"]));
        assert_eq!(allowed, Some(PassReason::Allowed));
        let denied = unlisted(Sign::Library, |policy| policy.deny_robots(["unlisted"]));
        assert_eq!(denied, None);
    }

    #[test]
    fn what_contradicts_the_unlisted_is_refused() {
        let pass = || Rule::builder(Action::Pass);
        for (rule, wrong) in [
            (pass().unlisted(true).robots(["googlebot"]), "unlisted"),
            (pass().unlisted(false).robots(["unlisted"]), "unlisted"),
            (pass().unlisted(true).operators(["Google"]), "operators"),
            (
                pass().robots(["unlisted"]).sources([Source::manual()]),
                "sources",
            ),
        ] {
            let refused = Policy::builder().rule(rule).build().unwrap_err();
            assert!(
                matches!(refused, PolicyError::Rule { number: 1, key, .. } if key == wrong),
                "{refused}"
            );
        }
    }
}
