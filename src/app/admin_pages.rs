//! The admin pages of an application, and the initial administrator password.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use axum::Router;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{BuildError, RobotDetection};
use crate::admin::{self, Access, Admin};
use crate::clock::Clock;
use crate::live_rules::StateFile;
use crate::operations::{
    MIN_PASSWORD_CHARS, PasswordError, generate_password, hash_password, verify_password,
};
use crate::store::Store;

/// The delay before the password is looked up again in a database that was unavailable.
const RETRY: Duration = Duration::from_secs(30);

impl RobotDetection {
    /// Returns the admin pages, which require the administrator's password.
    ///
    /// The result is an axum router that can be nested under any path: use `nest_service`, which
    /// answers with and without the trailing slash. If the database contains no password yet, a
    /// password is generated and written to a file; a warning in the log shows the file's path.
    /// [`admin_password`](super::RobotDetectionBuilder::admin_password) or `robot-detection admin
    /// password --database URL` sets a password of your choice instead.
    ///
    /// Wrong passwords are counted by the client's address, so serve the application with
    /// `into_make_service_with_connect_info::<SocketAddr>()`, and behind a proxy set
    /// [`client_address`](super::RobotDetectionBuilder::client_address). Without client addresses,
    /// wrong guesses by one client delay the login for all clients.
    ///
    /// # Panics
    ///
    /// Panics if called outside a Tokio runtime.
    pub fn admin_router(&self) -> Router {
        self.make_password();
        self.admin_router_with_login(self.parts().stop.clone())
    }

    /// Creates the initial password as soon as the database is available, and logs the path of its
    /// file.
    pub(super) fn make_password(&self) {
        let (store, clock) = (self.store().clone(), self.clock().clone());
        let stop = self.parts().stop.clone();
        let file = self.password_file();
        self.parts().operations.tasks.spawn(async move {
            let making = keep_first_password(store, clock, file);
            stop.run_until_cancelled(making).await;
        });
    }

    /// Returns the admin pages **without a login**, for an application with its own login.
    ///
    /// Any client that reaches these pages can change everything: protect the pages with the
    /// application's login, and admit only administrators. Cross-site requests are always refused.
    pub fn admin_router_without_login(&self) -> Router {
        self.admin_pages(Access::Open, self.parts().stop.clone())
    }

    /// Sets the initial administrator password and returns its location, or `None` if a password
    /// exists.
    ///
    /// `chosen` is a file that contains the password. If it is `None`, a password is generated, and
    /// written to a file unless it can be shown.
    pub(crate) async fn first_password(
        &self,
        chosen: Option<&Path>,
        can_show: bool,
    ) -> Result<Option<FirstPassword>, BuildError> {
        let source = match chosen {
            Some(file) => FirstPassword::Chosen(file.to_owned()),
            None if can_show => FirstPassword::Shown(generate_password()),
            None => FirstPassword::Written(self.password_file()),
        };
        first_password(self.store(), self.clock(), source).await
    }

    /// Returns the path of the initial password's file, in the instance's state directory.
    fn password_file(&self) -> PathBuf {
        let state = self.parts().live_rules_file.as_ref();
        let directory = state
            .and_then(StateFile::directory)
            .unwrap_or(Path::new(""));
        let file = directory.join("admin-password");
        std::path::absolute(&file).unwrap_or(file)
    }

    /// Sets the password chosen by the application as soon as the database is available.
    pub(super) async fn want_password(&self, password: String) -> Result<(), BuildError> {
        if password.chars().count() < MIN_PASSWORD_CHARS {
            return Err(BuildError::ShortPassword(MIN_PASSWORD_CHARS));
        }
        let (store, clock) = (self.store().clone(), self.clock().clone());
        // If the database is available, a failure is returned to the caller; otherwise, a task
        // waits for the database.
        if store.outage().is_none() {
            return set_password(&store, &clock, password).await;
        }
        let stop = self.parts().stop.clone();
        self.parts().operations.tasks.spawn(async move {
            let setting = async {
                while let Err(error) = set_password(&store, &clock, password.clone()).await {
                    debug!("cannot set the password of the admin pages yet: {error}");
                    tokio::time::sleep(RETRY).await;
                }
            };
            stop.run_until_cancelled(setting).await;
        });
        Ok(())
    }

    /// Returns the admin pages with a login, without creating a password; event streams end when
    /// `stop` is cancelled.
    pub(super) fn admin_router_with_login(&self, stop: CancellationToken) -> Router {
        let access = Access::Login {
            secure_cookies: self.parts().secure_cookies,
        };
        self.admin_pages(access, stop)
    }

    fn admin_pages(&self, access: Access, stop: CancellationToken) -> Router {
        let parts = self.parts();
        admin::router(Admin {
            operations: parts.operations.clone(),
            time_zone: parts.time_zone,
            access,
            client_address: parts.common.client_address.clone(),
            hosts: parts.hosts.clone(),
            stop,
        })
    }
}

/// Sets the password chosen by the application, unless it is already set.
///
/// Setting the same password again would end all sessions at each start.
async fn set_password(store: &Store, clock: &Clock, password: String) -> Result<(), BuildError> {
    let known = store.access().password_hash().await?;
    let made = tokio::task::spawn_blocking(move || {
        let is_set = known.is_some_and(|hash| verify_password(&password, &hash));
        (!is_set).then(|| hash_password(&password)).transpose()
    });
    // The task is never cancelled, so awaiting the task fails only if the task panics.
    if let Ok(made) = made.await
        && let Some(hash) = made?
    {
        store
            .access()
            .set_password_hash(&hash, clock.now_ms())
            .await?;
    }
    Ok(())
}

/// The initial administrator password.
#[derive(Debug)]
pub(crate) enum FirstPassword {
    /// The password is in a file provided by the operator.
    Chosen(PathBuf),
    /// The password was generated, and must be shown now.
    Shown(String),
    /// The password was generated and written to a file.
    Written(PathBuf),
}

impl FirstPassword {
    /// Returns the password, reading it from its file if necessary.
    fn password(&self) -> io::Result<String> {
        match self {
            Self::Shown(password) => Ok(password.clone()),
            Self::Chosen(file) => {
                let mut text = String::new();
                // Only one line is read, up to a size limit, because an endless device must not
                // fill the memory.
                File::open(file)?.take(4_096).read_to_string(&mut text)?;
                Ok(text.lines().next().unwrap_or_default().to_owned())
            }
            Self::Written(file) => {
                let password = generate_password();
                write_secret(file, &password)?;
                Ok(password)
            }
        }
    }
}

/// Writes a file that only its owner can read, replacing an existing file.
fn write_secret(file: &Path, secret: &str) -> io::Result<()> {
    drop(fs::remove_file(file));
    let mut options = File::options();
    // Never writes to a file or link created by another user in the meantime.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    writeln!(options.open(file)?, "{secret}")
}

/// Creates the initial password, writes it to a file, and logs the path of the file.
async fn keep_first_password(store: Store, clock: Clock, file: PathBuf) {
    loop {
        match first_password(&store, &clock, FirstPassword::Written(file.clone())).await {
            Ok(Some(_)) => {
                let file = file.display();
                warn!("the initial administrator password is in {file}");
                return;
            }
            Ok(None) => return,
            // If the database is unavailable, waits until it is available again.
            Err(BuildError::Store(error)) => {
                debug!("cannot create a password for the admin pages yet: {error}");
            }
            Err(error) => {
                warn!("cannot create a password for the admin pages: {error}");
                return;
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Sets the initial password and returns it, or returns `None` if a password is already set.
async fn first_password(
    store: &Store,
    clock: &Clock,
    first: FirstPassword,
) -> Result<Option<FirstPassword>, BuildError> {
    if store.access().password_hash().await?.is_some() {
        return Ok(None);
    }
    let password = first.password().map_err(|error| {
        let (FirstPassword::Chosen(file) | FirstPassword::Written(file)) = &first else {
            return PasswordError::new(error.to_string());
        };
        PasswordError::new(format!("{}: {error}", file.display()))
    })?;
    if password.chars().count() < MIN_PASSWORD_CHARS {
        return Err(BuildError::ShortPassword(MIN_PASSWORD_CHARS));
    }
    // argon2id is deliberately slow and would block requests on a worker thread.
    let made = tokio::task::spawn_blocking(move || hash_password(&password));
    // The task is never cancelled, so awaiting the task fails only if the task panics.
    let Ok(made) = made.await else {
        return Ok(None);
    };
    let now_ms = clock.now_ms();
    // If several instances start at the same time, only one of them sets its password.
    if store.access().init_password_hash(&made?, now_ms).await? {
        return Ok(Some(first));
    }
    if let FirstPassword::Written(file) = &first {
        drop(fs::remove_file(file));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn failure_to_hash_a_password_is_an_error() {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let clock = Clock::system();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        fs::write(&file, "x".repeat(2_000)).unwrap();
        let made = first_password(&store, &clock, FirstPassword::Chosen(file.clone())).await;
        assert!(matches!(made, Err(BuildError::Password(_))), "{made:?}");
        assert_eq!(store.access().password_hash().await.unwrap(), None);
        let made = first_password(&store, &clock, FirstPassword::Written(file.clone())).await;
        assert!(made.unwrap().is_some(), "the first one");
        let password = fs::read_to_string(&file).unwrap();
        let hash = store.access().password_hash().await.unwrap().unwrap();
        assert!(verify_password(password.trim(), &hash));
    }
}
