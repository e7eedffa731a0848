use std::{net::IpAddr, path::PathBuf, time::Duration};

use http::Uri;
use rustls::pki_types::DnsName;

use super::client::roots;

/// The ACME directory URL of Let's Encrypt.
const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// The staging directory of Let's Encrypt; browsers do not trust its certificates.
const STAGING: &str = "https://acme-staging-v02.api.letsencrypt.org/directory";

/// The certificates to order from an authority (ACME, RFC 8555), and the directory where they are
/// stored.
///
/// The [`Default`] settings use Let's Encrypt and the directory `acme`, and contain no hosts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AcmeSettings {
    /// The host names, each of which gets its own certificate; wildcards are not supported.
    pub hosts: Vec<String>,
    /// Contact addresses for the authority, such as `mailto:you@example.com`.
    pub contacts: Vec<String>,
    /// The URL of the authority's ACME directory, or `letsencrypt` or `staging`.
    pub directory: String,
    /// The directory in which the account, keys and certificates are stored.
    pub cache: PathBuf,
    /// A PEM file with the authorities trusted for connections to the ACME server, instead of the
    /// system's.
    pub ca_file: Option<PathBuf>,
    /// Whether the certificate authority's terms of service are accepted.
    pub agree_to_terms: bool,
    /// The delay after an order; the delay triples with each failed order, up to six hours.
    pub retry_wait: Duration,
}

/// An error in settings for ordering certificates.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AcmeError {
    /// The terms of service of the certificate authority are not accepted.
    #[error(
        "ordering certificates requires accepting the terms of service of {0}; read them and set agree_to_terms = true"
    )]
    Terms(String),
    /// No host is configured for ACME certificates.
    #[error("at least one host is required to order a certificate")]
    NoHost,
    /// No certificate can be ordered for a host.
    #[error("cannot order a certificate for {host:?}: {reason}")]
    Host {
        /// The name of the host for which no certificate can be ordered.
        host: String,
        /// The reason why no certificate can be ordered for the host.
        reason: &'static str,
    },
    /// The same host is configured twice with different settings.
    #[error(
        "{0} is already configured with different settings; list it only once, or use the same settings"
    )]
    Twice(String),
    /// The configured ACME directory is not a URL.
    #[error(
        "{0:?} is neither letsencrypt, staging nor a URL such as https://acme.example/directory"
    )]
    Directory(String),
    /// A contact address for the ACME account is invalid.
    #[error("{0:?} is not a contact address such as mailto:you@example.com")]
    Contact(String),
    /// No directory is configured for keys and certificates.
    #[error("no directory is configured for keys and certificates")]
    NoCache,
    /// The file of trusted certificate authorities is unusable.
    #[error("{}: {reason}", file.display())]
    CaFile {
        /// The path of the unusable file of trusted authorities.
        file: PathBuf,
        /// The reason why the file of trusted authorities is unusable.
        reason: String,
    },
}

impl Default for AcmeSettings {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            contacts: Vec::new(),
            directory: LETS_ENCRYPT.to_owned(),
            cache: PathBuf::from("acme"),
            ca_file: None,
            agree_to_terms: false,
            retry_wait: Duration::from_mins(1),
        }
    }
}

impl AcmeError {
    /// Returns the name of the ACME setting that caused the error.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Terms(_) => "agree_to_terms",
            Self::NoHost | Self::Host { .. } | Self::Twice(_) => "hosts",
            Self::Directory(_) => "directory",
            Self::Contact(_) => "contact",
            Self::NoCache => "cache",
            Self::CaFile { .. } => "ca_file",
        }
    }
}

impl AcmeSettings {
    /// Checks the settings without ordering a certificate.
    ///
    /// # Errors
    ///
    /// Returns the error that [`Acme::new`](super::Acme::new) would return for these settings
    /// alone.
    pub fn check(&self) -> Result<(), AcmeError> {
        self.clone().validated().map(drop)
    }

    /// Validates the settings, and normalises the hosts, the contacts and the directory for
    /// sending.
    pub(super) fn validated(self) -> Result<Self, AcmeError> {
        let directory = match &*self.directory {
            "" | "letsencrypt" => LETS_ENCRYPT.to_owned(),
            "staging" => STAGING.to_owned(),
            url if is_https(url) => url.to_owned(),
            _ => return Err(AcmeError::Directory(self.directory)),
        };
        if !self.agree_to_terms {
            return Err(AcmeError::Terms(directory));
        }
        if self.hosts.is_empty() {
            return Err(AcmeError::NoHost);
        }
        if self.cache.as_os_str().is_empty() {
            return Err(AcmeError::NoCache);
        }
        // The result is needed only for its errors, which would otherwise appear weeks later with
        // the first order.
        if let Some(file) = &self.ca_file {
            roots(file)?;
        }
        let hosts = self.hosts.iter().map(|host| validated_host(host));
        let contacts = self
            .contacts
            .iter()
            .map(|contact| validated_contact(contact));
        Ok(Self {
            hosts: hosts.collect::<Result<_, _>>()?,
            contacts: contacts.collect::<Result<_, _>>()?,
            directory,
            ..self
        })
    }
}

fn is_https(url: &str) -> bool {
    url.parse::<Uri>()
        .is_ok_and(|url| url.scheme_str() == Some("https") && url.host().is_some())
}

fn validated_host(text: &str) -> Result<String, AcmeError> {
    let host = text.trim().trim_end_matches('.').to_ascii_lowercase();
    let reason = if host.contains('*') {
        "wildcards are not supported; use a [[certificate]] section"
    } else if host.parse::<IpAddr>().is_ok() || host.starts_with('[') {
        "IP addresses are not supported; use a host name"
    } else if !host.is_ascii() {
        "the name is not ASCII; use the form with xn-- that browsers send"
    } else if host.contains(':') {
        "omit the port"
    } else if DnsName::try_from(host.as_str()).is_err() {
        "not a host name"
    } else {
        return Ok(host);
    };
    let host = text.to_owned();
    Err(AcmeError::Host { host, reason })
}

fn validated_contact(text: &str) -> Result<String, AcmeError> {
    let text = text.trim();
    let address = text.strip_prefix("mailto:").unwrap_or(text);
    let is_clean = |c: char| c.is_ascii_graphic() && c != ',' && c != '?';
    match address.split_once('@') {
        Some((user, host)) if !user.is_empty() && !host.is_empty() && !host.contains('@') => {
            address
                .chars()
                .all(is_clean)
                .then(|| format!("mailto:{address}"))
        }
        _ => None,
    }
    .ok_or_else(|| AcmeError::Contact(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(hosts: &[&str]) -> AcmeSettings {
        AcmeSettings {
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            agree_to_terms: true,
            ..AcmeSettings::default()
        }
    }

    #[test]
    fn consent_is_required() {
        let settings = AcmeSettings {
            agree_to_terms: false,
            ..agreed(&["example.com"])
        };
        let error = settings.validated().unwrap_err();
        assert_eq!(error.key(), "agree_to_terms");
        let text = error.to_string();
        assert!(text.contains("agree_to_terms = true"), "{text}");
        assert!(text.contains(LETS_ENCRYPT), "{text}");
    }

    #[test]
    fn hosts_are_names() {
        let validated = agreed(&["WWW.Example.com.", "xn--bcher-kva.example"]).validated();
        let expected = ["www.example.com", "xn--bcher-kva.example"];
        assert_eq!(validated.unwrap().hosts, expected);
        for host in [
            "*.example.com",
            "192.0.2.1",
            "2001:db8::1",
            "[::1]",
            "bücher.example",
            "example.com:443",
            "a b",
            "../etc",
            "a/b",
            "",
        ] {
            let error = agreed(&[host]).validated().unwrap_err();
            assert!(matches!(error, AcmeError::Host { .. }), "{host}: {error}");
        }
        assert_eq!(agreed(&[]).validated(), Err(AcmeError::NoHost));
    }

    #[test]
    fn directories_are_urls_or_words() {
        for (directory, expected) in [
            ("", Some(LETS_ENCRYPT)),
            ("letsencrypt", Some(LETS_ENCRYPT)),
            ("staging", Some(STAGING)),
            (
                "https://ca.example:14000/dir",
                Some("https://ca.example:14000/dir"),
            ),
            ("http://ca.example/dir", None),
            ("ca.example", None),
        ] {
            let settings = AcmeSettings {
                directory: directory.to_owned(),
                ..agreed(&["a.example"])
            };
            let found = settings.validated().map(|validated| validated.directory);
            assert_eq!(found.ok().as_deref(), expected, "{directory}");
        }
    }

    #[test]
    fn contacts_are_mail_addresses() {
        for (contact, expected) in [
            ("mailto:a@example.com", Some("mailto:a@example.com")),
            ("a@example.com", Some("mailto:a@example.com")),
            ("tel:+1", None),
            ("mailto:a@b@c", None),
            ("mailto:a@b?cc=c", None),
            ("a", None),
        ] {
            let settings = AcmeSettings {
                contacts: vec![contact.to_owned()],
                ..agreed(&["a.example"])
            };
            let found = settings.validated().map(|validated| validated.contacts);
            let expected = expected.map(|contact| vec![contact.to_owned()]);
            assert_eq!(found.ok(), expected, "{contact}");
        }
    }
}
