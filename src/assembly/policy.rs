//! Converts the settings of a site into its policy.

use super::{
    licensing::reserved_tags,
    origins::check_senders,
    rules::{rule, tag_rule},
};
use crate::config::{
    ConfigErrors, EnforcementSection, GeneralSection, Loaded, Mode, QueryNames, Settings,
    SuspectAction, SuspectsSection, VerifySection,
};
use crate::policy::{
    Action, Enforcement, PathReading, Policy, PolicyBuilder, PolicyError, QueryReading, Refusal,
    Rule, RuleBuilder,
};

/// Returns the policy that the settings specify.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub fn policy(loaded: &Loaded) -> Result<Policy, ConfigErrors> {
    let settings = loaded.settings();
    check_senders(settings)?;
    policy_builder(loaded).build().map_err(|error| {
        let key = match &error {
            PolicyError::RedirectUrl { .. } => &GeneralSection::KEY.redirect_url,
            PolicyError::Status(_) => &GeneralSection::KEY.redirect_status,
            PolicyError::Method(_) => &GeneralSection::KEY.redirect_methods,
            PolicyError::NowhereToRedirect => &GeneralSection::KEY.deny_robots,
            PolicyError::NowhereToRedirectSpoofed => &VerifySection::KEY.spoofed,
            PolicyError::Rule {
                number,
                key,
                reason,
            } if let Some(rule) = settings.tables.rules.get(number - 1) => {
                // Rules are numbered from 1 for users.
                return rule.invalid_named_value(key, reason);
            }
            // The rule about suspects follows the rules of the file.
            PolicyError::Rule { reason, .. } => {
                return loaded.invalid(&SuspectsSection::KEY.action, reason);
            }
            PolicyError::Tag {
                number,
                key,
                reason,
            } if let Some(tag) = settings.tables.tags.get(number - 1) => {
                return tag.invalid_named_value(key, reason);
            }
            _ => &GeneralSection::KEY.filter_patterns,
        };
        loaded.invalid(key, error)
    })
}

/// Returns the way in which a site's server normalizes paths.
pub(crate) fn path_reading(settings: &Settings) -> PathReading {
    PathReading {
        parameters: settings.server.path_parameters,
        ignore_case: settings.server.ignore_case,
    }
}

pub(crate) fn policy_builder(loaded: &Loaded) -> PolicyBuilder {
    let (settings, origins) = (loaded.settings(), loaded.origins());
    let mut builder = Policy::builder()
        .filter_patterns(&settings.general.filter_patterns)
        .path_reading(path_reading(settings))
        .query_reading(QueryReading {
            php_names: settings.server.query_names == QueryNames::Php,
            semicolons: settings.server.query_semicolons,
        })
        .redirect_url(&settings.general.redirect_url)
        .status(settings.general.redirect_status)
        .methods(&settings.general.redirect_methods)
        .allow_robots(&settings.general.allow_robots)
        .deny_robots(&settings.general.deny_robots)
        .own_hosts(&settings.server.hosts)
        .spoofed(settings.verify.spoofed)
        .places(origins.places())
        .dry_run(settings.general.mode == Mode::Report);
    // A rule for `/*` must not lock the administrator out.
    if settings.admin.enabled {
        builder = builder.never(&*settings.admin.path);
    }
    // Refused clients must be able to read the terms for access.
    if !settings.licensing.rsl.is_empty() {
        builder = builder.never(&*settings.licensing.rsl);
    }
    // A robot redirected to heaven would be redirected there again, for ever.
    if settings.heaven.serve {
        builder = builder.never(&*settings.heaven.path);
    }
    if !settings.general.redirect_purposes.is_empty() {
        builder = builder.purposes(settings.general.redirect_purposes.iter().copied());
    }
    for table in &settings.tables.rules {
        builder = builder.rule(rule(table, settings, origins));
    }
    if let Some(rule) = suspects_rule(loaded) {
        builder = builder.rule(rule);
    }
    for table in &settings.tables.tags {
        builder = builder.x_robots_tag(tag_rule(table, settings, origins));
    }
    let tags = reserved_tags(settings).into_iter();
    tags.fold(builder, PolicyBuilder::x_robots_tag)
}

/// The label of the suspects rule in reasons, logs and bans.
const LABEL: &str = "suspects";

/// Returns `true` if a site with these settings detects suspects.
pub(crate) fn finds_suspects(loaded: &Loaded) -> bool {
    loaded.settings().suspects.action != SuspectAction::Off
}

/// Returns the policy's last rule, which applies to suspects that no other rule matches, if
/// configured.
pub(super) fn suspects_rule(loaded: &Loaded) -> Option<RuleBuilder> {
    let rule = Rule::builder(match loaded.settings().suspects.action {
        SuspectAction::Off | SuspectAction::Report => return None,
        SuspectAction::Heaven => Action::Serve,
        SuspectAction::Refuse => Action::Refuse,
    });
    let origin = loaded.origin(&SuspectsSection::KEY.action);
    // Suspects are always people, so setting the action confirms that the rule applies to people.
    let rule = rule.label(LABEL).origin(origin).paths(["/*"]);
    Some(rule.suspect(true).people(true))
}

/// Returns the enforcement of robots.txt that the settings specify.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub fn enforcement(loaded: &Loaded) -> Result<Enforcement, ConfigErrors> {
    let settings = loaded.settings();
    let of = &settings.enforcement;
    if of.refusal == Refusal::Redirect && settings.general.redirect_url.is_empty() {
        let reason = "there is no redirect target; set redirect_url, or use \"403\"";
        return Err(loaded.invalid(&EnforcementSection::KEY.refusal, reason));
    }
    Ok(Enforcement::default()
        .rules(of.enforce)
        .refusal(of.refusal)
        .usage(of.enforce_usage)
        .crawl_delay(of.enforce_crawl_delay))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;
    use crate::policy::EnforcementMode;

    fn of(text: &str) -> Result<Enforcement, String> {
        let loaded = Loader::new().file("c.toml", text).load();
        let enforcement = loaded.and_then(|loaded| enforcement(&loaded));
        enforcement.map_err(|error| error.to_string())
    }

    #[test]
    fn words_become_settings() {
        assert_eq!(of(""), Ok(Enforcement::default()));
        let text = "[robots_txt]\nenforce = 'on'\nrefusal = '429'\nenforce_crawl_delay = 'off'";
        let strict = Enforcement::default()
            .rules(EnforcementMode::On)
            .refusal(Refusal::TooManyRequests)
            .crawl_delay(EnforcementMode::Off);
        assert_eq!(of(text), Ok(strict));
    }

    #[test]
    fn errors_name_the_place_of_wrong_words() {
        for (text, expected) in [
            (
                "robots_txt.enforce = 'onn'",
                "c.toml:1: robots_txt.enforce: \"onn\" is not a valid mode; did you mean \"on\"?",
            ),
            (
                "\nrobots_txt.refusal = '404'",
                "c.toml:2: robots_txt.refusal: \"404\" is not a valid refusal; did you mean \"403\"?",
            ),
            (
                "robots_txt.enforce_crawl_delay = '10'",
                "c.toml:1: robots_txt.enforce_crawl_delay: \"10\" is not a valid mode",
            ),
            (
                "redirect_url = ''\nrobots_txt.refusal = 'redirect'",
                "c.toml:2: robots_txt.refusal: there is no redirect target",
            ),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }
}
