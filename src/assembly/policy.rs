//! From the settings of a site to its policy.

use crate::config::{
    ConfigErrors, GeneralSection, Loaded, Mode, Settings, SuspectsSection, VerifySection,
};
use crate::policy::{PathReading, Policy, PolicyBuilder, PolicyError};

use super::{
    origins::check_senders,
    rules::{rule, tag_rule},
    suspects::suspects_rule,
};

/// Returns the policy that the settings describe.
///
/// # Errors
///
/// Fails with the place of the wrong value.
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
                // Rules are numbered from 1, as people count them.
                return rule.wrong_by_name(key, reason);
            }
            // Behind those of the file stands the one about suspects.
            PolicyError::Rule { reason, .. } => {
                return loaded.wrong(&SuspectsSection::KEY.action, reason);
            }
            PolicyError::Tag {
                number,
                key,
                reason,
            } if let Some(tag) = settings.tables.tags.get(number - 1) => {
                return tag.wrong_by_name(key, reason);
            }
            _ => &GeneralSection::KEY.filter_patterns,
        };
        loaded.wrong(key, error)
    })
}

/// Returns how the server of a site reads paths.
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
        .redirect_url(&settings.general.redirect_url)
        .status(settings.general.redirect_status)
        .methods(&settings.general.redirect_methods)
        .allow_robots(&settings.general.allow_robots)
        .deny_robots(&settings.general.deny_robots)
        .own_hosts(&settings.server.hosts)
        .spoofed(settings.verify.spoofed)
        .places(origins.places())
        .dry_run(settings.general.mode == Mode::Report);
    // A rule about `/*` must not lock the administrator out.
    if settings.admin.enabled {
        builder = builder.never(&*settings.admin.path);
    }
    // Whoever is refused has to find out on which terms it would not be.
    if !settings.licensing.rsl.is_empty() {
        builder = builder.never(&*settings.licensing.rsl);
    }
    // A robot that was sent to heaven would be sent there again, for ever.
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
    builder
}
