//! What a reload would remove: such a reload waits until somebody accepts it.

use std::collections::BTreeSet;

use crate::admin::DEFAULT_SITE;
use crate::config::{Loaded, Settings, SiteLoaded};

/// Fewest rules whose removal is held back.
const FEWEST_RULES: usize = 3;

/// Reload that waits until somebody accepts it.
#[derive(Debug, thiserror::Error)]
#[error("it is held back: {}; `robot-detection reload --accept` applies it", .0.join("; "))]
pub(super) struct HeldBack(pub(super) Vec<String>);

/// Returns what a new configuration would remove, a sentence for each; nothing: it may be applied.
///
/// The texts are those of the files; a file that was emptied or cut off is recognised by them.
pub(super) fn losses(
    (old, old_text): (&Loaded, &str),
    (new, new_text): (&Loaded, &str),
) -> Vec<String> {
    let mut losses = Vec::new();
    if new_text.trim().is_empty() && !old_text.trim().is_empty() {
        losses.push("the file is empty".to_owned());
    } else if new_text.len() < old_text.len() && old_text.starts_with(new_text) {
        losses.push(
            "the file is the beginning of the configuration in force: it was cut off".to_owned(),
        );
    }
    let sites = sites(new);
    for (name, old) in self::sites(old) {
        let Some((_, new)) = sites.iter().find(|(other, _)| *other == name) else {
            losses.push(format!("site {name} would be removed"));
            continue;
        };
        let (old, new) = (old.server.upstream.len(), new.server.upstream.len());
        if new < old {
            losses.push(format!(
                "site {name}: of {old} upstreams {new} would be left"
            ));
        }
    }
    let listeners = listeners(new.settings());
    for listener in self::listeners(old.settings()).difference(&listeners) {
        // One at another address takes its place.
        let key = listener.split(' ').next().unwrap_or_default();
        if !listeners.iter().any(|other| other.starts_with(key)) {
            losses.push(format!("listener {listener} would be removed"));
        }
    }
    let (old, new) = (rules(old), rules(new));
    let removed = old.saturating_sub(new);
    if removed >= FEWEST_RULES && removed * 10 > old {
        losses.push(format!("of {old} rules {new} would be left"));
    }
    losses
}

/// Returns the sites that are served, with their settings.
fn sites(loaded: &Loaded) -> Vec<(String, Settings)> {
    let of_table = |site: &SiteLoaded| (site.name().to_owned(), site.loaded().settings().clone());
    let mut sites: Vec<_> = loaded.sites().iter().map(of_table).collect();
    if !loaded.settings().server.upstream.is_empty() {
        sites.push((DEFAULT_SITE.to_owned(), loaded.settings().clone()));
    }
    sites
}

fn listeners(settings: &Settings) -> BTreeSet<String> {
    let named = |key: &str, addr: &dyn std::fmt::Display| format!("{key} {addr}");
    let server = settings.server.listen.iter();
    let server = server.map(|addr| named("server.listen", addr));
    let admin = settings.admin.listen.iter();
    let admin = admin.map(|addr| named("admin.listen", addr));
    let check = settings.check.listen.iter();
    let check = check.map(|addr| named("check.listen", addr));
    let more = settings.tables.listeners.iter();
    let server = server.chain(more.map(|more| named("[[listener]]", &more.listen)));
    server.chain(admin).chain(check).collect()
}

/// Counts the rules and filter patterns of the file and of all sites.
fn rules(loaded: &Loaded) -> usize {
    let count =
        |settings: &Settings| settings.tables.rules.len() + settings.general.filter_patterns.len();
    let common = count(loaded.settings());
    // A site has the common rules too.
    let of_site = |site: &SiteLoaded| count(site.loaded().settings()).saturating_sub(common);
    common + loaded.sites().iter().map(of_site).sum::<usize>()
}
