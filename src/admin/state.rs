//! What the handlers share.

use std::{net::IpAddr, sync::Arc};

use axum::http::Extensions;

use super::{
    DEFAULT_SITE, changes::LoginFailureLog, jobs::Jobs, login_limiter::LoginLimiter,
    session::CachedSessions, settings::Admin, verification::ListFetches,
};
use crate::live_rules;
use crate::policy::SharedPolicy;

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

    pub(super) fn login_failures(&self) -> &LoginFailureLog {
        &self.inner.login_failures
    }

    /// Returns the address of a client; the peer of a Unix socket has none.
    pub(super) fn address(&self, extensions: &Extensions) -> Option<IpAddr> {
        let address = self.inner.admin.client_address.find(extensions)?;
        // An IPv4 client on an IPv6 socket is the same as on an IPv4 one, for limits and in the
        // log.
        Some(address.to_canonical()).filter(|address| !address.is_unspecified())
    }

    /// Returns name and policy of each site; of an application, that of its only one.
    pub(super) fn site_policies(&self) -> Vec<(String, SharedPolicy)> {
        let sites = self.admin().sites.load();
        let named = sites
            .iter()
            .map(|site| (site.name.clone(), site.policy.clone()));
        let named: Vec<_> = named.collect();
        if named.is_empty() {
            return vec![(DEFAULT_SITE.to_owned(), self.admin().policy.clone())];
        }
        named
    }

    /// Puts the live rules of the database in force here at once, where who changed them looks next.
    pub(super) async fn take_over_live_rules(&self) {
        let admin = self.admin();
        live_rules::load(&admin.live_rules, &admin.store, &admin.clock, None).await;
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.inner.admin.clock.now_ms()
    }
}
