//! Parity: results of comparing heaven pages with their originals.

use super::Publications;
use super::{
    super::{StoreError, statement::Value, transaction::Transaction},
    publish::{increment_heaven_version, lock},
};

/// The stored reason why a heaven page is hidden if it contains text that its original does not
/// contain.
pub const DIFFERS_FROM_ORIGINAL: &str = "it contains text that its original does not contain";

statements! {
    SAID_MORE = "find differing pages to compare",
        "SELECT seen.url, seen.withdrawn FROM heaven_parity AS seen \
         JOIN resource_descriptions AS known ON known.site = seen.site AND known.url = seen.url \
         WHERE seen.site = $1 AND seen.since_ms IS NOT NULL \
         AND (known.hidden_ms IS NULL OR seen.withdrawn = 1) \
         ORDER BY seen.compared_ms, seen.url LIMIT $2 + 0";
    // Pages fetched in full since `$3` match their description. Few pages are hidden: their own
    // index is used, and no text is read.
    TO_COMPARE = "find pages to compare",
        "SELECT known.url, COALESCE(seen.withdrawn, 0) FROM resource_descriptions AS known \
         LEFT JOIN heaven_parity AS seen ON seen.site = known.site AND seen.url = known.url \
         WHERE known.site = $1 AND (seen.withdrawn = 1 OR known.url NOT IN (SELECT url \
         FROM resource_descriptions WHERE site = $1 AND hidden_ms IS NOT NULL)) \
         AND seen.since_ms IS NULL \
         AND NOT EXISTS (SELECT 1 FROM site_robot_urls AS visited WHERE visited.site = $1 \
         AND visited.url = known.url AND visited.fetched_ms >= $3 AND visited.status IN (200, 203)) \
         ORDER BY COALESCE(seen.compared_ms, 0), known.url LIMIT $2 + 0";
    COMPARED = "record the comparison of a page",
        "INSERT INTO heaven_parity (site, url, compared_ms, since_ms, sentence, withdrawn) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (site, url) DO UPDATE SET \
         compared_ms = excluded.compared_ms, sentence = excluded.sentence, \
         since_ms = CASE WHEN excluded.since_ms IS NULL THEN NULL \
         ELSE COALESCE(heaven_parity.since_ms, excluded.since_ms) END, \
         withdrawn = CASE WHEN excluded.since_ms IS NULL THEN 0 \
         WHEN excluded.withdrawn = 1 THEN 1 ELSE heaven_parity.withdrawn END";
    NOT_COMPARED = "record that a page could not be compared",
        "INSERT INTO heaven_parity (site, url, compared_ms, withdrawn) VALUES ($1, $2, $3, 0) \
         ON CONFLICT (site, url) DO UPDATE SET compared_ms = excluded.compared_ms";
    FORGET_GONE = "remove comparisons of removed pages",
        "DELETE FROM heaven_parity WHERE site = $1 AND NOT EXISTS (SELECT 1 \
         FROM resource_descriptions AS known WHERE known.site = $1 \
         AND known.url = heaven_parity.url)";
    FORGET_PARITY = "remove the comparisons of pages",
        "DELETE FROM heaven_parity WHERE site = $1";
    WITHDRAW_NONE = "show differing pages again",
        "UPDATE heaven_parity SET withdrawn = 0 \
         WHERE site = $1 AND since_ms IS NOT NULL AND withdrawn = 1";
    HIDE_DIFFERING = "hide differing pages",
        "UPDATE resource_descriptions SET hidden_ms = $2, hidden_reason = $3 \
         WHERE site = $1 AND hidden_ms IS NULL AND url IN (SELECT url FROM heaven_parity \
         WHERE site = $1 AND since_ms IS NOT NULL AND withdrawn = 1)";
    // A page that the run has lost for another reason stays hidden.
    SHOW_AGREEING = "show matching pages again",
        "UPDATE resource_descriptions SET hidden_ms = NULL, hidden_reason = NULL \
         WHERE site = $1 AND hidden_ms IS NOT NULL AND hidden_reason = $2 \
         AND url NOT IN (SELECT url FROM heaven_parity \
         WHERE site = $1 AND since_ms IS NOT NULL AND withdrawn = 1) AND NOT EXISTS (SELECT 1 \
         FROM site_robot_urls AS seen WHERE seen.site = $1 \
         AND seen.url = resource_descriptions.url \
         AND seen.loss IS NOT NULL AND seen.loss <> 'withdrawn')";
    PARITY_STATE = "count the differing pages",
        "SELECT (SELECT COUNT(*) FROM heaven_parity WHERE site = $1) AS compared, \
        COUNT(*) AS differing, COALESCE(CAST(SUM(withdrawn) AS BIGINT), 0) AS withdrawn FROM heaven_parity \
         WHERE site = $1 AND since_ms IS NOT NULL";
    DIFFERING = "list the differing pages",
        "SELECT url, since_ms, COALESCE(sentence, '') AS sentence, withdrawn AS is_withdrawn \
        FROM heaven_parity \
         WHERE site = $1 AND since_ms IS NOT NULL ORDER BY since_ms, url LIMIT $2 + 0";
}

/// The result of comparing a heaven page with its original.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ParityResult {
    /// The original contains all text of the heaven page.
    Agrees,
    /// The heaven page contains this sentence, but the original does not.
    SaysMore(String),
    /// The original could not be fetched, or its media type cannot be compared.
    Unknown,
}

/// The treatment of differing heaven pages, that is, pages with text that their originals do not
/// contain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParityTerms {
    /// Show all pages, including those that were withdrawn earlier.
    Report,
    /// Withdraw differing pages until they match their originals again.
    Withdraw,
    /// Leave withdrawn pages withdrawn, but do not withdraw any more pages.
    WithdrawNoMore,
}

columns! {
    /// The numbers of heaven pages that were compared, and that differ from their originals.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct ParityState {
        /// The number of pages that were compared with their originals.
        pub compared: u64,
        /// The number of pages with text that their originals do not contain.
        pub differing: u64,
        /// The number of differing pages that are currently withdrawn.
        pub withdrawn: u64,
    }
}

columns! {
    /// A heaven page with text that its original does not contain.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct DifferingPage {
        /// The URL of the original page.
        pub url: String,
        /// The time when the difference was first detected.
        pub since_ms: i64,
        /// The first sentence of the heaven page that the original does not contain.
        pub sentence: String,
        /// Whether the page is withdrawn because of the difference.
        pub is_withdrawn: bool,
    }
}

impl Publications<'_> {
    /// Returns the `count` pages whose last comparison was longest ago, each with a flag that
    /// indicates whether the page is withdrawn because of a difference.
    ///
    /// Up to half of the returned pages differed before. The rest does not include pages that the
    /// site robot has fetched in full since `since_ms`, as their descriptions are up to date.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn pages_to_compare(
        self,
        site: &str,
        since_ms: i64,
        count: u32,
    ) -> Result<Vec<(String, bool)>, StoreError> {
        let values = [site.into(), u64::from(count.div_ceil(2)).into()];
        let mut rows: Vec<(String, i64)> = self.db.rows(&SAID_MORE, &values).await?;
        let room = u64::from(count).saturating_sub(rows.len() as u64);
        let values = [site.into(), room.into(), since_ms.into()];
        rows.extend(self.db.rows(&TO_COMPARE, &values).await?);
        let is_withdrawn = |(url, withdrawn)| (url, withdrawn != 0);
        Ok(rows.into_iter().map(is_withdrawn).collect())
    }

    /// Records the results of comparisons. Depending on `terms`, withdraws differing pages or shows
    /// them again.
    ///
    /// Matching pages are always shown again. Returns the number of withdrawn pages and the number
    /// of pages shown again.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is changed.
    pub async fn record_parity(
        self,
        site: &str,
        results: &[(String, ParityResult)],
        terms: ParityTerms,
        now_ms: i64,
    ) -> Result<(u64, u64), StoreError> {
        let mut transaction = self.db.begin(COMPARED.what).await?;
        lock(&mut transaction, site).await?;
        let is_withdrawn = i64::from(terms == ParityTerms::Withdraw);
        for (url, result) in results {
            let of_url: [Value<'_>; 3] = [site.into(), url.into(), now_ms.into()];
            let (since_ms, sentence, withdrawn): (Option<i64>, _, i64) = match result {
                ParityResult::Unknown => {
                    transaction.execute(&NOT_COMPARED, &of_url).await?;
                    continue;
                }
                ParityResult::Agrees => (None, None, 0),
                ParityResult::SaysMore(sentence) => (Some(now_ms), Some(&**sentence), is_withdrawn),
            };
            let mut values = of_url.to_vec();
            values.extend([since_ms.into(), Value::Text(sentence), withdrawn.into()]);
            transaction.execute(&COMPARED, &values).await?;
        }
        transaction.execute(&FORGET_GONE, &[site.into()]).await?;
        if terms == ParityTerms::Report {
            transaction.execute(&WITHDRAW_NONE, &[site.into()]).await?;
        }
        let withdrawn = hide_differing(&mut transaction, site, now_ms).await?;
        let values = [site.into(), DIFFERS_FROM_ORIGINAL.into()];
        let shown = transaction.execute(&SHOW_AGREEING, &values).await?;
        if withdrawn + shown > 0 {
            increment_heaven_version(&mut transaction, site).await?;
        }
        transaction.commit().await?;
        Ok((withdrawn, shown))
    }

    /// Counts the pages that were compared with their originals, and the pages that differ.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn parity_state(self, site: &str) -> Result<ParityState, StoreError> {
        self.db.one(&PARITY_STATE, &[site.into()]).await
    }

    /// Returns the parity state and the page that has differed longest, or `None` if no page
    /// differs.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn first_differing(
        self,
        site: &str,
    ) -> Result<Option<(ParityState, DifferingPage)>, StoreError> {
        let Some(first) = self.differing_pages(site, 1).await?.into_iter().next() else {
            return Ok(None);
        };
        Ok(Some((self.parity_state(site).await?, first)))
    }

    /// Returns heaven pages that differ from their originals, starting with those that have
    /// differed longest.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn differing_pages(
        self,
        site: &str,
        limit: u32,
    ) -> Result<Vec<DifferingPage>, StoreError> {
        let values = [site.into(), i64::from(limit).into()];
        self.db.rows(&DIFFERING, &values).await
    }
}

/// Hides newly published pages that differ from their originals.
pub(super) async fn hide_differing(
    transaction: &mut Transaction<'_>,
    site: &str,
    now_ms: i64,
) -> Result<u64, StoreError> {
    let values = [site.into(), now_ms.into(), DIFFERS_FROM_ORIGINAL.into()];
    transaction.execute(&HIDE_DIFFERING, &values).await
}

/// Removes all comparisons of a site.
pub(super) async fn delete_results(
    transaction: &mut Transaction<'_>,
    site: &str,
) -> Result<(), StoreError> {
    transaction.execute(&FORGET_PARITY, &[site.into()]).await?;
    Ok(())
}
