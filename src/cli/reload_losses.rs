//! Detects removals by a reload that require confirmation.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::config::{Loaded, Settings};
use crate::operations::DEFAULT_SITE;

/// The minimum number of removed rules that requires confirmation.
const FEWEST_RULES: usize = 3;

/// A reload that is held for review.
#[derive(Debug, thiserror::Error)]
#[error("held for review: {}; to apply the configuration, run `robot-detection reload --accept`", .0.join("; "))]
pub(super) struct HeldReload(pub(super) Vec<String>);

/// The parts of a configuration that a reload might remove.
#[derive(Debug)]
pub(super) struct Extent {
    /// The text of the configuration file, for detecting an emptied or truncated file.
    text: String,
    /// The name of each site, with the number of its upstreams.
    sites: BTreeMap<String, usize>,
    listeners: BTreeSet<String>,
    /// The number of rules and filter patterns in the file, including the rules and patterns of all
    /// sites.
    rules: usize,
}

impl Extent {
    pub(super) fn new(loaded: &Loaded, text: String) -> Self {
        let settings = loaded.settings();
        let upstreams = |settings: &Settings| settings.server.upstream.len();
        let common = count_rules(settings);
        let (mut sites, mut rules) = (BTreeMap::new(), common);
        for site in loaded.sites() {
            let settings = site.loaded().settings();
            sites.insert(site.name().to_owned(), upstreams(settings));
            // A site's rules include the common rules.
            rules += count_rules(settings).saturating_sub(common);
        }
        if upstreams(settings) > 0 {
            sites.insert(DEFAULT_SITE.to_owned(), upstreams(settings));
        }
        Self {
            text,
            sites,
            listeners: listeners(settings),
            rules,
        }
    }

    /// Returns the parts that a new configuration would remove, one sentence each; if none, it may
    /// be applied.
    pub(super) fn losses(&self, new: &Self) -> Vec<String> {
        let mut losses = Vec::new();
        if new.text.trim().is_empty() && !self.text.trim().is_empty() {
            losses.push("the file is empty".to_owned());
        } else if new.text.len() < self.text.len() && self.text.starts_with(&new.text) {
            let text = "the file was truncated: it contains only the beginning of the current configuration";
            losses.push(text.to_owned());
        }
        for (name, old) in &self.sites {
            match new.sites.get(name) {
                None => losses.push(format!("site {name} would be removed")),
                Some(new) if new < old => losses.push(format!(
                    "site {name}: of {old} upstreams, {new} would remain"
                )),
                Some(_) => {}
            }
        }
        for listener in self.listeners.difference(&new.listeners) {
            // A listener at another address replaces the old listener.
            let key = listener.split(' ').next().unwrap_or_default();
            if !new.listeners.iter().any(|other| other.starts_with(key)) {
                losses.push(format!("listener {listener} would be removed"));
            }
        }
        let removed = self.rules.saturating_sub(new.rules);
        if removed >= FEWEST_RULES && removed * 10 > self.rules {
            losses.push(format!(
                "of {} rules, {} would remain",
                self.rules, new.rules
            ));
        }
        losses
    }
}

/// Formats the numbers of sites, upstreams and rules.
impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sites, upstreams) = (self.sites.len(), self.sites.values().sum::<usize>());
        let rules = self.rules;
        write!(
            f,
            "sites: {sites}, upstreams: {upstreams}, rules and filter patterns: {rules}"
        )
    }
}

fn listeners(settings: &Settings) -> BTreeSet<String> {
    let named = |key: &str, addr: &dyn fmt::Display| format!("{key} {addr}");
    let server = settings.server.listen.iter();
    let server = server.map(|addr| named("server.listen", addr));
    let more = settings.tables.listeners.iter();
    let more = more.map(|more| named("[[listener]]", &more.listen));
    let operation = settings.operation.listen.iter();
    let operation = operation.map(|addr| named("operation.listen", addr));
    let admin = settings.admin.listen.iter();
    let admin = admin.map(|addr| named("admin.listen", addr));
    let check = settings.check.listen.iter();
    let check = check.map(|addr| named("check.listen", addr));
    let own = operation.chain(admin).chain(check);
    server.chain(more).chain(own).collect()
}

fn count_rules(settings: &Settings) -> usize {
    settings.tables.rules.len() + settings.general.filter_patterns.len()
}
