//! Withdrawal of one page, and its return.

use super::Publications;
use super::{
    super::{StoreError, transaction::Transaction},
    parity::hide_differing,
    publish::{increment_heaven_version, lock},
    sql,
};

/// Why a page is not shown that an administrator took out.
pub const WITHDRAWN: &str = "withdrawn by the administrator";

columns! {
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
        let mut transaction = self.db.begin(sql::WITHDRAW_URL.what).await?;
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
        let mut transaction = self.db.begin(sql::ADMIT.what).await?;
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
        self.db.column(&sql::WITHDRAWN_URLS, &[site.into()]).await
    }

    /// Counts descriptions that are not shown, and pages that do not answer.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn description_states(self, site: &str) -> Result<DescriptionStates, StoreError> {
        self.db.one(&sql::STATES, &[site.into()]).await
    }

    /// Returns why a description is not shown; nothing where it is, or there is none.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn hidden_reason(self, site: &str, url: &str) -> Result<Option<String>, StoreError> {
        let values = [site.into(), url.into()];
        self.db.value(&sql::HIDDEN_REASON, &values).await
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
