//! `[canonical]`.

use crate::config::section::section;
use crate::detect::Verdict;
use crate::registry::Purpose;

section! {
    /// Robots that are sent to the URL which a page names as its canonical one.
    pub struct CanonicalSection, CanonicalKeys = "canonical." @site;
    /// Purposes of the robots that are sent from a page to its canonical URL (301) before the upstream is
    /// asked, such as ai-training; empty: none
    redirect: Vec<Purpose>;
    /// Verdicts on them; others get what everybody gets
    verdicts: Vec<Verdict> = "verified";
}
