//! `[index_now]`.

use crate::config::section::section;

section! {
    /// Search engines are told which pages have changed.
    pub struct IndexNowSection, IndexNowKeys = "index_now." @site;
    /// Whether search engines are told by IndexNow which pages a run has found new, changed or gone; pages
    /// alone that open to all, where the site robot neither logs in nor signs its requests
    active: bool = "false";
    /// Key by which they know the site, 8 to 128 letters, digits and dashes, which this program serves
    /// at /KEY.txt; empty: one of the database's own
    key: String;
    /// URL that is told; it tells all search engines that take part
    endpoint: String = "https://api.indexnow.org/indexnow";
    /// Whether that URL may have an address of a private network or of this machine
    private: bool = "false";
}
