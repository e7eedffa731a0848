//! Converts the configuration into the data from which other proxies' configuration files are
//! rendered.

use axum::http::HeaderName;

use crate::check::{Front, FrontSite, OwnPath, Place, PlaceError, RuleHeader};
use crate::config::{Loaded, RobotsTxtSource, RuleSettings, Settings};
use crate::licensing::Licensing;
use crate::listen::ListenAddr;

use super::{
    licensing, local_address,
    rules::{all_rules, answer_setting},
};

/// Returns the data for the configuration file of a front proxy that queries a server with these
/// settings.
///
/// `traps` returns the traps of the site with a given name.
///
/// # Errors
///
/// Returns an error that describes the required change if no decision endpoint or no site is
/// configured.
pub(crate) fn front<'t>(
    loaded: &Loaded,
    traps: impl Fn(Option<&str>) -> Vec<&'t str>,
) -> Result<Front, PlaceError> {
    let settings = loaded.settings();
    let check = settings.check.listen.as_ref();
    let check = check.ok_or_else(|| {
        let text = "no decision endpoint is configured (or the configuration file was not found: --config FILE): set check.listen, such as [check] listen = \"unix:/run/robot-detection/check.sock\"";
        PlaceError(text.to_owned())
    })?;
    let token = settings.check.token.as_ref();
    let token = token.map(|token| String::from_utf8_lossy(token.bytes()).into_owned());
    let sites = loaded.sites();
    let mut all = Vec::new();
    for site in &sites {
        let (number, loaded) = (all.len() + 1, site.loaded());
        let mut behind = site_behind(number, site.hosts(), site.path(), loaded)?;
        behind.own.extend(trap_paths(&traps(Some(site.name())))?);
        all.push(behind);
    }
    if !settings.server.upstream.is_empty() {
        let mut behind = site_behind(all.len() + 1, &[], "/", loaded)?;
        behind.own.extend(trap_paths(&traps(None))?);
        all.push(behind);
    }
    if all.is_empty() {
        let text =
            "no site is configured behind the proxy: set server.upstream to the site's server";
        return Err(PlaceError(text.to_owned()));
    }
    let given = all_rules(settings, &sites)
        .flat_map(|rule| &rule.headers)
        .map(|(name, _)| name.as_str());
    let of_rules = all_rules(settings, &sites).map(|rule| &rule.when);
    let tags = sites.iter().map(|site| site.loaded().settings());
    let tags = tags.chain([settings]).flat_map(|one| &one.tables.tags);
    let conditions = of_rules.chain(tags.map(|tag| &tag.when));
    let conditions = conditions.filter_map(|when| when.request_headers.as_ref());
    let mut read: Vec<_> = conditions
        .flatten()
        .filter_map(|text| read_header(text))
        .collect();
    read.sort_unstable();
    read.dedup();
    let unjudged = all_rules(settings, &sites).filter_map(unjudged);
    let client_header = settings.server.client_address_header.as_ref();
    Ok(Front {
        read,
        unjudged: unjudged.collect(),
        client_header: client_header.map(|name| name.as_str().to_owned()),
        given: RuleHeader::from_names(given),
        check: place(check)?,
        token,
        own: own(settings)?,
        sites: all,
    })
}

/// Returns the header name in a condition such as `!Accept-Language` or `Accept: text/*`.
fn read_header(condition: &str) -> Option<String> {
    let condition = condition.trim().trim_start_matches('!');
    let name = condition.split(':').next()?.trim().to_ascii_lowercase();
    HeaderName::try_from(name.as_str()).ok()?;
    Some(name)
}

/// Returns a sentence about the part of a rule that has no effect behind a proxy that sends one
/// query at a time.
fn unjudged(rule: &RuleSettings) -> Option<String> {
    let name = if rule.name.is_empty() {
        "A rule without a name".to_owned()
    } else {
        format!("The rule {:?}", rule.name)
    };
    if let Some(key) = answer_setting(rule) {
        let text = "the decision endpoint does not receive the site's responses";
        return Some(format!("{name} never matches {key} here: {text}."));
    }
    rule.wait_milliseconds?;
    let text = "the first requests of a robot are \"pending\"";
    Some(format!(
        "{name} does not wait for its verdict here: {text}."
    ))
}

fn trap_paths(traps: &[&str]) -> Result<Vec<OwnPath>, PlaceError> {
    let traps = traps.iter();
    traps.map(|path| OwnPath::exact(path, "A trap")).collect()
}

fn site_behind(
    number: usize,
    hosts: &[String],
    path: &str,
    loaded: &Loaded,
) -> Result<FrontSite, PlaceError> {
    let settings = loaded.settings();
    let mut site = FrontSite::new(number, hosts, path, &settings.server.upstream)?;
    site.preserve_host = settings.server.preserve_host;
    if settings.robots_txt.serve != RobotsTxtSource::Pass {
        site.own.push(OwnPath::exact("/robots.txt", "robots.txt")?);
    }
    for path in licensing(loaded).iter().flat_map(Licensing::paths) {
        site.own
            .push(OwnPath::exact(path, "The content licensing terms")?);
    }
    if settings.heaven.serve {
        site.own
            .extend(OwnPath::tree(&settings.heaven.path, "Robot heaven")?);
    }
    if settings.admin.enabled && settings.admin.listen.is_none() {
        site.own
            .extend(OwnPath::tree(&settings.admin.path, "The admin page")?);
    }
    Ok(site)
}

/// Returns the address at which this program serves its own pages without TLS.
fn own(settings: &Settings) -> Result<Place, PlaceError> {
    let tables = settings.tables.listeners.iter();
    let plain =
        tables.filter(|listener| !listener.is_tls() && listener.proxy_protocol != Some(true));
    let mut addrs = settings
        .server
        .listen
        .iter()
        .chain(plain.map(|listener| &listener.listen));
    let addr = addrs.next().ok_or_else(|| {
        let text = "the proxy cannot reach a listener of robot-detection: set server.listen to an address or unix:PATH";
        PlaceError(text.to_owned())
    })?;
    place(addr)
}

fn place(addr: &ListenAddr) -> Result<Place, PlaceError> {
    match addr {
        ListenAddr::Tcp(addr) => Place::parse(&format!("http://{}", local_address(*addr))),
        ListenAddr::Unix(path) => Place::parse(&format!("unix:{}", path.display())),
    }
}
