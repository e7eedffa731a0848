//! Leases: exclusive rights, which ensure that only one of several instances does a job.
//!
//! The row of a lease contains its holder and its expiry by the database's clock. Changes reserved
//! for the holder check this row within their own transaction. The holder also owns a
//! [`ProcessLock`] that ends with the process, so that a killed process does not block others.

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

/// The maximum duration of a lease: a hundred years, to avoid overflows in time calculations.
const LONGEST_LIFE_MS: i64 = 100 * 366 * 24 * 60 * 60 * 1_000;

/// The maximum number of attempts to acquire a lease while other processes keep acquiring and
/// releasing it.
const ATTEMPTS: usize = 5;

/// An exclusive right to do a job until the lease is released or expires.
///
/// A lease also ends when its process exits or the value is dropped. This is ensured by a lock file
/// next to an `SQLite` database file, or by a separate `PostgreSQL` session. With an in-memory
/// database, a lease ends only when it is released or expires.
#[derive(Debug)]
pub struct Lease {
    database: Arc<Database>,
    name: String,
    holder: String,
    life_ms: i64,
    process_lock: Mutex<ProcessLock>,
}

/// The error returned when a lease cannot be acquired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// Another process or task holds the lease.
    #[error("already running {0}")]
    Held(LeaseHolder),
    /// The database query failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

columns! {
    /// The process that holds a lease, and the time when the lease expires unless it is renewed.
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub struct LeaseHolder {
        holder: String,
        until_ms: i64,
    }
}

statements! {
    LEASE_HOLDER = "read the holder of a lease",
        "SELECT holder, until_ms FROM leases WHERE name = $1";
    RELEASE_LEASE = "release a lease",
        "DELETE FROM leases WHERE name = $1 AND holder = $2";
    // A single statement: if several processes find an expired lease, only one acquires it.
    ACQUIRE_LEASE = "acquire a lease",
        "INSERT INTO leases (name, holder, until_ms) VALUES ($1, $2, {now} + $3) \
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms \
        WHERE leases.until_ms <= {now}";
    RENEW_LEASE = "renew a lease",
        "UPDATE leases SET until_ms = {now} + $3 WHERE name = $1 AND holder = $2";
    LIVE_LEASE_HOLDER = "read the current holder of a lease",
        "SELECT holder, until_ms FROM leases WHERE name = $1 AND until_ms > {now}";
    MARK_ALIVE = "record that a holder is alive",
        "INSERT INTO leases (name, holder, until_ms) VALUES ($1, $2, {now} + $3) \
        ON CONFLICT (name) DO UPDATE SET until_ms = excluded.until_ms";
}

handle! {
    /// Access to the leases for jobs that must run on only one instance at a time.
    Leases, leases
}

impl Leases<'_> {
    /// Acquires a lease that is free, has expired, or is held by a process that has ended.
    ///
    /// The caller holds the lease for the duration `life`, measured by the database's clock. If
    /// several instances try at the same time, only one succeeds; the same applies to tasks of the
    /// same process.
    ///
    /// # Errors
    ///
    /// Returns `Held` if another process or task holds the lease, and `Store` if the query fails.
    pub async fn acquire(self, name: &str, life: Duration) -> Result<Lease, LeaseError> {
        // Checked first, so that unsuccessful attempts open no database session.
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
            // Acquired before the row: other processes must not see the row without the lock.
            process_lock: Mutex::new(ProcessLock::acquire(self.db, key).await?),
        };
        for _ in 0..ATTEMPTS {
            // Checked for expired leases too, to clean up after their holders.
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
                "cannot acquire the lease {name:?}: other processes keep acquiring it; try again"
            ),
        )))
    }

    /// Returns the current holder of a lease, or the previous holder if it did not release the
    /// lease.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn holder(self, name: &str) -> Result<Option<LeaseHolder>, StoreError> {
        self.db.first(&LEASE_HOLDER, &[name.into()]).await
    }

    /// Returns the holder of a lease that has not expired.
    async fn live_lease_holder(self, name: &str) -> Result<Option<LeaseHolder>, StoreError> {
        self.db.first(&LIVE_LEASE_HOLDER, &[name.into()]).await
    }

    /// Removes the row of a lease; does nothing if the lease is now held by another process.
    pub(super) async fn free_lease(self, name: &str, holder: &str) -> Result<(), StoreError> {
        let values = [name.into(), holder.into()];
        self.db.run(&RELEASE_LEASE, &values).await
    }

    /// Returns `true` if the process of a lease holder is known to have ended.
    async fn has_ended(self, other: &LeaseHolder) -> Result<bool, StoreError> {
        match other.parts() {
            Some((key, ..)) => process_lock::is_gone(self.db, key).await,
            // Holders with another name format cannot be checked.
            None => Ok(false),
        }
    }
}

impl Lease {
    /// Returns the database that contains the lease.
    pub(super) fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Extends the lease. Returns `false` if it has expired and another process has acquired it.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn renew(&self) -> Result<bool, StoreError> {
        let database = &self.database;
        self.process_lock.lock().await.reconnect(database).await?;
        let renew = &RENEW_LEASE;
        let values = values![self; name, holder, life_ms];
        Ok(database.execute(renew, &values).await? > 0)
    }

    /// Releases the lease. If this fails, the lease ends when its process ends or when it expires.
    pub async fn release(self) {
        let leases = Leases { db: &self.database };
        if let Err(error) = leases.free_lease(&self.name, &self.holder).await {
            debug!(lease = %self.name, "could not release the lease {}: {error}", self.name);
        }
        self.process_lock.into_inner().release().await;
    }

    /// Makes the transaction fail unless the lease is still held, and blocks other holders until
    /// the transaction ends.
    ///
    /// A check beforehand is not sufficient, because the process could freeze between the check and
    /// the change.
    pub(super) async fn guard(&self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        // An update instead of a select, because it locks the row until the transaction ends.
        let renew = &RENEW_LEASE;
        let values = values![self; name, holder, life_ms];
        match transaction.execute(renew, &values).await? {
            0 => Err(StoreError::new(
                StoreErrorKind::LeaseLost,
                format!(
                    "the lease {:?} expired and was acquired by another process",
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
    /// Returns the instance ID of the process that a lease row specifies.
    pub(super) fn instance_of(holder: &str) -> Option<String> {
        let (key, _) = holder.split_once(' ')?;
        let key = u64::from_str_radix(key, 16).ok()?;
        Some(process_lock::instance_of(key))
    }

    /// Returns the key, process ID and host name of the holder.
    fn parts(&self) -> Option<(u64, u32, &str)> {
        // Three parts: the host name is the rest, since "an unnamed host" contains spaces.
        let mut parts = self.holder.splitn(3, ' ');
        let key = u64::from_str_radix(parts.next()?, 16).ok()?;
        Some((key, parts.next()?.parse().ok()?, parts.next()?))
    }
}

/// The lease holder is formatted to continue a sentence such as "a refresh is already running".
impl fmt::Display for LeaseHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            Some((_, pid, host)) => write!(f, "in process {pid} on {host}")?,
            None => f.write_str("in another process")?,
        }
        let until = u64::try_from(self.until_ms).ok().and_then(|until_ms| {
            let until = UNIX_EPOCH.checked_add(Duration::from_millis(until_ms))?;
            // Dates after the year 9999 cannot be formatted.
            (until_ms < 253_402_300_800_000).then(|| httpdate::fmt_http_date(until))
        });
        match until {
            Some(until) => write!(f, ", with a lease until {until}"),
            None => Ok(()),
        }
    }
}

/// Formats the name of a lease holder: key, process ID and host name.
fn holder_text(key: u64) -> String {
    format!("{key:016x} {} {}", std::process::id(), host())
}

/// Returns the host name as reported by Linux.
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
    fn holder_is_displayed_as_process_and_host() {
        assert_eq!(
            told("00000000000000ff 4711 web 1", 1_795_446_000_000),
            "in process 4711 on web 1, with a lease until Mon, 23 Nov 2026 15:00:00 GMT"
        );
        let ours = holder_text(7);
        let ours = told(&ours, 0);
        assert!(ours.starts_with(&format!("in process {} on ", std::process::id())));
    }

    #[test]
    fn unknown_holder_is_displayed_as_another_process() {
        for holder in ["", "17", "x 17 y", "ff x y", "another holder here"] {
            assert!(
                told(holder, 1).starts_with("in another process, with"),
                "{holder}"
            );
        }
        for until_ms in [i64::MIN, -1, i64::MAX] {
            assert_eq!(told("", until_ms), "in another process");
        }
    }
}
