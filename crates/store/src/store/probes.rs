//! Notes about the requests by which `doctor` checks a proxy.

use super::StoreError;

/// Milliseconds after which a note is removed.
const KEPT_MS: i64 = 600_000;

statements! {
    NOTE = "note a request of doctor",
        "INSERT INTO probes (id, noted_ms, note) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING";
    FORGET = "remove notes of requests of doctor",
        "DELETE FROM probes WHERE noted_ms < $1";
    READ = "read the note of a request of doctor",
        "SELECT note FROM probes WHERE id = $1";
}

handle! {
    /// Probe requests of `doctor`.
    Probes, probes
}

impl Probes<'_> {
    /// Stores a note, and removes those that are older than ten minutes.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn note(self, id: &str, note: &str, now_ms: i64) -> Result<(), StoreError> {
        let oldest = [(now_ms - KEPT_MS).into()];
        self.db.execute(&FORGET, &oldest).await?;
        let values = [id.into(), now_ms.into(), note.into()];
        self.db.run(&NOTE, &values).await
    }

    /// Returns a note, if there is one.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn find(self, id: &str) -> Result<Option<String>, StoreError> {
        self.db.value(&READ, &[id.into()]).await
    }
}
