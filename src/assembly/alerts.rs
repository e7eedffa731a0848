//! Converts `[[alert]]` tables into alerts.

use crate::alerts::{Alert, Trigger, Watch, Webhook};
use crate::config::{AlertSettings, ConfigErrors, Loaded};

/// The maximum length of an alert's name, in characters.
const MAX_NAME_CHARS: usize = 100;

/// Returns the alerts that the settings specify.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub fn alerts(loaded: &Loaded) -> Result<Vec<Alert>, ConfigErrors> {
    let mut alerts: Vec<Alert> = Vec::new();
    for settings in &loaded.settings().tables.alerts {
        let alert = alert(settings)?;
        if alerts.iter().any(|other| other.name == alert.name) {
            let reason = format!("two alerts are named {:?}", alert.name);
            return Err(settings.wrong(&AlertSettings::KEY.name, reason));
        }
        alerts.push(alert);
    }
    Ok(alerts)
}

fn alert(settings: &AlertSettings) -> Result<Alert, ConfigErrors> {
    let name = &settings.name;
    // Names appear in logs, on pages and on terminals.
    if name.chars().any(char::is_control) || name.chars().count() > MAX_NAME_CHARS {
        let reason = format!(
            "a name must have at most {MAX_NAME_CHARS} characters and no control characters"
        );
        return Err(settings.wrong(&AlertSettings::KEY.name, reason));
    }
    if settings.template.is_some() && settings.format.is_some() {
        let reason = "the template replaces format: remove one of the two settings";
        return Err(settings.wrong(&AlertSettings::KEY.template, reason));
    }
    let watch = watch(settings)?;
    let is_private = settings.private.unwrap_or(false);
    let (url, secret) = (settings.url.clone(), settings.secret.clone());
    let webhook = Webhook::new(url, secret, is_private)
        .map_err(|error| settings.wrong(&AlertSettings::KEY.url, error))?;
    Ok(Alert {
        name: name.clone(),
        watch,
        webhook,
        format: settings.format.unwrap_or_default(),
        template: settings.template.clone(),
    })
}

fn watch(settings: &AlertSettings) -> Result<Watch, ConfigErrors> {
    let above = |usual: u64| settings.above.map_or(usual, u64::from);
    let watch = match settings.on {
        Trigger::Impostor => Watch::Impostor { above: above(20) },
        Trigger::RobotsTxt => Watch::RobotsTxt { above: above(100) },
        Trigger::CrawlSpike => Watch::CrawlSpike {
            times: settings.times.map_or(5, u64::from),
            above: above(1_000),
        },
        Trigger::Certificate => Watch::Certificate {
            days: settings.days.map_or(14, u64::from),
        },
        Trigger::Refresh => Watch::Refresh,
        Trigger::Heaven => Watch::Heaven,
        Trigger::Parity => Watch::Parity,
        Trigger::Database => Watch::Database,
    };
    let (is_spike, is_certificate) = (
        matches!(watch, Watch::CrawlSpike { .. }),
        matches!(watch, Watch::Certificate { .. }),
    );
    let counts = matches!(watch, Watch::Impostor { .. } | Watch::RobotsTxt { .. }) || is_spike;
    let key = &AlertSettings::KEY;
    let (above, times, days) = (settings.above, settings.times, settings.days);
    let counted = "impostor, robots_txt and crawl_spike";
    for (is_set, has_meaning, key, of) in [
        (above.is_some(), counts, &key.above, counted),
        (times.is_some(), is_spike, &key.times, "crawl_spike"),
        (days.is_some(), is_certificate, &key.days, "certificate"),
    ] {
        // An unused threshold would suggest an alert that never fires.
        if is_set && !has_meaning {
            return Err(settings.wrong(key, format!("the setting applies only to alerts on {of}")));
        }
    }
    Ok(watch)
}
