//! Tables that can stand several times in the file.

mod alert;
mod listener;
mod rule;
mod site;
mod source;

use super::{ConfigError, Key, file::Table, table::Reader};

pub use alert::{AlertKeys, AlertSettings, ReportInterval};
pub use listener::{
    AcmeKeys, AcmeTable, CertificateKeys, CertificateSettings, ListenerKeys, ListenerSettings,
};
pub use listener::{BanKeys, BanSettings};
pub use listener::{ListKeys, ListSettings};
pub use rule::{RuleKeys, RuleSettings, TagKeys, TagSettings, WhenKeys, WhenSettings};
pub use site::{LicenseKeys, LicenseSettings};
pub use site::{RobotsTxtHostKeys, RobotsTxtHostSettings};
pub use site::{SiteKeys, SiteTable};
pub use source::{Preset, SourceKeys, SourceSettings};

/// Table that can stand several times in the file, such as `[[source]]` or `[[rule]]`.
#[derive(Debug)]
#[non_exhaustive]
pub struct TableKind {
    /// Its name.
    pub name: &'static str,
    pub(super) keys: &'static [&'static [Key]],
}

/// Every table that can stand several times, in the order of the documentation.
///
/// The further keys of a `[[site]]` are those of [`Key::is_per_site`].
pub const TABLES: &[TableKind] = &[
    SourceSettings::KIND,
    ListSettings::KIND,
    RuleSettings::KIND,
    TagSettings::KIND,
    RobotsTxtHostSettings::KIND,
    LicenseSettings::KIND,
    SiteTable::KIND,
    ListenerSettings::KIND,
    CertificateSettings::KIND,
    AlertSettings::KIND,
    BanSettings::KIND,
];

/// Tables that may stand in a `[[site]]`.
pub(super) const OF_SITES: &[TableKind] = &[
    RuleSettings::KIND,
    TagSettings::KIND,
    RobotsTxtHostSettings::KIND,
    LicenseSettings::KIND,
];

impl TableKind {
    /// Returns its keys, in the order of the documentation.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().copied().flatten()
    }

    /// Returns the table of that name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name == name)
    }

    /// Returns the table that a `[[site]]` calls so.
    pub(super) fn find_in_site(name: &str) -> Option<&'static Self> {
        OF_SITES.iter().find(|table| table.name == name)
    }

    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.short_name == name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys().map(|key| key.short_name)
    }
}

/// Tables that can stand several times, in their order.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Tables {
    /// Registries beside the Web Robots Database (`[[source]]`).
    pub sources: Vec<SourceSettings>,
    /// Lists of addresses (`[[list]]`).
    pub lists: Vec<ListSettings>,
    /// Rules (`[[rule]]`).
    pub rules: Vec<RuleSettings>,
    /// Headers that responses get (`[[x_robots_tag]]`).
    pub tags: Vec<TagSettings>,
    /// Hosts with a robots.txt of their own (`[[robots_txt.host]]`).
    pub robots_txt_hosts: Vec<RobotsTxtHostSettings>,
    /// Terms for content (`[[license]]`).
    pub licenses: Vec<LicenseSettings>,
    /// Places to listen at beside `server.listen` (`[[listener]]`).
    pub listeners: Vec<ListenerSettings>,
    /// Certificates of those with TLS (`[[certificate]]`).
    pub certificates: Vec<CertificateSettings>,
    /// What is watched, and who is told (`[[alert]]`).
    pub alerts: Vec<AlertSettings>,
    /// How often somebody is refused before a firewall is told (`[[ban]]`).
    pub bans: Vec<BanSettings>,
}

impl Tables {
    /// Reads a table and adds it; what is wrong is added to the errors.
    pub(super) fn add(&mut self, file: &str, table: &Table, errors: &mut Vec<ConfigError>) {
        let name = table.kind.name;
        let reader = &mut Reader::new(file, table, errors);
        if name == SourceSettings::KIND.name {
            self.sources.extend(SourceSettings::read_complete(reader));
        } else if name == ListSettings::KIND.name {
            self.lists.extend(ListSettings::read_complete(reader));
        } else if name == RuleSettings::KIND.name {
            self.rules.extend(RuleSettings::read(reader));
        } else if name == TagSettings::KIND.name {
            self.tags.extend(TagSettings::read_complete(reader));
        } else if name == RobotsTxtHostSettings::KIND.name {
            let host = RobotsTxtHostSettings::read_complete(reader);
            self.robots_txt_hosts.extend(host);
        } else if name == LicenseSettings::KIND.name {
            self.licenses.extend(LicenseSettings::read(reader));
        } else if name == ListenerSettings::KIND.name {
            self.listeners.extend(ListenerSettings::read(reader));
        } else if name == CertificateSettings::KIND.name {
            self.certificates.extend(CertificateSettings::read(reader));
        } else if name == AlertSettings::KIND.name {
            self.alerts.extend(AlertSettings::read_complete(reader));
        } else if name == BanSettings::KIND.name {
            self.bans.extend(BanSettings::read(reader));
        }
    }

    /// Takes over what a running process cannot change, and returns the tables that differ.
    pub(super) fn keep(&mut self, running: &Self) -> Vec<&'static str> {
        // These three are read when the process starts, and never again.
        let are_same = [
            ("[[source]]", keep(&mut self.sources, &running.sources)),
            (
                "[[listener]]",
                keep(&mut self.listeners, &running.listeners),
            ),
            (
                "[[certificate]]",
                keep(&mut self.certificates, &running.certificates),
            ),
        ];
        let changed = are_same.iter().filter(|(_, is_same)| !is_same);
        changed.map(|(name, _)| *name).collect()
    }
}

/// Replaces what is wanted by what is running; returns whether they are the same.
fn keep<T: Clone + PartialEq>(wanted: &mut Vec<T>, running: &[T]) -> bool {
    let wanted = std::mem::replace(wanted, running.to_vec());
    wanted == running
}
