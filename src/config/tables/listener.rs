//! `[[listener]]`, `[[certificate]]`, `[[ban]]` and `[[list]]` tables.

use std::path::PathBuf;

use crate::config::ConfigErrors;
use crate::config::section::section;
use crate::config::table::{Reader, table};
use crate::listen::ListenAddr;

section! {
    /// `acme` keys of a `[[listener]]`.
    #[derive(PartialEq)]
    pub struct AcmeTable, AcmeKeys = "listener." @process;
    /// Host names for certificates, one certificate for each
    hosts as "acme.hosts": Vec<String>;
    /// Contact of the site for the authority, such as mailto:webmaster@example.com
    contacts as "acme.contact": Vec<String>;
    /// Certificate authority: letsencrypt, staging (for tests), or the URL of its directory; empty:
    /// letsencrypt
    directory as "acme.directory": String;
    /// Directory for account, keys and certificates, unreadable for other users; empty: acme
    cache as "acme.cache": Option<PathBuf>;
    /// File with certificates (PEM) to verify the authority's server; empty: the system authorities
    ca_file as "acme.ca_file": Option<PathBuf>;
    /// Whether you agree to the authority's terms of service
    agree_to_terms as "acme.agree_to_terms": bool = "false";
}

table! {
    /// A `[[listener]]`.
    #[derive(PartialEq)]
    pub struct ListenerSettings, ListenerKeys = "listener" with acme_table: AcmeTable
        needs "a [[listener]] needs an address, such as listen = \"0.0.0.0:443\"";
    /// Address to listen on: IP:PORT, unix:PATH, systemd or systemd:NAME
    listen: ListenAddr;
    /// Whether connections use TLS; default: true if acme is set
    tls: Option<bool>;
    /// Whether connections begin with a PROXY protocol header, version 1 or 2; only
    /// server.trusted_proxies may connect then
    proxy_protocol: Option<bool>;
}

table! {
    /// A `[[certificate]]`.
    #[derive(PartialEq)]
    pub struct CertificateSettings, CertificateKeys = "certificate"
        needs "a [[certificate]] needs a certificate_file and a key_file";
    /// File with the certificate and its intermediate certificates (PEM)
    certificate_file: PathBuf;
    /// File with the private key (PEM)
    key_file: PathBuf;
}

impl ListenerSettings {
    /// Returns the settings for requesting certificates by ACME, if configured.
    #[must_use]
    pub fn acme(&self) -> Option<&AcmeTable> {
        // Any key counts, so that `acme.cache` alone is reported as a mistake.
        let mut keys = self.place.origins.keys();
        keys.any(|key| key.starts_with("acme."))
            .then_some(&self.acme_table)
    }

    /// Returns `true` if connections use TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls.unwrap_or(self.acme().is_some())
    }
}

impl CertificateSettings {
    /// Creates an error for a certificate that was found wrong after loading.
    #[must_use]
    pub fn wrong_files(&self, reason: impl std::fmt::Display) -> ConfigErrors {
        self.place.wrong_whole("certificate", &reason)
    }
}

table! {
    /// A `[[ban]]`.
    pub struct BanSettings, BanKeys = "ban"
        needs "a [[ban]] needs refusals, such as refusals = 20";
    /// Number of refused or rate-limited (429) requests of an address (IPv6: of a /64) before a ban
    refusals: u32, 1..=1_000_000;
    /// Seconds in which these requests are counted, from the first one; default: 60
    per_seconds: Option<u32>, 1..=86_400;
    /// Length of the ban in seconds; default: 3600
    for_seconds: Option<u32>, 60..=31_536_000;
    /// Causes of refusals that count: names of rules, robots.txt, crawl-delay, spoofed; default:
    /// all
    rules: Option<Vec<String>>;
}

const NEEDS: &str =
    "a [[list]] needs a name and a url, such as name = \"office\" and url = \"office.txt\"";

table! {
    /// A `[[list]]`.
    pub struct ListSettings, ListKeys = "list" needs NEEDS;
    /// Name of the list for rules with addresses = ["list:NAME"], and for server.trusted_proxies
    name: String;
    /// URL, or path of a file, with one address or network per line and comments after # or ;, or
    /// JSON
    url: String;
    /// Hours between two downloads; default: 24; a file is reloaded when it changes
    interval_hours: Option<u32>, 1..=720;
}

impl ListSettings {
    /// Reads a list with a name and a URL.
    pub(in crate::config) fn read_complete(reader: &mut Reader<'_>) -> Option<Self> {
        let list = Self::read(reader)?;
        if list.name.is_empty() || list.url.is_empty() {
            reader.needs(NEEDS);
            return None;
        }
        Some(list)
    }
}
