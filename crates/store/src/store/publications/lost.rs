//! Descriptions of pages that a run has not described again, and the reasons.

use super::Publications;
use super::{
    super::{StoreError, columns::from_sql},
    Loss, sql,
};

columns! {
    /// A description of a page that a run has not described again.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct LostDescription {
        /// The URL of the page.
        pub url: String,
        /// Whether the description is currently shown.
        pub is_shown: bool,
        /// The ID of the last run that found the page.
        pub run_id: Option<i64>,
        /// The number of links to follow from a starting point to reach the page.
        pub depth: Option<u32>,
        /// The HTTP status of the last response.
        pub status: Option<u16>,
        /// The reason why the page has no description.
        pub loss: Option<Loss>,
        /// The outcome of the visit, as text.
        pub outcome: String,
        /// The hash of the response body.
        pub content_hash: Option<String>,
    }
}

columns! {
    /// A description of a page that a run has not found.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct UnvisitedDescription {
        /// The URL of the page.
        pub url: String,
        /// The number of links to follow from a starting point to reach the page, as of the time
        /// when the page was last found.
        pub depth: Option<u32>,
    }
}

impl Publications<'_> {
    /// Returns descriptions of pages that a run has not found, ordered by URL, starting after
    /// `after`.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn unreached_descriptions(
        self,
        site: &str,
        run_id: i64,
        after: &str,
        limit: u32,
    ) -> Result<Vec<UnvisitedDescription>, StoreError> {
        let values = [
            site.into(),
            after.into(),
            run_id.into(),
            i64::from(limit).into(),
        ];
        self.db.rows(&sql::UNMET, &values).await
    }

    /// Returns descriptions of pages that a run has described differently or not at all, starting
    /// after a URL.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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

    /// Returns the hosts from which a run received pages.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn responding_hosts(
        self,
        site: &str,
        run_id: i64,
    ) -> Result<Vec<String>, StoreError> {
        let values = [site.into(), run_id.into()];
        self.db.column(&sql::ANSWERING_HOSTS, &values).await
    }

    /// Returns up to 100 content hashes that a run found at `count` or more URLs whose previous
    /// descriptions differed, each with the number of URLs, most frequent first.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn identical_contents(
        self,
        site: &str,
        run_id: i64,
        count: u32,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let values = [site.into(), run_id.into(), i64::from(count).into()];
        let rows: Vec<(String, i64)> = self.db.rows(&sql::MIN_IDENTICAL, &values).await?;
        let alike = |(hash, count)| (hash, from_sql(count));
        Ok(rows.into_iter().map(alike).collect())
    }

    /// Returns up to 1,000 URLs visited by a run, with outcomes that start with `beginning`.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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

    /// Returns up to 1,000 outcomes of URLs that a run has not described, starting after the
    /// outcome `after`, each with the number of URLs and the first URL.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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

    /// Discards staged changes to pages that were replaced by a login page, or by the same page at
    /// many URLs. The existing descriptions are retained, and the next run fetches the pages in
    /// full.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is discarded.
    pub async fn discard_suspicious_pages(
        self,
        site: &str,
        run_id: i64,
        alike: &[String],
    ) -> Result<(), StoreError> {
        let mut transaction = self.db.begin(sql::DISCARD_LOGINS.what).await?;
        let values = [site.into(), run_id.into()];
        // Order matters: the `KEEP` statements clear the marks that the `DISCARD` statements use.
        transaction.execute(&sql::DISCARD_LOGINS, &values).await?;
        transaction.execute(&sql::KEEP_LOGINS, &values).await?;
        for hash in alike {
            let values = [site.into(), run_id.into(), hash.into()];
            transaction.execute(&sql::DISCARD_ALIKE, &values).await?;
            transaction.execute(&sql::KEEP_ALIKE, &values).await?;
        }
        transaction.commit().await
    }

    /// Returns `true` if a run has staged pages that now request a password but did not before.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn has_staged_logins(self, site: &str, run_id: i64) -> Result<bool, StoreError> {
        let values = [site.into(), run_id.into()];
        let login: Option<i64> = self.db.value(&sql::STAGED_LOGIN, &values).await?;
        Ok(login.is_some())
    }

    /// Accepts that pages fetched by a run now request a password.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn accept_logins(self, site: &str, run_id: i64) -> Result<(), StoreError> {
        let values = [site.into(), run_id.into()];
        self.db.run(&sql::ACCEPT_LOGINS, &values).await
    }
}

impl LostDescription {
    /// Creates the record for a shown description of a page that a run has found.
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
