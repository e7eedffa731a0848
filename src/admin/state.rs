//! What the handlers share.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{
    jobs::Jobs, session::KnownSessions, settings::Admin, throttle::Throttle,
    verification::ListFetches,
};

/// Passwords verified at once; each takes 19 MiB for a while.
const VERIFICATIONS: usize = 2;

/// State of the handlers; clones share it.
#[derive(Clone, Debug)]
pub(super) struct AdminState {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    admin: Admin,
    jobs: Jobs,
    list_fetches: ListFetches,
    known_sessions: KnownSessions,
    throttle: Throttle,
    verifications: Semaphore,
}

impl AdminState {
    pub(super) fn new(admin: Admin) -> Self {
        Self {
            inner: Arc::new(Inner {
                admin,
                jobs: Jobs::default(),
                list_fetches: ListFetches::default(),
                known_sessions: KnownSessions::default(),
                throttle: Throttle::default(),
                verifications: Semaphore::new(VERIFICATIONS),
            }),
        }
    }

    pub(super) fn admin(&self) -> &Admin {
        &self.inner.admin
    }

    pub(super) fn jobs(&self) -> &Jobs {
        &self.inner.jobs
    }

    pub(super) fn list_fetches(&self) -> &ListFetches {
        &self.inner.list_fetches
    }

    pub(super) fn known_sessions(&self) -> &KnownSessions {
        &self.inner.known_sessions
    }

    pub(super) fn throttle(&self) -> &Throttle {
        &self.inner.throttle
    }

    pub(super) fn verifications(&self) -> &Semaphore {
        &self.inner.verifications
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.inner.admin.clock.now_ms()
    }
}
