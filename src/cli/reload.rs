//! Stops or reloads a running server: on signals, on a changed file, and as the admin page or a command asks.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use anyhow::Context as _;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{Interval, MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::app::{self, RobotDetection};
use crate::config::{Includes, Loaded};
use crate::listen::{ServiceState, notify_service_manager};
use crate::observe::Observer;
use crate::operations::{ReloadFailure, ReloadOutcome, Reloads};
use crate::store::AuditEntry;

use super::{
    Cli,
    args::ServeArgs,
    context,
    doctor::validate,
    reload_losses::{Extent, HeldBack},
    serve,
};

/// How often the file is checked for changes.
// Polled, as events of the file system do not come from every kind of mount, and not for a file
// that a link is exchanged for (Kubernetes mounts configuration so).
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Supervisor that waits for whatever stops or reloads the server.
#[derive(Debug)]
pub(super) struct Supervisor {
    cli: Cli,
    args: ServeArgs,
    robots: RobotDetection,
    observer: Observer,
    file: FileWatch,
    /// Extent of the configuration in force.
    in_force: Extent,
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// Watch on the configuration file for changes.
#[derive(Debug)]
pub(super) struct FileWatch {
    path: PathBuf,
    is_on: bool,
    /// Files that the file included when it was last read.
    includes: Includes,
    /// State of all files when they were last read.
    read: Option<Vec<FileStamp>>,
    /// State at the last poll.
    last_seen: Option<Vec<FileStamp>>,
    polls: Interval,
}

/// Path, time of the last change and size, which distinguish two states of a file.
type FileStamp = (PathBuf, SystemTime, u64);

impl Supervisor {
    pub(super) fn new(
        cli: &Cli,
        args: &ServeArgs,
        robots: &RobotDetection,
        (file, loaded): (FileWatch, &Loaded),
        observer: Observer,
    ) -> anyhow::Result<Self> {
        let watch = |kind| signal(kind).context("cannot watch signals");
        let in_force = Extent::new(loaded, file.text());
        info!("configuration in force: {in_force}");
        Ok(Self {
            cli: cli.clone(),
            args: args.clone(),
            robots: robots.clone(),
            observer,
            in_force,
            file,
            interrupt: watch(SignalKind::interrupt())?,
            terminate: watch(SignalKind::terminate())?,
            hangup: watch(SignalKind::hangup())?,
        })
    }

    /// Cancels `stop` on SIGINT or SIGTERM and ends at the second; reloads until then.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            let has_begun = self.robots.has_begun();
            let by = tokio::select! {
                _ = self.interrupt.recv() => None,
                _ = self.terminate.recv() => None,
                // A server that is still preparing would begin with what it was started with.
                () = self.robots.begun(), if !has_begun => continue,
                _ = self.hangup.recv(), if has_begun => Some("SIGHUP"),
                by = self.robots.reloads().wanted(), if has_begun => Some(by),
                () = self.file.changed(), if has_begun => Some("a change of the file"),
            };
            match by {
                Some(by) => {
                    notify_service_manager(ServiceState::Reloading);
                    let outcome = self.reload(by);
                    notify_service_manager(ServiceState::Ready);
                    // The page records by itself who asked for it.
                    if !Reloads::OF_ADMINISTRATORS.contains(&by) {
                        self.record(&outcome).await;
                    }
                }
                // The second signal: who runs it does not want to wait for the drain.
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

    /// Applies the configuration of the file; a bad one changes nothing.
    fn reload(&mut self, by: &str) -> ReloadOutcome {
        // Before it is read: a change while it is read is then seen at the next poll.
        self.file.mark_read();
        // SIGHUP is what logrotate sends, whether or not the configuration has changed.
        self.observer.reopen_log();
        let text = self.file.text();
        let is_accepted = Reloads::ACCEPTING.contains(&by);
        let reloaded = serve::load(&self.cli, &self.args).and_then(|loaded| {
            // A wrong value is reported first, before a removal.
            validate(&loaded)?;
            serve::has_site(&self.cli, &self.args, &loaded)?;
            let extent = Extent::new(&loaded, text);
            let losses = self.in_force.losses(&extent);
            if !losses.is_empty() && !is_accepted {
                return Err(HeldBack(losses).into());
            }
            let reloaded = app::reload(&self.robots, &loaded)?;
            serve::warn_unknown_words(&loaded);
            // Only a restart turns the watch off: a file cut off by mistake would end it.
            self.file.is_on |= loaded.settings().general.reload_on_change;
            self.in_force = extent;
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
                Err(ReloadFailure {
                    is_held_back: error.is::<HeldBack>(),
                    text: format!("{error:#}"),
                })
            }
        };
        self.observer.reloaded(result.is_ok());
        let outcome = ReloadOutcome {
            at_ms: self.robots.clock().now_ms(),
            by: by.to_owned(),
            result,
        };
        self.robots.reloads().done(outcome.clone());
        outcome
    }

    /// Records a reload in the log of changes.
    async fn record(&self, outcome: &ReloadOutcome) {
        let (event, detail) = match &outcome.result {
            Ok(detail) => ("reloaded", detail),
            Err(failure) => ("reload-failed", &failure.text),
        };
        let entry = AuditEntry {
            at_ms: outcome.at_ms,
            actor: outcome.by.clone(),
            event: event.to_owned(),
            subject: "configuration".to_owned(),
            detail: detail.clone(),
        };
        let recorded = self.robots.store().audit().record(&entry).await;
        if let Err(error) = recorded {
            warn!(%error, "the reload is not in the log of changes: {error}");
        }
    }
}

impl FileWatch {
    /// Creates a watch that knows the state of the file before it is read.
    pub(super) fn new(cli: &Cli) -> Self {
        let mut polls = interval(POLL_INTERVAL);
        // While a reload is under way no polls pile up: two at once would take a half-written file
        // for one that is still.
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut watch = Self {
            path: context::file(cli).to_owned(),
            is_on: false,
            includes: Includes::default(),
            read: None,
            last_seen: None,
            polls,
        };
        watch.mark_read();
        watch
    }

    /// Sets whether changes are reported.
    pub(super) fn enabled(mut self, is_on: bool) -> Self {
        self.is_on = is_on;
        self
    }

    /// Waits until the file differs from what was read, and is the same at two polls in a row.
    ///
    /// The second poll is for editors and copies that write a file bit by bit.
    async fn changed(&mut self) {
        loop {
            self.polls.tick().await;
            let now = self.stamp();
            let is_still = self.last_seen == now;
            self.last_seen.clone_from(&now);
            // A file that is gone is no change: an editor may be about to put a new one in its
            // place.
            if self.is_on && is_still && now.is_some() && now != self.read {
                return;
            }
        }
    }

    /// Returns the text of the file; empty if the file does not exist.
    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap_or_default()
    }

    fn mark_read(&mut self) {
        self.includes = Includes::of(&self.text());
        self.read = self.stamp();
        self.last_seen.clone_from(&self.read);
    }

    /// Returns the state of the file and of those that it includes; `None` if the file is missing.
    fn stamp(&self) -> Option<Vec<FileStamp>> {
        let stamp = |path: PathBuf| {
            let metadata = std::fs::metadata(&path).ok()?;
            Some((path, metadata.modified().ok()?, metadata.len()))
        };
        let mut stamps = vec![stamp(self.path.clone())?];
        stamps.extend(
            self.includes
                .present(&self.path)
                .into_iter()
                .filter_map(stamp),
        );
        Some(stamps)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_file_has_changed_once_it_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c.toml");
        fs::write(&path, "a").unwrap();
        let path = path.to_string_lossy().into_owned();
        let command = Cli::augment_args(Command::new("serve"));
        let given = command.get_matches_from(["serve", "--config", &path]);
        let cli = Cli::from_arg_matches(&given).unwrap();
        let mut watch = FileWatch::new(&cli).enabled(true);
        let mut soon = async || tokio::time::timeout(POLL_INTERVAL * 5, watch.changed()).await;
        assert!(soon().await.is_err(), "nothing has changed");
        fs::write(&path, "ab").unwrap();
        assert!(soon().await.is_ok());
        assert!(soon().await.is_ok(), "it has not been read yet");
        watch.mark_read();
        let mut soon = async || tokio::time::timeout(POLL_INTERVAL * 5, watch.changed()).await;
        assert!(soon().await.is_err());
        fs::remove_file(&path).unwrap();
        assert!(soon().await.is_err(), "what is gone is not read");
    }
}
