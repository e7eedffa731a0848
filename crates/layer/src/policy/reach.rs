//! Determination of the requests to which robots may get a different response than human visitors.

use crate::detect::Kind;

use super::{
    Action, PassReason, Policy, Rule, TagRule,
    decision::{Effect, NormalizedRequest, Trace},
    glob::FilterPattern,
    judge::Site,
    judgement::Effects,
    rule::label,
    scope::Scope,
    subtree::may_be_for_robots,
};

impl Policy {
    /// Precomputes whether any robot can ever get a different response than a human visitor.
    pub(super) fn compute_idle(mut self) -> Self {
        let has_patterns = !self.patterns.is_empty();
        let reaches =
            |rule: &&Rule| rule.does_anything() && (has_patterns || rule.scope.paths.is_some());
        let may_match = |rule: &Rule| {
            rule.scope
                .methods
                .as_ref()
                .is_none_or(|all| !all.is_empty())
        };
        let may_act = self.rules.iter().filter(reaches).any(may_match);
        let redirects = has_patterns
            && !self.methods.is_empty()
            && (self.redirects_by_default() || self.redirects_listed());
        self.idle = if may_act || redirects {
            None
        } else if !has_patterns && !self.rules.iter().any(|rule| reaches(&rule)) {
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

    /// Adjusts all patterns to the way in which the site's server interprets paths.
    pub(super) fn apply_path_reading(mut self) -> Self {
        let scopes = self.rules.iter_mut().map(|rule| &mut rule.scope);
        let tags = self.tag_rules.iter_mut().map(TagRule::scope_mut);
        let paths = scopes.chain(tags).filter_map(|scope| scope.paths.as_mut());
        for pattern in self.patterns.iter_mut().chain(paths.flatten()) {
            pattern.read_as(self.reading);
        }
        for rule in &mut self.rules {
            let is_strict = rule.action() != Action::Pass;
            if let Some(query) = &mut rule.scope.query {
                query.read_as(self.query_reading, is_strict);
            }
        }
        for tag in &mut self.tag_rules {
            if let Some(query) = &mut tag.scope_mut().query {
                query.read_as(self.query_reading, false);
            }
        }
        for subtree in &mut self.never {
            subtree.read_as(self.reading);
        }
        self
    }

    /// Precomputes which patterns match neither exempt paths nor pages of robot heaven.
    pub(super) fn compute_plain_patterns(mut self) -> Self {
        let starts = self.patterns.iter().map(FilterPattern::literal_start);
        // This is computed once, so that requests that match most patterns skip all exemption
        // checks.
        let plain = starts.map(|start| {
            let is_exempt = self.never.iter().any(|subtree| subtree.may_contain(start));
            !is_exempt && !may_be_for_robots(start) && !self.heavens.may_cover(start)
        });
        self.plain = plain.collect();
        self
    }

    /// Precomputes whether any decision or tag depends on the requested host.
    pub(super) fn compute_host_dependency(mut self) -> Self {
        let rules = self.rules.iter().map(|rule| &rule.scope);
        let mut scopes = rules.chain(self.tag_rules.iter().map(TagRule::scope));
        self.asks_for_host = self.heavens.has_hosts() || scopes.any(|scope| scope.hosts.is_some());
        let names_people = |scope: &Scope| scope.robots.is_about(Kind::Person);
        self.judges_people = self.rules.iter().any(Rule::concerns_people)
            || self.tag_rules.iter().any(|rule| names_people(rule.scope()));
        self
    }

    /// Returns the possible effect of the rules on a request, or `Err` if the rules have no effect.
    pub(super) fn judge_reach(
        &self,
        asked: &NormalizedRequest<'_>,
        site: Site,
        trace: &mut impl Trace,
    ) -> Result<Effects, PassReason> {
        if asked.path.is_empty() {
            return Err(PassReason::PathNotFiltered);
        }
        if site.by_default && self.redirects_listed() {
            return Ok(Effects::Acts);
        }
        let mut limiter = None;
        let mut decisive: Option<&Rule> = None;
        // The rule that adds headers only for some visitors.
        let mut marks: Option<&Rule> = None;
        for rule in &self.rules {
            // A rule that decides for all robots does not decide for visitors without a claim.
            if decisive.is_some() && !rule.names_claimless() {
                continue;
            }
            // Paths are checked last because they cost most, and this code runs for every request.
            match rule.effect {
                Effect::Slow(_) if limiter.is_some() => {}
                Effect::Slow(_) if rule.scope.matches(asked) => limiter = Some(rule),
                Effect::Slow(_) => {}
                Effect::Pass if rule.headers.is_some() => {
                    if !rule.scope.matches(asked) {
                        continue;
                    }
                    if decisive.is_some() || !rule.scope.is_for_everybody() {
                        marks = Some(rule);
                    }
                    decisive = decisive.or(Some(rule));
                    break;
                }
                // The rule lets certain robots pass; the next rules decide about all other robots.
                Effect::Pass if decisive.is_some() || !rule.scope.is_for_all() => {}
                _ if rule.scope.matches(asked) => decisive = Some(rule),
                _ => {}
            }
            if decisive.is_some_and(Rule::acts) {
                break;
            }
        }
        let acts = match decisive {
            Some(rule) => rule.acts() || marks.is_some(),
            None => site.by_default && self.redirects_by_default(),
        };
        let gives = decisive.filter(|rule| !rule.acts() && rule.headers.is_some());
        let gives = marks.or(gives);
        trace.step("rules", || match gives {
            Some(rule) => format!(
                "On this path, {} may add headers to passing responses.",
                label(rule)
            ),
            None => describe_reach(decisive, limiter, acts),
        });
        match limiter.or(gives) {
            _ if acts => Ok(Effects::Acts),
            Some(_) => Ok(Effects::Alike),
            None => Err(PassReason::PathNotFiltered),
        }
    }

    /// Returns the reason why a rule never matches, if all of its paths are exempt or in robot
    /// heaven.
    pub(super) fn never_matches(&self, rule: &Rule) -> Option<String> {
        let paths = rule.scope.paths.as_ref()?;
        let reason = if let Some(heaven) = self.heavens.covering_all(paths) {
            let location = &heaven.redirect.location;
            format!("all its paths are below the redirect URL {location}, where all robots pass")
        } else if paths.iter().all(|path| self.is_never_redirected(path)) {
            "all its paths are exempt from redirects".to_owned()
        } else {
            return None;
        };
        let end = "so the rule never matches; use other paths";
        Some(format!("{reason}, {end}"))
    }

    /// Returns `true` if denied robots or robots with a spoofed claim are redirected regardless of
    /// their purpose.
    fn redirects_listed(&self) -> bool {
        !self.denied.is_empty() || self.redirects_spoofed()
    }

    fn redirects_by_default(&self) -> bool {
        self.heaven.is_some() && !self.purposes.is_empty()
    }
}

fn describe_reach(decisive: Option<&Rule>, limiter: Option<&Rule>, acts: bool) -> String {
    match (decisive, limiter) {
        (Some(rule), _) if acts => {
            format!(
                "On this path, {} may {}.",
                label(rule),
                rule.action().words().may
            )
        }
        (None, _) if acts => {
            "On this path, robots are redirected depending on their purpose.".to_owned()
        }
        (_, Some(rule)) => format!(
            "On this path, {} may {}.",
            label(rule),
            rule.action().words().may
        ),
        (Some(rule), None) => format!("On this path, {} lets every robot pass.", label(rule)),
        (None, None) => "No rule redirects robots on this path.".to_owned(),
    }
}
