//! `[suspects]`.

use http::HeaderName;

use crate::config::{section::section, types::SuspectAction};

section! {
    /// People whose requests are not those of the browser that they name.
    pub struct SuspectsSection, SuspectsKeys = "suspects." @site;
    /// What is done with suspects that no rule before lets pass: report (they are marked, in
    /// logs, metrics and for rules with suspect = true), heaven (who opens a page gets robot heaven's
    /// copy of it in its place, with a button for people; where there is none he passes), refuse
    /// (403), or off (nobody is looked at); other actions: a rule with suspect = true
    action: SuspectAction = "report";
    /// Response header by which the upstream says who is a person: yes or no, for ten minutes and
    /// that address and User-Agent, where suspects are looked for; nobody else sees it; empty: none
    person_header: Option<HeaderName> = "X-Robot-Detection-Person";
}
