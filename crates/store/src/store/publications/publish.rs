//! Publication of what is staged, a piece at a time: new pages first, then removals.

use super::Publications;
use super::{
    super::{StoreError, database::Transaction, statement::Value},
    hide_withdrawn,
    parity::forget as forget_parity,
    sql,
};

/// Descriptions that change in one transaction: nobody waits for long.
const PIECE: usize = 500;

/// Behind every URL there is.
const LAST: &str = "\u{10ffff}";

/// Part of the staged changes that comes into force.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StagedSelection {
    /// New and changed pages, while a run goes on.
    Saved,
    /// Pages that are not to be shown, which wait for nobody.
    Hidden,
    /// Everything.
    All,
}

/// Last publication of a site.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Publication {
    /// Run that it is of.
    pub run_id: i64,
    /// When it was.
    pub published_ms: i64,
    /// When it was put back; nothing: it is in force.
    pub undone_ms: Option<i64>,
}

impl StagedSelection {
    /// Returns the kinds of changes in the order in which they come into force.
    fn changes(self) -> &'static [&'static str] {
        match self {
            Self::Saved => &["save"],
            Self::Hidden => &["hide"],
            Self::All => &["save", "miss", "hide", "remove"],
        }
    }
}

impl Publications<'_> {
    /// Publishes what a run has staged; returns how many pages are not shown any more.
    ///
    /// What it replaces is kept until another run is published: see
    /// [`undo`](Self::undo). Pages come before what goes, in pieces: who reads meanwhile
    /// misses nothing. It does no harm to call it again, or while another instance does.
    ///
    /// # Errors
    ///
    /// Fails when the database does; the rest can be published later then.
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
        // Pages that only did not answer change nothing that is shown: what could be put back
        // stays.
        if changes.iter().any(|change| *change != "miss") {
            self.begin_publication(site, run_id, now_ms).await?;
        }
        let mut gone = 0;
        for change in &changes {
            gone += self.publish_change(site, change, now_ms).await?;
        }
        let mut transaction = self.store.database.begin("end a publication").await?;
        // Before its end a run has not asked for all pages.
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

    /// Returns the last publication of a site, if its run was one that changed anything.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn publication(self, site: &str) -> Result<Option<Publication>, StoreError> {
        let row: Option<(i64, Option<i64>, Option<i64>)> = self
            .store
            .database
            .first(&sql::PUBLICATION, &[site.into()])
            .await?;
        Ok(row.map(|(run_id, published_ms, undone_ms)| Publication {
            run_id,
            published_ms: published_ms.unwrap_or_default(),
            undone_ms,
        }))
    }

    async fn begin_publication(
        self,
        site: &str,
        run_id: i64,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let mut transaction = self
            .store
            .database
            .begin(sql::BEGIN_PUBLICATION.what)
            .await?;
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
            let end: Option<(String,)> = self
                .store
                .database
                .first(&sql::LAST_STAGED_OF_PIECE, &values)
                .await?;
            let upto = end.as_ref().map_or(LAST, |(url,)| url.as_str());
            gone += self
                .publish_piece(site, change, (&after, upto), now_ms)
                .await?;
            match end {
                Some((url,)) => after = url,
                None => return Ok(gone),
            }
            self.store.database.note_written(PIECE);
        }
    }

    async fn publish_piece(
        self,
        site: &str,
        change: &str,
        (after, upto): (&str, &str),
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        let mut transaction = self
            .store
            .database
            .begin("publish resource descriptions")
            .await?;
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
        // In the same transaction: who is cut off goes on behind the last piece that is in force.
        transaction.execute(&sql::DROP_STAGED, &piece).await?;
        transaction.commit().await?;
        Ok(gone)
    }
}

/// Makes others that change what is in force wait until the transaction ends.
pub(super) async fn lock(transaction: &mut Transaction<'_>, site: &str) -> Result<(), StoreError> {
    let values = [site.into()];
    transaction.execute(&sql::LOCK_PUBLICATION, &values).await?;
    Ok(())
}

/// Increments the version of a site's heaven, so that its servers read it again.
pub(in crate::store) async fn increment_heaven_version(
    transaction: &mut Transaction<'_>,
    site: &str,
) -> Result<(), StoreError> {
    let values = [site.into()];
    transaction.execute(&sql::BUMP_PUBLICATION, &values).await?;
    Ok(())
}

/// Forgets what is staged, what could be put back, and what was compared.
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
