//! Keys that sign the word of visitors that they are people.

use super::StoreError;

statements! {
    ADD_KEY = "make the key of the day",
        "INSERT INTO way_out_keys (day, secret) VALUES ($1, $2) ON CONFLICT (day) DO NOTHING";
    KEYS = "read the keys of the last days",
        "SELECT day, secret FROM way_out_keys WHERE day >= $1 ORDER BY day";
    FORGET_KEYS = "remove keys of old",
        "DELETE FROM way_out_keys WHERE day < $1";
}

handle! {
    /// Keys of the confirmation form.
    WayOut, way_out
}

impl WayOut<'_> {
    /// Returns the keys of some days up to `today`, with their days since 1970; that of today is
    /// `new` where no instance has made it before.
    ///
    /// Older ones are removed.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn keys(
        self,
        today: i64,
        kept_days: i64,
        new: &str,
    ) -> Result<Vec<(i64, String)>, StoreError> {
        let oldest = [(today - kept_days).into()];
        let keys = self.db.rows::<(i64, String)>(&KEYS, &oldest).await?;
        if keys.iter().any(|(day, _)| *day == today) {
            return Ok(keys);
        }
        let key = [today.into(), new.into()];
        self.db.execute(&ADD_KEY, &key).await?;
        self.db.execute(&FORGET_KEYS, &oldest).await?;
        self.db.rows(&KEYS, &oldest).await
    }
}
