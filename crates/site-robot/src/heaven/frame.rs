//! The frame that all pages of robot heaven have in common.

use askama::Template;

use robot_detection_texts::Language;

use super::{Catalogue, HeavenSettings, entry::Entry, view::View};

/// Parts that all pages of robot heaven have in common.
#[derive(Debug)]
pub(super) struct Frame<'s> {
    pub(super) base: &'s str,
    pub(super) name: &'s str,
    pub(super) language: &'s str,
    /// Language of the frame's own text.
    pub(super) texts: Language,
    pub(super) views: Vec<ViewLink>,
}

/// Link to an index of robot heaven.
#[derive(Debug)]
pub(super) struct ViewLink {
    pub(super) path: String,
    pub(super) heading: &'static str,
    pub(super) count: usize,
}

/// Link to a page of robot heaven.
#[derive(Debug)]
pub(super) struct PageLink<'c> {
    pub(super) href: String,
    pub(super) text: &'c str,
    pub(super) day: Option<String>,
}

impl<'s> Frame<'s> {
    pub(super) fn new(catalogue: &Catalogue, settings: &'s HeavenSettings) -> Self {
        let texts = settings.texts();
        let views = View::ALL.iter().map(|&view| ViewLink {
            path: view.path(1),
            heading: view.heading(texts),
            count: catalogue.count(view),
        });
        Self {
            base: settings.base(),
            name: settings.site_name(),
            language: settings.default_language(),
            texts,
            views: views.filter(|view| view.count > 0).collect(),
        }
    }
}

impl<'c> PageLink<'c> {
    pub(super) fn new(entry: &'c Entry, settings: &HeavenSettings) -> Self {
        Self {
            href: settings.link(&entry.url),
            text: entry.label(),
            day: entry.date.map(super::date::Date::day),
        }
    }
}

/// Renders a template; writing to a string never fails.
pub(super) fn rendered(page: &impl Template) -> String {
    page.render().unwrap_or_default()
}
