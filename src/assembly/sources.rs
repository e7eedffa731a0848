//! From `[[source]]` to the registries that are refreshed.

use crate::config::{ConfigErrors, GeneralSection, Loaded, SourceSettings};
use crate::refresh::SourceSpec;
use crate::registry::Format;

/// Returns the registries that are refreshed, the Web Robots Database first.
///
/// # Errors
///
/// Fails with the place of the wrong value.
pub fn sources(loaded: &Loaded) -> Result<Vec<SourceSpec>, ConfigErrors> {
    let settings = loaded.settings();
    let interval_days = settings.general.refresh_interval_days;
    let mut specs = Vec::new();
    if !settings.general.web_robots_db.is_empty() {
        let spec = SourceSpec::web_robots_db(&*settings.general.web_robots_db, interval_days);
        spec.check_url()
            .map_err(|reason| loaded.wrong(&GeneralSection::KEY.web_robots_db, reason))?;
        specs.push(spec);
    }
    for source in &settings.tables.sources {
        let spec = source_spec(source, interval_days)?;
        if specs.iter().any(|other| other.source == spec.source) {
            let reason = format!("two sources are named {:?}", source.name.as_str());
            return Err(source.wrong(&SourceSettings::KEY.name, reason));
        }
        specs.push(spec);
    }
    Ok(specs)
}

fn source_spec(settings: &SourceSettings, interval_days: u32) -> Result<SourceSpec, ConfigErrors> {
    let source = &settings.name;
    // From 3 on stand the sources of users; below are `manual`, `bundled` and `web-robots-db`.
    if source.precedence() < 3 {
        let reason = format!(
            "the name {:?} is taken by the program itself",
            source.as_str()
        );
        return Err(settings.wrong(&SourceSettings::KEY.name, reason));
    }
    let spec = SourceSpec {
        source: source.clone(),
        url: settings.url.clone(),
        format: settings.format.unwrap_or(Format::WebRobotsDb),
        interval_days: settings.interval_days.unwrap_or(interval_days),
    };
    let checked = spec.check_url();
    checked.map_err(|reason| settings.wrong(&SourceSettings::KEY.url, reason))?;
    Ok(spec)
}
