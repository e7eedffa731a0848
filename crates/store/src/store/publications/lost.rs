//! Descriptions whose pages a run has not described, and the reasons.

use super::Publications;
use super::{
    super::{StoreError, columns::from_sql},
    Loss, sql,
};

columns! {
    /// Description whose page a run has not described.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct LostDescription {
        /// URL of the page.
        pub url: String,
        /// `true` if it is shown.
        pub is_shown: bool,
        /// Run that met it last.
        pub run_id: Option<i64>,
        /// Links from a starting point.
        pub depth: Option<u32>,
        /// Status of the last answer.
        pub status: Option<u16>,
        /// Reason why it has no description.
        pub loss: Option<Loss>,
        /// Outcome of the visit, in words.
        pub outcome: String,
        /// Hash of the body.
        pub content_hash: Option<String>,
    }
}

columns! {
    /// Description of a page that a run has not met.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct UnreachedDescription {
        /// URL of the page.
        pub url: String,
        /// Links from a starting point, when it was met.
        pub depth: Option<u32>,
    }
}

impl Publications<'_> {
    /// Returns descriptions of pages that a run has not met, behind a URL.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn unreached_descriptions(
        self,
        site: &str,
        run_id: i64,
        after: &str,
        limit: u32,
    ) -> Result<Vec<UnreachedDescription>, StoreError> {
        let values = [
            site.into(),
            after.into(),
            run_id.into(),
            i64::from(limit).into(),
        ];
        self.db.rows(&sql::UNMET, &values).await
    }

    /// Returns descriptions whose pages a run has not described, or not as they were, behind a URL.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn lost_descriptions(
        self,
        site: &str,
        run_id: i64,
        after: &str,
        limit: u32,
    ) -> Result<Vec<LostDescription>, StoreError> {
        let values = [
            site.into(),
            after.into(),
            run_id.into(),
            i64::from(limit).into(),
        ];
        self.db.rows(&sql::LOST, &values).await
    }

    /// Returns the hosts that answered a run with pages.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn answering_hosts(self, site: &str, run_id: i64) -> Result<Vec<String>, StoreError> {
        let values = [site.into(), run_id.into()];
        self.db.column(&sql::ANSWERING_HOSTS, &values).await
    }

    /// Returns the hashes of contents that a run met at so many URLs or more, each of which said
    /// something else before; with the number of these URLs, the most first, at most 100.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn identical_contents(
        self,
        site: &str,
        run_id: i64,
        count: u32,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let values = [site.into(), run_id.into(), i64::from(count).into()];
        let rows: Vec<(String, i64)> = self.db.rows(&sql::ALIKE, &values).await?;
        let alike = |(hash, count)| (hash, from_sql(count));
        Ok(rows.into_iter().map(alike).collect())
    }

    /// Returns the URLs of a run whose outcome begins so, with that, at most 1,000.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn urls_by_outcome(
        self,
        site: &str,
        run_id: i64,
        beginning: &str,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let pattern = format!("{beginning}%");
        let values = [site.into(), run_id.into(), pattern.as_str().into()];
        self.db.rows(&sql::WITHOUT_WORDS, &values).await
    }

    /// Returns why URLs of a run are not described, behind an outcome: at most 1,000 outcomes, each
    /// with the number of its URLs and the first of them.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn undescribed_outcomes(
        self,
        site: &str,
        run_id: i64,
        after: &str,
    ) -> Result<Vec<(String, u64, String)>, StoreError> {
        let values = [site.into(), run_id.into(), after.into()];
        let rows: Vec<(String, i64, String)> = self.db.rows(&sql::OUTCOMES, &values).await?;
        let count = |(outcome, count, first)| (outcome, from_sql(count), first);
        Ok(rows.into_iter().map(count).collect())
    }

    /// Discards what a run staged of pages that a login, or one page for many, stands in place
    /// of: they stay as they are, and are asked for as wholes by the next run.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then gives up nothing.
    pub async fn discard_doubtful_pages(
        self,
        site: &str,
        run_id: i64,
        alike: &[String],
    ) -> Result<(), StoreError> {
        let mut transaction = self.db.begin(sql::DISCARD_LOGINS.what).await?;
        let values = [site.into(), run_id.into()];
        // In this order: the statements that keep clear the marks that those before them go by.
        transaction.execute(&sql::DISCARD_LOGINS, &values).await?;
        transaction.execute(&sql::KEEP_LOGINS, &values).await?;
        for hash in alike {
            let values = [site.into(), run_id.into(), hash.into()];
            transaction.execute(&sql::DISCARD_ALIKE, &values).await?;
            transaction.execute(&sql::KEEP_ALIKE, &values).await?;
        }
        transaction.commit().await
    }

    /// Returns `true` if a run has staged pages that ask for a password and did not before.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn has_staged_logins(self, site: &str, run_id: i64) -> Result<bool, StoreError> {
        let values = [site.into(), run_id.into()];
        let login: Option<i64> = self.db.value(&sql::STAGED_LOGIN, &values).await?;
        Ok(login.is_some())
    }

    /// Accepts that pages ask for a password.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn accept_logins(self, site: &str, run_id: i64) -> Result<(), StoreError> {
        let values = [site.into(), run_id.into()];
        self.db.run(&sql::ACCEPT_LOGINS, &values).await
    }
}

impl LostDescription {
    /// Creates one that is shown, of a page that a run has met.
    pub fn new(url: impl Into<String>, run_id: i64, loss: Option<Loss>) -> Self {
        Self {
            url: url.into(),
            is_shown: true,
            run_id: Some(run_id),
            depth: None,
            status: None,
            loss,
            outcome: String::new(),
            content_hash: None,
        }
    }
}
