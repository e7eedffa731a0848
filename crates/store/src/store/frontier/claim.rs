//! Queues, claims and releases URLs.

use super::Frontier;
use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{
    super::{
        StoreError,
        error::Engine,
        leases::{Leases, MARK_ALIVE},
        statement::Value,
        transaction::Transaction,
    },
    ClaimedUrl, FoundUrl, KnownUrl, RunCounts, sql,
    url::ClaimedRow,
};

/// The time without a heartbeat after which a holder is considered dead, in milliseconds.
const LEASE_MS: i64 = 20_000;

/// The maximum number of hosts that are returned.
const MAX_HOSTS: i64 = 256;

/// The kinds of URLs that a run has yet to visit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct OpenUrls {
    /// Whether any URLs are waiting to be claimed.
    pub has_waiting: bool,
    /// Whether any instance has claimed URLs.
    pub has_taken: bool,
    /// The time when the first failed URL is due for a retry.
    pub next_due_ms: Option<i64>,
}

impl Frontier<'_> {
    /// Adds found URLs to the queue. Returns the number of URLs that are new in this run.
    ///
    /// `position` determines the order of URLs with the same depth.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, no URL is added.
    pub async fn add_urls(
        self,
        site: &str,
        run_id: i64,
        position: i64,
        urls: &[FoundUrl],
    ) -> Result<u64, StoreError> {
        let mut transaction = self.db.begin("add found URLs").await?;
        let urls: Vec<&FoundUrl> = urls.iter().collect();
        let queue = Queue {
            site,
            run_id,
            position,
        };
        let entered = queue.enter(&mut transaction, &urls).await?;
        transaction.commit().await?;
        Ok(entered)
    }

    /// Returns up to 256 hosts that have waiting URLs, sorted.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn waiting_hosts(self, site: &str, run_id: i64) -> Result<Vec<String>, StoreError> {
        let values = [site.into(), run_id.into(), "".into(), MAX_HOSTS.into()];
        self.db.column(&sql::WAITING_HOSTS, &values).await
    }

    /// Claims up to the given number of waiting URLs per host, lowest depth first.
    ///
    /// The URLs belong to the holder until it records or releases them, or has not sent a
    /// [`heartbeat`](Self::heartbeat) for 20 seconds.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, no URL is claimed.
    pub async fn claim_urls(
        self,
        site: &str,
        run_id: i64,
        holder: &str,
        hosts: &[(String, u32)],
    ) -> Result<Vec<ClaimedUrl>, StoreError> {
        let statement = sql::claim(self.db.place.engine);
        let mut transaction = self.db.begin("claim URLs").await?;
        let mut claimed = Vec::new();
        for (host, count) in hosts {
            let count = i64::from(*count);
            let values = [
                site.into(),
                run_id.into(),
                host.into(),
                count.into(),
                holder.into(),
            ];
            let mut rows: Vec<ClaimedRow> = transaction.rows(&statement, &values).await?;
            // The order of `RETURNING` is unspecified.
            rows.sort_by_key(|row| (row.claimed.depth, row.position));
            claimed.extend(rows.into_iter().map(|row| row.claimed));
        }
        transaction.commit().await?;
        Ok(claimed)
    }

    /// Marks a holder as alive, and releases the URLs of dead holders.
    ///
    /// URLs that are due for a retry are marked as waiting again. Call this every few seconds, and
    /// before the first claim.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn heartbeat(
        self,
        site: &str,
        run_id: i64,
        holder: &str,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let lease = lease_name(holder);
        let sign = [(&lease).into(), holder.into(), LEASE_MS.into()];
        // The holder is marked as alive first, so that the next statement does not release its own
        // URLs.
        self.db.execute(&MARK_ALIVE, &sign).await?;
        let values = [site.into(), run_id.into(), now_ms.into()];
        let [site, run_id, _] = values;
        self.db.execute(&sql::RELEASE_DEAD, &[site, run_id]).await?;
        self.db.run(&sql::DUE_URLS, &values).await
    }

    /// Returns up to 256 other holders that have claimed URLs of a run, sorted.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn other_holders(
        self,
        site: &str,
        run_id: i64,
        holder: &str,
    ) -> Result<Vec<String>, StoreError> {
        let values = [site.into(), run_id.into(), holder.into()];
        self.db.column(&sql::OTHER_HOLDERS, &values).await
    }

    /// Releases the URLs that a holder has claimed but not recorded.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn release_urls(
        self,
        site: &str,
        run_id: i64,
        holder: &str,
    ) -> Result<(), StoreError> {
        let values = [site.into(), run_id.into(), holder.into()];
        self.db.execute(&sql::RELEASE_URLS, &values).await?;
        Leases { db: self.db }
            .free_lease(&lease_name(holder), holder)
            .await
    }

    /// Returns which kinds of URLs a run has yet to visit.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn open_urls(self, site: &str, run_id: i64) -> Result<OpenUrls, StoreError> {
        let values = [site.into(), run_id.into()];
        let row: Option<(Option<i64>, Option<i64>, Option<i64>)> =
            self.db.first(&sql::OPEN_URLS, &values).await?;
        let (waiting, taken, next_due_ms) = row.unwrap_or_default();
        Ok(OpenUrls {
            has_waiting: waiting.is_some(),
            has_taken: taken.is_some(),
            next_due_ms,
        })
    }

    /// Returns the state of a URL; `None` if the URL is unknown.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn known_url(self, site: &str, url: &str) -> Result<Option<KnownUrl>, StoreError> {
        let values = [site.into(), url.into()];
        self.db.first(&sql::KNOWN_URL, &values).await
    }

    /// Returns the due time of the `count`th due page, or `None` if fewer pages are due.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn nth_due_ms(
        self,
        site: &str,
        now_ms: i64,
        count: u64,
    ) -> Result<Option<i64>, StoreError> {
        let before = i64::try_from(count.saturating_sub(1)).unwrap_or(i64::MAX);
        let values = [site.into(), now_ms.into(), before.into()];
        self.db.value(&sql::LAST_DUE, &values).await
    }

    /// Returns the links that a page contained when it was last fetched.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn links(self, site: &str, url: &str) -> Result<Vec<String>, StoreError> {
        let values = [site.into(), url.into()];
        let links: Option<String> = self.db.value(&sql::LINKS, &values).await?;
        let links = links.unwrap_or_default();
        Ok(links.lines().map(str::to_owned).collect())
    }
}

/// The queue of a run: its site, its run, and the position among URLs of the same depth.
pub(super) struct Queue<'r> {
    pub(super) site: &'r str,
    pub(super) run_id: i64,
    pub(super) position: i64,
}

impl Queue<'_> {
    /// Adds URLs to the queue, adds `counts` and the number of new URLs to the run, and commits the
    /// transaction. Returns the number of new URLs.
    pub(super) async fn enter_and_commit(
        &self,
        mut transaction: Transaction<'_>,
        urls: &[&FoundUrl],
        counts: &RunCounts,
    ) -> Result<u64, StoreError> {
        if transaction.engine() == Engine::Postgres {
            let entered = self.enter(&mut transaction, urls).await?;
            let counts = RunCounts {
                found: counts.found + entered,
                ..*counts
            };
            // Last, because all instances compete for this row.
            let values = counts.values(self.run_id);
            transaction.execute(&sql::COUNT_RUN, &values).await?;
            transaction.commit().await?;
            return Ok(entered);
        }
        let list = listed(&nearest(urls));
        let all = [
            (&*sql::ENTER_LIST, self.values_of(&list)),
            (&sql::FOUND, Vec::new()),
            (&sql::COUNT_FOUND, counts.values(self.run_id).into()),
        ];
        let found: Vec<(i64,)> = transaction.commit_with(&all).await?;
        let entered = found.first().map_or(0, |(entered,)| *entered);
        Ok(u64::try_from(entered).unwrap_or(0))
    }

    /// Adds URLs to the queue. Returns the number of URLs that are new in the run.
    async fn enter(
        &self,
        transaction: &mut Transaction<'_>,
        urls: &[&FoundUrl],
    ) -> Result<u64, StoreError> {
        let nearest = nearest(urls);
        if transaction.engine() == Engine::Sqlite {
            let list = listed(&nearest);
            let values = self.values_of(&list);
            return transaction.execute(&sql::ENTER_LIST, &values).await;
        }
        let mut entered = 0;
        for (statement, piece) in sql::ENTER.pieces(&nearest) {
            let mut values = self.values();
            for found in piece {
                let depth = i64::from(found.depth);
                values.extend([
                    Value::from(&found.url),
                    (&found.host).into(),
                    depth.into(),
                    found.max_depth.map(i64::from).into(),
                    (&found.found_on).into(),
                ]);
            }
            entered += transaction.execute(statement, &values).await?;
        }
        Ok(entered)
    }

    fn values(&self) -> Vec<Value<'_>> {
        vec![self.site.into(), self.run_id.into(), self.position.into()]
    }

    fn values_of<'v>(&'v self, list: &'v str) -> Vec<Value<'v>> {
        let mut values = self.values();
        values.push(list.into());
        values
    }
}

/// Removes duplicates, retains the lowest depth of each URL, and sorts by URL to avoid deadlocks.
fn nearest<'u>(urls: &[&'u FoundUrl]) -> Vec<&'u FoundUrl> {
    let mut nearest: BTreeMap<&str, &FoundUrl> = BTreeMap::new();
    for found in urls {
        let known = nearest.entry(&found.url).or_insert(*found);
        if found.depth < known.depth {
            *known = *found;
        }
    }
    nearest.into_values().collect()
}

/// Formats URLs as a JSON array of arrays.
fn listed(urls: &[&FoundUrl]) -> String {
    let row = |it: &&FoundUrl| json!([it.url, it.host, it.depth, it.max_depth, it.found_on]);
    Json::Array(urls.iter().map(row).collect()).to_string()
}

fn lease_name(holder: &str) -> String {
    format!("site-robot/{holder}")
}
