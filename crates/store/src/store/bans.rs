//! Networks that a firewall had better keep out, each until a time.

use super::StoreError;

/// Bans that are kept; those that end first go first.
// A firewall's set of as many addresses takes some megabytes.
const MAX_BANS: i64 = 100_000;

columns! {
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
}

statements! {
    ADD_BAN = "save a ban",
        "INSERT INTO bans (network, cause, since_ms, until_ms) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (network) DO UPDATE SET cause = excluded.cause, \
         until_ms = CASE WHEN bans.until_ms > excluded.until_ms THEN bans.until_ms \
         ELSE excluded.until_ms END";
    BANS = "read the bans",
        "SELECT network, cause, since_ms, until_ms FROM bans WHERE until_ms > $1 \
         ORDER BY since_ms, network";
    END_OF_BAN_TOO_MANY = "count the bans",
        "SELECT until_ms FROM bans ORDER BY until_ms DESC LIMIT 1 OFFSET $1";
    PRUNE_BANS = "forget bans that have ended",
        "DELETE FROM bans WHERE until_ms <= $1";
    REMOVE_BAN = "end a ban",
        "DELETE FROM bans WHERE network = $1";
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
        let values = values![ban; network, cause, since_ms, until_ms];
        self.db.run(&ADD_BAN, &values).await
    }

    /// Returns the bans that have not ended at a time, the oldest first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn list(self, now_ms: i64) -> Result<Vec<Ban>, StoreError> {
        let values = [now_ms.into()];
        self.db.rows(&BANS, &values).await
    }

    /// Removes bans that have ended, and those of which there are too many.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn prune(self, now_ms: i64) -> Result<(), StoreError> {
        let values = [MAX_BANS.into()];
        let too_many = &END_OF_BAN_TOO_MANY;
        let end = self.db.value::<i64>(too_many, &values).await?;
        let values = [end.map_or(now_ms, |end| end.max(now_ms)).into()];
        self.db.run(&PRUNE_BANS, &values).await
    }

    /// Ends the ban of a network; returns `false` where there is none.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn remove(self, network: &str) -> Result<bool, StoreError> {
        let values = [network.into()];
        let removed = self.db.execute(&REMOVE_BAN, &values);
        Ok(removed.await? > 0)
    }
}
