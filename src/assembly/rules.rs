//! Converts `[[rule]]` and `[[x_robots_tag]]` tables into policy rules.

use std::sync::Arc;
use std::time::Duration;

use super::origins::referenced_lists;
use crate::bans::BanRule;
use crate::config::{
    Asn, BanSettings, ConfigErrors, Loaded, Networks, RuleSettings, Settings, SiteLoaded,
    TagSettings, WhenSettings,
};
use crate::origins::Origins;
use crate::policy::{Addresses, Rule, RuleBuilder, TagRule, TagRuleBuilder, When};
use robot_detection_site_robot::spelling::unknown_word;

/// Returns the rules of all sites, including common rules; the result may contain a rule several
/// times.
pub(super) fn all_rules<'s>(
    common: &'s Settings,
    sites: &'s [SiteLoaded],
) -> impl Iterator<Item = &'s RuleSettings> {
    let of_sites = sites.iter().map(|site| site.loaded().settings());
    let all = of_sites.chain([common]);
    all.flat_map(|settings| &settings.tables.rules)
}

/// Returns the setting that makes a rule depend on the site's responses, if any.
pub(crate) fn answer_setting(rule: &RuleSettings) -> Option<&'static str> {
    // If the rule also limits requests, the rule does not depend on responses alone.
    let by_time = rule
        .load_milliseconds
        .filter(|_| rule.load_requests.is_none());
    let by_errors = rule.errors.map(|_| "errors");
    by_errors.or(by_time.map(|_| "when.upstream_milliseconds"))
}

pub(crate) fn rule(settings: &RuleSettings, all: &Settings, origins: &Origins) -> RuleBuilder {
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    let milliseconds = |milliseconds: u32| Duration::from_millis(milliseconds.into());
    let rule = Rule::builder(settings.action)
        .name(&settings.name)
        .origin(settings.origin())
        .when(when(&settings.when, all, origins));
    let rule = set(
        rule,
        settings.redirect_url.as_ref(),
        RuleBuilder::redirect_url,
    );
    let rule = set(rule, settings.status, RuleBuilder::status);
    let rule = set(rule, settings.text.as_deref(), RuleBuilder::text);
    let rule = set(rule, settings.requests, RuleBuilder::requests);
    let rule = set(rule, settings.per_seconds.map(seconds), RuleBuilder::per);
    let rule = set(rule, settings.burst, RuleBuilder::burst);
    let rule = set(rule, settings.rate_key, RuleBuilder::rate_key);
    let rule = set(rule, settings.errors, RuleBuilder::errors);
    let rule = set(rule, settings.load_requests, RuleBuilder::load_requests);
    let rule = set(rule, settings.load_milliseconds, RuleBuilder::load_time);
    let rule = set(rule, settings.people, RuleBuilder::people);
    let wait = settings.wait_milliseconds.map(milliseconds);
    let rule = set(rule, wait, RuleBuilder::wait);
    let headers = settings.headers.iter();
    headers.fold(rule, |rule, (name, value)| {
        rule.response_header(name, value)
    })
}

/// Calls a builder's setter if the value is set.
fn set<B, V>(builder: B, value: Option<V>, setter: impl FnOnce(B, V) -> B) -> B {
    match value {
        Some(value) => setter(builder, value),
        None => builder,
    }
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

/// Returns the conditions shared by all kinds of rules.
fn when(settings: &WhenSettings, all: &Settings, origins: &Origins) -> When {
    let purposes = settings.purposes.as_ref().map(|all| all.iter().copied());
    let sources = settings.sources.as_ref().map(|all| all.iter().cloned());
    let visitors = settings.visitors.as_ref();
    let visitors = visitors.map(|visitors| visitors.kinds().iter().copied());
    let verdicts = settings.verdicts.as_ref().map(|all| all.iter().copied());
    let when = of_sender(settings, all, origins);
    let when = set(when, settings.paths.as_ref(), When::paths);
    let when = set(when, settings.methods.as_ref(), When::methods);
    let when = set(when, settings.hosts.as_ref(), When::hosts);
    let when = set(when, settings.query.as_ref(), When::query);
    let when = set(
        when,
        settings.query_parameters_over,
        When::query_parameters_over,
    );
    let when = set(when, settings.robots.as_ref(), When::robots);
    let when = set(when, purposes, When::purposes);
    let when = set(when, settings.operators.as_ref(), When::operators);
    let when = set(when, sources, When::sources);
    let when = set(when, visitors, When::visitors);
    set(when, verdicts, When::verdicts)
}

/// Returns the conditions on the origin of a request: networks, address lists, countries and the
/// like.
fn of_sender(settings: &WhenSettings, all: &Settings, origins: &Origins) -> When {
    let addresses = settings.addresses.as_ref().map(|networks| {
        let listed = referenced_lists(networks.lists(), all, origins);
        named(networks).into_iter().chain(listed)
    });
    let asns = settings.asns.as_ref();
    let asns = asns.map(|asns| asns.iter().copied().map(Asn::number));
    let reasons = settings.reasons.as_ref().map(|all| all.iter().copied());
    let when = set(When::new(), addresses, When::addresses);
    let when = set(when, asns, When::asns);
    let when = set(when, settings.countries.as_ref(), When::countries);
    let when = set(when, settings.request_headers.as_ref(), When::headers);
    let when = set(when, settings.user_agents.as_ref(), When::user_agents);
    let when = set(
        when,
        settings.signature_agents.as_ref(),
        When::signature_agents,
    );
    let when = set(when, settings.suspect, When::suspect);
    set(when, reasons, When::reasons)
}

/// Returns the networks written directly in the setting, if any.
fn named(networks: &Networks) -> Option<Addresses> {
    let set = Arc::clone(networks.set());
    let names = networks.written().join(", ");
    let contains = Arc::new(move |address| set.contains(address));
    (!names.is_empty()).then(|| Addresses::new(names, contains))
}

/// Words for the causes of refusals and delays other than rules.
const WORDS: [&str; 4] = ["robots.txt", "crawl-delay", "spoofed", "deny"];

const PER: Duration = Duration::from_mins(1);
const LASTS: Duration = Duration::from_hours(1);

/// Returns the ban rules that the settings specify.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub(crate) fn bans(loaded: &Loaded) -> Result<Vec<BanRule>, ConfigErrors> {
    let (settings, sites) = (loaded.settings(), loaded.sites());
    let names = all_rules(settings, &sites).map(|rule| rule.name.trim());
    let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
    let tables = settings.tables.bans.iter();
    tables.map(|table| ban(table, &names)).collect()
}

fn ban(settings: &BanSettings, names: &[&str]) -> Result<BanRule, ConfigErrors> {
    let seconds = |set: Option<u32>, otherwise| {
        set.map_or(otherwise, |seconds| Duration::from_secs(seconds.into()))
    };
    let wanted = settings.rules.iter().flatten();
    let causes = wanted.map(|name| {
        cause(name.trim(), names).map_err(|reason| settings.wrong(&BanSettings::KEY.rules, reason))
    });
    Ok(BanRule {
        refusals: settings.refusals,
        per: seconds(settings.per_seconds, PER),
        lasts: seconds(settings.for_seconds, LASTS),
        causes: causes.collect::<Result<_, _>>()?,
    })
}

/// Returns the cause of refusals for a rule's name, or for a word that stands for another cause.
fn cause(name: &str, names: &[&str]) -> Result<String, String> {
    if names.contains(&name) {
        Ok(Rule::label_of_name(name))
    } else if WORDS.contains(&name) {
        Ok(name.to_owned())
    } else {
        let known = names.iter().copied().chain(WORDS);
        Err(unknown_word("named rule", name, known))
    }
}
