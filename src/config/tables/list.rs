//! `[[list]]`.

use crate::config::table::{Reader, table};

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
