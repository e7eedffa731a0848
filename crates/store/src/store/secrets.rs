//! Secrets that the instances share: of the way out, and of our own site robot.

use super::{Store, StoreError};

statements! {
    ADD_KEY = "make the key of the day",
        "INSERT INTO way_out_keys (day, secret) VALUES ($1, $2) ON CONFLICT (day) DO NOTHING";
    KEYS = "read the keys of the last days",
        "SELECT day, secret FROM way_out_keys WHERE day >= $1 ORDER BY day";
    FORGET_KEYS = "remove keys of old",
        "DELETE FROM way_out_keys WHERE day < $1";
    OWN_ROBOT_KEY = "read the key of our own site robot",
        "SELECT secret FROM own_robot_key WHERE id = 1";
    INIT_OWN_ROBOT_KEY = "save the key of our own site robot",
        "INSERT INTO own_robot_key (id, secret, created_ms) VALUES (1, $1, $2) \
         ON CONFLICT (id) DO NOTHING";
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

impl Store {
    /// Returns the key of our own site robot; where there is none, `new` becomes it.
    ///
    /// Of any number of instances that need it first, all get the same.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn own_robot_key(&self, new: &str, now_ms: i64) -> Result<String, StoreError> {
        if let Some(known) = self.database.value(&OWN_ROBOT_KEY, &[]).await? {
            return Ok(known);
        }
        let values = [new.into(), now_ms.into()];
        self.database.run(&INIT_OWN_ROBOT_KEY, &values).await?;
        let (key,) = self.database.one(&OWN_ROBOT_KEY, &[]).await?;
        Ok(key)
    }
}
