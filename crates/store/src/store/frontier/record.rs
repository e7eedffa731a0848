//! Records page visits in batches.

use super::Frontier;
use super::{
    super::{
        SaveOutcome, StoreError,
        error::Engine,
        publications::{Loss, stage},
        statement::{Step, Value},
        transaction::Transaction,
    },
    ClaimedUrl, FoundUrl, RunCounts,
    claim::Queue,
    sql,
};
use crate::description::ResourceDescription;

/// The maximum number of attempts to run a transaction that conflicts with other instances.
const ATTEMPTS: u32 = 5;

/// The number of pages written together on `SQLite`, which corresponds to the largest statement.
const PIECE: usize = 8;

/// The result of a page visit.
#[derive(Clone, Debug)]
pub struct PageRecord {
    /// The claimed URL of the page.
    pub claimed: ClaimedUrl,
    /// The time of the next retry; `None` if the visit is complete.
    pub retry_ms: Option<i64>,
    /// The HTTP status of the response, if any.
    pub status: Option<u16>,
    /// The outcome of the visit, as text.
    pub outcome: String,
    /// The `ETag` value to send on the next visit.
    pub etag: Option<String>,
    /// The `Last-Modified` value to send on the next visit.
    pub last_modified: Option<String>,
    /// The hash of the page's response body.
    pub content_hash: Option<String>,
    /// The change to the page's resource description.
    pub description: DescriptionChange,
    /// The reason why the page has no description, if known.
    pub loss: Option<Loss>,
    /// Whether the page requests a password; `None` if the page was not read.
    pub asks_password: Option<bool>,
    /// The canonical URL, if it differs from the page's URL.
    pub alias_of: Option<String>,
    /// The rank among URLs with the same content (lower is preferred); `None` leaves the stored
    /// rank unchanged.
    pub preference: Option<u8>,
    /// The time of the next regular visit; `None` leaves the stored time unchanged.
    pub next: Option<NextVisit>,
    /// The links on the page, stored for visits that return no body; `None` leaves the stored links
    /// unchanged.
    pub links: Option<Vec<String>>,
    /// The URLs found on the page.
    pub found: Vec<FoundUrl>,
}

/// The next regular visit to a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NextVisit {
    /// The number of consecutive visits on which the page had not changed.
    pub steady: u32,
    /// The time of the next regular visit.
    pub at_ms: i64,
}

/// A change to a resource description.
#[derive(Clone, Debug)]
pub enum DescriptionChange {
    /// Leave the description, if any, unchanged.
    Keep,
    /// Save the description. It becomes visible when the run is published.
    Save(ResourceDescription),
    /// Withdraw the description, if any, when the run is published.
    Withdraw,
}

/// The summary of recorded visits.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct RecordSummary {
    /// The counts of new URLs and of added, changed and unchanged descriptions.
    pub counts: RunCounts,
}

impl Frontier<'_> {
    /// Records visits and adds their counts to the run, all in one transaction.
    ///
    /// `counts` contains the counts that the caller has made; descriptions and found URLs are
    /// counted by this function.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn record_pages(
        self,
        run: &RunKey<'_>,
        pages: &[PageRecord],
        counts: &RunCounts,
        now_ms: i64,
    ) -> Result<RecordSummary, StoreError> {
        let mut pages: Vec<&PageRecord> = pages.iter().collect();
        // Sorted, so that concurrent calls lock rows in the same order.
        pages.sort_by(|one, other| one.claimed.url.cmp(&other.claimed.url));
        let mut attempt = 1;
        loop {
            match self.try_recording(run, &pages, counts, now_ms).await {
                // Deadlocks and busy databases are temporary, and a failed record would lose all
                // visits of the batch.
                Err(error) if error.is_temporary() && attempt < ATTEMPTS => attempt += 1,
                done => return done,
            }
        }
    }

    async fn try_recording(
        self,
        run: &RunKey<'_>,
        pages: &[&PageRecord],
        counts: &RunCounts,
        now_ms: i64,
    ) -> Result<RecordSummary, StoreError> {
        let mut transaction = self.db.begin("record visits").await?;
        let mut counts = *counts;
        let most = match transaction.engine() {
            Engine::Sqlite => PIECE,
            // All instances lock rows in the same order: first descriptions, then visits.
            Engine::Postgres => pages.len().max(1),
        };
        // On `PostgreSQL` all pages are written together, since the lock order applies to all of
        // them.
        for piece in pages.chunks(most) {
            write_pages(&mut transaction, run, piece, &mut counts, now_ms).await?;
        }
        let found: Vec<&FoundUrl> = pages.iter().flat_map(|page| &page.found).collect();
        let queue = Queue {
            site: run.site,
            run_id: run.run_id,
            position: run.position,
        };
        let entered = queue.enter_and_commit(transaction, &found, &counts);
        counts.found += entered.await?;
        Ok(RecordSummary { counts })
    }
}

/// The run in which page visits are recorded.
#[derive(Clone, Copy, Debug)]
pub struct RunKey<'r> {
    /// The name of the run's site.
    pub site: &'r str,
    /// The ID of the site robot run.
    pub run_id: i64,
    /// The settings that affect the run's decisions.
    pub settings: &'r str,
    /// The position of the found URLs among all URLs of the same depth, which increases during the
    /// run.
    pub position: i64,
}

async fn write_pages(
    transaction: &mut Transaction<'_>,
    run: &RunKey<'_>,
    pages: &[&PageRecord],
    counts: &mut RunCounts,
    now_ms: i64,
) -> Result<(), StoreError> {
    let made = pages.iter().filter_map(|page| match &page.description {
        DescriptionChange::Save(description) => Some(description),
        DescriptionChange::Keep | DescriptionChange::Withdraw => None,
    });
    let made: Vec<_> = made.collect();
    let visits: Vec<VisitRow<'_>> = pages.iter().map(|page| VisitRow::new(page)).collect();
    let visits = write_visits(run, &visits, now_ms);
    let saved = stage(transaction, (run.site, run.run_id), &made, visits, now_ms);
    for saved in saved.await? {
        match saved {
            SaveOutcome::Added => counts.added += 1,
            SaveOutcome::Changed => counts.changed += 1,
            SaveOutcome::Same => counts.same += 1,
        }
    }
    Ok(())
}

fn write_visits<'v>(run: &RunKey<'v>, visits: &'v [VisitRow<'v>], now_ms: i64) -> Vec<Step<'v>> {
    let (again, visited): (Vec<&VisitRow<'_>>, Vec<_>) = visits
        .iter()
        .partition(|visit| visit.page.claimed.is_relink);
    let again = again.into_iter().map(|VisitRow { page, .. }| {
        let depth = i64::from(page.claimed.depth);
        let values = vec![run.site.into(), (&page.claimed.url).into(), depth.into()];
        (&sql::RELINKED, values)
    });
    let visited = sql::RECORD.pieces(&visited).map(|(statement, piece)| {
        let (site, settings) = (run.site.into(), run.settings.into());
        let mut values: Vec<Value<'_>> = vec![site, run.run_id.into(), settings];
        values.extend(piece.iter().flat_map(|visit| visit.values(now_ms)));
        (statement, values)
    });
    again.chain(visited).collect()
}

/// The row of a page visit, as written to the database.
struct VisitRow<'p> {
    page: &'p PageRecord,
    /// The links on the page, one per line.
    links: Option<String>,
}

impl<'p> VisitRow<'p> {
    fn new(page: &'p PageRecord) -> Self {
        let links = page.links.as_ref().map(|links| links.join("\n"));
        Self { page, links }
    }

    /// Returns the values in the column order of the `INSERT` statement.
    fn values(&self, now_ms: i64) -> [Value<'_>; 21] {
        let Self { page, links } = self;
        let claimed = &page.claimed;
        // 3: done, 2: waiting for a retry; see the states in `sql.rs`.
        let (state, attempts) = match page.retry_ms {
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
            i64::from(page.is_described()).into(),
            page.retry_ms.into(),
            now_ms.into(),
            page.status.map(i64::from).into(),
            (&page.outcome).into(),
            (&page.etag).into(),
            (&page.last_modified).into(),
            (&page.content_hash).into(),
            links.into(),
            Value::Text(page.loss.map(Loss::as_str)),
            page.asks_password.map(i64::from).into(),
            (&page.alias_of).into(),
            page.preference.map(i64::from).into(),
            page.next.map(|next| i64::from(next.steady)).into(),
            page.next.map(|next| next.at_ms).into(),
        ]
    }
}

impl PageRecord {
    /// Creates the record of a completed page visit, without further data.
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
            loss: None,
            asks_password: None,
            alias_of: None,
            preference: None,
            next: None,
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
}
