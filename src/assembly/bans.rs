//! From `[[ban]]` to what is counted.

use std::time::Duration;

use robot_detection_site_robot::spelling::unknown;

use crate::bans::BanRule;
use crate::config::{BanSettings, ConfigErrors, Loaded, RuleSettings};
use crate::policy::Rule;

/// What refuses, or makes wait, beside rules.
const WORDS: [&str; 4] = ["robots.txt", "crawl-delay", "spoofed", "deny"];

const PER: Duration = Duration::from_mins(1);
const LASTS: Duration = Duration::from_hours(1);

/// Returns how often somebody has to be refused before he is banned.
///
/// # Errors
///
/// Fails with the place of the wrong value.
pub(crate) fn bans(loaded: &Loaded) -> Result<Vec<BanRule>, ConfigErrors> {
    let tables = loaded.settings().tables.bans.iter();
    tables.map(|settings| ban(settings, loaded)).collect()
}

fn ban(settings: &BanSettings, loaded: &Loaded) -> Result<BanRule, ConfigErrors> {
    let seconds = |set: Option<u32>, otherwise| {
        set.map_or(otherwise, |seconds| Duration::from_secs(seconds.into()))
    };
    let names = settings.rules.iter().flatten();
    let causes = names.map(|name| cause(settings, name.trim(), loaded));
    Ok(BanRule {
        refusals: settings.refusals,
        per: seconds(settings.per_seconds, PER),
        lasts: seconds(settings.for_seconds, LASTS),
        causes: causes.collect::<Result<_, _>>()?,
    })
}

/// Returns what requests are told to be refused by, of a rule's name or a word.
fn cause(settings: &BanSettings, name: &str, loaded: &Loaded) -> Result<String, ConfigErrors> {
    let sites = loaded.sites();
    let of_sites = sites.iter().map(|site| site.loaded().settings());
    let rules = of_sites
        .chain([loaded.settings()])
        .flat_map(|settings| &settings.tables.rules);
    let names: Vec<_> = rules
        .map(|rule: &RuleSettings| rule.name.trim())
        .filter(|name| !name.is_empty())
        .collect();
    if names.contains(&name) {
        return Ok(Rule::label_of_name(name));
    }
    if WORDS.contains(&name) {
        return Ok(name.to_owned());
    }
    let reason = unknown("named rule", name, names.into_iter().chain(WORDS));
    Err(settings.wrong(&BanSettings::KEY.rules, reason))
}
