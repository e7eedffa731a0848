//! The descriptions that a heaven is made of.

use std::{collections::BTreeMap, time::UNIX_EPOCH};

use super::{Catalogue, CatalogueBuilder, HeavenError, HeavenSettings};
use robot_detection_store::description::{ResourceDescription, name};
use robot_detection_store::store::{DescriptionCursor, DescriptionQuery, Store, StoredDescription};

/// Descriptions that are read first, before it is known how long their texts are.
const FIRST_PIECE: u32 = 20;

/// Descriptions in memory at once, at most.
const MAX_PIECE: u32 = 100;

/// Bytes of descriptions that are to be in memory at once.
const PIECE_BYTES: usize = 1024 * 1024;

/// Descriptions without their texts in memory at once.
const LIGHT_PIECE: u32 = 500;

/// URLs that stand for others in memory at once, before they are kept.
const ALIAS_PIECE: u32 = 5_000;

/// Milliseconds before a description in which its page is "changed just now".
///
/// Servers that make pages as they are asked for say so each time.
const JUST_NOW_MS: i64 = 10 * 60 * 1_000;

/// Descriptions of one site in the database.
#[derive(Clone, Debug)]
pub struct Library {
    store: Store,
    site: String,
}

/// Reads the descriptions of a library by URL, piece by piece.
#[derive(Debug)]
pub(super) struct DescriptionReader {
    library: Library,
    after: Option<DescriptionCursor>,
    limit: u32,
    has_ended: bool,
}

impl Library {
    /// Creates the library of a site, by the name under which its descriptions are stored.
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
    /// Fails when the database does.
    pub async fn description(&self, url: &str) -> Result<Option<ResourceDescription>, HeavenError> {
        let stored = self.store.descriptions().find(&self.site, url).await?;
        Ok(stored.map(dated))
    }

    /// Returns the description of a URL for a visitor; while the database is away, as it was read last.
    pub(super) async fn recent(
        &self,
        url: &str,
    ) -> Result<Option<ResourceDescription>, HeavenError> {
        let stored = self.store.descriptions().recent(&self.site, url).await?;
        Ok(stored.map(dated))
    }

    /// Returns `true` unless the database is away and the description of a URL is not in memory.
    pub(super) fn has_at_hand(&self, url: &str) -> bool {
        self.store.descriptions().can_read(&self.site, url)
    }

    /// Moves the stored pages to the site's address, where it had another one before.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then moves nothing.
    pub async fn settle(&self, settings: &HeavenSettings) -> Result<(), HeavenError> {
        let Some(former) = settings.former() else {
            return Ok(());
        };
        let (site, address) = (&self.site, settings.site());
        let moved = self
            .store
            .publications()
            .move_site(site, address, former)
            .await?;
        if moved > 0 {
            tracing::info!(site, moved, "{moved} pages of {site} moved to {address}");
        }
        Ok(())
    }

    /// Reads what indexes, sitemaps and feeds need to know of all pages.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn catalogue(&self, settings: &HeavenSettings) -> Result<Catalogue, HeavenError> {
        let mut builder = CatalogueBuilder::default();
        let addresses = self.store.publications().site_addresses(&self.site);
        let (entered, aliases, addresses) =
            tokio::join!(self.enter_all(&mut builder), self.aliases(), addresses);
        entered?;
        builder.add_aliases(aliases?);
        builder.add_addresses(addresses?);
        // Of a million pages it takes seconds, in which others are to be answered.
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
            // The database reads the next ones meanwhile.
            let (next, ()) = tokio::join!(self.light_piece(after), async {
                for stored in piece {
                    builder.add(&dated(stored));
                }
            });
            piece = next?;
        }
        Ok(())
    }

    /// Returns the URLs that stand for others, each with that one.
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

    /// Returns descriptions without their texts, the first behind a URL; none behind none.
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
            .without_texts(&self.site, &after, LIGHT_PIECE);
        Ok(read.await?)
    }

    /// Returns when a description last said something new; nothing where there is none.
    pub(super) async fn changed_ms(&self) -> Result<Option<i64>, HeavenError> {
        Ok(self.store.descriptions().changed_ms(&self.site).await?)
    }

    /// Waits until what is in force is another than `seen`, and returns its version.
    pub(super) async fn changed(&self, seen: i64) -> Result<i64, HeavenError> {
        Ok(self.store.heaven_changed(&self.site, seen).await?)
    }

    /// Returns the version of what is in force.
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
    /// Returns the next descriptions; none at the end.
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
        self.after = last.map(DescriptionCursor::behind_url);
        Ok(Some(piece.into_iter().map(dated).collect()))
    }
}

/// Returns how many descriptions to read next, where so many had these bytes: those that follow
/// are hardly longer.
fn next_limit(count: usize, bytes: usize) -> u32 {
    let fitting = count.saturating_mul(PIECE_BYTES) / bytes.max(1);
    u32::try_from(fitting)
        .unwrap_or(MAX_PIECE)
        .clamp(1, MAX_PIECE)
}

/// Returns a description without a date that only says when it was made.
///
/// A server's date counts where it is older than what we know: when the
/// description last changed. When that was is no date of the page.
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
    async fn every_description_is_read_once() {
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
    fn a_piece_has_many_short_texts_or_a_long_one() {
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
    async fn when_a_page_was_visited_is_no_date_of_it() {
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
        // Something new, from a server that knows for how long it has been so.
        let new = date_of("New", old, &library, 1_000_080_000_000);
        assert_eq!(new.await.as_deref(), old);
    }
}
