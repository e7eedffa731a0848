//! `[[site]]`-specific keys, and the tables `[[license]]` and `[[robots_txt.host]]`.

use crate::config::setting::Section as _;
use crate::config::table::{Reader, table};
use crate::config::types::RobotsTxtSource;
use crate::config::{RobotsTxtSection, Settings};
use crate::licensing::{Payment, Usage};

const NEEDS: &str = "a [[site]] needs hosts, such as hosts = [\"www.example.com\"]";

table! {
    /// The hosts and path of a `[[site]]` table.
    pub struct SiteTable, SiteKeys = "site" needs NEEDS;
    /// Name of the site, shown on the admin page, in metrics and in logs; empty: the site's first
    /// host and path
    name: String;
    /// Host names of the site; *.example.org matches all subdomains
    hosts: Vec<String>;
    /// Path prefix of the site; default: /
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
    /// A `[[license]]` table, which contains licensing terms for certain paths.
    pub struct LicenseSettings, LicenseKeys = "license"
        needs "a [[license]] needs terms, such as prohibits = \"ai-train\"";
    /// Paths to which the terms apply, in robots.txt syntax; default: all paths
    path: Vec<String>;
    /// Permitted uses of the content
    permits: Vec<Usage>;
    /// Prohibited uses of the content
    prohibits: Vec<Usage>;
    /// Payment required for the content; default: not specified
    payment: Option<Payment>;
    /// Payment amount, such as 0.015
    amount: String;
    /// Currency of the payment; default: USD
    currency: String;
    /// URL of a standard licence, such as a licence from a collective
    standard: String;
    /// URL at which other terms can be negotiated
    custom: String;
    /// URL of the licence server
    server: String;
    /// URL of human-readable terms
    terms: String;
    /// Copyright holder
    copyright: String;
    /// Whether text and data mining is reserved (TDMRep); default: true, unless training is
    /// permitted free of charge or for attribution
    tdm_reservation: Option<bool>;
    /// URL of the policy for text and data mining (TDMRep)
    tdm_policy: String;
}

const HOST_NEEDS: &str = "a [[robots_txt.host]] needs hosts, such as hosts = [\"www.example.com\"]";

table! {
    /// A `[[robots_txt.host]]`; keys that are not set inherit the values of `[robots_txt]`.
    pub struct RobotsTxtHostSettings, RobotsTxtHostKeys = "robots_txt.host"
        with own: RobotsTxtSection needs HOST_NEEDS;
    /// Requested host names, with a port if it is not the default port
    hosts: Vec<String>;
    /// Preferred host name of a site with several host names; robots.txt on the other hosts
    /// contains `Disallow: /` and this name in a Host line; empty: all hosts return the same file
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

    /// Returns the settings of robots.txt for these hosts, based on the site's settings.
    ///
    /// If a file is set but `serve` is not, the file is served.
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
