//! `[[listener]]` and `[[certificate]]` as typed values.

use std::collections::BTreeMap;

use super::{ConfigError, ConfigErrors, Value, file::Table};

/// One `[[listener]]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ListenerSettings {
    /// Place to listen at.
    pub listen: String,
    /// Whether connections are encrypted.
    pub tls: bool,
    /// Whether connections begin with a PROXY header.
    pub proxy_protocol: bool,
    /// Certificates that it orders by itself.
    pub acme: Option<AcmeTable>,
    /// Where it stands, for errors.
    pub origin: String,
    /// Where each of its keys stands.
    origins: BTreeMap<&'static str, String>,
}

/// `acme` of a `[[listener]]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AcmeTable {
    /// Names that certificates are ordered for.
    pub hosts: Vec<String>,
    /// Where the authority reaches the site's people.
    pub contacts: Vec<String>,
    /// URL of the authority's directory, or a word for one; empty: the default.
    pub directory: String,
    /// Directory of account, keys and certificates.
    pub cache: String,
    /// Certificates that prove the directory's server; empty: the system's.
    pub ca_file: String,
    /// Whether the authority's terms of service are agreed to.
    pub agree_to_terms: bool,
}

/// One `[[certificate]]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CertificateSettings {
    /// File of the certificate and its intermediate ones.
    pub certificate_file: String,
    /// File of the private key.
    pub key_file: String,
    /// Where it stands, for errors.
    pub origin: String,
}

impl ListenerSettings {
    pub(super) fn new(file: &str, table: &Table) -> Result<Self, ConfigError> {
        let mut listener = Self {
            origin: format!("{file}:{}", table.line),
            ..Self::default()
        };
        for (name, value, line) in &table.values {
            listener.origins.insert(name, format!("{file}:{line}"));
            match (*name, value) {
                ("listen", Value::Text(text)) => text.trim().clone_into(&mut listener.listen),
                ("tls", Value::Bool(tls)) => listener.tls = *tls,
                ("proxy_protocol", Value::Bool(proxied)) => listener.proxy_protocol = *proxied,
                (name, value) => listener.set_acme(name, value),
            }
        }
        if listener.acme.is_some() && !listener.origins.contains_key("tls") {
            listener.tls = true;
        }
        if listener.listen.is_empty() {
            return Err(ConfigError {
                origin: listener.origin,
                message: "a [[listener]] needs a place, such as listen = \"0.0.0.0:443\""
                    .to_owned(),
            });
        }
        Ok(listener)
    }

    /// Returns `true` if both are the same, wherever they stand.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let what = |listener: &Self| Self {
            origin: String::new(),
            origins: BTreeMap::new(),
            ..listener.clone()
        };
        what(self) == what(other)
    }

    fn set_acme(&mut self, name: &str, value: &Value) {
        let Some(key) = name.strip_prefix("acme.") else {
            return;
        };
        let acme = self.acme.get_or_insert_default();
        match (key, value.clone()) {
            ("hosts", Value::List(hosts)) => acme.hosts = hosts,
            ("contact", Value::List(contacts)) => acme.contacts = contacts,
            ("directory", Value::Text(text)) => acme.directory = text,
            ("cache", Value::Text(text)) => acme.cache = text,
            ("ca_file", Value::Text(text)) => acme.ca_file = text,
            ("agree_to_terms", Value::Bool(agreed)) => acme.agree_to_terms = agreed,
            _ => {}
        }
    }

    /// Creates the error of a value that turned out wrong later.
    #[must_use]
    pub fn wrong(&self, key: &str, reason: impl std::fmt::Display) -> ConfigErrors {
        ConfigErrors::from(ConfigError {
            origin: self.origins.get(key).unwrap_or(&self.origin).clone(),
            message: format!("listener.{key}: {reason}"),
        })
    }
}

impl CertificateSettings {
    /// Returns `true` if both are the same, wherever they stand.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let what = |certificate: &Self| Self {
            origin: String::new(),
            ..certificate.clone()
        };
        what(self) == what(other)
    }

    pub(super) fn new(file: &str, table: &Table) -> Result<Self, ConfigError> {
        let mut certificate = Self {
            origin: format!("{file}:{}", table.line),
            ..Self::default()
        };
        for (name, value, _) in &table.values {
            match (*name, value) {
                ("certificate_file", Value::Text(text)) => {
                    certificate.certificate_file.clone_from(text);
                }
                ("key_file", Value::Text(text)) => certificate.key_file.clone_from(text),
                _ => {}
            }
        }
        if certificate.certificate_file.is_empty() || certificate.key_file.is_empty() {
            return Err(ConfigError {
                origin: certificate.origin,
                message: "a [[certificate]] needs a certificate_file and a key_file".to_owned(),
            });
        }
        Ok(certificate)
    }

    /// Creates the error of a certificate that turned out wrong later.
    #[must_use]
    pub fn wrong(&self, reason: impl std::fmt::Display) -> ConfigErrors {
        ConfigErrors::from(ConfigError {
            origin: self.origin.clone(),
            message: format!("certificate: {reason}"),
        })
    }
}
