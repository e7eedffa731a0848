//! Publishes staged changes in batches: first new pages, then removals.

use super::Publications;
use super::{
    super::{StoreError, statement::Value, transaction::Transaction},
    hide_withdrawn,
    parity::delete_results as forget_parity,
    sql,
};

/// The number of descriptions changed per transaction, limited so that other writers do not wait
/// long.
const PIECE: usize = 500;

/// A string that sorts after every URL.
const LAST: &str = "\u{10ffff}";

/// The staged changes to publish.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StagedSelection {
    /// New and changed pages, which can be published while the run is in progress.
    Saved,
    /// Pages to be hidden, which are hidden without delay.
    Hidden,
    /// All staged changes of the run.
    All,
}

columns! {
    /// The most recent publication of a site.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct Publication {
        /// The ID of the published run.
        pub run_id: i64,
        /// The time when the run was published.
        pub published_ms: i64,
        /// The time when the publication was undone; `None` if the publication is in effect.
        pub undone_ms: Option<i64>,
    }
}

impl StagedSelection {
    /// Returns the kinds of changes, in the order in which the changes are published.
    fn changes(self) -> &'static [&'static str] {
        match self {
            Self::Saved => &["save"],
            Self::Hidden => &["hide"],
            Self::All => &["save", "miss", "hide", "remove"],
        }
    }
}

impl Publications<'_> {
    /// Publishes the staged changes of a run. Returns the number of pages that are no longer shown.
    ///
    /// The replaced descriptions remain stored until another run is published (see
    /// [`undo`](Self::undo)). Changes are published in batches, new pages before removals, so that
    /// readers do not miss any page. This function can safely be called again, or on several
    /// instances.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, call this function again later to publish
    /// the rest.
    pub async fn publish(
        self,
        site: &str,
        run_id: i64,
        what: StagedSelection,
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        let changes = what.changes();
        let counts = self.staged_counts(site).await?;
        let changes: Vec<&str> = changes
            .iter()
            .copied()
            .filter(|change| counts.iter().any(|(staged, _)| staged == change))
            .collect();
        // Pages that merely did not respond do not change what is shown, so the previous
        // publication is kept.
        if changes.iter().any(|change| *change != "miss") {
            self.begin_publication(site, run_id, now_ms).await?;
        }
        let mut gone = 0;
        for change in &changes {
            gone += self.publish_change(site, change, now_ms).await?;
        }
        let mut transaction = self.db.begin("end a publication").await?;
        // A run that has not ended has not requested all pages yet.
        if what == StagedSelection::All {
            let values = [site.into(), run_id.into()];
            transaction.execute(&sql::FOUND_AGAIN, &values).await?;
        }
        hide_withdrawn(&mut transaction, site, now_ms).await?;
        if !changes.is_empty() {
            increment_heaven_version(&mut transaction, site).await?;
        }
        transaction.commit().await?;
        Ok(gone)
    }

    /// Returns the most recent publication of a site that changed anything, if any.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn publication(self, site: &str) -> Result<Option<Publication>, StoreError> {
        self.db.first(&sql::PUBLICATION, &[site.into()]).await
    }

    /// Undoes the most recent publication; a second call redoes the publication.
    ///
    /// Returns the publication and the number of pages now shown. Returns `None` if there is no
    /// publication, or if nothing had been published before it. The next run fetches the pages in
    /// full and publishes their current content.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is changed.
    pub async fn undo(
        self,
        site: &str,
        now_ms: i64,
    ) -> Result<Option<(Publication, u64)>, StoreError> {
        let of_site = [site.into()];
        let mut transaction = self.db.begin(sql::UNDO_RESTORE.what).await?;
        lock(&mut transaction, site).await?;
        let known: Vec<(i64, Option<i64>, Option<i64>)> =
            transaction.rows(&sql::PUBLICATION, &of_site).await?;
        let (shown,): (i64,) = transaction.one(&sql::SHOWN_AFTER_UNDO, &of_site).await?;
        // Nothing existed before the first publication: undoing it would empty heaven.
        if known.is_empty() || shown == 0 {
            // Dropping the transaction rolls it back.
            return Ok(None);
        }
        // The undone descriptions are stored with the other turn number, which then becomes the
        // current one, so that the same call restores them.
        for statement in [
            &*sql::UNDO_KEEP,
            &sql::UNDO_REMOVE,
            &sql::UNDO_RESTORE,
            &sql::UNDO_DROP,
            &sql::UNDO_TURN,
        ] {
            transaction.execute(statement, &of_site).await?;
        }
        hide_withdrawn(&mut transaction, site, now_ms).await?;
        transaction
            .execute(&sql::ASK_UNDONE_AGAIN, &of_site)
            .await?;
        let values = [site.into(), now_ms.into()];
        transaction.execute(&sql::UNDO_MARK, &values).await?;
        transaction.commit().await?;
        let publication = self.publication(site).await?;
        Ok(publication.map(|it| (it, u64::try_from(shown).unwrap_or(0))))
    }

    async fn begin_publication(
        self,
        site: &str,
        run_id: i64,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let mut transaction = self.db.begin(sql::BEGIN_PUBLICATION.what).await?;
        lock(&mut transaction, site).await?;
        let values = [site.into(), run_id.into()];
        transaction.execute(&sql::FORGET_PREVIOUS, &values).await?;
        let values = [site.into(), run_id.into(), now_ms.into()];
        transaction
            .execute(&sql::BEGIN_PUBLICATION, &values)
            .await?;
        transaction.commit().await
    }

    async fn publish_change(
        self,
        site: &str,
        change: &str,
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        let mut gone = 0;
        let mut after = String::new();
        loop {
            let values = [site.into(), (&after).into(), (PIECE as u64).into()];
            let end: Option<(String,)> = self.db.first(&sql::LAST_STAGED_OF_PIECE, &values).await?;
            let upto = end.as_ref().map_or(LAST, |(url,)| url.as_str());
            gone += self
                .publish_piece(site, change, (&after, upto), now_ms)
                .await?;
            match end {
                Some((url,)) => after = url,
                None => return Ok(gone),
            }
        }
    }

    async fn publish_piece(
        self,
        site: &str,
        change: &str,
        (after, upto): (&str, &str),
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        let mut transaction = self.db.begin("publish resource descriptions").await?;
        lock(&mut transaction, site).await?;
        let piece: [Value<'_>; 4] = [site.into(), change.into(), after.into(), upto.into()];
        let mut dated = piece.to_vec();
        dated.push(now_ms.into());
        if change != "miss" {
            transaction.execute(&sql::KEEP_PREVIOUS, &piece).await?;
        }
        let gone = match change {
            "save" => transaction
                .execute(&sql::PUBLISH_SAVED, &piece)
                .await
                .map(|_| 0),
            "miss" => transaction
                .execute(&sql::PUBLISH_MISSED, &dated)
                .await
                .map(|_| 0),
            "hide" => transaction.execute(&sql::PUBLISH_HIDDEN, &dated).await,
            _ => transaction.execute(&sql::PUBLISH_REMOVED, &piece).await,
        }?;
        if change == "miss" {
            transaction.execute(&sql::STILL_DESCRIBED, &piece).await?;
        }
        // In the same transaction, so that an interrupted publication resumes after the last batch.
        transaction.execute(&sql::DROP_STAGED, &piece).await?;
        transaction.commit().await?;
        Ok(gone)
    }
}

/// Blocks other changes to the site's published pages until the transaction ends.
pub(super) async fn lock(transaction: &mut Transaction<'_>, site: &str) -> Result<(), StoreError> {
    let values = [site.into()];
    transaction.execute(&sql::LOCK_PUBLICATION, &values).await?;
    Ok(())
}

/// Increments the version of a site's heaven pages, so that servers reload them.
pub(in crate::store) async fn increment_heaven_version(
    transaction: &mut Transaction<'_>,
    site: &str,
) -> Result<(), StoreError> {
    let values = [site.into()];
    transaction.execute(&sql::BUMP_PUBLICATION, &values).await?;
    Ok(())
}

/// Deletes a site's staged changes, previous descriptions and comparisons.
pub(in crate::store) async fn clear_publications(
    transaction: &mut Transaction<'_>,
    site: &str,
) -> Result<(), StoreError> {
    let values = [site.into()];
    for statement in [
        &sql::CLEAR_STAGED,
        &sql::CLEAR_PREVIOUS,
        &sql::CLEAR_PUBLICATION,
    ] {
        transaction.execute(statement, &values).await?;
    }
    forget_parity(transaction, site).await
}
