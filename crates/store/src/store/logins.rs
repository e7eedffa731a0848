//! Failed logins, counted over all instances.

use super::admin::Access;
use std::time::Duration;

use super::StoreError;

/// The maximum number of clients with failed logins, not counting the combined entry for all
/// clients. If there are more, the entries that expire first are removed.
const MAX_CLIENTS: i64 = 10_000;

/// The time until failed logins are forgotten, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LoginFailures {
    /// The time until the failed logins of the client are forgotten.
    pub client_ms: i64,
    /// The time until the failed logins of all clients together are forgotten.
    pub all_ms: i64,
}

statements! {
    FORGET_LOGIN_FAILURES = "clear the failed logins of a client",
        "DELETE FROM login_failures WHERE client = $1";
    COUNT_LOGIN_FAILURE = "count a failed login",
        "INSERT INTO login_failures (client, forgotten_ms) VALUES ($1, {now} + $2) \
        ON CONFLICT (client) DO UPDATE SET forgotten_ms = CASE \
        WHEN login_failures.forgotten_ms <= {now} THEN {now} + $2 \
        WHEN login_failures.forgotten_ms + $2 > {now} + $3 THEN {now} + $3 \
        ELSE login_failures.forgotten_ms + $2 END";
    LOGIN_FAILURES = "read failed logins",
        "SELECT client, forgotten_ms - {now} FROM login_failures WHERE client IN ($1, $2)";
    PRUNE_LOGIN_FAILURES = "remove old failed logins",
        "DELETE FROM login_failures WHERE forgotten_ms <= {now} OR (client <> $1 \
        AND forgotten_ms <= (SELECT MAX(late.forgotten_ms) FROM (SELECT forgotten_ms \
        FROM login_failures ORDER BY forgotten_ms DESC LIMIT 1 OFFSET $2) AS late))";
}

impl Access<'_> {
    /// Counts a failed login by extending the time until the client's failed logins are forgotten.
    ///
    /// The time is extended by `each`, up to `longest` from now, measured by the database's clock.
    /// Expired entries are removed. If there are over 10,000 clients, the entries that expire first
    /// are also removed, but never `kept`.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn count_login_failure(
        self,
        client: &str,
        kept: &str,
        each: Duration,
        longest: Duration,
    ) -> Result<(), StoreError> {
        let values = [client.into(), ms(each).into(), ms(longest).into()];
        self.db.execute(&COUNT_LOGIN_FAILURE, &values).await?;
        // Password guessing from many addresses must not fill the database.
        let values = [kept.into(), MAX_CLIENTS.into()];
        self.db.run(&PRUNE_LOGIN_FAILURES, &values).await
    }

    /// Returns the time until the failed logins of a client, and of all clients together (`all`),
    /// are forgotten.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn login_failures(
        self,
        client: &str,
        all: &str,
    ) -> Result<LoginFailures, StoreError> {
        let values = [client.into(), all.into()];
        let rows: Vec<(String, i64)> = self.db.rows(&LOGIN_FAILURES, &values).await?;
        let of = |wanted: &str| {
            let row = rows.iter().find(|(client, _)| client == wanted);
            row.map_or(0, |(_, left_ms)| (*left_ms).max(0))
        };
        Ok(LoginFailures {
            client_ms: of(client),
            all_ms: of(all),
        })
    }

    /// Clears the failed logins of a client.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn clear_login_failures(self, client: &str) -> Result<(), StoreError> {
        let values = [client.into()];
        let forget = &FORGET_LOGIN_FAILURES;
        self.db.run(forget, &values).await
    }
}

fn ms(duration: Duration) -> i64 {
    // Far below the maximum, since statements add the value to the time.
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}
