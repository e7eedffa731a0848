//! Leases: one instance of a fleet refreshes, the others need not.

use std::time::Duration;

use super::{Store, StoreError, sql};

impl Store {
    /// Takes a lease that is free, has ended, or is the holder's already.
    ///
    /// Returns whether `holder` has it now, until `ttl` after `now_ms`. Of any
    /// number of instances that try at once one gets it.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn acquire_lease(
        &self,
        name: &str,
        holder: &str,
        now_ms: i64,
        ttl: Duration,
    ) -> Result<bool, StoreError> {
        let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        let until_ms = now_ms.saturating_add(ttl_ms);
        let values = [name.into(), holder.into(), until_ms.into(), now_ms.into()];
        let taken = self.database.execute(&sql::ACQUIRE_LEASE, &values).await?;
        Ok(taken > 0)
    }

    /// Returns who has a lease, or had it last and did not give it back.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn lease_holder(&self, name: &str) -> Result<Option<String>, StoreError> {
        let row: Option<(String,)> = self
            .database
            .first(&sql::LEASE_HOLDER, &[name.into()])
            .await?;
        Ok(row.map(|(holder,)| holder))
    }

    /// Gives a lease back; does nothing if somebody else holds it now.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn release_lease(&self, name: &str, holder: &str) -> Result<(), StoreError> {
        let values = [name.into(), holder.into()];
        let released = self.database.execute(&sql::RELEASE_LEASE, &values);
        released.await.map(|_| ())
    }
}
