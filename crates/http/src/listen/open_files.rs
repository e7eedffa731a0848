//! The process's limit on open files, and the number of clients that the limit allows.

use std::{fmt, sync::Arc};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The minimum and maximum number of files reserved for the database, DNS queries, downloads, logs
/// and pages. Between these bounds, an eighth of all files is reserved.
const MIN_KEPT_BACK: u64 = 64;
const MAX_KEPT_BACK: u64 = 256;
/// The number of files that a serving thread needs: three for its runtime, one for each of two
/// listeners, and one for an accepted connection that is waiting for its permit.
const FILES_OF_A_THREAD: u64 = 6;
/// The maximum number of clients of the separate listener for administrators.
pub const ADMIN_CLIENTS: usize = 16;

/// The limit on the number of files that the process may have open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OpenFileLimit {
    soft: u64,
    /// The hard limit on open files, to which the soft limit may be raised.
    hard: u64,
}

/// The number of clients that the limit on open files and the settings allow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClientCapacity {
    files: u64,
    /// The maximum number of concurrent clients that the limit and the settings allow.
    pub clients: usize,
    wanted: usize,
}

/// The permits shared by the clients of all listeners.
#[derive(Clone, Debug)]
pub struct ClientPermits {
    permits: Arc<Semaphore>,
}

impl OpenFileLimit {
    /// Returns the current limit on open files, or `None` if there is no limit or it is unknown.
    #[cfg(target_os = "linux")]
    pub fn current() -> Option<Self> {
        use rustix::process::{Resource, getrlimit};
        let limit = getrlimit(Resource::Nofile);
        let soft = limit.current?;
        Some(Self {
            soft,
            hard: limit.maximum.unwrap_or(u64::MAX),
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn current() -> Option<Self> {
        None
    }

    /// Raises the soft limit on open files to the hard limit, if allowed.
    #[cfg(target_os = "linux")]
    pub fn raise() {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            limit.current = limit.maximum;
            // If the limit cannot be raised, it stays, and a warning is logged later if it is too
            // low.
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub fn raise() {}

    /// Returns the limit that applies after the soft limit has been raised.
    #[must_use]
    pub fn raised(self) -> Self {
        Self {
            soft: self.hard,
            ..self
        }
    }

    /// Returns the number of clients that the limit on open files allows, given the wanted number.
    pub fn client_capacity(self, threads: usize, wanted: usize) -> ClientCapacity {
        ClientCapacity {
            files: self.soft,
            clients: self.clients(threads),
            wanted,
        }
    }

    /// Returns the number of concurrent clients that the limit allows, if each has a connection to
    /// an upstream.
    fn clients(self, threads: usize) -> usize {
        let threads = u64::try_from(threads).unwrap_or(u64::MAX);
        let of_threads = threads.saturating_mul(FILES_OF_A_THREAD);
        let kept_back = (self.soft / 8).clamp(MIN_KEPT_BACK, MAX_KEPT_BACK);
        let left = self
            .soft
            .saturating_sub(kept_back.saturating_add(of_threads));
        usize::try_from(left / 2).unwrap_or(usize::MAX).max(1)
    }
}

impl ClientCapacity {
    /// Returns `true` if the limit allows all clients that the settings allow.
    pub fn is_enough(self) -> bool {
        self.clients >= self.wanted
    }
}

impl fmt::Display for ClientCapacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            files,
            clients,
            wanted,
        } = self;
        if self.is_enough() {
            return write!(
                f,
                "the limit of {files} open files is sufficient for {wanted} clients"
            );
        }
        write!(
            f,
            "the limit of {files} open files is sufficient for {clients} concurrent clients, each with a \
             connection to an upstream, but max_connections allows {wanted}; other clients have to wait: \
             raise the limit (LimitNOFILE= in the service, or ulimit -n), or lower server.max_connections"
        )
    }
}

impl ClientPermits {
    /// Creates permits for the given number of clients.
    pub fn new(clients: usize) -> Self {
        let clients = clients.min(Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(clients)),
        }
    }

    /// Waits for a permit to accept one client.
    pub(super) async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_leave_files_for_upstreams_and_reserves() {
        for (soft, threads, clients) in [
            (0, 2, 1),
            (64, 2, 1),
            (160, 2, 42),
            (1_024, 2, 442),
            (65_536, 8, 32_616),
            (u64::MAX, 8, usize::MAX / 2 - 152),
        ] {
            let limit = OpenFileLimit { soft, hard: soft };
            assert_eq!(limit.clients(threads), clients, "{soft}");
        }
        assert_eq!(
            ClientPermits::new(usize::MAX).permits.available_permits(),
            Semaphore::MAX_PERMITS
        );
    }

    #[tokio::test]
    async fn permit_is_returned() {
        let permits = ClientPermits::new(1);
        let first = permits.acquire().await;
        let mut second = tokio_test_poll(permits.acquire());
        assert!(second.is_none());
        drop(first);
        second = tokio_test_poll(permits.acquire());
        assert!(second.is_some());
    }

    fn tokio_test_poll<F: Future>(future: F) -> Option<F::Output> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(future).poll(&mut context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }
}
