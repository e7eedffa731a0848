//! Repeatable tables of the configuration file.

mod alert;
mod listener;
mod rule;
mod site;
mod source;

use super::{ConfigError, Key, file::Table, table::Reader};

pub use alert::{AlertKeys, AlertSettings};
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

/// A repeatable table, such as `[[source]]` or `[[rule]]`.
#[derive(Debug)]
#[non_exhaustive]
pub struct TableKind {
    /// The name of the repeatable table, without brackets.
    pub name: &'static str,
    pub(super) keys: &'static [&'static [Key]],
}

/// All repeatable tables, in the order used in the documentation.
///
/// A `[[site]]` table also accepts all keys for which [`Key::is_per_site`] is true.
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

/// The repeatable tables that are allowed in a `[[site]]` table.
pub(super) const OF_SITES: &[TableKind] = &[
    RuleSettings::KIND,
    TagSettings::KIND,
    RobotsTxtHostSettings::KIND,
    LicenseSettings::KIND,
];

impl TableKind {
    /// Returns the keys of the table, in the order used in the documentation.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().copied().flatten()
    }

    /// Returns the table with the given name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name == name)
    }

    /// Returns the table with the given name that is allowed in a `[[site]]`.
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

/// The contents of all repeatable tables, in file order.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Tables {
    /// Registries in addition to the Web Robots Database (`[[source]]`).
    pub sources: Vec<SourceSettings>,
    /// Address lists (`[[list]]`).
    pub lists: Vec<ListSettings>,
    /// Rules (`[[rule]]`).
    pub rules: Vec<RuleSettings>,
    /// Headers added to responses (`[[x_robots_tag]]`).
    pub tags: Vec<TagSettings>,
    /// Hosts with a separate robots.txt (`[[robots_txt.host]]`).
    pub robots_txt_hosts: Vec<RobotsTxtHostSettings>,
    /// Terms for content (`[[license]]`).
    pub licenses: Vec<LicenseSettings>,
    /// Listeners in addition to `server.listen` (`[[listener]]`).
    pub listeners: Vec<ListenerSettings>,
    /// Certificates of listeners with TLS (`[[certificate]]`).
    pub certificates: Vec<CertificateSettings>,
    /// Alerts and their receivers (`[[alert]]`).
    pub alerts: Vec<AlertSettings>,
    /// Bans of clients that are refused repeatedly (`[[ban]]`).
    pub bans: Vec<BanSettings>,
}

impl Tables {
    /// Reads a table and adds it to the contents; appends errors to `errors`.
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

    /// Replaces tables that cannot change at run time with the tables of the running process;
    /// returns the names of the tables that differ.
    pub(super) fn keep(&mut self, running: &Self) -> Vec<&'static str> {
        // These three tables are only read when the process starts.
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

/// Replaces new tables with the tables in use; returns `true` if the tables were equal.
fn keep<T: Clone + PartialEq>(wanted: &mut Vec<T>, running: &[T]) -> bool {
    let wanted = std::mem::replace(wanted, running.to_vec());
    wanted == running
}
