//! Networks that a firewall had better keep out, each until a time.

use super::{StoreError, columns::columns, sql};

/// Bans that are kept; those that end first go first.
// A firewall's set of as many addresses takes some megabytes.
const MAX_BANS: i64 = 100_000;

/// Network that was refused too often.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Ban {
    /// Address of IPv4, such as `192.0.2.1`, or a /64 of IPv6.
    pub network: String,
    /// Label of the rule that refused it last, or a word for what else did.
    pub cause: String,
    /// Since when, in milliseconds since 1970.
    pub since_ms: i64,
    /// When it ends.
    pub until_ms: i64,
}

columns! {
    #[derive(Debug)]
    struct BanRow {
        network: String,
        cause: String,
        since_ms: i64,
        until_ms: i64,
    }
}

handle! {
    /// Banned networks.
    Bans, bans
}

impl Bans<'_> {
    /// Adds a ban; one of the same network lasts until the later of both ends.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn add(self, ban: &Ban) -> Result<(), StoreError> {
        let values = [
            (&ban.network).into(),
            (&ban.cause).into(),
            ban.since_ms.into(),
            ban.until_ms.into(),
        ];
        let added = self.store.database.execute(&sql::ADD_BAN, &values);
        added.await.map(|_| ())
    }

    /// Returns the bans that have not ended at a time, the oldest first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn list(self, now_ms: i64) -> Result<Vec<Ban>, StoreError> {
        let values = [now_ms.into()];
        let rows = self.store.database.rows::<BanRow>(&sql::BANS, &values);
        Ok(rows.await?.into_iter().map(Ban::from).collect())
    }

    /// Removes bans that have ended, and those of which there are too many.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn prune(self, now_ms: i64) -> Result<(), StoreError> {
        let values = [MAX_BANS.into()];
        let too_many = &sql::END_OF_BAN_TOO_MANY;
        let end = self
            .store
            .database
            .first::<(i64,)>(too_many, &values)
            .await?;
        let values = [end.map_or(now_ms, |(end,)| end.max(now_ms)).into()];
        let pruned = self.store.database.execute(&sql::PRUNE_BANS, &values);
        pruned.await.map(|_| ())
    }

    /// Ends the ban of a network; returns `false` where there is none.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn remove(self, network: &str) -> Result<bool, StoreError> {
        let values = [network.into()];
        let removed = self.store.database.execute(&sql::REMOVE_BAN, &values);
        Ok(removed.await? > 0)
    }
}

impl From<BanRow> for Ban {
    fn from(row: BanRow) -> Self {
        Self {
            network: row.network,
            cause: row.cause,
            since_ms: row.since_ms,
            until_ms: row.until_ms,
        }
    }
}
