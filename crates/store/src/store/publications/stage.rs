//! Staging: stores a run's results separately from the published descriptions.

use super::Publications;
use super::{
    super::{
        SaveOutcome, StoreError, columns::from_sql, descriptions::write_to, statement::Step,
        transaction::Transaction,
    },
    sql,
};
use crate::description::ResourceDescription;

robot_detection_layer::words! {
    /// The reason why a page does not have its own description.
    #[derive(Hash)]
    pub enum Loss {
        /// The page or site excludes itself, by robots.txt, `noindex` or status 410.
        Told = "told",
        /// Access to the page is forbidden (403); this reason is considered only while other pages
        /// still respond.
        Forbidden = "forbidden",
        /// The page was not found (404 and similar); this reason is considered only while other
        /// pages still respond.
        Gone = "gone",
        /// The page has moved to another URL.
        Moved = "moved",
        /// Our settings exclude the page, because of the scope, the depth or a filter.
        Excluded = "excluded",
        /// The page has the same content as another URL.
        Duplicate = "duplicate",
        /// The page is a sitemap or feed.
        List = "list",
        /// An administrator has withdrawn the page permanently.
        Withdrawn = "withdrawn",
        /// The page is unavailable: the server is down or returns 5xx.
        Missing = "missing",
        /// The page requires a login, as indicated by its status (401).
        Locked = "locked",
        /// The page was replaced by a page with a password field.
        Login = "login",
    }
}

/// New and changed pages staged by a run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct StagedPages {
    /// The number of new and changed pages.
    pub pages: u64,
    /// The total number of words in the texts of the pages.
    pub words: usize,
    /// The URL and title of the first page.
    pub first: (String, String),
}

/// The number of description texts read per query.
const TEXTS: u32 = 50;

robot_detection_layer::words! {
    /// A change to a description upon publication, other than saving a new version.
    pub enum StagedChange {
        /// Hide the description, but leave it stored.
        Hide = "hide",
        /// Remove the description.
        Remove = "remove",
        /// Leave the description unchanged, although its page does not respond.
        Miss = "miss",
    }
}

impl Publications<'_> {
    /// Stages changes to descriptions, with the reasons, in one transaction.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn stage(
        self,
        site: &str,
        run_id: i64,
        changes: &[(String, StagedChange, String)],
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let mut transaction = self.db.begin(sql::STAGE_CHANGE.what).await?;
        for (url, change, reason) in changes {
            let values = [
                site.into(),
                url.into(),
                change.as_str().into(),
                reason.into(),
                run_id.into(),
                now_ms.into(),
            ];
            transaction.execute(&sql::STAGE_CHANGE, &values).await?;
        }
        transaction.commit().await
    }

    /// Returns the number of staged changes of each kind: `hide`, `miss`, `remove`, `save`.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn staged_counts(self, site: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let rows: Vec<(String, i64)> = self.db.rows(&sql::STAGED_COUNTS, &[site.into()]).await?;
        let count = |(change, count)| (change, from_sql(count));
        Ok(rows.into_iter().map(count).collect())
    }

    /// Returns the number of staged new and changed pages, and the number of words in their texts.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn staged_pages(self, site: &str) -> Result<StagedPages, StoreError> {
        let (mut staged, mut after) = (StagedPages::default(), String::new());
        loop {
            let values = [site.into(), (&after).into(), i64::from(TEXTS).into()];
            let rows: Vec<(String, String, String)> =
                self.db.rows(&sql::STAGED_TEXTS, &values).await?;
            match rows.last() {
                Some((last, ..)) => after.clone_from(last),
                None => return Ok(staged),
            }
            for (url, title, text) in rows {
                if staged.pages == 0 {
                    staged.first = (url, title);
                }
                staged.pages += 1;
                staged.words += text.split_whitespace().count();
            }
        }
    }
}

/// Stages descriptions within a transaction, then runs further steps.
pub(in crate::store) async fn stage<'v>(
    transaction: &mut Transaction<'_>,
    of: (&'v str, i64),
    descriptions: &[&'v ResourceDescription],
    others: Vec<Step<'v>>,
    now_ms: i64,
) -> Result<Vec<SaveOutcome>, StoreError> {
    write_to(&sql::STAGE, transaction, of, descriptions, others, now_ms).await
}

/// Discards the staged changes of an earlier run; their pages are marked to be fetched in full
/// again.
pub(in crate::store) async fn delete_staged(
    transaction: &mut Transaction<'_>,
    site: &str,
) -> Result<(), StoreError> {
    // The order matters: after clearing, it is no longer known which pages are affected.
    for statement in [&sql::ASK_STAGED_AGAIN, &sql::CLEAR_STAGED] {
        transaction.execute(statement, &[site.into()]).await?;
    }
    Ok(())
}

/// Discards the staged description of a URL within a transaction.
pub(in crate::store) async fn unstage(
    transaction: &mut Transaction<'_>,
    site: &str,
    url: &str,
) -> Result<u64, StoreError> {
    let values = [site.into(), url.into()];
    transaction.execute(&sql::UNSTAGE, &values).await
}

column!(Option<Loss>, Option<String>, |word| Ok(
    word.and_then(|word| Loss::from_word(&word))
));
