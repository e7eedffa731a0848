//! Notes about the requests that `doctor` sends to test a front proxy.

use super::StoreError;

/// The time for which a note about a `doctor` request remains stored, in milliseconds.
const KEPT_MS: i64 = 600_000;

statements! {
    NOTE = "save a note about a doctor request",
        "INSERT INTO probes (id, noted_ms, note) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING";
    FORGET = "remove notes about doctor requests",
        "DELETE FROM probes WHERE noted_ms < $1";
    READ = "read the note about a doctor request",
        "SELECT note FROM probes WHERE id = $1";
}

handle! {
    /// Access to the notes about requests sent by `doctor`.
    Probes, probes
}

impl Probes<'_> {
    /// Stores a note about a request sent by `doctor`, and removes notes older than ten minutes.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn save(self, id: &str, note: &str, now_ms: i64) -> Result<(), StoreError> {
        let oldest = [(now_ms - KEPT_MS).into()];
        self.db.execute(&FORGET, &oldest).await?;
        let values = [id.into(), now_ms.into(), note.into()];
        self.db.run(&NOTE, &values).await
    }

    /// Returns the note about a request sent by `doctor`, if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn find(self, id: &str) -> Result<Option<String>, StoreError> {
        self.db.value(&READ, &[id.into()]).await
    }
}
