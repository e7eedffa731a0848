//! From `[[ban]]` to what is counted.

use std::time::Duration;

use robot_detection_site_robot::spelling::unknown;

use crate::bans::BanRule;
use crate::config::{BanSettings, ConfigErrors, Loaded};
use crate::policy::Rule;

use super::rules::rules_of_all;

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
    let (settings, sites) = (loaded.settings(), loaded.sites());
    let names = rules_of_all(settings, &sites).map(|rule| rule.name.trim());
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

/// Returns what requests are told to be refused by, of a rule's name or a word.
fn cause(name: &str, names: &[&str]) -> Result<String, String> {
    if names.contains(&name) {
        Ok(Rule::label_of_name(name))
    } else if WORDS.contains(&name) {
        Ok(name.to_owned())
    } else {
        let known = names.iter().copied().chain(WORDS);
        Err(unknown("named rule", name, known))
    }
}
