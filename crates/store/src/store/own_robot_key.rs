//! The key by which a fleet knows its own site robot.

use super::{Store, StoreError, sql};

impl Store {
    /// Returns the key of our own site robot; where there is none, `new` becomes it.
    ///
    /// Of any number of instances that need it first, all get the same.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn own_robot_key(&self, new: &str, now_ms: i64) -> Result<String, StoreError> {
        let key = || self.database.first::<(String,)>(&sql::OWN_ROBOT_KEY, &[]);
        if let Some((known,)) = key().await? {
            return Ok(known);
        }
        let values = [new.into(), now_ms.into()];
        let init = self.database.execute(&sql::INIT_OWN_ROBOT_KEY, &values);
        init.await?;
        let (key,) = key().await?.ok_or_else(|| {
            let gone = sqlx::Error::Decode("no row".into());
            self.database.error(&sql::OWN_ROBOT_KEY, &gone)
        })?;
        Ok(key)
    }
}
