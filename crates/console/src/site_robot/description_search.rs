//! Searches for descriptions by the beginning of their URL, path or title.

use url::Url;

use crate::{problem::Problem, state::AdminState};
use robot_detection_store::store::{
    DescriptionCursor, DescriptionEntry, DescriptionOrder, DescriptionQuery,
};

/// A search text and a position in the search results.
#[derive(Clone, Debug, Default)]
pub(super) struct DescriptionSearch {
    /// Beginning of a URL, path or title; if empty, all descriptions are listed by URL.
    pub(super) begins: String,
    /// Key and URL of the last entry on the previous page.
    pub(super) after: Option<(String, String)>,
    /// Maximum number of descriptions on a page.
    pub(super) limit: usize,
}

/// One page of descriptions, with information on whether more descriptions follow.
#[derive(Debug)]
pub(super) struct DescriptionPage {
    pub(super) entries: Vec<DescriptionEntry>,
    pub(super) has_more: bool,
}

impl DescriptionSearch {
    /// Searches the descriptions of a site.
    pub(super) async fn find(
        &self,
        state: &AdminState,
        site: &str,
    ) -> Result<DescriptionPage, Problem> {
        let begins = self.begins.trim();
        if begins.is_empty() || begins.contains("://") {
            self.by_url(state, site, begins).await
        } else if begins.starts_with('/') {
            let Some(origin) = first_origin(state, site).await? else {
                return Ok(DescriptionPage::new(Vec::new(), self.limit));
            };
            self.by_url(state, site, &format!("{origin}{begins}")).await
        } else {
            self.by_title(state, site, begins).await
        }
    }

    async fn by_url(
        &self,
        state: &AdminState,
        site: &str,
        begins: &str,
    ) -> Result<DescriptionPage, Problem> {
        let store = &state.operations().store;
        let mut entries = Vec::new();
        let after = if let Some((_, url)) = &self.after {
            url.as_str()
        } else {
            // The cursor excludes the entry for the search text itself, which may be a full URL.
            if let Some(exact) = store.descriptions().find(site, begins).await? {
                entries.push(DescriptionEntry {
                    url: exact.description.url().to_owned(),
                    title: exact.description.title().to_owned(),
                    key: String::new(),
                    first_seen_ms: exact.first_seen_ms,
                    modified_ms: exact.modified_ms,
                });
            }
            begins
        };
        let query = DescriptionQuery::new(site)
            .after(DescriptionCursor::after_url(after))
            // Reads one entry more than a page shows, to detect whether another page follows.
            .limit(u32::try_from(self.limit + 1).unwrap_or(u32::MAX));
        let found = store.descriptions().entries(&query).await?;
        let found = found.into_iter();
        entries.extend(found.take_while(|entry| entry.url.starts_with(begins)));
        Ok(DescriptionPage::new(entries, self.limit))
    }

    async fn by_title(
        &self,
        state: &AdminState,
        site: &str,
        begins: &str,
    ) -> Result<DescriptionPage, Problem> {
        let words: Vec<_> = begins.split_whitespace().collect();
        let begins = words.join(" ").to_lowercase();
        let after = match &self.after {
            Some((key, url)) => DescriptionCursor::behind(key, url),
            None => DescriptionCursor::behind(&begins, ""),
        };
        let query = DescriptionQuery::new(site)
            .order(DescriptionOrder::Title)
            .after(after)
            .limit(u32::try_from(self.limit + 1).unwrap_or(u32::MAX));
        let found = state
            .operations()
            .store
            .descriptions()
            .entries(&query)
            .await?;
        let found = found.into_iter();
        Ok(DescriptionPage::new(
            found
                .take_while(|entry| entry.key.starts_with(&begins))
                .collect(),
            self.limit,
        ))
    }
}

impl DescriptionPage {
    fn new(mut entries: Vec<DescriptionEntry>, limit: usize) -> Self {
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        Self { entries, has_more }
    }
}

/// Returns the scheme, host and port of the URL of the first description.
async fn first_origin(state: &AdminState, site: &str) -> Result<Option<String>, Problem> {
    let query = DescriptionQuery::new(site).limit(1);
    let first = state
        .operations()
        .store
        .descriptions()
        .entries(&query)
        .await?;
    let url = first.first().and_then(|entry| Url::parse(&entry.url).ok());
    Ok(url.map(|url| url.origin().ascii_serialization()))
}
