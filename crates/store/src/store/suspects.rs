//! Who is flagged: what each instance says.

use super::StoreError;

columns! {
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
}

statements! {
    SAVE_SUSPECTS = "save who is flagged",
        "INSERT INTO suspects (instance, at_ms, flags, sketch) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (instance) DO UPDATE SET at_ms = excluded.at_ms, flags = excluded.flags, \
         sketch = excluded.sketch";
    PRUNE_SUSPECTS = "forget who was flagged",
        "DELETE FROM suspects WHERE at_ms < $1";
    SUSPECTS = "read who is flagged",
        "SELECT instance, at_ms, flags, sketch FROM suspects WHERE at_ms >= $1 ORDER BY instance";
    FORGET_SUSPECTS = "forget who was flagged on an instance",
        "DELETE FROM suspects WHERE instance = $1";
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
        let values = values![suspects; instance, at_ms, flags, sketch];
        self.db.execute(&SAVE_SUSPECTS, &values).await?;
        let values = [old_ms.into()];
        self.db.run(&PRUNE_SUSPECTS, &values).await
    }

    /// Returns what instances have said since a time, by their names.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn load(self, since_ms: i64) -> Result<Vec<StoredSuspects>, StoreError> {
        let values = [since_ms.into()];
        self.db.rows(&SUSPECTS, &values).await
    }

    /// Forgets what an instance has said, which ends.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn forget(self, instance: &str) -> Result<(), StoreError> {
        let values = [instance.into()];
        self.db.run(&FORGET_SUSPECTS, &values).await
    }
}
