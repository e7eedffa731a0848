//! What became of pages is recorded, many at a time.

use super::{
    super::{
        Saved, Store, StoreError,
        database::Transaction,
        descriptions::{delete, save},
        statement::Value,
    },
    ClaimedUrl, FoundUrl, RunCounts,
    claim::enter,
    sql,
};
use crate::description::ResourceDescription;

/// Times that a transaction is tried which another instance got in the way of.
const ATTEMPTS: u32 = 5;

/// What became of a page.
#[derive(Clone, Debug)]
pub struct PageRecord {
    /// The page as it was claimed.
    pub claimed: ClaimedUrl,
    /// When it shall be tried again; nothing when it is done.
    pub retry_ms: Option<i64>,
    /// Status of the answer, if there was one.
    pub status: Option<u16>,
    /// What became of it, in words.
    pub outcome: String,
    /// `ETag`, for the next visit.
    pub etag: Option<String>,
    /// `Last-Modified`, for the next visit.
    pub last_modified: Option<String>,
    /// Hash of what came.
    pub content_hash: Option<String>,
    /// What becomes of its resource description.
    pub description: DescriptionChange,
    /// Links to follow at another visit that brings none; nothing leaves those that are known.
    pub links: Option<Vec<String>>,
    /// URLs found on it.
    pub found: Vec<FoundUrl>,
}

/// What becomes of a resource description.
#[derive(Clone, Debug)]
pub enum DescriptionChange {
    /// It stays, if there is one.
    Keep,
    /// It is saved.
    Save(ResourceDescription),
    /// It is withdrawn, if there is one.
    Withdraw,
}

/// What recording did.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Recorded {
    /// URLs that are new in the run, descriptions added, changed, the same, withdrawn.
    pub counts: RunCounts,
}

impl Store {
    /// Records what became of pages, and counts it in their run: all or nothing.
    ///
    /// `counts` is what the caller has counted itself; descriptions and found
    /// URLs are counted here.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn record_pages(
        &self,
        run: &RunKey<'_>,
        pages: &[PageRecord],
        counts: &RunCounts,
        now_ms: i64,
    ) -> Result<Recorded, StoreError> {
        let mut pages: Vec<&PageRecord> = pages.iter().collect();
        // Those who record at once must lock rows in the same order.
        pages.sort_by(|one, other| one.claimed.url.cmp(&other.claimed.url));
        let mut attempt = 1;
        loop {
            match self.try_recording(run, &pages, counts, now_ms).await {
                Err(error) if error.is_passing() && attempt < ATTEMPTS => attempt += 1,
                done => return done,
            }
        }
    }

    async fn try_recording(
        &self,
        run: &RunKey<'_>,
        pages: &[&PageRecord],
        counts: &RunCounts,
        now_ms: i64,
    ) -> Result<Recorded, StoreError> {
        let mut transaction = self.database.begin("record visits").await?;
        let mut counts = *counts;
        write_descriptions(&mut transaction, run, pages, &mut counts, now_ms).await?;
        write_visits(&mut transaction, run, pages, now_ms).await?;
        write_links(&mut transaction, run, pages).await?;
        let found: Vec<&FoundUrl> = pages.iter().flat_map(|page| &page.found).collect();
        let (site, run_id) = (run.site, run.run_id);
        counts.found += enter(&mut transaction, site, run_id, run.position, &found).await?;
        // Last, since it is the row that all instances want.
        let values = counts.values(run_id);
        transaction.execute(&sql::COUNT_RUN, &values).await?;
        transaction.commit().await?;
        Ok(Recorded { counts })
    }
}

/// Run that pages are recorded in.
#[derive(Clone, Copy, Debug)]
pub struct RunKey<'r> {
    /// Name of the site.
    pub site: &'r str,
    /// Number of the run.
    pub run_id: i64,
    /// What its decisions depend on.
    pub settings: &'r str,
    /// Orders URLs of the same depth that are found; it grows.
    pub position: i64,
}

async fn write_descriptions(
    transaction: &mut Transaction<'_>,
    run: &RunKey<'_>,
    pages: &[&PageRecord],
    counts: &mut RunCounts,
    now_ms: i64,
) -> Result<(), StoreError> {
    let mut made = Vec::new();
    let mut gone = Vec::new();
    for page in pages {
        match &page.description {
            DescriptionChange::Save(description) => made.push(description),
            DescriptionChange::Withdraw if page.claimed.is_described => {
                gone.push(page.claimed.url.as_str());
            }
            DescriptionChange::Keep | DescriptionChange::Withdraw => {}
        }
    }
    for saved in save(transaction, run.site, run.run_id, &made, now_ms).await? {
        match saved {
            Saved::Added => counts.added += 1,
            Saved::Changed => counts.changed += 1,
            Saved::Same => counts.same += 1,
        }
    }
    counts.withdrawn += delete(transaction, run.site, &gone).await?;
    Ok(())
}

async fn write_visits(
    transaction: &mut Transaction<'_>,
    run: &RunKey<'_>,
    pages: &[&PageRecord],
    now_ms: i64,
) -> Result<(), StoreError> {
    let (again, visited): (Vec<&PageRecord>, Vec<_>) = pages
        .iter()
        .copied()
        .partition(|page| page.claimed.is_relink);
    for page in again {
        let depth = i64::from(page.claimed.depth);
        let values = [run.site.into(), (&page.claimed.url).into(), depth.into()];
        transaction.execute(&sql::RELINKED, &values).await?;
    }
    for (statement, piece) in sql::RECORD.pieces(&visited) {
        let (site, settings) = (run.site.into(), run.settings.into());
        let mut values: Vec<Value<'_>> = vec![site, run.run_id.into(), settings];
        values.extend(piece.iter().flat_map(|page| page.values(now_ms)));
        transaction.execute(statement, &values).await?;
    }
    Ok(())
}

async fn write_links(
    transaction: &mut Transaction<'_>,
    run: &RunKey<'_>,
    pages: &[&PageRecord],
) -> Result<(), StoreError> {
    let rows: Vec<(&str, String)> = pages
        .iter()
        .filter_map(|page| Some((page.claimed.url.as_str(), page.links.as_ref()?.join("\n"))))
        .collect();
    for (statement, piece) in sql::SAVE_LINKS.pieces(&rows) {
        let mut values: Vec<Value<'_>> = vec![run.site.into()];
        for (url, links) in piece {
            values.extend([Value::from(*url), links.into()]);
        }
        transaction.execute(statement, &values).await?;
    }
    Ok(())
}

impl PageRecord {
    /// Creates a record of a page that is done, of which nothing else is known.
    #[must_use]
    pub fn new(claimed: ClaimedUrl, outcome: impl Into<String>) -> Self {
        Self {
            claimed,
            retry_ms: None,
            status: None,
            outcome: outcome.into(),
            etag: None,
            last_modified: None,
            content_hash: None,
            description: DescriptionChange::Keep,
            links: None,
            found: Vec::new(),
        }
    }

    fn is_described(&self) -> bool {
        match self.description {
            DescriptionChange::Keep => self.claimed.is_described,
            DescriptionChange::Save(_) => true,
            DescriptionChange::Withdraw => false,
        }
    }

    /// Returns the values in the order of the statement that records.
    fn values(&self, now_ms: i64) -> [Value<'_>; 14] {
        let claimed = &self.claimed;
        let (state, attempts) = match self.retry_ms {
            None => (3, claimed.attempts),
            Some(_) => (2, claimed.attempts.saturating_add(1)),
        };
        [
            (&claimed.url).into(),
            (&claimed.host).into(),
            i64::from(claimed.depth).into(),
            (&claimed.found_on).into(),
            i64::from(state).into(),
            i64::from(attempts).into(),
            i64::from(self.is_described()).into(),
            self.retry_ms.into(),
            now_ms.into(),
            self.status.map(i64::from).into(),
            (&self.outcome).into(),
            (&self.etag).into(),
            (&self.last_modified).into(),
            (&self.content_hash).into(),
        ]
    }
}
