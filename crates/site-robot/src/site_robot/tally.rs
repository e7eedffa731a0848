//! Counts the pages that a run would remove from robot heaven, to decide whether an administrator
//! must confirm their removal.

use std::collections::HashMap;

use super::{losses::Fate, progress::is_large_share, settings::Settings, starts::login_advice};

/// Maximum number of redirect targets that are counted.
const MAX_TARGETS: usize = 10_000;

/// Counts of the pages that a run would remove from robot heaven.
#[derive(Debug, Default)]
pub(super) struct LossTally {
    /// Number of pages that would be removed although they did not opt out, and the first of these
    /// pages.
    pub(super) going: u64,
    pub(super) first: Option<String>,
    /// Number of pages that were replaced by a login page.
    pub(super) locked: u64,
    /// Number of pages that redirect to each target.
    pub(super) targets: HashMap<String, u64>,
    /// Checksum of each content that replaced several pages, with the number of those pages.
    pub(super) alike: Vec<(String, u64)>,
    /// Reason why the starting points did not respond as expected.
    pub(super) start: Option<String>,
}

impl LossTally {
    /// Returns `true` if the content with the given checksum replaced several pages.
    pub(super) fn is_repeated_content(&self, hash: Option<&str>) -> bool {
        hash.is_some_and(|hash| self.alike.iter().any(|(it, _)| it == hash))
    }

    pub(super) fn count(&mut self, url: &str, reason: &str, fate: &Fate) {
        match fate {
            Fate::Goes => {
                self.going += 1;
                self.first
                    .get_or_insert_with(|| format!("{url} ({reason})"));
            }
            Fate::Doubtful => self.locked += 1,
            Fate::Stays | Fate::Hidden | Fate::Replaced | Fate::Forgotten | Fate::Missing => {}
        }
    }

    pub(super) fn count_target(&mut self, to: &str) {
        // The query of a login URL contains the return address, so it is different for each page.
        let place = to.split(['?', '#']).next().unwrap_or(to);
        if self.targets.len() < MAX_TARGETS || self.targets.contains_key(place) {
            *self.targets.entry(place.to_owned()).or_default() += 1;
        }
    }

    /// Returns the reason to hold the results for review, if there is one.
    pub(super) fn concern(&self, shown: u64, settings: &Settings) -> Option<String> {
        if let Some(start) = &self.start {
            return Some(start.clone());
        }
        let start = settings.starts.first();
        let start = start.map_or("the site", |start| start.url.as_str());
        let advice = login_advice(settings, start);
        if is_large_share(self.locked, shown) {
            let locked = self.locked;
            return Some(format!(
                "{locked} of {shown} pages return a login page, or the same page for many URLs: \
                 {advice}"
            ));
        }
        let most = self.targets.iter().max_by_key(|(_, count)| **count);
        if let Some((place, count)) = most.filter(|(_, count)| is_large_share(**count, shown)) {
            return Some(format!(
                "{count} of {shown} pages redirect to {place}: {advice}"
            ));
        }
        if let Some((_, count)) = self
            .alike
            .first()
            .filter(|(_, count)| is_large_share(*count, shown))
        {
            return Some(format!(
                "{count} of {shown} pages used to differ but now have identical content, as on \
                 a site under maintenance: check {start} and run again"
            ));
        }
        let first = self
            .first
            .as_ref()
            .filter(|_| is_large_share(self.going, shown))?;
        let going = self.going;
        Some(format!(
            "{going} of {shown} pages would be removed from robot heaven; the first is {first}"
        ))
    }
}
