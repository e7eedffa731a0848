//! Sitemaps and feeds, whose entries are found.

use crate::document::{Feed, Sitemap};
use robot_detection_store::fetch::{gunzip, is_gzip};

use super::{
    judge::FilteredUrl,
    links::{self, AcceptedLink, unique},
    source::PageResponse,
    visit::{PageVisitor, SITEMAP},
};

/// Bytes of a sitemap after decompression.
const MAX_SITEMAP_BYTES: u64 = 50 * 1024 * 1024;

impl FilteredUrl {
    /// Returns the entries of a sitemap or feed that is a starting point, or was announced.
    ///
    /// They come with whether they are sitemaps themselves.
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
        // The protocol allows 50 MB before compression (sitemaps.org); more may be an attempt to
        // fill memory.
        let unzipped = is_gzip(&answer.body)
            .then(|| gunzip(&answer.body, MAX_SITEMAP_BYTES).ok())
            .flatten();
        let bytes = unzipped.as_deref().unwrap_or(&answer.body);
        // Text with URLs in it is a list only where robots.txt calls it a sitemap.
        let is_text = media_type == "text/plain" && self.claimed.found_on != SITEMAP;
        let text = String::from_utf8_lossy(bytes);
        let (urls, are_sitemaps): (Vec<String>, _) = match Sitemap::read(&text) {
            Some(sitemap) if !is_text => {
                let urls = sitemap.entries.into_iter().map(|it| it.url);
                (urls.collect(), sitemap.is_index)
            }
            _ => {
                let entries = Feed::read(&text)?.entries;
                (entries.into_iter().map(|it| it.url).collect(), false)
            }
        };
        let settings = visitor.settings();
        let urls = urls.iter().filter_map(|url| {
            if are_sitemaps {
                links::to_sitemap(settings, &self.url, url)
            } else {
                links::to_visit(settings, &self.url, url)
            }
        });
        let taken = urls.map(|url| AcceptedLink { url, steps: 0 }).collect();
        Some((unique(taken), are_sitemaps))
    }
}
