//! Secrets shared by all instances: keys for the confirmation form and for the site robot.

use super::{Store, StoreError};

statements! {
    ADD_KEY = "save the key of the day",
        "INSERT INTO way_out_keys (day, secret) VALUES ($1, $2) ON CONFLICT (day) DO NOTHING";
    KEYS = "read the confirmation keys",
        "SELECT day, secret FROM way_out_keys WHERE day >= $1 ORDER BY day";
    FORGET_KEYS = "remove old confirmation keys",
        "DELETE FROM way_out_keys WHERE day < $1";
    OWN_ROBOT_KEY = "read the key of the site robot",
        "SELECT secret FROM own_robot_key WHERE id = 1";
    INIT_OWN_ROBOT_KEY = "save the key of the site robot",
        "INSERT INTO own_robot_key (id, secret, created_ms) VALUES (1, $1, $2) \
         ON CONFLICT (id) DO NOTHING";
}

handle! {
    /// Access to the keys for the confirmation form.
    ConfirmationKeys, keys
}

impl ConfirmationKeys<'_> {
    /// Returns the confirmation keys of the last few days up to `today`, each with its day (in days
    /// since the Unix epoch). If no instance has created a key for today, `new` is saved as today's
    /// key.
    ///
    /// Older keys are removed.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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
    /// Returns the key of the site robot. If there is no key yet, `new` is saved and returned.
    ///
    /// Instances that call this function at the same time all receive the same key.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn site_robot_key(&self, new: &str, now_ms: i64) -> Result<String, StoreError> {
        if let Some(known) = self.database.value(&OWN_ROBOT_KEY, &[]).await? {
            return Ok(known);
        }
        let values = [new.into(), now_ms.into()];
        self.database.run(&INIT_OWN_ROBOT_KEY, &values).await?;
        let (key,) = self.database.one(&OWN_ROBOT_KEY, &[]).await?;
        Ok(key)
    }
}
