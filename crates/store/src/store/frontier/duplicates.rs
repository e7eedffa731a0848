//! Resources of the same content that are described more than once.

use super::{
    super::{Store, StoreError, publications::unstage},
    StoredRun, sql,
};

/// Resource whose content another described resource of the site has too.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DuplicateDescription {
    /// MD5 of the content.
    pub md5: String,
    /// URL of the resource.
    pub url: String,
    /// `true` if a description of it is in force.
    pub is_published: bool,
}

impl Store {
    /// Returns resources that a run has described and that have the same content, those of one
    /// MD5 beside each other.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn duplicates(
        &self,
        run: &StoredRun,
        limit: u32,
    ) -> Result<Vec<DuplicateDescription>, StoreError> {
        let values = [
            (&run.site).into(),
            run.run_id.into(),
            i64::from(limit).into(),
        ];
        let rows: Vec<(String, String, i64)> =
            self.database.rows(&sql::DESCRIBED_TWICE, &values).await?;
        let row = |(md5, url, is_published)| DuplicateDescription {
            md5,
            url,
            is_published: is_published != 0,
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Discards descriptions of duplicates; those that the run added count as rejected.
    ///
    /// Those in force are withdrawn when the run is published.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then gives up none.
    pub async fn withdraw_duplicates(
        &self,
        run: &StoredRun,
        duplicates: &[&DuplicateDescription],
        outcome: &str,
    ) -> Result<(), StoreError> {
        let site = run.site.as_str();
        let mut transaction = self.database.begin("withdraw duplicates").await?;
        let mut added = 0_i64;
        for duplicate in duplicates {
            unstage(&mut transaction, site, &duplicate.url).await?;
            let values = [site.into(), (&duplicate.url).into(), outcome.into()];
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
