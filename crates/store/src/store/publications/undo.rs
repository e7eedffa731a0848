//! The last publication is put back, and the putting back undone.

use super::Publications;
use super::{super::StoreError, Publication, hide_withdrawn, publish::lock, sql};

impl Publications<'_> {
    /// Restores what was in force before the last publication; called again, undoes that.
    ///
    /// Returns the publication as it is then, and how many pages are in force; nothing where
    /// there is no publication, or nothing was in force before it. Pages are asked for as wholes
    /// by the next run, which publishes what they say then.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then changes nothing.
    pub async fn undo(
        self,
        site: &str,
        now_ms: i64,
    ) -> Result<Option<(Publication, u64)>, StoreError> {
        let of_site = [site.into()];
        let mut transaction = self.store.database.begin(sql::UNDO_RESTORE.what).await?;
        lock(&mut transaction, site).await?;
        let known: Vec<(i64, Option<i64>, Option<i64>)> =
            transaction.rows(&sql::PUBLICATION, &of_site).await?;
        let (shown,): (i64,) = transaction.one(&sql::SHOWN_AFTER_UNDO, &of_site).await?;
        // What was there before the first publication is nothing: heaven is not to be emptied by
        // this.
        if known.is_empty() || shown == 0 {
            // Dropped, the transaction has done nothing.
            return Ok(None);
        }
        // What is taken back is kept under the other turn, which then becomes this one: the same
        // call puts it into force again.
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
}
