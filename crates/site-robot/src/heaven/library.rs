//! Access to the stored descriptions of a site.

use std::{collections::BTreeMap, time::UNIX_EPOCH};

use super::{Catalogue, CatalogueBuilder, HeavenError, HeavenSettings};
use robot_detection_store::description::{ResourceDescription, name};
use robot_detection_store::store::{DescriptionCursor, DescriptionQuery, Store, StoredDescription};

/// Number of descriptions in the first batch, when their size is not yet known.
const FIRST_PIECE: u32 = 20;

/// Maximum number of descriptions in memory.
const MAX_PIECE: u32 = 100;

/// Target size of a batch of descriptions, in bytes.
const PIECE_BYTES: usize = 1024 * 1024;

/// Number of descriptions in a batch of descriptions that are read without their texts.
const LIGHT_PIECE: u32 = 500;

/// Number of alternative URLs in a batch.
const ALIAS_PIECE: u32 = 5_000;

/// Period before the last change of a description; a date from this period is considered to be the
/// time of the visit.
///
/// Servers that generate pages dynamically often report the current time on every request.
const JUST_NOW_MS: i64 = 10 * 60 * 1_000;

/// Stored descriptions of one site.
#[derive(Clone, Debug)]
pub struct Library {
    store: Store,
    site: String,
}

/// Reader that returns a library's descriptions in batches, sorted by URL.
#[derive(Debug)]
pub(super) struct DescriptionReader {
    library: Library,
    after: Option<DescriptionCursor>,
    limit: u32,
    has_ended: bool,
}

impl Library {
    /// Creates the library of the site that has the given name in the database.
    pub fn new(store: Store, site: impl Into<String>) -> Self {
        Self {
            store,
            site: site.into(),
        }
    }

    /// Returns the description of a URL.
    ///
    /// # Errors
    ///
    /// Returns an error if the database query fails.
    pub async fn description(&self, url: &str) -> Result<Option<ResourceDescription>, HeavenError> {
        let stored = self.store.descriptions().find(&self.site, url).await?;
        Ok(stored.map(dated))
    }

    /// Returns the description of a URL, or a cached copy of it while the database is unavailable.
    pub(super) async fn recent(
        &self,
        url: &str,
    ) -> Result<Option<ResourceDescription>, HeavenError> {
        let stored = self.store.descriptions().recent(&self.site, url).await?;
        Ok(stored.map(dated))
    }

    /// Returns `false` if the database is unavailable and the description is not cached.
    pub(super) fn has_at_hand(&self, url: &str) -> bool {
        self.store.descriptions().can_read(&self.site, url)
    }

    /// If the site's address has changed, moves the stored pages to the current address.
    ///
    /// # Errors
    ///
    /// Returns an error if the database query fails; in that case, nothing is moved.
    pub async fn settle(&self, settings: &HeavenSettings) -> Result<(), HeavenError> {
        let Some(former) = settings.former_addresses() else {
            return Ok(());
        };
        let (site, address) = (&self.site, settings.site());
        let moved = self
            .store
            .publications()
            .move_site(site, address, former)
            .await?;
        if moved > 0 {
            tracing::info!(site, moved, "moved {moved} pages of {site} to {address}");
        }
        Ok(())
    }

    /// Reads the catalogue of all pages, which is used for indexes, sitemaps and feeds.
    ///
    /// # Errors
    ///
    /// Returns an error if the database query fails.
    pub async fn catalogue(&self, settings: &HeavenSettings) -> Result<Catalogue, HeavenError> {
        let mut builder = CatalogueBuilder::default();
        let addresses = self.store.publications().site_addresses(&self.site);
        let (entered, aliases, addresses) =
            tokio::join!(self.enter_all(&mut builder), self.aliases(), addresses);
        entered?;
        builder.add_aliases(aliases?);
        builder.add_addresses(addresses?);
        // Building the catalogue takes seconds for a million pages, and the server must stay
        // responsive meanwhile.
        let settings = settings.clone();
        let built = tokio::task::spawn_blocking(move || builder.build(&settings));
        built
            .await
            .map_err(|_| HeavenError::Unread(self.site.clone()))
    }

    async fn enter_all(&self, builder: &mut CatalogueBuilder) -> Result<(), HeavenError> {
        let mut piece = self.light_piece(Some(String::new())).await?;
        while !piece.is_empty() {
            let is_full = piece.len() == LIGHT_PIECE as usize;
            let last = piece.last().filter(|_| is_full);
            let after = last.map(|last| last.description.url().to_owned());
            // The next batch is read from the database while this batch is being processed.
            let (next, ()) = tokio::join!(self.light_piece(after), async {
                for stored in piece {
                    builder.add(&dated(stored));
                }
            });
            piece = next?;
        }
        Ok(())
    }

    /// Returns the alternative URLs, each mapped to the URL that it stands for.
    async fn aliases(&self) -> Result<BTreeMap<Box<str>, Box<str>>, HeavenError> {
        let (mut all, mut after) = (BTreeMap::new(), String::new());
        loop {
            let piece = self
                .store
                .frontier()
                .aliases(&self.site, &after, ALIAS_PIECE)
                .await?;
            match piece.last() {
                Some((last, _)) => after.clone_from(last),
                None => return Ok(all),
            }
            let boxed = |(url, alias_of): (String, String)| (url.into(), alias_of.into());
            all.extend(piece.into_iter().map(boxed));
        }
    }

    /// Returns the batch of descriptions that follows a URL, without their texts; the batch is
    /// empty for `None`.
    async fn light_piece(
        &self,
        after: Option<String>,
    ) -> Result<Vec<StoredDescription>, HeavenError> {
        let Some(after) = after else {
            return Ok(Vec::new());
        };
        let read = self
            .store
            .descriptions()
            .list_without_texts(&self.site, &after, LIGHT_PIECE);
        Ok(read.await?)
    }

    /// Returns the time at which any description last changed, or `None` if there are no
    /// descriptions.
    pub(super) async fn changed_ms(&self) -> Result<Option<i64>, HeavenError> {
        Ok(self.store.descriptions().changed_ms(&self.site).await?)
    }

    /// Waits until the publication's version differs from `seen`, and returns the new version.
    pub(super) async fn changed(&self, seen: i64) -> Result<i64, HeavenError> {
        Ok(self.store.heaven_changed(&self.site, seen).await?)
    }

    /// Returns the version of the current publication.
    pub(super) async fn publication(&self) -> Result<i64, HeavenError> {
        Ok(self.store.heaven_version(&self.site).await?)
    }

    pub(super) fn read(&self) -> DescriptionReader {
        DescriptionReader {
            library: self.clone(),
            after: None,
            limit: FIRST_PIECE,
            has_ended: false,
        }
    }
}

impl DescriptionReader {
    /// Returns the next batch of descriptions, or `None` after the last batch.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<ResourceDescription>>, HeavenError> {
        if self.has_ended {
            return Ok(None);
        }
        let query = DescriptionQuery::new(&*self.library.site)
            .after(self.after.take())
            .limit(self.limit);
        let piece = self.library.store.descriptions().list(&query).await?;
        self.has_ended = piece.len() < self.limit as usize;
        let bytes = piece.iter().map(|it| it.description.value_bytes()).sum();
        self.limit = next_limit(piece.len(), bytes);
        let last = piece.last().map(|last| last.description.url());
        self.after = last.map(DescriptionCursor::after_url);
        Ok(Some(piece.into_iter().map(dated).collect()))
    }
}

/// Returns the number of descriptions in the next batch, estimated from the size of the previous
/// batch.
fn next_limit(count: usize, bytes: usize) -> u32 {
    let fitting = count.saturating_mul(PIECE_BYTES) / bytes.max(1);
    u32::try_from(fitting)
        .unwrap_or(MAX_PIECE)
        .clamp(1, MAX_PIECE)
}

/// Removes the server's date from a description if it merely reflects the time of the visit.
///
/// The date is kept only if it is older than the last change of the description, whose time is
/// recorded.
fn dated(stored: StoredDescription) -> ResourceDescription {
    let mut description = stored.description;
    let told = description
        .value(name::LAST_MODIFIED)
        .and_then(|date| httpdate::parse_http_date(date).ok())
        .and_then(|date| date.duration_since(UNIX_EPOCH).ok())
        .and_then(|date| i64::try_from(date.as_millis()).ok());
    let is_older = told.is_some_and(|told| told < stored.modified_ms - JUST_NOW_MS);
    if !is_older {
        description.remove(name::LAST_MODIFIED);
    }
    description
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "https://a.example";

    async fn library(pages: u32) -> Library {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let descriptions: Vec<_> = (0..pages)
            .map(|number| ResourceDescription::new(format!("{SITE}/{number}")))
            .collect();
        store
            .descriptions()
            .save("a", 1, &descriptions, 1_000_000_000_000)
            .await
            .unwrap();
        Library::new(store, "a")
    }

    #[tokio::test]
    async fn each_description_is_read_once() {
        let (first, most) = (FIRST_PIECE, FIRST_PIECE + MAX_PIECE);
        for pages in [0, 1, first - 1, first, first + 1, most - 1, most, most + 1] {
            let library = library(pages).await;
            let (mut reader, mut urls) = (library.read(), Vec::new());
            while let Some(piece) = reader.next().await.unwrap() {
                urls.extend(piece.iter().map(|it| it.url().to_owned()));
            }
            let read = urls.len();
            urls.sort_unstable();
            urls.dedup();
            assert_eq!((read, urls.len()), (pages as usize, pages as usize));
            let catalogue = library
                .catalogue(&HeavenSettings::new(SITE).unwrap())
                .await
                .unwrap();
            assert_eq!(catalogue.len(), pages as usize);
        }
    }

    #[test]
    fn batch_holds_many_short_texts_or_one_long_text() {
        for (count, bytes, next) in [
            (20, 20 * 1024, MAX_PIECE),
            (20, 20 * 32 * 1024, 32),
            (20, 20 * PIECE_BYTES, 1),
            (3, usize::MAX, 1),
            (0, 0, 1),
        ] {
            assert_eq!(next_limit(count, bytes), next, "{count} {bytes}");
        }
    }

    async fn date(told: Option<&str>, known: &Library, now_ms: i64) -> Option<String> {
        date_of("", told, known, now_ms).await
    }

    async fn date_of(
        title: &str,
        told: Option<&str>,
        known: &Library,
        now_ms: i64,
    ) -> Option<String> {
        let mut description = ResourceDescription::new(format!("{SITE}/0"));
        if !title.is_empty() {
            description.set(name::TITLE, title);
        }
        if let Some(told) = told {
            description.set(name::LAST_MODIFIED, told);
        }
        known
            .store
            .descriptions()
            .save("a", 2, &[description], now_ms)
            .await
            .unwrap();
        let description = known
            .description(&format!("{SITE}/0"))
            .await
            .unwrap()
            .unwrap();
        description.value(name::LAST_MODIFIED).map(str::to_owned)
    }

    #[tokio::test]
    async fn time_of_the_visit_is_not_a_page_date() {
        // 2001-09-09T01:46:40Z
        let library = library(1).await;
        assert_eq!(date(None, &library, 1_000_000_100_000).await, None);
        let now = "Mon, 10 Sep 2001 00:00:00 GMT";
        assert_eq!(date(Some(now), &library, 1_000_080_000_000).await, None);
        let just_now = date(
            Some("Sun, 09 Sep 2001 01:46:30 GMT"),
            &library,
            1_000_080_000_000,
        );
        assert_eq!(just_now.await, None);
        let old = Some("Sat, 08 Sep 2001 01:46:40 GMT");
        assert_eq!(date(old, &library, 1_000_080_000_000).await, None);
        // New content from a server that reports the true modification date.
        let new = date_of("New", old, &library, 1_000_080_000_000);
        assert_eq!(new.await.as_deref(), old);
    }
}
