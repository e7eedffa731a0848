//! What the handlers share.

use std::{net::IpAddr, sync::Arc};

use axum::http::Extensions;

use super::{
    access::Visitor, jobs::Jobs, login_limiter::LoginLimiter, problem::Problem,
    session::CachedSessions, settings::Admin, verification::ListFetches,
};
use crate::store::AuditEntry;

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
    cached_sessions: CachedSessions,
    logins: LoginLimiter,
}

impl AdminState {
    pub(super) fn new(admin: Admin) -> Self {
        Self {
            inner: Arc::new(Inner {
                jobs: Jobs::default(),
                list_fetches: ListFetches::default(),
                cached_sessions: CachedSessions::default(),
                logins: LoginLimiter::new(admin.store.clone(), admin.clock.clone()),
                admin,
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

    pub(super) fn cached_sessions(&self) -> &CachedSessions {
        &self.inner.cached_sessions
    }

    pub(super) fn logins(&self) -> &LoginLimiter {
        &self.inner.logins
    }

    /// Returns the address of a client; the peer of a Unix socket has none.
    pub(super) fn address(&self, extensions: &Extensions) -> Option<IpAddr> {
        let address = self.inner.admin.client_address.find(extensions)?;
        // An IPv4 client on an IPv6 socket is the same as on an IPv4 one, for limits and in the
        // log.
        Some(address.to_canonical()).filter(|address| !address.is_unspecified())
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.inner.admin.clock.now_ms()
    }

    /// Records a change that a visitor made.
    pub(super) async fn record(
        &self,
        visitor: &Visitor,
        event: &str,
        subject: &str,
        detail: &str,
    ) -> Result<(), Problem> {
        let entry = AuditEntry {
            at_ms: self.now_ms(),
            actor: visitor.actor(),
            event: event.to_owned(),
            subject: subject.to_owned(),
            detail: detail.to_owned(),
        };
        Ok(self.inner.admin.store.record_audit(&entry).await?)
    }
}
