//! Converts `[[certificate]]` tables and the `acme` keys of listeners into TLS settings.

use crate::config::{AcmeTable, ConfigError, ConfigErrors, ListenerSettings, Settings};
use crate::listen::{CertificateError, CertificateFiles, Tls};

/// Reads the certificates shared by all listeners, if any are configured.
pub(crate) fn tls(settings: &Settings) -> Result<Option<Tls>, ConfigErrors> {
    let listeners = settings.tables.listeners.iter();
    let orders: Vec<_> = listeners
        .filter_map(|listener| Some((listener, listener.acme()?)))
        .collect();
    // Settings of the listener are checked first, without reading files.
    if let Some((listener, _)) = orders.iter().find(|(listener, _)| !listener.is_tls()) {
        let reason = "the listener requests certificates but does not use TLS: remove tls or acme";
        return Err(listener.wrong(&ListenerSettings::KEY.tls, reason));
    }
    let loaded = match (settings.tables.certificates.first(), orders.last()) {
        (None, None) => return Ok(None),
        (Some(first), _)
            if !settings
                .tables
                .listeners
                .iter()
                .any(ListenerSettings::is_tls) =>
        {
            // A certificate without a TLS listener suggests encryption that does not exist.
            return Err(first.invalid_files("no [[listener]] has tls = true"));
        }
        (_, None) => Tls::load(files(settings)),
        (_, Some((last, _))) => acme::load(files(settings), &orders, last)?,
    };
    loaded.map(Some).map_err(|error| wrong(settings, &error))
}

fn files(settings: &Settings) -> Vec<CertificateFiles> {
    let certificates = settings.tables.certificates.iter();
    certificates
        .map(|certificate| CertificateFiles {
            certificate_file: certificate.certificate_file.clone(),
            key_file: certificate.key_file.clone(),
        })
        .collect()
}

/// Returns an error with the place of the affected certificate.
fn wrong(settings: &Settings, error: &CertificateError) -> ConfigErrors {
    let concerned = settings.tables.certificates.iter().find(|certificate| {
        [&certificate.certificate_file, &certificate.key_file]
            .into_iter()
            .any(|file| file == error.file())
    });
    match concerned.or(settings.tables.certificates.first()) {
        Some(certificate) => certificate.invalid_files(error),
        None => ConfigErrors::from(ConfigError {
            origin: String::new(),
            message: format!("listener.tls: {error}"),
        }),
    }
}

#[cfg(feature = "acme")]
mod acme {
    use crate::listen::{Acme, AcmeError, AcmeSettings};

    use super::{
        AcmeTable, CertificateError, CertificateFiles, ConfigErrors, ListenerSettings, Tls,
    };

    pub(crate) fn load(
        files: Vec<CertificateFiles>,
        orders: &[(&ListenerSettings, &AcmeTable)],
        last: &ListenerSettings,
    ) -> Result<Result<Tls, CertificateError>, ConfigErrors> {
        let mut judged = Vec::new();
        for (listener, table) in orders {
            let order = settings(table);
            order.check().map_err(|error| wrong(listener, &error))?;
            judged.push(order);
        }
        // At this point, the only possible errors are conflicts with other listeners.
        let acme = Acme::new(judged).map_err(|error| wrong(last, &error))?;
        Ok(Tls::load_with_acme(files, acme))
    }

    fn wrong(listener: &ListenerSettings, error: &AcmeError) -> ConfigErrors {
        listener.invalid_named_value(&format!("acme.{}", error.key()), error)
    }

    fn settings(table: &AcmeTable) -> AcmeSettings {
        let default = AcmeSettings::default();
        AcmeSettings {
            hosts: table.hosts.clone(),
            contacts: table.contacts.clone(),
            directory: table.directory.clone(),
            cache: table.cache.clone().unwrap_or(default.cache),
            ca_file: table.ca_file.clone(),
            agree_to_terms: table.agree_to_terms,
            ..default
        }
    }
}

#[cfg(not(feature = "acme"))]
mod acme {
    use super::{
        AcmeTable, CertificateError, CertificateFiles, ConfigErrors, ListenerSettings, Tls,
    };

    /// Returns an error, because this build does not support the settings.
    pub(crate) fn load(
        _: Vec<CertificateFiles>,
        _: &[(&ListenerSettings, &AcmeTable)],
        last: &ListenerSettings,
    ) -> Result<Result<Tls, CertificateError>, ConfigErrors> {
        Err(last.wrong(&AcmeTable::KEY.hosts, REFUSAL))
    }

    const REFUSAL: &str = "this build cannot request certificates; use a build with the feature acme \
         (cargo build --features acme), or set files in a [[certificate]]";
}

#[cfg(test)]
mod tests {
    use crate::config::Loader;

    use super::*;

    fn error(text: &str) -> String {
        let loaded = Loader::new().file("f", text).load().unwrap();
        tls(loaded.settings()).unwrap_err().to_string()
    }

    #[cfg(not(feature = "acme"))]
    #[test]
    fn build_without_acme_names_the_feature() {
        let text = error(
            "[[listener]]\nlisten = '127.0.0.1:0'\nacme.hosts = ['a.example']\nacme.agree_to_terms = true",
        );
        assert!(text.contains("f:3"), "{text}");
        assert!(text.contains("--features acme"), "{text}");
    }

    #[cfg(feature = "acme")]
    #[test]
    fn invalid_acme_settings_are_refused_with_their_place() {
        let listener = "[[listener]]\nlisten = '127.0.0.1:0'\nacme = ";
        for (acme, place, expected) in [
            ("{ hosts = ['a.example'] }", "f:1", "agree_to_terms = true"),
            (
                "{ hosts = ['a.example'], agree_to_terms = false }",
                "f:3",
                "agree_to_terms",
            ),
            (
                "{ hosts = ['*.a.example'], agree_to_terms = true }",
                "f:3",
                "wildcards",
            ),
            ("{ agree_to_terms = true }", "f:1", "at least one host"),
            (
                "{ hosts = 'a.example', agree_to_terms = true, directory = 'x' }",
                "f:3",
                "nor a URL",
            ),
            (
                "{ hosts = 'a.example', agree_to_terms = true, ca_file = '/none/ca.pem' }",
                "f:3",
                "/none/ca.pem",
            ),
            (
                "{ hosts = 'a.example', agree_to_terms = true }\ntls = false",
                "f:4",
                "remove tls or acme",
            ),
        ] {
            let text = error(&format!("{listener}{acme}"));
            assert!(text.contains(place), "{acme}: {text}");
            assert!(text.contains(expected), "{acme}: {text}");
        }
    }

    #[cfg(feature = "acme")]
    #[test]
    fn requested_certificates_are_listed() {
        let text = "[[listener]]\nlisten = '127.0.0.1:0'\n[listener.acme]\nhosts = ['a.example', 'b.example']\n\
                    agree_to_terms = true\ncache = '/none'\ndirectory = 'staging'";
        let loaded = Loader::new().file("f", text).load().unwrap();
        let settings = loaded.settings();
        assert!(settings.tables.listeners[0].is_tls());
        let states = tls(settings).unwrap().unwrap().states();
        let names: Vec<_> = states.iter().map(|state| &*state.names[0]).collect();
        assert_eq!(names, ["a.example", "b.example"]);
        assert!(
            states
                .iter()
                .all(|state| state.validity.is_none() && state.is_ordered)
        );
    }

    #[test]
    fn unknown_keys_of_acme_are_refused() {
        let text = "[[listener]]\nlisten = '127.0.0.1:0'\nacme = { host = ['a.example'] }";
        let error = Loader::new()
            .file("f", text)
            .load()
            .unwrap_err()
            .to_string();
        assert!(error.contains("f:3"), "{error}");
        assert!(error.contains("acme.hosts"), "{error}");
        let text = "[[listener]]\nlisten = '127.0.0.1:0'\nacme = true";
        let error = Loader::new()
            .file("f", text)
            .load()
            .unwrap_err()
            .to_string();
        assert!(error.contains("unknown key \"acme\""), "{error}");
    }
}
