//! `[[listener]]` and `[[certificate]]`.

use std::path::PathBuf;

use crate::config::ConfigErrors;
use crate::config::section::section;
use crate::config::table::{Reader, table};
use crate::listen::ListenAddr;

section! {
    /// `acme` of a `[[listener]]`.
    #[derive(PartialEq)]
    pub struct AcmeTable, AcmeKeys = "listener." @process;
    /// Names that certificates are ordered for, one for each
    hosts as "acme.hosts": Vec<String>;
    /// Where the authority reaches the site's people, such as mailto:webmaster@example.com
    contacts as "acme.contact": Vec<String>;
    /// The authority: letsencrypt, staging (to try it with), or the URL of its directory; empty:
    /// letsencrypt
    directory as "acme.directory": String;
    /// Directory of account, keys and certificates; nobody else may read it; empty: acme
    cache as "acme.cache": Option<PathBuf>;
    /// File of certificates (PEM) that prove the directory's server; empty: the system's
    ca_file as "acme.ca_file": Option<PathBuf>;
    /// Whether the authority's terms of service are agreed to
    agree_to_terms as "acme.agree_to_terms": bool = "false";
}

table! {
    /// One `[[listener]]`.
    #[derive(PartialEq)]
    pub struct ListenerSettings, ListenerKeys = "listener" with acme_table: AcmeTable
        needs "a [[listener]] needs a place, such as listen = \"0.0.0.0:443\"";
    /// Where visitors reach it: an address with a port, unix:PATH, systemd or systemd:NAME
    listen: ListenAddr;
    /// Whether connections are encrypted; without it, those of a listener with acme are
    tls: Option<bool>;
    /// Whether connections begin with a PROXY header, of version 1 or 2; only
    /// server.trusted_proxies may connect then
    proxy_protocol: Option<bool>;
}

table! {
    /// One `[[certificate]]`.
    #[derive(PartialEq)]
    pub struct CertificateSettings, CertificateKeys = "certificate"
        needs "a [[certificate]] needs a certificate_file and a key_file";
    /// File of the certificate and its intermediate ones (PEM)
    certificate_file: PathBuf;
    /// File of the private key (PEM)
    key_file: PathBuf;
}

impl ListenerSettings {
    /// Returns the certificates that it orders by itself, if it does.
    #[must_use]
    pub fn acme(&self) -> Option<&AcmeTable> {
        // By what is written, as `acme.cache` alone is a slip that is to be told, not no order at
        // all.
        let mut keys = self.place.origins.keys();
        keys.any(|key| key.starts_with("acme."))
            .then_some(&self.acme_table)
    }

    /// Returns `true` if connections are encrypted.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls.unwrap_or(self.acme().is_some())
    }
}

impl CertificateSettings {
    /// Creates the error of a certificate that turned out wrong later.
    #[must_use]
    pub fn wrong_files(&self, reason: impl std::fmt::Display) -> ConfigErrors {
        self.place.wrong_whole("certificate", &reason)
    }
}

table! {
    /// One `[[ban]]`.
    pub struct BanSettings, BanKeys = "ban"
        needs "a [[ban]] needs refusals, such as refusals = 20";
    /// Requests of an address (IPv6: of a /64) that are refused, or answered 429, before it is
    /// banned
    refusals: u32, 1..=1_000_000;
    /// Seconds in which they come, from the first of them on; without it, 60
    per_seconds: Option<u32>, 1..=86_400;
    /// Seconds that the ban lasts; without it, 3600
    for_seconds: Option<u32>, 60..=31_536_000;
    /// Names of the rules whose refusals count, or robots.txt, crawl-delay, spoofed; without it,
    /// all
    rules: Option<Vec<String>>;
}

const NEEDS: &str =
    "a [[list]] needs a name and a url, such as name = \"office\" and url = \"office.txt\"";

table! {
    /// One `[[list]]`.
    pub struct ListSettings, ListKeys = "list" needs NEEDS;
    /// Name by which rules mean it, as addresses = ["list:NAME"]; also server.trusted_proxies
    name: String;
    /// URL, or path of a file, of addresses and networks: one a line, # and ; begin comments, or
    /// JSON
    url: String;
    /// Hours between two downloads; a file is read when it changes; without it, 24
    interval_hours: Option<u32>, 1..=720;
}

impl ListSettings {
    /// Reads one that has a name and a URL.
    pub(in crate::config) fn read_complete(reader: &mut Reader<'_>) -> Option<Self> {
        let list = Self::read(reader)?;
        if list.name.is_empty() || list.url.is_empty() {
            reader.needs(NEEDS);
            return None;
        }
        Some(list)
    }
}
