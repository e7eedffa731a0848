//! Withdrawal of one page, and its return.

use super::Publications;
use super::{
    super::{StoreError, database::Transaction},
    parity::hide_differing,
    publish::{increment_heaven_version, lock},
    sql,
};

/// Why a page is not shown that an administrator took out.
pub const WITHDRAWN: &str = "withdrawn by the administrator";

/// Descriptions that are not shown, and pages that do not answer.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct DescriptionStates {
    /// Kept and not shown.
    pub hidden: u64,
    /// Shown, though their pages did not answer the last run.
    pub missing: u64,
    /// Pages that are kept out for good.
    pub kept_out: u64,
}

impl Publications<'_> {
    /// Withdraws a page from what is in force, staged, or could be put back; returns whether it
    /// was described.
    ///
    /// The next run brings it back, unless `for_good`.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then changes nothing.
    pub async fn withdraw_url(
        self,
        site: &str,
        url: &str,
        for_good: bool,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.store.database.begin(sql::WITHDRAW_URL.what).await?;
        lock(&mut transaction, site).await?;
        let values = [site.into(), url.into(), now_ms.into(), WITHDRAWN.into()];
        let described = transaction.execute(&sql::WITHDRAW_URL, &values).await?;
        let before = transaction
            .execute(&sql::WITHDRAW_PREVIOUS, &values)
            .await?;
        let of_url = [site.into(), url.into()];
        let staged = transaction.execute(&sql::UNSTAGE, &of_url).await?;
        // With its validators the page would answer "not modified", and never come back.
        transaction.execute(&sql::ASK_URL_AGAIN, &of_url).await?;
        if for_good {
            let values = [site.into(), url.into(), now_ms.into()];
            transaction.execute(&sql::KEEP_OUT, &values).await?;
        }
        increment_heaven_version(&mut transaction, site).await?;
        transaction.commit().await?;
        Ok(described + before + staged > 0)
    }

    /// Readmits a page that was withdrawn; returns `true` if it was.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then changes nothing.
    pub async fn admit_url(self, site: &str, url: &str) -> Result<bool, StoreError> {
        let mut transaction = self.store.database.begin(sql::ADMIT.what).await?;
        lock(&mut transaction, site).await?;
        let of_url = [site.into(), url.into()];
        let admitted = transaction.execute(&sql::ADMIT, &of_url).await?;
        let values = [site.into(), url.into(), WITHDRAWN.into()];
        let shown = transaction.execute(&sql::SHOW_URL, &values).await?;
        transaction.execute(&sql::ASK_URL_AGAIN, &of_url).await?;
        increment_heaven_version(&mut transaction, site).await?;
        transaction.commit().await?;
        Ok(admitted + shown > 0)
    }

    /// Returns the pages that are kept out for good, in order.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn withdrawn_urls(self, site: &str) -> Result<Vec<String>, StoreError> {
        let rows: Vec<(String,)> = self
            .store
            .database
            .rows(&sql::WITHDRAWN_URLS, &[site.into()])
            .await?;
        Ok(rows.into_iter().map(|(url,)| url).collect())
    }

    /// Counts descriptions that are not shown, and pages that do not answer.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn description_states(self, site: &str) -> Result<DescriptionStates, StoreError> {
        let row: Option<(i64, i64, i64)> = self
            .store
            .database
            .first(&sql::STATES, &[site.into()])
            .await?;
        let (hidden, missing, kept_out) = row.unwrap_or_default();
        let count = |count| u64::try_from(count).unwrap_or(0);
        Ok(DescriptionStates {
            hidden: count(hidden),
            missing: count(missing),
            kept_out: count(kept_out),
        })
    }

    /// Returns why a description is not shown; nothing where it is, or there is none.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn hidden_reason(self, site: &str, url: &str) -> Result<Option<String>, StoreError> {
        let values = [site.into(), url.into()];
        let row: Option<(Option<String>,)> = self
            .store
            .database
            .first(&sql::HIDDEN_REASON, &values)
            .await?;
        Ok(row.map(|(reason,)| reason.unwrap_or_default()))
    }
}

/// Hides what came into force and is kept out: for good, or as it says more than its original.
pub(in crate::store) async fn hide_withdrawn(
    transaction: &mut Transaction<'_>,
    site: &str,
    now_ms: i64,
) -> Result<(), StoreError> {
    let values = [site.into(), now_ms.into(), WITHDRAWN.into()];
    transaction.execute(&sql::HIDE_WITHDRAWN, &values).await?;
    hide_differing(transaction, site, now_ms).await?;
    Ok(())
}
