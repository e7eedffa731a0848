//! From `[[rule]]` and `[[x_robots_tag]]` to rules of the policy.

use std::{sync::Arc, time::Duration};

use crate::config::{RuleSettings, TagSettings, WhenSettings};
use crate::policy::{Addresses, Rule, RuleBuilder, TagRule, TagRuleBuilder, When};

pub(crate) fn rule(settings: &RuleSettings) -> RuleBuilder {
    let mut rule = Rule::builder(settings.action)
        .name(&settings.name)
        .origin(settings.origin())
        .when(when(&settings.when));
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

pub(crate) fn tag_rule(settings: &TagSettings) -> TagRuleBuilder {
    TagRule::builder(&settings.value)
        .origin(settings.origin())
        .when(when(&settings.when))
}

/// Returns the conditions that every kind of rule has.
fn when(settings: &WhenSettings) -> When {
    let mut when = When::new();
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
    if let Some(unlisted) = settings.unlisted {
        when = when.unlisted(unlisted);
    }
    if let Some(visitors) = &settings.visitors {
        when = when.visitors(visitors.kinds().iter().copied());
    }
    if let Some(verdicts) = &settings.verdicts {
        when = when.verdicts(verdicts.iter().copied());
    }
    if let Some(networks) = &settings.addresses {
        let set = Arc::clone(networks.set());
        let contains = Arc::new(move |address| set.contains(address));
        let names = networks.written().join(", ");
        let addresses = (!names.is_empty()).then(|| Addresses::new(names, contains));
        when = when.addresses(addresses);
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
    when
}
