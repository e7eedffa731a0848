//! Resources of the same content that are described more than once.

use super::Frontier;
use super::{
    super::{StoreError, publications::unstage},
    StoredRun, sql,
};

columns! {
    /// Resource whose content another described resource of the site has too.
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub struct DuplicateDescription {
        /// MD5 of the content.
        pub md5: String,
        /// URL of the resource.
        pub url: String,
        /// `true` if a description of it is in force.
        pub is_published: bool,
        /// Rank that its visit gave it, lower first.
        pub preference: u8,
    }
}

columns! {
    /// Resource that is described by another URL too, which is to stand for it.
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub struct AliasDescription {
        /// URL of the resource.
        pub url: String,
        /// URL that stands for it.
        pub alias_of: String,
        /// `true` if a description of it is in force.
        pub is_published: bool,
    }
}

/// Returns a rank as it is kept; what was visited before there were any comes last.
pub(super) fn rank(preference: Option<i64>) -> u8 {
    let rank = preference.and_then(|preference| u8::try_from(preference).ok());
    rank.unwrap_or(u8::MAX)
}

impl Frontier<'_> {
    /// Returns resources that a run has described and that have the same content, those of one
    /// MD5 beside each other.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
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

    /// Returns resources that a run has described, and their canonical URLs too.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn not_canonical(
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

    /// Returns URLs of a site that stand for others, and these, behind a URL.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn aliases(
        self,
        site: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let values = [site.into(), after.into(), i64::from(limit).into()];
        self.db.rows(&sql::ALIASES, &values).await
    }

    /// Discards descriptions of duplicates; those that the run added count as rejected.
    ///
    /// Those in force are withdrawn when the run is published.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then gives up none.
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
