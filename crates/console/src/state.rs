//! The state shared by all handlers.

use std::{net::IpAddr, sync::Arc};

use axum::http::Extensions;

use super::{
    access::Visitor,
    jobs::Jobs,
    login_limiter::{LoginFailureLog, LoginLimiter},
    session::CachedSessions,
    settings::Admin,
    verification::ListFetches,
};
use robot_detection_operations::{Caller, Operations};

/// The state shared by all handlers; clones refer to the same state.
#[derive(Clone, Debug)]
pub(super) struct AdminState {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    admin: Admin,
    jobs: Jobs,
    list_fetches: ListFetches,
    cached_sessions: CachedSessions,
    logins: LoginLimiter,
    login_failures: LoginFailureLog,
}

impl AdminState {
    pub(super) fn new(admin: Admin) -> Self {
        Self {
            inner: Arc::new(Inner {
                jobs: Jobs::default(),
                list_fetches: ListFetches::default(),
                login_failures: LoginFailureLog::default(),
                cached_sessions: CachedSessions::default(),
                logins: LoginLimiter::new(
                    admin.operations.store.clone(),
                    admin.operations.clock.clone(),
                ),
                admin,
            }),
        }
    }

    pub(super) fn admin(&self) -> &Admin {
        &self.inner.admin
    }

    pub(super) fn operations(&self) -> &Operations {
        &self.inner.admin.operations
    }

    /// Returns the caller for operations that do not change anything.
    pub(super) fn caller(&self) -> Caller<'_> {
        self.caller_as(&Visitor::Nobody)
    }

    /// Returns the caller that represents a visitor in an operation.
    pub(super) fn caller_as(&self, visitor: &Visitor) -> Caller<'_> {
        Caller {
            store: &self.operations().store,
            now_ms: self.now_ms(),
            actor: visitor.actor(),
            ends_ms: match visitor {
                Visitor::Bearer(token) => token.ends_ms,
                Visitor::Open | Visitor::Session { .. } | Visitor::Nobody => None,
            },
            warn: |text| tracing::warn!("{text}"),
        }
    }

    pub(super) fn jobs(&self) -> &Jobs {
        &self.inner.jobs
    }

    pub(super) fn list_fetches(&self) -> &ListFetches {
        &self.inner.list_fetches
    }

    pub(super) fn cached_sessions(&self) -> &CachedSessions {
        &self.inner.cached_sessions
    }

    pub(super) fn logins(&self) -> &LoginLimiter {
        &self.inner.logins
    }

    pub(super) fn login_failures(&self) -> &LoginFailureLog {
        &self.inner.login_failures
    }

    /// Returns a client's address; the peer of a Unix socket has no address.
    pub(super) fn address(&self, extensions: &Extensions) -> Option<IpAddr> {
        let address = self.inner.admin.client_address.find(extensions)?;
        // An IPv4 client has the same address on an IPv6 socket as on an IPv4 socket, for limits
        // and in the log.
        Some(address.to_canonical()).filter(|address| !address.is_unspecified())
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.operations().now_ms()
    }
}
