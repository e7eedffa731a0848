//! Count of what a run would remove from heaven, and whether a person is asked first.

use std::collections::HashMap;

use super::{losses::Fate, progress::is_large_share, settings::Settings, starts::login_advice};

/// Places that redirects lead to whose number is counted.
const MAX_TARGETS: usize = 10_000;

/// Count of what a run would remove from heaven.
#[derive(Debug, Default)]
pub(super) struct LossTally {
    /// Pages that go for another reason than that they say so, and the first of them.
    pub(super) going: u64,
    pub(super) first: Option<String>,
    /// Pages in whose place a login stands.
    pub(super) locked: u64,
    /// How many redirects lead to each place.
    pub(super) targets: HashMap<String, u64>,
    /// Contents that came in place of several pages, and how many.
    pub(super) alike: Vec<(String, u64)>,
    /// Why the starting points did not answer as themselves.
    pub(super) start: Option<String>,
}

impl LossTally {
    /// Returns `true` for a content that came in place of several pages.
    pub(super) fn is_alike(&self, hash: Option<&str>) -> bool {
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
        // A login's query says where to return to, and so is another one for each page.
        let place = to.split(['?', '#']).next().unwrap_or(to);
        if self.targets.len() < MAX_TARGETS || self.targets.contains_key(place) {
            *self.targets.entry(place.to_owned()).or_default() += 1;
        }
    }

    /// Returns why the results are held back, where they are.
    pub(super) fn doubt(&self, shown: u64, settings: &Settings) -> Option<String> {
        if let Some(start) = &self.start {
            return Some(start.clone());
        }
        let start = settings.starts.first();
        let start = start.map_or("the site", |start| start.url.as_str());
        let advice = login_advice(settings, start);
        if is_large_share(self.locked, shown) {
            let locked = self.locked;
            return Some(format!(
                "{locked} of {shown} pages answer with a login, or with one page for many URLs: \
                 {advice}"
            ));
        }
        let most = self.targets.iter().max_by_key(|(_, count)| **count);
        if let Some((place, count)) = most.filter(|(_, count)| is_large_share(**count, shown)) {
            return Some(format!(
                "{count} of {shown} pages lead to {place}: {advice}"
            ));
        }
        if let Some((_, count)) = self
            .alike
            .first()
            .filter(|(_, count)| is_large_share(*count, shown))
        {
            return Some(format!(
                "{count} of {shown} pages that said different things say the same now, as where \
                 a site is closed for a while: look at {start} and run again"
            ));
        }
        let first = self
            .first
            .as_ref()
            .filter(|_| is_large_share(self.going, shown))?;
        let going = self.going;
        Some(format!(
            "{going} of {shown} pages would go from heaven, the first being {first}"
        ))
    }
}
