//! Converts `[licensing]` and `[[license]]` into the terms of a site.

use crate::config::{
    ConfigErrors, LicenseSettings, LicensingSection, Loaded, RobotsTxtSection, Settings,
    TrainingTerms,
};
use crate::licensing::{Licensing, Terms, TermsError, Usage};
use crate::policy::{TagRule, TagRuleBuilder};
use crate::robots_file::split_usage;

use super::heaven::site_url;

/// The default currency of payment amounts.
const CURRENCY: &str = "USD";

/// The setting of which explanations say that it adds headers.
const ORIGIN: &str = "licensing.training";

/// A function that sets a text field of the terms.
type Set = fn(Terms, &str) -> Result<Terms, TermsError>;

/// Returns the licensing terms that the settings specify, with their URLs.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub(crate) fn licensing(loaded: &Loaded) -> Result<Licensing, ConfigErrors> {
    let settings = loaded.settings();
    let key = LicensingSection::KEY;
    let section = &settings.licensing;
    let tables = &settings.tables.licenses;
    let mut all = Vec::new();
    for table in tables {
        let wrong = |error: TermsError| table.invalid_named_value(error.key(), &error);
        let made = terms(table).map_err(wrong)?;
        // Checked one by one, so that the error names its table.
        let _ = Licensing::new([made.clone()]).map_err(wrong)?;
        all.push(made);
    }
    let is_reserved = section.training == TrainingTerms::Reserved;
    let usage_key = RobotsTxtSection::KEY;
    let robots_txt = &settings.robots_txt;
    let mut usage = robots_txt
        .content_usage
        .iter()
        .map(|line| split_usage(line));
    let is_permitted = usage.any(|(path, list)| path.is_empty() && has(list, "train-ai=y"))
        || has(&robots_txt.content_signal, "ai-train=yes");
    if is_reserved && is_permitted {
        let contradiction = "\"reserved\" contradicts robots_txt.content_usage or \
            robots_txt.content_signal, which permit AI training on all pages; permit it for a path, \
            such as content_usage = [\"/open/ train-ai=y\"]";
        return Err(loaded.invalid(&key.training, contradiction));
    }
    if all.is_empty() && is_reserved {
        for (path, _) in exceptions(settings) {
            let terms = Terms::new().paths([path]);
            let terms = terms.map_err(|error| loaded.invalid(&usage_key.content_usage, error))?;
            all.push(terms.permits([Usage::AiTrain]).tdm_reservation(false));
        }
        all.push(Terms::new().prohibits([Usage::AiTrain]));
    }
    let has_terms = !all.is_empty();
    let licensing = Licensing::new(all).map_err(|error| loaded.invalid(&key.rsl, error))?;
    let nothing =
        "there are no terms to publish; add a [[license]], such as prohibits = \"ai-train\"";
    if !has_terms && section.tdmrep {
        return Err(loaded.invalid(&key.tdmrep, nothing));
    }
    let licensing = licensing.tdmrep(section.tdmrep || is_reserved);
    match &*section.rsl {
        "" => Ok(licensing),
        _ if !has_terms => Err(loaded.invalid(&key.rsl, nothing)),
        path => licensing
            .rsl(path)
            .map_err(|error| loaded.invalid(&key.rsl, error)),
    }
}

/// Returns the lines of `content_usage` that permit AI training of certain paths, each with its path.
fn exceptions(settings: &Settings) -> impl Iterator<Item = (&str, &str)> {
    let lines = settings.robots_txt.content_usage.iter();
    lines
        .map(|line| split_usage(line))
        .filter(|(path, list)| !path.is_empty() && has(list, "train-ai=y"))
}

/// Returns `true` if a list of preferences contains a member.
fn has(list: &str, member: &str) -> bool {
    list.split(',').any(|one| one.trim() == member)
}

/// Returns `true` if `licensing.training` is reserved for all paths of the site.
pub(super) fn is_reserved_everywhere(settings: &Settings) -> bool {
    settings.licensing.training == TrainingTerms::Reserved && exceptions(settings).next().is_none()
}

/// Returns a list of preferences to which a member is added if `licensing.training` is reserved and
/// the list does not contain the member's label.
pub(super) fn reserving(settings: &Settings, list: &str, label: &str, value: &str) -> String {
    let is_stated = list.split(',').any(|one| one.trim().starts_with(label));
    if settings.licensing.training == TrainingTerms::Unstated || is_stated {
        return list.to_owned();
    }
    let comma = if list.is_empty() { "" } else { ", " };
    format!("{label}={value}{comma}{list}")
}

/// Returns the tags that state on each page whether AI training is permitted, if it is reserved.
pub(super) fn reserved_tags(settings: &Settings) -> Vec<TagRuleBuilder> {
    if settings.licensing.training == TrainingTerms::Unstated {
        return Vec::new();
    }
    // A path of robots.txt is the start of a path, a glob is the whole path.
    let glob = |path: &str| match path.strip_suffix('$') {
        Some(path) => path.to_owned(),
        None => format!("{path}*"),
    };
    let open = exceptions(settings).map(|(path, list)| {
        let tag = TagRule::builder("all").origin(ORIGIN).paths([glob(path)]);
        tag.header("Content-Usage", list)
            .header("TDM-Reservation", "0")
    });
    let mut lines = settings
        .robots_txt
        .content_usage
        .iter()
        .map(|line| split_usage(line));
    let usage = lines
        .find(|(path, _)| path.is_empty())
        .map_or("", |(_, list)| list);
    let tag = TagRule::builder("noai, noimageai")
        .origin(ORIGIN)
        .except(exceptions(settings).map(|(path, _)| glob(path)))
        .header("Content-Usage", reserving(settings, usage, "train-ai", "n"))
        .header("TDM-Reservation", "1");
    let host = settings.server.hosts.first();
    let tag = match host.and_then(|host| license_url(settings, host)) {
        Some(url) => tag.header(
            "Link",
            format!("<{url}>; rel=\"license\"; type=\"application/rsl+xml\""),
        ),
        None => tag,
    };
    open.chain([tag]).collect()
}

/// Returns the URL of the RSL document served on a host, if any.
pub(crate) fn license_url(settings: &Settings, host: &str) -> Option<String> {
    let path = &settings.licensing.rsl;
    let site = site_url(settings)?;
    let (scheme, _) = site.split_once("://")?;
    (!path.is_empty()).then(|| format!("{scheme}://{host}{path}"))
}

fn terms(table: &LicenseSettings) -> Result<Terms, TermsError> {
    let mut terms = Terms::new()
        .paths(&table.path)?
        .permits(table.permits.iter().copied())
        .prohibits(table.prohibits.iter().copied());
    if let Some(payment) = table.payment {
        terms = terms.payment(payment);
    }
    if !table.amount.is_empty() {
        let currency = match &*table.currency {
            "" => CURRENCY,
            currency => currency,
        };
        terms = terms.amount(&table.amount, currency)?;
    }
    if let Some(reserved) = table.tdm_reservation {
        terms = terms.tdm_reservation(reserved);
    }
    let texts: [(&String, Set); 6] = [
        (&table.standard, Terms::standard),
        (&table.custom, Terms::custom),
        (&table.server, Terms::server),
        (&table.terms, Terms::terms),
        (&table.copyright, Terms::copyright),
        (&table.tdm_policy, Terms::tdm_policy),
    ];
    let mut set = texts.into_iter().filter(|(text, _)| !text.is_empty());
    set.try_fold(terms, |terms, (text, set)| set(terms, text))
}
