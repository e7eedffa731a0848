//! Converts `[[list]]`, `[geoip]` and `server.trusted_proxies` into address data.

use std::time::Duration;

use crate::config::{
    ConfigErrors, GeneralSection, GeoIpSection, Key, ListSettings, Loaded, Networks, ServerSection,
    Settings, SourceSettings, WhenKeys, WhenSettings,
};
use crate::fetch::Origin;
use crate::listen::{ProxySet, TrustedProxies};
use crate::origins::{ListSpec, Origins, WantedOrigins};
use crate::policy::Addresses;
use crate::refresh::SourceSpec;
use crate::registry::Format;
use robot_detection_site_robot::spelling::nearest;

/// The default interval between downloads of an address list.
const INTERVAL: Duration = Duration::from_hours(24);

/// Returns the address lists and files to refresh.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub fn wanted_origins(loaded: &Loaded) -> Result<WantedOrigins, ConfigErrors> {
    let settings = loaded.settings();
    let mut wanted = WantedOrigins::default();
    for list in &settings.tables.lists {
        let is_taken = wanted.lists.iter().any(|other| other.name == list.name);
        if is_taken || !is_name(&list.name) {
            let name = &list.name;
            let reason = if is_taken {
                format!("two lists are named {name:?}")
            } else {
                format!("{name:?} is not a valid name; use letters, digits, -, . and _")
            };
            return Err(list.wrong(&ListSettings::KEY.name, reason));
        }
        if let Err(reason) = Origin::parse(&list.url) {
            return Err(list.wrong(&ListSettings::KEY.url, reason));
        }
        wanted.lists.push(spec(list));
    }
    let proxies = &settings.server.trusted_proxies;
    for name in proxies.lists() {
        find(settings, name)
            .map_err(|reason| loaded.invalid(&ServerSection::KEY.trusted_proxies, reason))?;
    }
    for preset in proxies.presets() {
        wanted
            .lists
            .extend(preset.lists.iter().map(|&(url, built_in)| ListSpec {
                name: preset.name.to_owned(),
                url: url.to_owned(),
                interval: INTERVAL,
                built_in,
            }));
    }
    wanted.asn_file.clone_from(&settings.geoip.asn_file);
    wanted.country_file.clone_from(&settings.geoip.country_file);
    Ok(wanted)
}

/// Checks that the lists and files needed by the rules are configured.
///
/// # Errors
///
/// Returns an error that shows the place of the condition.
pub(super) fn check_senders(settings: &Settings) -> Result<(), ConfigErrors> {
    for rule in &settings.tables.rules {
        check(settings, &rule.when).map_err(|(key, reason)| rule.wrong(key, reason))?;
    }
    for tag in &settings.tables.tags {
        check(settings, &tag.when).map_err(|(key, reason)| tag.wrong(key, reason))?;
    }
    Ok(())
}

/// Returns the trusted proxies; proxies in address lists follow the lists' current contents.
pub(crate) fn trusted_proxies(loaded: &Loaded) -> TrustedProxies {
    let (settings, origins) = (loaded.settings(), loaded.origins());
    let proxies = &settings.server.trusted_proxies;
    let lists = proxies.lists().iter();
    let chosen = lists.filter_map(|name| Some((name.as_str(), &*find(settings, name).ok()?.url)));
    let published = proxies.presets().iter().flat_map(|preset| {
        let lists = preset.lists.iter();
        lists.map(|&(url, _)| (preset.name, url))
    });
    let named = proxies.named().clone();
    let trusted = chosen.chain(published).fold(named, |trusted, (name, url)| {
        trusted.with_proxies(ProxySet::new(format!("{name} {url}"), origins.look_up(url)))
    });
    match &settings.server.client_address_header {
        Some(header) => trusted.client_header(header.clone()),
        None => trusted,
    }
}

/// Returns the address lists that a rule refers to, each with its name.
pub(super) fn referenced_lists(
    names: &[String],
    settings: &Settings,
    origins: &Origins,
) -> Vec<Addresses> {
    let found = names.iter().filter_map(|name| {
        let url = &find(settings, name).ok()?.url;
        Some(Addresses::new(format!("list:{name}"), origins.look_up(url)))
    });
    found.collect()
}

fn check(settings: &Settings, when: &WhenSettings) -> Result<(), (&'static Key, String)> {
    static KEYS: WhenKeys = WhenSettings::KEY;
    for name in when.addresses.iter().flat_map(Networks::lists) {
        find(settings, name).map_err(|reason| (&KEYS.addresses, reason))?;
    }
    let geoip = &settings.geoip;
    let missing = if when.asns.is_some() && geoip.asn_file.is_none() {
        let file = GeoIpSection::KEY.asn_file.name;
        (&KEYS.asns, file, "GeoLite2-ASN.mmdb")
    } else if when.countries.is_some() && geoip.country_file.is_none() {
        let file = GeoIpSection::KEY.country_file.name;
        (&KEYS.countries, file, "GeoLite2-Country.mmdb")
    } else {
        return Ok(());
    };
    let (key, setting, example) = missing;
    let reason = format!(
        "the condition needs a GeoIP database: set {setting} to a file such as {example:?}"
    );
    Err((key, reason))
}

/// Finds an address list by its name; for an unknown name, the error suggests the most similar
/// name.
fn find<'s>(settings: &'s Settings, name: &str) -> Result<&'s ListSettings, String> {
    let mut lists = settings.tables.lists.iter();
    let found = lists.clone().find(|list| list.name == name);
    found.ok_or_else(|| {
        let near = nearest(name, lists.by_ref().map(|list| list.name.as_str()));
        match near {
            Some(near) => format!("no [[list]] is named {name:?}; did you mean {near:?}?"),
            None => format!("no [[list]] is named {name:?}; add one with a name and a url"),
        }
    })
}

fn spec(list: &ListSettings) -> ListSpec {
    let hours = list.interval_hours;
    ListSpec {
        name: list.name.clone(),
        url: list.url.clone(),
        interval: hours.map_or(INTERVAL, |hours| Duration::from_hours(hours.into())),
        built_in: "",
    }
}

fn is_name(name: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    !name.is_empty() && name.chars().all(is_good)
}

/// Returns the registries to refresh, starting with the Web Robots Database.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub fn sources(loaded: &Loaded) -> Result<Vec<SourceSpec>, ConfigErrors> {
    let settings = loaded.settings();
    let interval_days = settings.general.refresh_interval_days;
    let mut specs = Vec::new();
    if !settings.general.web_robots_db.is_empty() {
        let spec = SourceSpec::web_robots_db(&*settings.general.web_robots_db, interval_days);
        spec.check_url()
            .map_err(|reason| loaded.invalid(&GeneralSection::KEY.web_robots_db, reason))?;
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
    // Users' sources start at 3, after `manual`, `bundled` and `web-robots-db`.
    if source.precedence() < 3 {
        let reason = format!("the name {:?} is reserved", source.as_str());
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
