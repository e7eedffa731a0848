//! `[suspects]`.

use http::HeaderName;

use crate::config::{section::section, types::SuspectAction};

section! {
    /// People whose requests are not those of the browser that they name.
    pub struct SuspectsSection, SuspectsKeys = "suspects." @site;
    /// What is done with suspects that no rule before lets pass: report (they are marked, in
    /// logs, metrics and for rules with suspect = true), heaven (who opens a page gets robot heaven's
    /// copy of it in its place, with a button for people; where there is none he passes), slow (to
    /// requests in per_seconds, by address), refuse (403), or off (nobody is looked at)
    action: SuspectAction = "report";
    /// Requests of a suspect's address that are let through per_seconds, where action is slow
    requests: u32 = "30", 1..=1_000_000;
    /// Seconds of that period
    per_seconds: u32 = "60", 1..=86_400;
    /// Requests a second of the site from which on suspects are slowed down; it ends after ten seconds
    /// with fewer; 0: it does not matter, and with both at 0 they always are
    load_requests as "when.requests_per_second": u32 = "0", 0..=1_000_000;
    /// Mean milliseconds until answers of the upstream begin from which on suspects are slowed down;
    /// with both, one is enough
    load_milliseconds as "when.upstream_milliseconds": u32 = "0", 0..=3_600_000;
    /// Response header by which the upstream says who is a person: yes or no, for ten minutes and
    /// that address and User-Agent, where suspects are looked for; nobody else sees it; empty: none
    person_header: Option<HeaderName> = "X-Robot-Detection-Person";
}
