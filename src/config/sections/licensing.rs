//! `[licensing]`: where the terms of each `[[license]]` are served.

use crate::config::section::section;

section! {
    /// Where the terms of each `[[license]]` are served.
    pub struct LicensingSection, LicensingKeys = "licensing." @site;
    /// Path at which the terms of [[license]] are served as RSL, such as /license.xml; empty: at
    /// none. Where robots.txt is made here and server.hosts names this site, it is named there
    rsl: String;
    /// Whether /.well-known/tdmrep.json says for which paths text and data mining is reserved
    tdmrep: bool = "false";
}
