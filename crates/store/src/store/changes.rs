//! Change notifications for instances that cache data from the database.

use std::{io, time::Duration};

use sqlx::{
    PgPool,
    postgres::{PgListener, PgNotification},
};
use tokio::sync::watch;

use super::{
    Store, StoreError,
    database::Database,
    error::Engine,
    link::{CHANNELS, Channel, Notices, REGISTRY_VERSION},
    pools::Pools,
    publications::HEAVEN_VERSION,
    statement::Statement,
    transaction::Transaction,
};

/// The interval at which `SQLite` is polled for changes.
const POLL: Duration = Duration::from_millis(250);

/// The interval at which the version of a site's heaven pages is polled on both engines; each poll
/// reads a single row by key.
const HEAVEN_POLL: Duration = Duration::from_millis(500);

/// The interval at which `PostgreSQL` is polled, in case a notification is lost.
const SLOW_POLL: Duration = Duration::from_secs(30);

/// The delay before a failed database is tried again.
const RETRY: Duration = Duration::from_secs(1);

// sqlx writes the SQL of `LISTEN`; this statement only provides the text for errors.
static LISTEN: Statement = Statement::new("listen for changes", "");

/// The statement that notifies the other instances upon commit; `PostgreSQL` only.
pub(super) static NOTIFY: Statement = Statement::new(
    "notify the other instances",
    "SELECT CAST(pg_notify($1, '') AS TEXT)",
);

impl Store {
    /// Returns a number that increases with every change to the robots table.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn registry_version(&self) -> Result<i64, StoreError> {
        let (version,) = self.database.one(&REGISTRY_VERSION, &[]).await?;
        Ok(version)
    }

    /// Waits until the registry version differs from `seen`. Returns the new version.
    ///
    /// `PostgreSQL` notifies immediately; `SQLite` is polled every 250 ms. While the database is
    /// unavailable, the call retries every second. The future may be dropped at any time.
    ///
    /// # Errors
    ///
    /// Returns an error if the store was closed, or if a permanent failure occurs.
    pub async fn registry_changed(&self, seen: i64) -> Result<i64, StoreError> {
        let look = || self.registry_version();
        self.database.changed(Channel::Registry, &seen, look).await
    }

    /// Returns a number that increases with every change to a site's published heaven pages.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn heaven_version(&self, site: &str) -> Result<i64, StoreError> {
        let version = self.database.value(&HEAVEN_VERSION, &[site.into()]).await?;
        Ok(version.unwrap_or(0))
    }

    /// Waits until the version of a site's heaven pages differs from `seen`. Returns the new
    /// version.
    ///
    /// The database is polled twice a second, or once a second while it is unavailable. The future
    /// may be dropped at any time.
    ///
    /// # Errors
    ///
    /// Returns an error if the store was closed, or if a permanent failure occurs.
    pub async fn heaven_changed(&self, site: &str, seen: i64) -> Result<i64, StoreError> {
        loop {
            match self.heaven_version(site).await {
                Ok(version) if version != seen => return Ok(version),
                Ok(_) => tokio::time::sleep(HEAVEN_POLL).await,
                Err(error) if error.is_temporary() && !self.database.link.is_closed() => {
                    tracing::debug!(%error, "waiting for the database: {error}");
                    tokio::time::sleep(RETRY).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Database {
    /// Waits until `look` returns a value other than `seen`, and returns that value.
    pub(super) async fn changed<T, L>(
        &self,
        channel: Channel,
        seen: &T,
        look: impl Fn() -> L,
    ) -> Result<T, StoreError>
    where
        T: PartialEq,
        L: Future<Output = Result<T, StoreError>>,
    {
        loop {
            match self.wait_for_change(channel, seen, &look).await {
                // A closed store fails like an unavailable one; retrying would never end.
                Err(error) if error.is_temporary() && !self.link.is_closed() => {
                    tracing::debug!(%error, "waiting for the database: {error}");
                    tokio::time::sleep(RETRY).await;
                }
                result => return result,
            }
        }
    }

    async fn wait_for_change<T, L>(
        &self,
        channel: Channel,
        seen: &T,
        look: &impl Fn() -> L,
    ) -> Result<T, StoreError>
    where
        T: PartialEq,
        L: Future<Output = Result<T, StoreError>>,
    {
        // Listening starts before the first look, so that no change is missed.
        let mut notices = ChangeListener::new(self, channel).await?;
        loop {
            let heard = notices.heard();
            let now = look().await?;
            if now != *seen {
                return Ok(now);
            }
            let next = notices.next(heard).await;
            next.map_err(|error| self.error(&LISTEN, &error))?;
        }
    }
}

enum ChangeListener {
    Poll,
    Listen(Notices, Channel),
}

impl ChangeListener {
    async fn new(database: &Database, channel: Channel) -> Result<Self, StoreError> {
        let failed = |error| database.error(&LISTEN, &error);
        match database.link.pools().map_err(failed)? {
            Pools::Sqlite { .. } => Ok(Self::Poll),
            Pools::Postgres(pool) => {
                let notices = notices(database, &pool).await.map_err(failed)?;
                Ok(Self::Listen(notices, channel))
            }
        }
    }

    /// Returns the number of notifications so far.
    fn heard(&self) -> u64 {
        match self {
            Self::Poll => 0,
            Self::Listen(notices, channel) => count(&notices.borrow(), *channel),
        }
    }

    /// Waits until there are more notifications than `heard`, but no longer than the polling
    /// interval.
    async fn next(&mut self, heard: u64) -> Result<(), sqlx::Error> {
        match self {
            Self::Poll => {
                tokio::time::sleep(POLL).await;
                Ok(())
            }
            // A notification, a reconnect, or the polling interval.
            Self::Listen(notices, channel) => {
                let news = notices.wait_for(|counts| count(counts, *channel) != heard);
                match tokio::time::timeout(SLOW_POLL, news).await {
                    Ok(Err(_)) => Err(io::Error::from(io::ErrorKind::NotConnected).into()),
                    Ok(Ok(_)) | Err(_) => Ok(()),
                }
            }
        }
    }
}

/// Returns the number of notifications on a channel.
fn count(counts: &[u64; CHANNELS.len()], channel: Channel) -> u64 {
    counts.get(channel as usize).copied().unwrap_or_default()
}

/// Returns the notifications from the connection that listens on all channels.
async fn notices(database: &Database, pool: &PgPool) -> Result<Notices, sqlx::Error> {
    let mut shared = database.link.notices.lock().await;
    if let Some(notices) = &*shared
        && notices.has_changed().is_ok()
    {
        return Ok(notices.clone());
    }
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen_all(CHANNELS.map(Channel::name)).await?;
    let (sender, notices) = watch::channel([0; CHANNELS.len()]);
    #[expect(
        clippy::disallowed_methods,
        reason = "closing the pool ends the task and waits for the task's connection"
    )]
    tokio::spawn(async move {
        tokio::select! {
            // The database handle was dropped.
            () = sender.closed() => {}
            _error = forward(listener, &sender) => {}
        }
    });
    *shared = Some(notices.clone());
    Ok(notices)
}

/// Counts notifications until the database fails or the store is closed.
async fn forward(
    mut listener: PgListener,
    sender: &watch::Sender<[u64; CHANNELS.len()]>,
) -> sqlx::Error {
    loop {
        let notice = match listener.try_recv().await {
            Ok(notice) => notice,
            Err(error) => return error,
        };
        sender.send_modify(|counts| {
            for (count, channel) in counts.iter_mut().zip(CHANNELS) {
                // `None`: the connection was lost, perhaps along with notifications on any channel.
                let is_meant = |notice: &PgNotification| notice.channel() == channel.name();
                *count += u64::from(notice.as_ref().is_none_or(is_meant));
            }
        });
    }
}

/// Notifies the other instances of a change when the transaction commits. Does nothing on `SQLite`,
/// where instances poll for changes.
pub(super) async fn notify(
    transaction: &mut Transaction<'_>,
    channel: Channel,
) -> Result<(), StoreError> {
    if transaction.engine() == Engine::Postgres {
        let values = [channel.name().into()];
        transaction.execute(&NOTIFY, &values).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn change_during_the_look_is_not_missed() {
        let (sender, notices) = watch::channel([0; CHANNELS.len()]);
        let mut listener = ChangeListener::Listen(notices, Channel::Registry);
        let heard = listener.heard();
        sender.send_modify(|counts| counts[Channel::Registry as usize] += 1);
        let start = tokio::time::Instant::now();
        listener.next(heard).await.unwrap();
        assert!(start.elapsed() < SLOW_POLL);
    }
}
