//! `[places]`.

use std::path::PathBuf;

use crate::config::section::section;

section! {
    /// Files that tell where addresses are.
    pub struct PlacesSection, PlacesKeys = "places." @live;
    /// File in the MaxMind format (MMDB) that tells the autonomous systems of addresses, for
    /// rules with asns; read again when it changes
    asn_file: Option<PathBuf>;
    /// The same of countries, or of cities, for rules with countries
    country_file: Option<PathBuf>;
}
