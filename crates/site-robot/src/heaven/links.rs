//! Where links within texts lead to.

use std::borrow::Cow;

use super::{Catalogue, HeavenSettings};

/// What links of a text are looked up in.
#[derive(Clone, Copy)]
pub(super) struct Site<'c> {
    pub(super) catalogue: &'c Catalogue,
    pub(super) settings: &'c HeavenSettings,
}

impl Site<'_> {
    /// Returns where a link of a page leads from its page in heaven; none where it is told as text.
    ///
    /// What is described leads to its own page here. What else lies in the members' area is not
    /// named: robots would not get it, and its URL is nobody's business.
    pub(super) fn target(self, url: &str) -> Option<Cow<'_, str>> {
        let url = self.catalogue.settled(url, self.settings);
        if let Some(page) = self.catalogue.page_of(&url, self.settings) {
            return Some(self.settings.link(page).into());
        }
        (!url.is_empty() && !self.settings.is_members_only(&url)).then_some(url)
    }

    /// Returns the same as a whole URL.
    pub(super) fn whole_target(self, url: &str) -> Option<String> {
        let target = self.target(url)?;
        Some(if target.starts_with('/') {
            format!("{}{target}", self.settings.site())
        } else {
            target.into_owned()
        })
    }
}
