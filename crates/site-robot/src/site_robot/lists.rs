//! Sitemaps and feeds as sources of URLs.

use time::{
    OffsetDateTime, UtcOffset,
    format_description::well_known::{Rfc2822, Rfc3339},
};

use crate::document::{Feed, FeedEntry, Moment, Sitemap, SitemapEntry};
use robot_detection_store::fetch::{gunzip, is_gzip};

use super::{
    freshness::ListedDates,
    judge::FilteredUrl,
    links::{self, AcceptedLink, SITEMAP, unique},
    source::PageResponse,
    visitor::PageVisitor,
};

/// Maximum size of a decompressed sitemap, in bytes.
const MAX_SITEMAP_BYTES: u64 = 50 * 1024 * 1024;

impl FilteredUrl {
    /// Returns the entries of a sitemap or feed that is a starting point or was announced in
    /// robots.txt.
    ///
    /// The returned flag is `true` if the entries are themselves sitemaps.
    pub(super) fn list(
        &self,
        visitor: &PageVisitor,
        answer: &PageResponse,
    ) -> Option<(Vec<AcceptedLink>, bool)> {
        let is_announced = self.claimed.found_on.is_empty() || self.claimed.found_on == SITEMAP;
        let media_type = answer.media_type().unwrap_or_default();
        if !is_announced && self.claimed.depth > 0 || media_type == "text/html" {
            return None;
        }
        // The protocol allows 50 MB uncompressed (sitemaps.org); anything larger may be an attempt
        // to exhaust memory.
        let unzipped = is_gzip(&answer.body)
            .then(|| gunzip(&answer.body, MAX_SITEMAP_BYTES).ok())
            .flatten();
        let bytes = unzipped.as_deref().unwrap_or(&answer.body);
        // Plain text that contains URLs is treated as a sitemap only if robots.txt lists it.
        let is_text = media_type == "text/plain" && self.claimed.found_on != SITEMAP;
        let text = String::from_utf8_lossy(bytes);
        let (entries, are_sitemaps): (Vec<(String, ListedDates)>, _) = match Sitemap::read(&text) {
            Some(sitemap) if !is_text => {
                let entries = sitemap.entries.into_iter().map(of_sitemap);
                (entries.collect(), sitemap.is_index)
            }
            _ => {
                let entries = Feed::read(&text)?.entries;
                (entries.into_iter().map(of_feed).collect(), false)
            }
        };
        let settings = visitor.settings();
        let urls = entries.into_iter().filter_map(|(url, dates)| {
            if are_sitemaps {
                return links::to_sitemap(settings, &self.url, &url);
            }
            let url = links::to_visit(settings, &self.url, &url)?;
            visitor.freshness.note_listed(&url, dates);
            Some(url)
        });
        let taken = urls.map(|url| AcceptedLink { url, steps: 0 }).collect();
        Some((unique(taken), are_sitemaps))
    }
}

fn of_sitemap(entry: SitemapEntry) -> (String, ListedDates) {
    let dates = ListedDates {
        published: None,
        modified: entry.last_modified.as_deref().and_then(date),
    };
    (entry.url, dates)
}

fn of_feed(entry: FeedEntry) -> (String, ListedDates) {
    let published = entry.published.as_deref().and_then(date);
    let modified = entry.last_modified.as_deref().and_then(date);
    let dates = ListedDates {
        // If the feed specifies a single date, the page was not necessarily modified.
        modified: modified.filter(|it| Some(it) != published.as_ref()),
        published,
    };
    (entry.url, dates)
}

/// Returns a date in the format used by pages, converted from the RSS format if necessary.
fn date(text: &str) -> Option<String> {
    let text = text.trim();
    if Moment::read(text).is_some() {
        return Some(text.to_owned());
    }
    let time = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    time.to_offset(UtcOffset::UTC).format(&Rfc3339).ok()
}
