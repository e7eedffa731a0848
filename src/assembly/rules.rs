//! From `[[rule]]` and `[[x_robots_tag]]` to rules of the policy.

use std::{sync::Arc, time::Duration};

use crate::config::{Asn, Networks, RuleSettings, Settings, SiteLoaded, TagSettings, WhenSettings};
use crate::origins::Origins;
use crate::policy::{Addresses, Rule, RuleBuilder, TagRule, TagRuleBuilder, When};

use super::origins::addresses_of_lists;

/// Returns the rules of all sites, and those that are common to them; some come several times.
pub(super) fn rules_of_all<'s>(
    common: &'s Settings,
    sites: &'s [SiteLoaded],
) -> impl Iterator<Item = &'s RuleSettings> {
    let of_sites = sites.iter().map(|site| site.loaded().settings());
    let all = of_sites.chain([common]);
    all.flat_map(|settings| &settings.tables.rules)
}

/// Returns the setting by which a rule depends on answers of the site.
pub(crate) fn answer_setting(rule: &RuleSettings) -> Option<&'static str> {
    // Whose requests count too acts by these.
    let by_time = rule
        .load_milliseconds
        .filter(|_| rule.load_requests.is_none());
    let by_errors = rule.errors.map(|_| "errors");
    by_errors.or(by_time.map(|_| "when.upstream_milliseconds"))
}

pub(crate) fn rule(settings: &RuleSettings, all: &Settings, origins: &Origins) -> RuleBuilder {
    let mut rule = Rule::builder(settings.action)
        .name(&settings.name)
        .origin(settings.origin())
        .when(when(&settings.when, all, origins));
    if let Some(url) = &settings.redirect_url {
        rule = rule.redirect_url(url);
    }
    if let Some(status) = settings.status {
        rule = rule.status(status);
    }
    if let Some(text) = &settings.text {
        rule = rule.text(&**text);
    }
    if let Some(requests) = settings.requests {
        rule = rule.requests(requests);
    }
    if let Some(seconds) = settings.per_seconds {
        rule = rule.per(Duration::from_secs(seconds.into()));
    }
    if let Some(burst) = settings.burst {
        rule = rule.burst(burst);
    }
    if let Some(key) = settings.rate_key {
        rule = rule.rate_key(key);
    }
    if let Some(errors) = settings.errors {
        rule = rule.errors(errors);
    }
    if let Some(requests) = settings.load_requests {
        rule = rule.load_requests(requests);
    }
    if let Some(milliseconds) = settings.load_milliseconds {
        rule = rule.load_time(milliseconds);
    }
    if let Some(people) = settings.people {
        rule = rule.people(people);
    }
    for (name, value) in &settings.headers {
        rule = rule.response_header(name, value);
    }
    if let Some(milliseconds) = settings.wait_milliseconds {
        rule = rule.wait(Duration::from_millis(milliseconds.into()));
    }
    rule
}

pub(crate) fn tag_rule(
    settings: &TagSettings,
    all: &Settings,
    origins: &Origins,
) -> TagRuleBuilder {
    TagRule::builder(&settings.value)
        .origin(settings.origin())
        .when(when(&settings.when, all, origins))
}

/// Returns the conditions that every kind of rule has.
fn when(settings: &WhenSettings, all: &Settings, origins: &Origins) -> When {
    let mut when = of_sender(settings, all, origins);
    if let Some(paths) = &settings.paths {
        when = when.paths(paths);
    }
    if let Some(methods) = &settings.methods {
        when = when.methods(methods);
    }
    if let Some(hosts) = &settings.hosts {
        when = when.hosts(hosts);
    }
    if let Some(robots) = &settings.robots {
        when = when.robots(robots);
    }
    if let Some(purposes) = &settings.purposes {
        when = when.purposes(purposes.iter().copied());
    }
    if let Some(operators) = &settings.operators {
        when = when.operators(operators);
    }
    if let Some(sources) = &settings.sources {
        when = when.sources(sources.iter().cloned());
    }
    if let Some(visitors) = &settings.visitors {
        when = when.visitors(visitors.kinds().iter().copied());
    }
    if let Some(verdicts) = &settings.verdicts {
        when = when.verdicts(verdicts.iter().copied());
    }
    when
}

/// Returns the conditions on where a request comes from.
fn of_sender(settings: &WhenSettings, all: &Settings, origins: &Origins) -> When {
    let mut when = When::new();
    if let Some(networks) = &settings.addresses {
        let named = named(networks).into_iter();
        let listed = addresses_of_lists(networks.lists(), all, origins);
        when = when.addresses(named.chain(listed));
    }
    if let Some(asns) = &settings.asns {
        when = when.asns(asns.iter().copied().map(Asn::number));
    }
    if let Some(countries) = &settings.countries {
        when = when.countries(countries);
    }
    if let Some(headers) = &settings.request_headers {
        when = when.headers(headers);
    }
    if let Some(globs) = &settings.user_agents {
        when = when.user_agents(globs);
    }
    if let Some(globs) = &settings.signature_agents {
        when = when.signature_agents(globs);
    }
    if let Some(suspect) = settings.suspect {
        when = when.suspect(suspect);
    }
    if let Some(reasons) = &settings.reasons {
        when = when.reasons(reasons.iter().copied());
    }
    when
}

/// Returns the networks that are written themselves, if there are any.
fn named(networks: &Networks) -> Option<Addresses> {
    let set = Arc::clone(networks.set());
    let names = networks.written().join(", ");
    let contains = Arc::new(move |address| set.contains(address));
    (!names.is_empty()).then(|| Addresses::new(names, contains))
}
