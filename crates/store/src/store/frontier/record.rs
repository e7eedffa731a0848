//! Recording of visits, many at a time.

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

/// Times that a transaction is tried which another instance got in the way of.
const ATTEMPTS: u32 = 5;

/// Pages that `SQLite` is handed at once: so many rows have a statement of their own.
const PIECE: usize = 8;

/// Outcome of a visit to a page.
#[derive(Clone, Debug)]
pub struct PageRecord {
    /// The page as it was claimed.
    pub claimed: ClaimedUrl,
    /// When it shall be tried again; nothing when it is done.
    pub retry_ms: Option<i64>,
    /// Status of the answer, if there was one.
    pub status: Option<u16>,
    /// Outcome, in words.
    pub outcome: String,
    /// `ETag`, for the next visit.
    pub etag: Option<String>,
    /// `Last-Modified`, for the next visit.
    pub last_modified: Option<String>,
    /// Hash of the body.
    pub content_hash: Option<String>,
    /// Change of its resource description.
    pub description: DescriptionChange,
    /// Reason why it has none.
    pub loss: Option<Loss>,
    /// Whether it asks for a password; `None` where it was not read.
    pub asks_password: Option<bool>,
    /// URL of the page that it is another URL of.
    pub alias_of: Option<String>,
    /// Rank among URLs with the same content, lower first; nothing leaves what is known.
    pub preference: Option<u8>,
    /// When it is to be asked for again; nothing leaves what is known.
    pub next: Option<NextVisit>,
    /// Links to follow at another visit that brings none; nothing leaves those that are known.
    pub links: Option<Vec<String>>,
    /// URLs found on it.
    pub found: Vec<FoundUrl>,
}

/// When a page is to be asked for again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NextVisit {
    /// Times in a row that it was as before.
    pub steady: u32,
    /// When.
    pub at_ms: i64,
}

/// Change of a resource description.
#[derive(Clone, Debug)]
pub enum DescriptionChange {
    /// It stays, if there is one.
    Keep,
    /// It is saved, and in force when the run is published.
    Save(ResourceDescription),
    /// It is withdrawn when the run is published, if there is one.
    Withdraw,
}

/// Summary of what was recorded.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct RecordSummary {
    /// URLs that are new in the run, descriptions added, changed, the same.
    pub counts: RunCounts,
}

impl Frontier<'_> {
    /// Records visits, and counts them in their run: all or nothing.
    ///
    /// `counts` is what the caller has counted itself; descriptions and found
    /// URLs are counted here.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn record_pages(
        self,
        run: &RunKey<'_>,
        pages: &[PageRecord],
        counts: &RunCounts,
        now_ms: i64,
    ) -> Result<RecordSummary, StoreError> {
        let mut pages: Vec<&PageRecord> = pages.iter().collect();
        // Those who record at once must lock rows in the same order.
        pages.sort_by(|one, other| one.claimed.url.cmp(&other.claimed.url));
        let mut attempt = 1;
        loop {
            match self.try_recording(run, &pages, counts, now_ms).await {
                // Deadlocks and busy databases pass, and a lost record would cost all visits of
                // the batch.
                Err(error) if error.is_passing() && attempt < ATTEMPTS => attempt += 1,
                done => return done.inspect(|_| self.db.note_written(pages.len())),
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
            // Locked in the same order by all: descriptions first, then visits.
            Engine::Postgres => pages.len().max(1),
        };
        // `PostgreSQL` takes all pages at once, as the order of locks has to hold over all of
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

/// Run that pages are recorded in.
#[derive(Clone, Copy, Debug)]
pub struct RunKey<'r> {
    /// Name of the site.
    pub site: &'r str,
    /// Number of the run.
    pub run_id: i64,
    /// Settings that its decisions depend on.
    pub settings: &'r str,
    /// Orders URLs of the same depth that are found; it grows.
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

/// A page as its row is written.
struct VisitRow<'p> {
    page: &'p PageRecord,
    /// A line each.
    links: Option<String>,
}

impl<'p> VisitRow<'p> {
    fn new(page: &'p PageRecord) -> Self {
        let links = page.links.as_ref().map(|links| links.join("\n"));
        Self { page, links }
    }

    /// Returns the values in the order of the statement that records.
    fn values(&self, now_ms: i64) -> [Value<'_>; 21] {
        let Self { page, links } = self;
        let claimed = &page.claimed;
        // 3 is done, 2 waits for its time: see the states in `sql.rs`.
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
    /// Creates a record of a page that is done, of which nothing else is known.
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
