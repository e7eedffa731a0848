//! What feeds tell of a page.

use super::{content::Content, date::Date, entry::has_page};
use crate::description::ResourceDescription;

/// What feeds tell of a page; a few hundred bytes, whatever the page holds.
#[derive(Clone, Debug)]
pub(super) struct Brief {
    pub(super) url: String,
    pub(super) title: String,
    /// Empty where nothing may be quoted.
    pub(super) summary: String,
    pub(super) author: String,
    pub(super) class: String,
    pub(super) date: Option<Date>,
}

impl Brief {
    /// Returns the brief of a description that has a page.
    pub(super) fn new(description: &ResourceDescription) -> Option<Self> {
        if !has_page(description) {
            return None;
        }
        let content = Content::new(description);
        let summary = content.may_be_quoted.then(|| content.summary());
        Some(Self {
            url: content.url.to_owned(),
            summary: summary.unwrap_or_default(),
            class: content.classes.join(":"),
            date: content.date,
            title: content.title,
            author: content.author,
        })
    }
}
