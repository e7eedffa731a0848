//! `[[listener]]`, `[[certificate]]`, `[[ban]]` and `[[list]]` tables.

use std::path::PathBuf;

use crate::config::ConfigErrors;
use crate::config::section::section;
use crate::config::table::{Reader, table};
use crate::listen::ListenAddr;

section! {
    /// The `acme` keys of a `[[listener]]` table.
    #[derive(PartialEq)]
    pub struct AcmeTable, AcmeKeys = "listener." @process;
    /// Host names for which certificates are requested; each host has its own certificate
    hosts as "acme.hosts": Vec<String>;
    /// Contact address to send to the certificate authority, such as mailto:webmaster@example.com
    contacts as "acme.contact": Vec<String>;
    /// Certificate authority: letsencrypt, staging (for tests), or the URL of its directory; empty:
    /// letsencrypt
    directory as "acme.directory": String;
    /// Directory in which the account, keys and certificates are stored, not readable by other
    /// users; empty: acme
    cache as "acme.cache": Option<PathBuf>;
    /// File with certificates (PEM) for verifying the certificate authority's server; empty: the
    /// system's certificate authorities
    ca_file as "acme.ca_file": Option<PathBuf>;
    /// Whether you agree to the certificate authority's terms of service
    agree_to_terms as "acme.agree_to_terms": bool = "false";
}

table! {
    /// A `[[listener]]` table.
    #[derive(PartialEq)]
    pub struct ListenerSettings, ListenerKeys = "listener" with acme_table: AcmeTable
        needs "a [[listener]] needs an address, such as listen = \"0.0.0.0:443\"";
    /// Address to listen on: IP:PORT or unix:PATH
    listen: ListenAddr;
    /// Whether connections use TLS; default: true if acme is set
    tls: Option<bool>;
    /// Whether connections begin with a PROXY protocol header (version 1 or 2); if true, only
    /// server.trusted_proxies may connect
    proxy_protocol: Option<bool>;
}

table! {
    /// A `[[certificate]]` table.
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
        // Any `acme` key is sufficient, so that `acme.cache` alone is reported as a mistake.
        let mut keys = self.place.origins.keys();
        keys.any(|key| key.starts_with("acme."))
            .then_some(&self.acme_table)
    }

    /// Returns `true` if connections to the listener use TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls.unwrap_or(self.acme().is_some())
    }
}

impl CertificateSettings {
    /// Creates an error for a certificate that was found to be invalid after loading.
    #[must_use]
    pub fn invalid_files(&self, reason: impl std::fmt::Display) -> ConfigErrors {
        self.place.wrong_whole("certificate", &reason)
    }
}

table! {
    /// A `[[ban]]` table.
    pub struct BanSettings, BanKeys = "ban"
        needs "a [[ban]] needs refusals, such as refusals = 20";
    /// Number of refused or rate-limited (429) requests after which an address (for IPv6, a /64
    /// network) is banned
    refusals: u32, 1..=1_000_000;
    /// Period in which the refusals are counted, in seconds from the first refusal; default: 60
    per_seconds: Option<u32>, 1..=86_400;
    /// Duration of the ban, in seconds; default: 3600
    for_seconds: Option<u32>, 60..=31_536_000;
    /// Causes of refusals to count: rule names, robots.txt, crawl-delay or spoofed; default: all
    rules: Option<Vec<String>>;
}

const NEEDS: &str =
    "a [[list]] needs a name and a url, such as name = \"office\" and url = \"office.txt\"";

table! {
    /// A `[[list]]` table.
    pub struct ListSettings, ListKeys = "list" needs NEEDS;
    /// Name of the list, used as list:NAME in the addresses of rules and in server.trusted_proxies
    name: String;
    /// URL or file path of the list: text with one address or network per line and comments after #
    /// or ;, or JSON
    url: String;
    /// Hours between downloads of a URL; default: 24; a file is reloaded when it changes
    interval_hours: Option<u32>, 1..=720;
}

impl ListSettings {
    /// Reads a `[[list]]` table, which must have a name and a URL.
    pub(in crate::config) fn read_complete(reader: &mut Reader<'_>) -> Option<Self> {
        let list = Self::read(reader)?;
        if list.name.is_empty() || list.url.is_empty() {
            reader.needs(NEEDS);
            return None;
        }
        Some(list)
    }
}
