//! Who is flagged: what each instance says.

use super::{StoreError, columns::columns, sql};

/// What an instance says of who is flagged.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StoredSuspects {
    /// Name of the process.
    pub instance: String,
    /// When it said so, in milliseconds since 1970.
    pub at_ms: i64,
    /// JSON, with texts that visitors wrote.
    pub flags: String,
    /// What it has seen in its window, in Base64; empty where it is alone.
    pub sketch: String,
}

columns! {
    #[derive(Debug)]
    struct SuspectsRow {
        instance: String,
        at_ms: i64,
        flags: String,
        sketch: String,
    }
}

handle! {
    /// Suspects: robots that claim to be browsers.
    Suspects, suspects
}

impl Suspects<'_> {
    /// Keeps what an instance says of who is flagged, in place of what it said before.
    ///
    /// What instances have said before `old_ms` is removed.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn save(self, suspects: &StoredSuspects, old_ms: i64) -> Result<(), StoreError> {
        let values = [
            (&suspects.instance).into(),
            suspects.at_ms.into(),
            (&suspects.flags).into(),
            (&suspects.sketch).into(),
        ];
        self.store
            .database
            .execute(&sql::SAVE_SUSPECTS, &values)
            .await?;
        let values = [old_ms.into()];
        let pruned = self.store.database.execute(&sql::PRUNE_SUSPECTS, &values);
        pruned.await.map(|_| ())
    }

    /// Returns what instances have said since a time, by their names.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn load(self, since_ms: i64) -> Result<Vec<StoredSuspects>, StoreError> {
        let values = [since_ms.into()];
        let rows = self
            .store
            .database
            .rows::<SuspectsRow>(&sql::SUSPECTS, &values);
        let stored = |row: SuspectsRow| StoredSuspects {
            instance: row.instance,
            at_ms: row.at_ms,
            flags: row.flags,
            sketch: row.sketch,
        };
        Ok(rows.await?.into_iter().map(stored).collect())
    }

    /// Forgets what an instance has said, which ends.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn forget(self, instance: &str) -> Result<(), StoreError> {
        let values = [instance.into()];
        let forgotten = self.store.database.execute(&sql::FORGET_SUSPECTS, &values);
        forgotten.await.map(|_| ())
    }
}
