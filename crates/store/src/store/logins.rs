//! Failed logins, counted together by all instances.

use super::admin::Access;
use std::time::Duration;

use super::{StoreError, sql};

/// Clients that are remembered beside the one that stands for all; the others are the
/// soonest to be forgotten.
const MAX_CLIENTS: i64 = 10_000;

/// Milliseconds until failed logins are forgotten.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LoginFailures {
    /// Until those of the client are.
    pub client_ms: i64,
    /// Until those of all clients together are.
    pub all_ms: i64,
}

impl Access<'_> {
    /// Counts a failed login: it takes `each` longer until the client's are forgotten.
    ///
    /// No more than `longest` from now, by the database's clock. What is over is removed,
    /// and of more than 10,000 clients those that would be forgotten first; `kept` is never.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn count_login_failure(
        self,
        client: &str,
        kept: &str,
        each: Duration,
        longest: Duration,
    ) -> Result<(), StoreError> {
        let engine = self.store.database.place.engine;
        let values = [client.into(), ms(each).into(), ms(longest).into()];
        let count = sql::count_login_failure(engine);
        self.store.database.execute(&count, &values).await?;
        // Somebody who guesses from many addresses must not fill the database.
        let prune = sql::prune_login_failures(engine);
        let values = [kept.into(), MAX_CLIENTS.into()];
        self.store
            .database
            .execute(&prune, &values)
            .await
            .map(|_| ())
    }

    /// Returns how long it takes until failed logins are forgotten, of a client and of `all`.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn login_failures(
        self,
        client: &str,
        all: &str,
    ) -> Result<LoginFailures, StoreError> {
        let statement = sql::login_failures(self.store.database.place.engine);
        let values = [client.into(), all.into()];
        let rows: Vec<(String, i64)> = self.store.database.rows(&statement, &values).await?;
        let of = |wanted: &str| {
            let row = rows.iter().find(|(client, _)| client == wanted);
            row.map_or(0, |(_, left_ms)| (*left_ms).max(0))
        };
        Ok(LoginFailures {
            client_ms: of(client),
            all_ms: of(all),
        })
    }

    /// Forgets the failed logins of a client.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn forget_login_failures(self, client: &str) -> Result<(), StoreError> {
        let values = [client.into()];
        let forget = &sql::FORGET_LOGIN_FAILURES;
        let forgotten = self.store.database.execute(forget, &values);
        forgotten.await.map(|_| ())
    }
}

fn ms(duration: Duration) -> i64 {
    // Far from the largest number, as statements add it to the time.
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}
