//! Keys of a `[[site]]` that are no settings.

use crate::config::table::{Reader, table};

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
