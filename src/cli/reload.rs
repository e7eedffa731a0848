//! What a running server does on signals, on a changed file, and when a page asks.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::Context as _;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{Interval, MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::admin::ReloadOutcome;
use crate::app::{self, RobotDetection};
use crate::listen::{ServiceState, notify_service_manager};
use crate::observe::Observer;

use super::{Cli, args::ServeArgs, context, serve};

/// How often it is looked whether the file has changed.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Waits for whatever stops or reloads the server.
#[derive(Debug)]
pub(super) struct Attendant {
    cli: Cli,
    args: ServeArgs,
    robots: RobotDetection,
    observer: Observer,
    file: FileWatch,
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// Configuration file whose changes are looked for.
#[derive(Debug)]
pub(super) struct FileWatch {
    path: PathBuf,
    is_on: bool,
    /// As it was when it was last read.
    read: Option<Stamp>,
    /// As it was at the last look.
    looked: Option<Stamp>,
    looks: Interval,
}

/// What tells one state of a file from another.
type Stamp = (SystemTime, u64);

impl Attendant {
    pub(super) fn new(
        cli: &Cli,
        args: &ServeArgs,
        robots: &RobotDetection,
        file: FileWatch,
        observer: Observer,
    ) -> anyhow::Result<Self> {
        let watch = |kind| signal(kind).context("cannot watch signals");
        Ok(Self {
            cli: cli.clone(),
            args: args.clone(),
            robots: robots.clone(),
            observer,
            file,
            interrupt: watch(SignalKind::interrupt())?,
            terminate: watch(SignalKind::terminate())?,
            hangup: watch(SignalKind::hangup())?,
        })
    }

    /// Cancels `stop` on SIGINT or SIGTERM and ends at the second; reloads until then.
    pub(super) async fn attend(mut self, stop: CancellationToken) {
        loop {
            let by = tokio::select! {
                _ = self.interrupt.recv() => None,
                _ = self.terminate.recv() => None,
                _ = self.hangup.recv() => Some("SIGHUP"),
                () = self.robots.reloads().wanted() => Some("the admin page"),
                () = self.file.changed() => Some("a change of the file"),
            };
            match by {
                Some(by) => {
                    notify_service_manager(ServiceState::Reloading);
                    self.reload(by);
                    notify_service_manager(ServiceState::Ready);
                }
                None if stop.is_cancelled() => return,
                None => {
                    notify_service_manager(ServiceState::Stopping);
                    info!(
                        "stopping: requests under way are finished first; a second signal ends them"
                    );
                    stop.cancel();
                }
            }
        }
    }

    /// Puts the configuration in force; a bad one changes nothing.
    fn reload(&mut self, by: &str) {
        self.file.is_read();
        self.observer.reopen_log();
        let reloaded = serve::load(&self.cli, &self.args).and_then(|loaded| {
            let reloaded = app::reload(&self.robots, &loaded)?;
            serve::warn_of_words(&loaded);
            self.file.is_on = loaded.settings().general.reload_on_change;
            Ok(reloaded)
        });
        let result = match reloaded {
            Ok(reloaded) => {
                info!(by, sites = reloaded.sites.len(), "{reloaded}");
                if !reloaded.need_restart.is_empty() {
                    let keys = reloaded.need_restart.join(", ");
                    warn!("these settings have changed and need a restart: {keys}");
                }
                Ok(reloaded.to_string())
            }
            Err(error) => {
                error!(
                    by,
                    "the configuration is not reloaded, the old one stays: {error:#}"
                );
                Err(format!("{error:#}"))
            }
        };
        self.observer.reloaded(result.is_ok());
        self.robots.reloads().done(ReloadOutcome {
            at_ms: self.robots.clock().now_ms(),
            by: by.to_owned(),
            result,
        });
    }
}

impl FileWatch {
    /// Notes how the file is before it is read.
    pub(super) fn new(cli: &Cli) -> Self {
        let path = cli.config.as_deref();
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut watch = Self {
            path: path.unwrap_or(Path::new(context::DEFAULT_FILE)).to_owned(),
            is_on: false,
            read: None,
            looked: None,
            looks,
        };
        watch.is_read();
        watch
    }

    /// Sets whether changes are told.
    pub(super) fn turn(mut self, is_on: bool) -> Self {
        self.is_on = is_on;
        self
    }

    /// Waits until the file is another one than was read, and has been so for two looks.
    ///
    /// The second look is for those who write it bit by bit.
    async fn changed(&mut self) {
        loop {
            self.looks.tick().await;
            let now = self.stamp();
            let is_still = std::mem::replace(&mut self.looked, now) == now;
            if self.is_on && is_still && now.is_some() && now != self.read {
                return;
            }
        }
    }

    fn is_read(&mut self) {
        self.read = self.stamp();
        self.looked = self.read;
    }

    fn stamp(&self) -> Option<Stamp> {
        let metadata = std::fs::metadata(&self.path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_file_has_changed_once_it_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c.toml");
        fs::write(&path, "a").unwrap();
        let path = path.to_string_lossy().into_owned();
        let cli = Cli::parse_from(["robot-detection", "--config", &path, "serve"]);
        let mut watch = FileWatch::new(&cli).turn(true);
        let mut soon = async || tokio::time::timeout(LOOK_EVERY * 5, watch.changed()).await;
        assert!(soon().await.is_err(), "nothing has changed");
        fs::write(&path, "ab").unwrap();
        assert!(soon().await.is_ok());
        assert!(soon().await.is_ok(), "it has not been read yet");
        watch.is_read();
        let mut soon = async || tokio::time::timeout(LOOK_EVERY * 5, watch.changed()).await;
        assert!(soon().await.is_err());
        fs::remove_file(&path).unwrap();
        assert!(soon().await.is_err(), "what is gone is not read");
    }
}
