//! Staging: a run's results are written beside what is in force.

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
    /// Reason why a page has no description of its own.
    #[derive(Hash)]
    pub enum Loss {
        /// The page says so: robots.txt, `noindex`, 410.
        Told = "told",
        /// It is refused (403), which counts while others still answer.
        Forbidden = "forbidden",
        /// It is not there (404 and its like), which counts while others still answer.
        Gone = "gone",
        /// It is elsewhere.
        Moved = "moved",
        /// Our own settings leave it out: scope, depth, filters.
        Excluded = "excluded",
        /// Another URL has the same content.
        Duplicate = "duplicate",
        /// It is a sitemap or a feed.
        List = "list",
        /// An administrator took it out for good.
        Withdrawn = "withdrawn",
        /// It could not be had: server down, 5xx.
        Missing = "missing",
        /// It asks for a login by its status (401).
        Locked = "locked",
        /// A page with a password field stands in its place.
        Login = "login",
    }
}

/// New and changed pages that a run has staged.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct StagedPages {
    /// How many there are.
    pub pages: u64,
    /// Words of their texts.
    pub words: usize,
    /// URL and title of the first.
    pub first: (String, String),
}

/// Texts that are read together.
const TEXTS: u32 = 50;

robot_detection_layer::words! {
    /// Change of a description when a run is published, other than being saved.
    pub enum StagedChange {
        /// It is not shown, and kept.
        Hide = "hide",
        /// It is removed.
        Remove = "remove",
        /// It stays, though its page does not answer.
        Miss = "miss",
    }
}

impl Publications<'_> {
    /// Stages changes of descriptions, each with its reason: all or none.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
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

    /// Returns how many changes of each kind are staged: `hide`, `miss`, `remove`, `save`.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn staged_counts(self, site: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let rows: Vec<(String, i64)> = self.db.rows(&sql::STAGED_COUNTS, &[site.into()]).await?;
        let count = |(change, count)| (change, from_sql(count));
        Ok(rows.into_iter().map(count).collect())
    }

    /// Returns the new and changed pages that are staged, with the number of their words.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
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

/// Stages descriptions within a transaction, and carries out other steps behind that.
pub(in crate::store) async fn stage<'v>(
    transaction: &mut Transaction<'_>,
    of: (&'v str, i64),
    descriptions: &[&'v ResourceDescription],
    others: Vec<Step<'v>>,
    now_ms: i64,
) -> Result<Vec<SaveOutcome>, StoreError> {
    write_to(&sql::STAGE, transaction, of, descriptions, others, now_ms).await
}

/// Discards what an earlier run has staged: its pages are fetched unconditionally again.
pub(in crate::store) async fn forget_staged(
    transaction: &mut Transaction<'_>,
    site: &str,
) -> Result<(), StoreError> {
    // Asked for again first: once they are cleared, nothing tells which they were.
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
