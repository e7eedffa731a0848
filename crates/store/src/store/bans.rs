//! Networks to block at the firewall until a specified time.

use super::StoreError;

/// The maximum number of stored bans. If there are more, the bans that expire first are removed.
// A firewall set of this many addresses takes a few megabytes.
const MAX_BANS: i64 = 100_000;

columns! {
    /// A ban on a network whose requests were refused too often.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct Ban {
        /// The banned network: an IPv4 address such as `192.0.2.1`, or an IPv6 /64 network.
        pub network: String,
        /// The label of the rule that last refused the network, or a word that describes another
        /// cause.
        pub cause: String,
        /// The start time of the ban, in milliseconds since the Unix epoch.
        pub since_ms: i64,
        /// The end time of the ban, in milliseconds since the Unix epoch.
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
    PRUNE_BANS = "remove expired bans",
        "DELETE FROM bans WHERE until_ms <= $1";
    REMOVE_BAN = "end a ban",
        "DELETE FROM bans WHERE network = $1";
}

handle! {
    /// Access to the bans on networks.
    Bans, bans
}

impl Bans<'_> {
    /// Adds a ban. If the network is already banned, the later end time applies.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn add(self, ban: &Ban) -> Result<(), StoreError> {
        let values = values![ban; network, cause, since_ms, until_ms];
        self.db.run(&ADD_BAN, &values).await
    }

    /// Returns the bans that are in effect at `now_ms`, oldest first.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn list(self, now_ms: i64) -> Result<Vec<Ban>, StoreError> {
        let values = [now_ms.into()];
        self.db.rows(&BANS, &values).await
    }

    /// Removes expired bans, and those that exceed the maximum number of bans.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn prune(self, now_ms: i64) -> Result<(), StoreError> {
        let values = [MAX_BANS.into()];
        let too_many = &END_OF_BAN_TOO_MANY;
        let end = self.db.value::<i64>(too_many, &values).await?;
        let values = [end.map_or(now_ms, |end| end.max(now_ms)).into()];
        self.db.run(&PRUNE_BANS, &values).await
    }

    /// Ends the ban on a network. Returns `false` if the network was not banned.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn remove(self, network: &str) -> Result<bool, StoreError> {
        let values = [network.into()];
        let removed = self.db.execute(&REMOVE_BAN, &values);
        Ok(removed.await? > 0)
    }
}
