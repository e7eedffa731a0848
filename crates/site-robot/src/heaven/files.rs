//! Files of heaven that are no page of a description.

use std::{
    collections::HashSet,
    io::{self, Write},
};

use super::{
    Catalogue, HeavenSettings, feed, feed_item::FeedItem, index, markdown, sitemap, view::View,
};

/// Style sheet of all pages.
pub(super) const STYLE: &str = include_str!("../../robot-heaven/heaven.css");

/// Name of the style sheet's file.
pub(super) const STYLE_FILE: &str = "heaven.css";

/// Name of the file for language models.
pub(super) const LLMS: &str = "llms.txt";

/// Name of the file with the words of the pages that it lists.
pub(super) const LLMS_FULL: &str = "llms-full.txt";

/// Bytes of that file.
///
/// What reads it takes it as a whole, and models read about half a million words at most.
const MAX_FULL_BYTES: usize = 2 * 1024 * 1024;

/// llms-full.txt as it grows, page by page.
#[derive(Debug)]
pub(super) struct LlmsFull {
    text: String,
}

impl LlmsFull {
    pub(super) fn new(settings: &HeavenSettings) -> Self {
        Self {
            text: markdown::title(settings),
        }
    }

    /// Adds a page in Markdown; returns `false` once there is room for no more.
    pub(super) fn add(&mut self, page: &str) -> bool {
        let has_room = self.text.len() + page.len() < MAX_FULL_BYTES;
        if has_room {
            self.text.push_str("\n---\n\n");
            self.text.push_str(page);
        }
        has_room
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Returns the URLs of the pages that feeds tell of.
pub(super) fn told(catalogue: &Catalogue) -> HashSet<Box<str>> {
    let newest = catalogue.newest(feed::MAX_ENTRIES).into_iter();
    let nearest = catalogue.nearest();
    newest
        .chain(nearest)
        .map(|entry| entry.url.clone())
        .collect()
}

/// Returns llms.txt, from the briefs of the pages that it lists; `has_full` says whether llms-full.txt is
/// there.
pub(super) fn llms(
    briefs: &[FeedItem],
    catalogue: &Catalogue,
    settings: &HeavenSettings,
    has_full: bool,
) -> String {
    let nearest = catalogue.nearest().into_iter();
    let listed = nearest.filter_map(|entry| {
        let found = briefs.iter().find(|brief| *brief.url == *entry.url);
        found.cloned()
    });
    markdown::llms(&listed.collect::<Vec<_>>(), catalogue, settings, has_full)
}

/// Returns the paths of the start page, the style sheet and all pages of indexes.
pub(super) fn listings(catalogue: &Catalogue) -> impl Iterator<Item = String> {
    let indexes = View::ALL.into_iter().flat_map(|view| {
        let last = catalogue.listing(view, 1).map_or(0, |first| first.last);
        (1..=last).map(move |number| match number {
            1 => format!("{}index.html", view.path(1)),
            _ => view.path(number),
        })
    });
    let fixed = ["index.html", STYLE_FILE].map(str::to_owned);
    fixed.into_iter().chain(indexes)
}

/// Returns the text of one of them.
pub(super) fn text(path: &str, catalogue: &Catalogue, settings: &HeavenSettings) -> Option<String> {
    match path {
        "index.html" => return Some(index::start(catalogue, settings)),
        STYLE_FILE => return Some(STYLE.to_owned()),
        _ => {}
    }
    let (view, file) = path.strip_prefix("by/")?.split_once('/')?;
    let view = View::from_word(view)?;
    let number = match file {
        "index.html" => 1,
        _ => file.strip_suffix(".html")?.parse().ok()?,
    };
    // A page has one path: there is neither a `1.html` nor a `02.html`.
    let is_its_name = number == 1 || view.path(number).ends_with(&format!("/{file}"));
    let is_first = (number == 1) == (file == "index.html");
    (is_its_name && is_first).then(|| index::listing(view, number, catalogue, settings))?
}

/// Writes a sitemap; with the number 0, the index of them.
pub(super) fn sitemap(
    number: usize,
    catalogue: &Catalogue,
    settings: &HeavenSettings,
    out: &mut impl Write,
) -> io::Result<()> {
    match number.checked_sub(1) {
        None => sitemap::write_index(catalogue.sitemap_dates(), settings, out),
        Some(at) => {
            let entries = catalogue.sitemaps().nth(at).unwrap_or_default();
            sitemap::write(entries, number, settings, out)
        }
    }
}
