//! Keys of a `[[site]]` that are no settings.

use crate::config::setting::Section as _;
use crate::config::table::{Reader, table};
use crate::config::types::RobotsTxtSource;
use crate::config::{RobotsTxtSection, Settings};
use crate::licensing::{Payment, Usage};

const NEEDS: &str = "a [[site]] needs hosts, such as hosts = [\"www.example.com\"]";

table! {
    /// Where one `[[site]]` is reached.
    pub struct SiteTable, SiteKeys = "site" needs NEEDS;
    /// Name that the admin page, the metrics and the log tell; empty: its first host and its path
    name: String;
    /// Hosts that visitors ask for; *.example.org is every name below it
    hosts: Vec<String>;
    /// Path at and below which it is reached; without it, /
    path: String;
}

impl SiteTable {
    pub(in crate::config) fn read_complete(reader: &mut Reader<'_>) -> Option<Self> {
        let mut site = Self::read(reader)?;
        if site.path.is_empty() && site.origin_of(&Self::KEY.path).is_none() {
            "/".clone_into(&mut site.path);
        }
        let Some(first) = site.hosts.first() else {
            reader.needs(NEEDS);
            return None;
        };
        if site.name.is_empty() {
            site.name = format!("{first}{}", site.path.trim_end_matches('/'));
        }
        Some(site)
    }
}

table! {
    /// One `[[license]]`: terms for some paths.
    pub struct LicenseSettings, LicenseKeys = "license"
        needs "a [[license]] needs terms, such as prohibits = \"ai-train\"";
    /// Paths whose content is meant, as in robots.txt; without it, everything
    path: Vec<String>;
    /// What content may be used for
    permits: Vec<Usage>;
    /// What content may not be used for
    prohibits: Vec<Usage>;
    /// What the licence costs; without it, nothing is said
    payment: Option<Payment>;
    /// How much that is, such as 0.015
    amount: String;
    /// Its currency; without it, USD
    currency: String;
    /// URL of a standard licence, such as that of a collective
    standard: String;
    /// URL at which other terms are to be had
    custom: String;
    /// URL of the licence server
    server: String;
    /// URL of the terms for people to read
    terms: String;
    /// Who holds the rights
    copyright: String;
    /// Whether text and data mining is reserved (TDMRep); without it, it is, unless training is
    /// permitted for nothing or for attribution
    tdm_reservation: Option<bool>;
    /// URL of the policy of that reservation
    tdm_policy: String;
}

const HOST_NEEDS: &str = "a [[robots_txt.host]] needs hosts, such as hosts = [\"www.example.com\"]";

table! {
    /// One `[[robots_txt.host]]`; what it does not say is as in `[robots_txt]`.
    pub struct RobotsTxtHostSettings, RobotsTxtHostKeys = "robots_txt.host"
        with own: RobotsTxtSection needs HOST_NEEDS;
    /// Names that visitors ask for, with a port where it is not the default
    hosts: Vec<String>;
    /// The one of several names of a site that robots are to take; the others answer
    /// `Disallow: /` and name it in a Host line; empty: all are served the same
    main_mirror: Option<String>;
}

impl RobotsTxtHostSettings {
    pub(in crate::config) fn read_complete(reader: &mut Reader<'_>) -> Option<Self> {
        let mut host = Self::read(reader)?;
        host.main_mirror.take_if(|main| main.is_empty());
        if host.hosts.is_empty() {
            reader.needs(HOST_NEEDS);
            return None;
        }
        Some(host)
    }

    /// Returns what is served to who asks for these hosts, over what the site says.
    ///
    /// A file of its own is there to be served, where nothing else is said.
    #[must_use]
    pub fn content(&self, settings: &Settings) -> RobotsTxtSection {
        let key = RobotsTxtSection::KEY;
        let mut content = settings.robots_txt.clone();
        for name in self.place.origins.keys() {
            content.take(name, &self.own);
        }
        if self.origin_of(&key.serve).is_none() && !self.own.file.is_empty() {
            content.serve = RobotsTxtSource::File;
        }
        content
    }
}
