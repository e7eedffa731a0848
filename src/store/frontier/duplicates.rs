//! Resources of the same content that are described more than once.

use super::{
    super::{Store, StoreError, descriptions::delete},
    StoredRun, sql,
};

/// Resource whose content another described resource of the site has too.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DescribedTwice {
    /// MD5 of the content.
    pub md5: String,
    /// URL of the resource.
    pub url: String,
    /// When it was first described.
    pub first_seen_ms: i64,
}

impl Store {
    /// Returns resources of the same content, those of one MD5 beside each other.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn described_twice(
        &self,
        site: &str,
        limit: u32,
    ) -> Result<Vec<DescribedTwice>, StoreError> {
        let any: Option<(String,)> = self
            .database
            .first(&sql::CONTENT_OF_MANY, &[site.into()])
            .await?;
        if any.is_none() {
            // As a rule: then the descriptions are gone through once, and not again.
            return Ok(Vec::new());
        }
        let values = [site.into(), i64::from(limit).into()];
        let rows = self.database.rows(&sql::DESCRIBED_TWICE, &values).await?;
        let row = |(md5, url, first_seen_ms)| DescribedTwice {
            md5,
            url,
            first_seen_ms,
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Withdraws the descriptions of duplicates; the run has not added those of its own then.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then withdraws none.
    pub async fn withdraw_duplicates(
        &self,
        run: &StoredRun,
        duplicates: &[&DescribedTwice],
        outcome: &str,
    ) -> Result<(), StoreError> {
        let site = run.site.as_str();
        let mut transaction = self.database.begin("withdraw duplicates").await?;
        let (mut added, mut older) = (0_i64, 0_i64);
        for duplicate in duplicates {
            if delete(&mut transaction, site, &[&duplicate.url]).await? == 0 {
                continue;
            }
            let is_older = duplicate.first_seen_ms < run.started_ms;
            *(if is_older { &mut older } else { &mut added }) += 1;
            let values = [site.into(), (&duplicate.url).into(), outcome.into()];
            transaction.execute(&sql::NOT_DESCRIBED, &values).await?;
        }
        let values = [run.run_id.into(), added.into(), older.into()];
        transaction.execute(&sql::UNCOUNT_ADDED, &values).await?;
        transaction.commit().await
    }
}
