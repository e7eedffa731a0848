//! Items of feeds.

use super::{content::Content, date::Date, entry::has_page};
use robot_detection_store::description::ResourceDescription;

/// Page as feeds list it; a few hundred bytes, whatever the page holds.
#[derive(Clone, Debug)]
pub(super) struct FeedItem {
    pub(super) url: String,
    pub(super) title: String,
    /// Empty where nothing may be quoted.
    pub(super) summary: String,
    pub(super) author: String,
    pub(super) class: String,
    pub(super) date: Option<Date>,
    pub(super) published: Option<Date>,
}

impl FeedItem {
    /// Returns the brief of a description that has a page.
    pub(super) fn new(description: &ResourceDescription) -> Option<Self> {
        if !has_page(description) {
            return None;
        }
        Some(Self::of_content(Content::new(description)))
    }

    /// Returns the brief of what a page says.
    pub(super) fn of_content(content: Content<'_>) -> Self {
        // A title is no summary of itself.
        let is_news = |summary: &String| *summary != content.title && *summary != content.heading;
        let summary = content.may_be_quoted.then(|| content.summary());
        let summary = summary.filter(is_news);
        Self {
            url: content.url.to_owned(),
            summary: summary.unwrap_or_default(),
            class: content.classes.join(":"),
            date: content.date,
            published: content.published,
            title: content.title,
            author: content.author,
        }
    }
}
