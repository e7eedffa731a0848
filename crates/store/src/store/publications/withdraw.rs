//! Withdraws and readmits individual pages.

use super::Publications;
use super::{
    super::{StoreError, transaction::Transaction},
    parity::hide_differing,
    publish::{increment_heaven_version, lock},
    sql,
};

/// The stored reason why a page is hidden if an administrator withdrew it.
pub const WITHDRAWN_BY_ADMIN: &str = "withdrawn by the administrator";

columns! {
    /// The numbers of hidden descriptions and of pages that do not respond.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct DescriptionCounts {
        /// The number of descriptions that are stored but not shown.
        pub hidden: u64,
        /// The number of shown descriptions whose pages did not respond during the last run.
        pub missing: u64,
        /// The number of permanently withdrawn pages.
        pub kept_out: u64,
    }
}

impl Publications<'_> {
    /// Withdraws the published, staged and previous descriptions of a page. Returns `true` if there
    /// were any.
    ///
    /// The next run may describe the page again, unless `for_good` makes the withdrawal permanent.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is changed.
    pub async fn withdraw_url(
        self,
        site: &str,
        url: &str,
        for_good: bool,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.db.begin(sql::WITHDRAW_URL.what).await?;
        lock(&mut transaction, site).await?;
        let values = [
            site.into(),
            url.into(),
            now_ms.into(),
            WITHDRAWN_BY_ADMIN.into(),
        ];
        let described = transaction.execute(&sql::WITHDRAW_URL, &values).await?;
        let before = transaction
            .execute(&sql::WITHDRAW_PREVIOUS, &values)
            .await?;
        let of_url = [site.into(), url.into()];
        let staged = transaction.execute(&sql::UNSTAGE, &of_url).await?;
        // With validators the server would respond "not modified", and the page would never return.
        transaction.execute(&sql::ASK_URL_AGAIN, &of_url).await?;
        if for_good {
            let values = [site.into(), url.into(), now_ms.into()];
            transaction.execute(&sql::KEEP_OUT, &values).await?;
        }
        increment_heaven_version(&mut transaction, site).await?;
        transaction.commit().await?;
        Ok(described + before + staged > 0)
    }

    /// Readmits a withdrawn page. Returns `true` if the page was withdrawn.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is changed.
    pub async fn readmit_url(self, site: &str, url: &str) -> Result<bool, StoreError> {
        let mut transaction = self.db.begin(sql::ADMIT.what).await?;
        lock(&mut transaction, site).await?;
        let of_url = [site.into(), url.into()];
        let admitted = transaction.execute(&sql::ADMIT, &of_url).await?;
        let values = [site.into(), url.into(), WITHDRAWN_BY_ADMIN.into()];
        let shown = transaction.execute(&sql::SHOW_URL, &values).await?;
        transaction.execute(&sql::ASK_URL_AGAIN, &of_url).await?;
        increment_heaven_version(&mut transaction, site).await?;
        transaction.commit().await?;
        Ok(admitted + shown > 0)
    }

    /// Returns the permanently withdrawn pages, sorted.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn withdrawn_urls(self, site: &str) -> Result<Vec<String>, StoreError> {
        self.db.column(&sql::WITHDRAWN_URLS, &[site.into()]).await
    }

    /// Counts the hidden descriptions and the pages that do not respond.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn description_states(self, site: &str) -> Result<DescriptionCounts, StoreError> {
        self.db.one(&sql::STATES, &[site.into()]).await
    }

    /// Returns the reason why a description is hidden, or `None` if it is shown or does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn hidden_reason(self, site: &str, url: &str) -> Result<Option<String>, StoreError> {
        let values = [site.into(), url.into()];
        self.db.value(&sql::HIDDEN_REASON, &values).await
    }
}

/// Hides newly published pages that are withdrawn or differ from their originals.
pub(in crate::store) async fn hide_withdrawn(
    transaction: &mut Transaction<'_>,
    site: &str,
    now_ms: i64,
) -> Result<(), StoreError> {
    let values = [site.into(), now_ms.into(), WITHDRAWN_BY_ADMIN.into()];
    transaction.execute(&sql::HIDE_WITHDRAWN, &values).await?;
    hide_differing(transaction, site, now_ms).await?;
    Ok(())
}
