//! The admin pages of an application, and the administrator's first password.

use std::time::Duration;

use axum::Router;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{BuildError, RobotDetection};
use crate::admin::{
    self, Access, Admin, MIN_PASSWORD_CHARS, PasswordError, generate_password, hash_password,
    verify_password,
};
use crate::clock::Clock;
use crate::store::Store;

/// Time after which a database that was away is asked again for a password.
const RETRY: Duration = Duration::from_secs(30);

impl RobotDetection {
    /// Returns the admin pages, which ask for the administrator's password.
    ///
    /// It is an axum router to be nested under any path: use `nest_service`, which answers
    /// with and without the slash at the end. Where the database has no password yet, one
    /// is made and told once in the log, as a warning.
    /// [`admin_password`](super::RobotDetectionBuilder::admin_password) sets one instead,
    /// and so does `robot-detection admin password --database URL`.
    ///
    /// Wrong passwords are counted by the client's address, so serve the application with
    /// `into_make_service_with_connect_info::<SocketAddr>()`, and behind a proxy set
    /// [`client_address`](super::RobotDetectionBuilder::client_address). Where no address
    /// is known, guesses of anybody delay everybody's login.
    ///
    /// # Panics
    ///
    /// Panics outside of a Tokio runtime.
    pub fn admin_router(&self) -> Router {
        let (store, clock) = (self.store().clone(), self.clock().clone());
        let stop = self.parts().stop.clone();
        self.parts().tasks.spawn(async move {
            stop.run_until_cancelled(tell_first_password(store, clock))
                .await;
        });
        self.admin_router_with_login(self.parts().stop.clone())
    }

    /// Returns the admin pages **without a login**, for an application that has its own.
    ///
    /// Whoever reaches them may change everything: put the application's own login around
    /// them, and let administrators pass only. Requests that other sites set in motion are
    /// refused nevertheless.
    pub fn admin_router_without_login(&self) -> Router {
        self.admin_pages(Access::Open, self.parts().stop.clone())
    }

    /// Sets the password that an application wants, as soon as the database is there.
    pub(super) async fn want_password(&self, password: String) -> Result<(), BuildError> {
        if password.chars().count() < MIN_PASSWORD_CHARS {
            return Err(BuildError::ShortPassword(MIN_PASSWORD_CHARS));
        }
        let (store, clock) = (self.store().clone(), self.clock().clone());
        // Where the database is there a failure is the caller's to see; one that is away is waited
        // for.
        if store.absence().is_none() {
            return set_password(&store, &clock, password).await;
        }
        let stop = self.parts().stop.clone();
        self.parts().tasks.spawn(async move {
            let setting = async {
                while let Err(error) = set_password(&store, &clock, password.clone()).await {
                    debug!("the password of the admin pages is not set yet: {error}");
                    tokio::time::sleep(RETRY).await;
                }
            };
            stop.run_until_cancelled(setting).await;
        });
        Ok(())
    }

    /// Returns the pages with a login, whose streams end with `stop`, and makes no password.
    pub(super) fn admin_router_with_login(&self, stop: CancellationToken) -> Router {
        let access = Access::Login {
            secure_cookies: self.parts().secure_cookies,
        };
        self.admin_pages(access, stop)
    }

    fn admin_pages(&self, access: Access, stop: CancellationToken) -> Router {
        let parts = self.parts();
        admin::router(Admin {
            store: parts.store.clone(),
            detector: self.detector().clone(),
            policy: self.policy().clone(),
            enforcer: self.enforcer().clone(),
            sites: parts.shown_sites.clone(),
            live_rules: self.live_rules().clone(),
            reloads: parts.reloads.clone(),
            robot_runs: parts.robot_runs.clone(),
            certificates: parts.certificates.clone(),
            refresher: parts.refresher.clone(),
            traffic: parts.traffic.clone(),
            verifier: self.verifier().clone(),
            ranges: self.ranges_refresher(),
            settings: parts.settings.clone(),
            clock: self.clock().clone(),
            time_zone: parts.time_zone,
            access,
            client_address: parts.common.client_address.clone(),
            hosts: parts.hosts.clone(),
            tasks: parts.tasks.clone(),
            stop,
        })
    }
}

/// Sets the password that an application wants, unless it is set already.
///
/// To set it anew would end all sessions at each start.
async fn set_password(store: &Store, clock: &Clock, password: String) -> Result<(), BuildError> {
    let known = store.admin_password_hash().await?;
    let made = tokio::task::spawn_blocking(move || {
        let is_set = known.is_some_and(|hash| verify_password(&password, &hash));
        (!is_set).then(|| hash_password(&password)).transpose()
    });
    // A task that is not cancelled ends, unless it panics.
    if let Ok(made) = made.await
        && let Some(hash) = made?
    {
        store.set_admin_password_hash(&hash, clock.now_ms()).await?;
    }
    Ok(())
}

/// Makes a password where there is none, and tells it in the log.
async fn tell_first_password(store: Store, clock: Clock) {
    loop {
        match first_password(&store, &clock, new_password).await {
            Ok(Some(password)) => {
                warn!("admin password, shown this once: {password}");
                return;
            }
            Ok(None) => return,
            // A database that is away is waited for.
            Err(BuildError::Store(error)) => {
                debug!("no password for the admin pages yet: {error}");
            }
            Err(error) => {
                warn!("no password for the admin pages was made: {error}");
                return;
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Makes a password where there is none; returns it if the database keeps this one.
async fn first_password(
    store: &Store,
    clock: &Clock,
    make: fn() -> Result<(String, String), PasswordError>,
) -> Result<Option<String>, BuildError> {
    if store.admin_password_hash().await?.is_some() {
        return Ok(None);
    }
    // argon2id is made to be slow: on a worker thread it would hold up requests.
    let made = tokio::task::spawn_blocking(make);
    // A task that is not cancelled ends, unless it panics.
    let Ok(made) = made.await else {
        return Ok(None);
    };
    let (password, hash) = made?;
    let now_ms = clock.now_ms();
    // Of instances that start together one stores its password, and only that one may tell it.
    let is_ours = store.init_admin_password_hash(&hash, now_ms).await?;
    Ok(is_ours.then_some(password))
}

/// Makes a password and its hash.
fn new_password() -> Result<(String, String), PasswordError> {
    let password = generate_password();
    hash_password(&password).map(|hash| (password, hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_that_cannot_be_hashed_is_an_error() {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let clock = Clock::system();
        let too_long = || {
            let password = "x".repeat(10_000);
            hash_password(&password).map(|hash| (password, hash))
        };
        let made = first_password(&store, &clock, too_long).await;
        assert!(matches!(made, Err(BuildError::Password(_))), "{made:?}");
        assert_eq!(store.admin_password_hash().await.unwrap(), None);
        let made = first_password(&store, &clock, new_password).await;
        let password = made.unwrap().expect("the first one");
        let hash = store.admin_password_hash().await.unwrap().unwrap();
        assert!(verify_password(&password, &hash));
    }
}
