//! Finds resources that have the same content and are described more than once.

use super::Frontier;
use super::{
    super::{StoreError, publications::unstage},
    StoredRun, sql,
};

columns! {
    /// A described resource that has the same content as another described resource of the site.
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub struct DuplicateDescription {
        /// The MD5 digest of the resource's content.
        pub md5: String,
        /// The URL of the resource.
        pub url: String,
        /// Whether the resource has a published description.
        pub is_published: bool,
        /// The rank assigned to the URL by the visit; lower ranks are preferred.
        pub preference: u8,
    }
}

columns! {
    /// A resource that is also described under its canonical URL.
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub struct AliasDescription {
        /// The URL of the resource.
        pub url: String,
        /// The canonical URL of the resource.
        pub alias_of: String,
        /// Whether the resource has a published description.
        pub is_published: bool,
    }
}

/// Converts a stored rank; a URL without a rank is sorted last.
pub(super) fn rank(preference: Option<i64>) -> u8 {
    let rank = preference.and_then(|preference| u8::try_from(preference).ok());
    rank.unwrap_or(u8::MAX)
}

impl Frontier<'_> {
    /// Returns resources with the same content that a run has described, grouped by MD5 digest.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn duplicates(
        self,
        run: &StoredRun,
        limit: u32,
    ) -> Result<Vec<DuplicateDescription>, StoreError> {
        let values = [
            (&run.site).into(),
            run.run_id.into(),
            i64::from(limit).into(),
        ];
        self.db.rows(&sql::DESCRIBED_TWICE, &values).await
    }

    /// Returns resources that a run has described under both their own URL and their canonical URL.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn non_canonical_descriptions(
        self,
        run: &StoredRun,
        limit: u32,
    ) -> Result<Vec<AliasDescription>, StoreError> {
        let values = [
            (&run.site).into(),
            run.run_id.into(),
            i64::from(limit).into(),
        ];
        self.db.rows(&sql::NOT_CANONICAL, &values).await
    }

    /// Returns pairs of a URL and its canonical URL, ordered by URL, starting after `after`.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn aliases(
        self,
        site: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let values = [site.into(), after.into(), i64::from(limit).into()];
        self.db.rows(&sql::ALIASES, &values).await
    }

    /// Discards descriptions of duplicates. Descriptions that the run added are counted as
    /// rejected.
    ///
    /// Published descriptions of duplicates are withdrawn when the run is published.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is discarded.
    pub async fn withdraw_duplicates(
        self,
        run: &StoredRun,
        duplicates: &[AliasDescription],
        outcome: &str,
    ) -> Result<(), StoreError> {
        let site = run.site.as_str();
        let mut transaction = self.db.begin("withdraw duplicates").await?;
        let mut added = 0_i64;
        for duplicate in duplicates {
            unstage(&mut transaction, site, &duplicate.url).await?;
            let values = [
                site.into(),
                (&duplicate.url).into(),
                outcome.into(),
                (&duplicate.alias_of).into(),
            ];
            let changed = transaction.execute(&sql::NOT_DESCRIBED, &values).await?;
            if changed > 0 && !duplicate.is_published {
                added += 1;
            }
        }
        let values = [run.run_id.into(), added.into()];
        transaction.execute(&sql::UNCOUNT_ADDED, &values).await?;
        transaction.commit().await
    }
}
