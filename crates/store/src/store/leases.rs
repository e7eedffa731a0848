//! Leases: one instance of a fleet works, the others need not.
//!
//! A row says who has a lease and until when, by the database's time. What changes for
//! the holder alone looks at that row in its own transaction. Beside it the holder keeps
//! a [`ProcessLock`] that ends with its process, so that nobody waits for one that was killed.

use std::{
    fmt, fs,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use tokio::sync::Mutex;
use tracing::debug;

use super::{
    StoreError, StoreErrorKind,
    database::Database,
    process_lock::{self, ProcessLock},
    transaction::Transaction,
};

/// Longest life of a lease: a hundred years, with which no sum overflows.
const LONGEST_LIFE_MS: i64 = 100 * 366 * 24 * 60 * 60 * 1_000;

/// Attempts to take a lease that others give back, or lose, at the same time.
const ATTEMPTS: usize = 5;

/// Exclusive right to some work, until it is released or expires.
///
/// It ends with its process too, and when it is dropped: on a file, by a lock beside the
/// database, on `PostgreSQL` with a session of its own. Of a database in memory only a
/// release or the time ends it.
#[derive(Debug)]
pub struct Lease {
    database: Arc<Database>,
    name: String,
    holder: String,
    life_ms: i64,
    process_lock: Mutex<ProcessLock>,
}

/// Error of a lease that could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// Somebody has it.
    #[error("it is under way already, {0}")]
    Held(LeaseHolder),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

columns! {
    /// Process that holds a lease, and how long it keeps it unless renewed.
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub struct LeaseHolder {
        holder: String,
        until_ms: i64,
    }
}

statements! {
    LEASE_HOLDER = "read who has a lease",
        "SELECT holder, until_ms FROM leases WHERE name = $1";
    RELEASE_LEASE = "give a lease back",
        "DELETE FROM leases WHERE name = $1 AND holder = $2";
    // One statement: of those who find a lease that has expired, the row lets one have it.
    ACQUIRE_LEASE = "take a lease",
        "INSERT INTO leases (name, holder, until_ms) VALUES ($1, $2, {now} + $3) \
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms \
        WHERE leases.until_ms <= {now}";
    RENEW_LEASE = "renew a lease",
        "UPDATE leases SET until_ms = {now} + $3 WHERE name = $1 AND holder = $2";
    LIVE_LEASE_HOLDER = "read who has a lease now",
        "SELECT holder, until_ms FROM leases WHERE name = $1 AND until_ms > {now}";
    MARK_ALIVE = "show that a holder is alive",
        "INSERT INTO leases (name, holder, until_ms) VALUES ($1, $2, {now} + $3) \
        ON CONFLICT (name) DO UPDATE SET until_ms = excluded.until_ms";
}

handle! {
    /// Leases for jobs that one instance runs for all.
    Leases, leases
}

impl Leases<'_> {
    /// Acquires a lease that is free, has expired, or whose holder's process has ended.
    ///
    /// It is the caller's for `life`, by the database's clock. Of any number of instances
    /// that try at once one gets it; two tasks of one process exclude each other too.
    ///
    /// # Errors
    ///
    /// `Held` while somebody else has it; else as the database fails.
    pub async fn acquire(self, name: &str, life: Duration) -> Result<Lease, LeaseError> {
        // Who only looks whether he is needed opens no session for that.
        if let Some(other) = self.live_lease_holder(name).await?
            && !self.has_ended(&other).await?
        {
            return Err(LeaseError::Held(other));
        }
        let key = process_lock::new_key();
        let lease = Lease {
            database: Arc::clone(self.db),
            name: name.to_owned(),
            holder: holder_text(key),
            life_ms: i64::try_from(life.as_millis())
                .unwrap_or(i64::MAX)
                .min(LONGEST_LIFE_MS),
            // Before the row, which nobody may see without it.
            process_lock: Mutex::new(ProcessLock::acquire(self.db, key).await?),
        };
        for _ in 0..ATTEMPTS {
            // Also where its time is over: what it has left is cleared away.
            let other = self.holder(name).await?;
            let alive = match other {
                Some(other) if self.has_ended(&other).await? => {
                    self.free_lease(name, &other.holder).await?;
                    None
                }
                other => other,
            };
            if lease.take().await? {
                return Ok(lease);
            }
            if let Some(other) = alive {
                return Err(LeaseError::Held(other));
            }
        }
        Err(LeaseError::Store(StoreError::new(
            StoreErrorKind::Busy,
            format!(
                "cannot take the lease {name:?}: others take and return it all the time; try again"
            ),
        )))
    }

    /// Returns who has a lease, or had it last and did not give it back.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn holder(self, name: &str) -> Result<Option<LeaseHolder>, StoreError> {
        self.db.first(&LEASE_HOLDER, &[name.into()]).await
    }

    /// Returns who has a lease whose time is not over.
    async fn live_lease_holder(self, name: &str) -> Result<Option<LeaseHolder>, StoreError> {
        self.db.first(&LIVE_LEASE_HOLDER, &[name.into()]).await
    }

    /// Removes the row of a lease; does nothing if somebody else has it now.
    pub(super) async fn free_lease(self, name: &str, holder: &str) -> Result<(), StoreError> {
        let values = [name.into(), holder.into()];
        self.db.run(&RELEASE_LEASE, &values).await
    }

    /// Returns `true` if the process that had a lease is known to have ended.
    async fn has_ended(self, other: &LeaseHolder) -> Result<bool, StoreError> {
        match other.parts() {
            Some((key, ..)) => process_lock::is_gone(self.db, key).await,
            // Of holders that were named otherwise nothing is known.
            None => Ok(false),
        }
    }
}

impl Lease {
    /// Returns the database that the lease is in.
    pub(super) fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Extends the lease; returns `false` if it had ended and somebody else took it.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn renew(&self) -> Result<bool, StoreError> {
        let database = &self.database;
        self.process_lock.lock().await.reconnect(database).await?;
        let renew = &RENEW_LEASE;
        let values = values![self; name, holder, life_ms];
        Ok(database.execute(renew, &values).await? > 0)
    }

    /// Releases the lease; if that fails, it ends with its process or its time.
    pub async fn release(self) {
        let leases = Leases { db: &self.database };
        if let Err(error) = leases.free_lease(&self.name, &self.holder).await {
            debug!(lease = %self.name, "the lease {} was not released: {error}", self.name);
        }
        self.process_lock.into_inner().release().await;
    }

    /// Fails a transaction unless the lease is still held; nobody takes it until it ends.
    ///
    /// A process that was frozen after it looked would not know better.
    pub(super) async fn guard(&self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        // An update rather than a select: it locks the row until the transaction ends.
        let renew = &RENEW_LEASE;
        let values = values![self; name, holder, life_ms];
        match transaction.execute(renew, &values).await? {
            0 => Err(StoreError::new(
                StoreErrorKind::LeaseLost,
                format!(
                    "the lease {:?} had ended, and another process has taken it",
                    self.name
                ),
            )),
            _ => Ok(()),
        }
    }

    async fn take(&self) -> Result<bool, StoreError> {
        let database = &self.database;
        let acquire = &ACQUIRE_LEASE;
        let values = values![self; name, holder, life_ms];
        Ok(database.execute(acquire, &values).await? > 0)
    }
}

impl LeaseHolder {
    /// Returns the name of the process that a row of leases names.
    pub(super) fn instance_of(holder: &str) -> Option<String> {
        let (key, _) = holder.split_once(' ')?;
        let key = u64::from_str_radix(key, 16).ok()?;
        Some(process_lock::instance_of(key))
    }

    /// Returns key, process and host.
    fn parts(&self) -> Option<(u64, u32, &str)> {
        // Three parts: the name of a host is the rest, and "an unnamed host" has spaces.
        let mut parts = self.holder.splitn(3, ' ');
        let key = u64::from_str_radix(parts.next()?, 16).ok()?;
        Some((key, parts.next()?.parse().ok()?, parts.next()?))
    }
}

/// Completes a sentence such as "a refresh is running already".
impl fmt::Display for LeaseHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            Some((_, pid, host)) => write!(f, "in process {pid} on {host}")?,
            None => f.write_str("in another process")?,
        }
        let until = u64::try_from(self.until_ms).ok().and_then(|until_ms| {
            let until = UNIX_EPOCH.checked_add(Duration::from_millis(until_ms))?;
            // Beyond the year 9999 no date is written.
            (until_ms < 253_402_300_800_000).then(|| httpdate::fmt_http_date(until))
        });
        match until {
            Some(until) => write!(f, ", which has it until {until} at the latest"),
            None => Ok(()),
        }
    }
}

/// Returns how a holder is named: key, process, host.
fn holder_text(key: u64) -> String {
    format!("{key:016x} {} {}", std::process::id(), host())
}

/// Returns the name of this machine, as Linux tells it.
pub(super) fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String = name
        .trim()
        .chars()
        .filter(char::is_ascii_graphic)
        .take(64)
        .collect();
    if name.is_empty() {
        "an unnamed host".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(holder: &str, until_ms: i64) -> String {
        let holder = holder.to_owned();
        LeaseHolder { holder, until_ms }.to_string()
    }

    #[test]
    fn a_holder_is_told_by_its_process_and_host() {
        assert_eq!(
            told("00000000000000ff 4711 web 1", 1_795_446_000_000),
            "in process 4711 on web 1, which has it until Mon, 23 Nov 2026 15:00:00 GMT at the latest"
        );
        let ours = holder_text(7);
        let ours = told(&ours, 0);
        assert!(ours.starts_with(&format!("in process {} on ", std::process::id())));
    }

    #[test]
    fn a_holder_of_which_nothing_is_known_is_told_too() {
        for holder in ["", "17", "x 17 y", "ff x y", "somebody else here"] {
            assert!(
                told(holder, 1).starts_with("in another process, which"),
                "{holder}"
            );
        }
        for until_ms in [i64::MIN, -1, i64::MAX] {
            assert_eq!(told("", until_ms), "in another process");
        }
    }
}
