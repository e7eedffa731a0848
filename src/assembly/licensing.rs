//! Converts `[licensing]` and `[[license]]` into the terms of a site.

use crate::config::{ConfigErrors, LicenseSettings, LicensingSection, Loaded, Settings};
use crate::licensing::{Licensing, Terms, TermsError};

use super::heaven::site_url;

/// The default currency of payment amounts.
const CURRENCY: &str = "USD";

/// A function that sets a text field of the terms.
type Set = fn(Terms, &str) -> Result<Terms, TermsError>;

/// Returns the licensing terms that the settings specify, with their URLs.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub(crate) fn licensing(loaded: &Loaded) -> Result<Licensing, ConfigErrors> {
    let settings = loaded.settings();
    let tables = &settings.tables.licenses;
    let mut all = Vec::new();
    for table in tables {
        let wrong = |error: TermsError| table.invalid_named_value(error.key(), &error);
        let made = terms(table).map_err(wrong)?;
        // Checked one by one, so that the error names its table.
        let _ = Licensing::new([made.clone()]).map_err(wrong)?;
        all.push(made);
    }
    let key = LicensingSection::KEY;
    let section = &settings.licensing;
    let licensing = Licensing::new(all).map_err(|error| loaded.invalid(&key.rsl, error))?;
    let nothing =
        "there are no terms to publish; add a [[license]], such as prohibits = \"ai-train\"";
    if tables.is_empty() && section.tdmrep {
        return Err(loaded.invalid(&key.tdmrep, nothing));
    }
    let licensing = licensing.tdmrep(section.tdmrep);
    match &*section.rsl {
        "" => Ok(licensing),
        _ if tables.is_empty() => Err(loaded.invalid(&key.rsl, nothing)),
        path => licensing
            .rsl(path)
            .map_err(|error| loaded.invalid(&key.rsl, error)),
    }
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
