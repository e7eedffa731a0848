//! Reports of suspects, one per instance.

use super::StoreError;

columns! {
    /// A report about the suspects found by an instance.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct StoredSuspects {
        /// The ID of the reporting instance.
        pub instance: String,
        /// The time of the report, in milliseconds since the Unix epoch.
        pub at_ms: i64,
        /// The suspicious clients as JSON, which contains text from requests.
        pub flags: String,
        /// A sketch of the requests in the instance's time window, in Base64; empty if there is
        /// only one instance.
        pub sketch: String,
    }
}

statements! {
    SAVE_SUSPECTS = "save the suspects",
        "INSERT INTO suspects (instance, at_ms, flags, sketch) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (instance) DO UPDATE SET at_ms = excluded.at_ms, flags = excluded.flags, \
         sketch = excluded.sketch";
    PRUNE_SUSPECTS = "remove old suspects",
        "DELETE FROM suspects WHERE at_ms < $1";
    SUSPECTS = "read the suspects",
        "SELECT instance, at_ms, flags, sketch FROM suspects WHERE at_ms >= $1 ORDER BY instance";
    FORGET_SUSPECTS = "remove the suspects of an instance",
        "DELETE FROM suspects WHERE instance = $1";
}

handle! {
    /// Access to reports of suspects: requests that claim to be from a browser but look automated.
    Suspects, suspects
}

impl Suspects<'_> {
    /// Saves an instance's report about suspects, which replaces the instance's previous report.
    ///
    /// Reports made before `cutoff_ms`, in milliseconds since 1970, are removed.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn save(self, suspects: &StoredSuspects, cutoff_ms: i64) -> Result<(), StoreError> {
        let values = values![suspects; instance, at_ms, flags, sketch];
        self.db.execute(&SAVE_SUSPECTS, &values).await?;
        let values = [cutoff_ms.into()];
        self.db.run(&PRUNE_SUSPECTS, &values).await
    }

    /// Returns the reports about suspects made since `since_ms`, ordered by instance.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn load(self, since_ms: i64) -> Result<Vec<StoredSuspects>, StoreError> {
        let values = [since_ms.into()];
        self.db.rows(&SUSPECTS, &values).await
    }

    /// Removes the report about suspects from an instance that is stopping.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn remove(self, instance: &str) -> Result<(), StoreError> {
        let values = [instance.into()];
        self.db.run(&FORGET_SUSPECTS, &values).await
    }
}
