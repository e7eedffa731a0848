//! Stops or reloads a running server on signals, file changes, or an administrator's request.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use anyhow::Context as _;
use sd_notify::NotifyState;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{Interval, MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::app::{self, RobotDetection};
use crate::config::{Includes, Loaded};
use crate::observe::Observer;
use crate::operations::{ReloadFailure, ReloadOutcome, Reloads};
use crate::store::AuditEntry;

use super::{
    Cli,
    args::ServeArgs,
    context,
    doctor::validate,
    reload_losses::{Extent, HeldReload},
    serve_settings,
};

/// The interval at which the configuration file is checked for changes.
// Polled, because file system events do not work on every mount, nor for a file whose symbolic link
// is replaced (as Kubernetes does for mounted configuration).
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// A supervisor that stops or reloads the server on request.
#[derive(Debug)]
pub(super) struct Supervisor {
    cli: Cli,
    args: ServeArgs,
    robots: RobotDetection,
    observer: Observer,
    file: FileWatch,
    /// Sites, upstreams, rules and listeners in the current configuration.
    in_force: Extent,
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// A watch that detects changes to the configuration file.
#[derive(Debug)]
pub(super) struct FileWatch {
    path: PathBuf,
    is_on: bool,
    /// Files that the configuration file included when it was last read.
    includes: Includes,
    /// The state of all configuration files when they were last read.
    read: Option<Vec<FileStamp>>,
    /// The state of all configuration files at the last poll.
    last_seen: Option<Vec<FileStamp>>,
    polls: Interval,
}

/// The path, modification time and size of a file, to distinguish two states of the file.
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
        info!("current configuration: {in_force}");
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

    /// Handles reloads until SIGINT or SIGTERM, then cancels `stop`; returns at the second signal.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            let has_begun = self.robots.has_started_serving();
            let by = tokio::select! {
                _ = self.interrupt.recv() => None,
                _ = self.terminate.recv() => None,
                // A server that is still starting uses its initial configuration.
                () = self.robots.wait_until_serving(), if !has_begun => continue,
                _ = self.hangup.recv(), if has_begun => Some("SIGHUP"),
                by = self.robots.reloads().wait_for_request(), if has_begun => Some(by),
                () = self.file.changed(), if has_begun => Some("a change to the file"),
            };
            match by {
                Some(by) => {
                    notify_service_manager(NotifyState::Reloading);
                    let outcome = self.reload(by);
                    notify_service_manager(NotifyState::Ready);
                    // Reloads requested on the admin page are recorded there.
                    if !Reloads::OF_ADMINISTRATORS.contains(&by) {
                        self.record(&outcome).await;
                    }
                }
                // At the second signal the server stops without draining connections.
                None if stop.is_cancelled() => return,
                None => {
                    notify_service_manager(NotifyState::Stopping);
                    info!(
                        "shutting down after active requests have finished; send a second signal to stop immediately"
                    );
                    stop.cancel();
                }
            }
        }
    }

    /// Applies the configuration file; if the file is invalid, nothing changes.
    fn reload(&mut self, by: &str) -> ReloadOutcome {
        // Set before reading, so that the next poll sees changes made while reading.
        self.file.mark_read();
        let text = self.file.text();
        let is_accepted = Reloads::ACCEPTING.contains(&by);
        let reloaded = serve_settings::load(&self.cli, &self.args).and_then(|loaded| {
            // Invalid values are reported before removals.
            validate(&loaded)?;
            serve_settings::has_site(&self.cli, &self.args, &loaded)?;
            let extent = Extent::new(&loaded, text);
            let losses = self.in_force.losses(&extent);
            if !losses.is_empty() && !is_accepted {
                return Err(HeldReload(losses).into());
            }
            let reloaded = app::reload(&self.robots, &loaded)?;
            serve_settings::warn_unknown_words(&loaded);
            // Only a restart can turn off the watch; otherwise, an accidentally truncated file
            // would turn it off.
            self.file.is_on |= loaded.settings().general.reload_on_change;
            self.in_force = extent;
            Ok(reloaded)
        });
        let result = match reloaded {
            Ok(reloaded) => {
                info!(by, sites = reloaded.sites.len(), "{reloaded}");
                if !reloaded.need_restart.is_empty() {
                    let keys = reloaded.need_restart.join(", ");
                    warn!("these changed settings require a restart: {keys}");
                }
                Ok(reloaded.to_string())
            }
            Err(error) => {
                error!(
                    by,
                    "configuration not reloaded; the previous configuration remains in use: {error:#}"
                );
                Err(ReloadFailure {
                    is_held_back: error.is::<HeldReload>(),
                    text: format!("{error:#}"),
                })
            }
        };
        self.observer.record_reload(result.is_ok());
        let outcome = ReloadOutcome {
            at_ms: self.robots.clock().now_ms(),
            by: by.to_owned(),
            result,
        };
        self.robots.reloads().report_outcome(outcome.clone());
        outcome
    }

    /// Records a reload in the audit log.
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
            warn!(%error, "cannot record the reload in the audit log: {error}");
        }
    }
}

/// Notifies the service manager (`NOTIFY_SOCKET`), if there is one, of the state of this process.
pub(super) fn notify_service_manager(state: NotifyState<'_>) {
    let told = match state {
        NotifyState::Reloading => NotifyState::monotonic_usec_now()
            .and_then(|now| sd_notify::notify(&[NotifyState::Reloading, now])),
        state => sd_notify::notify(&[state]),
    };
    if let Err(error) = told {
        debug!(%error, "could not notify the service manager: {error}");
    }
}

impl FileWatch {
    /// Creates a watch that starts with the current state of the file, before the file is read.
    pub(super) fn new(cli: &Cli) -> Self {
        let mut polls = interval(POLL_INTERVAL);
        // Polls missed during a reload are skipped: two immediate polls could mistake a
        // half-written file for a stable file.
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

    /// Enables or disables the reporting of file changes.
    pub(super) fn enabled(mut self, is_on: bool) -> Self {
        self.is_on = is_on;
        self
    }

    /// Waits until the file differs from the last version read, and does not change between two
    /// polls.
    ///
    /// The second poll is needed because editors and copies may write a file in several steps.
    async fn changed(&mut self) {
        loop {
            self.polls.tick().await;
            let now = self.stamp();
            let is_still = self.last_seen == now;
            self.last_seen.clone_from(&now);
            // A missing file is not a change: an editor may be about to replace it.
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
        self.includes = Includes::parse(&self.text());
        self.read = self.stamp();
        self.last_seen.clone_from(&self.read);
    }

    /// Returns the state of the file and its included files; `None` if the file is missing.
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
    async fn change_is_reported_once_the_file_is_stable() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c.toml");
        fs::write(&path, "a").unwrap();
        let path = path.to_string_lossy().into_owned();
        let command = Cli::augment_args(Command::new("serve"));
        let given = command.get_matches_from(["serve", "--config", &path]);
        let cli = Cli::from_arg_matches(&given).unwrap();
        let mut watch = FileWatch::new(&cli).enabled(true);
        let mut soon = async || tokio::time::timeout(POLL_INTERVAL * 5, watch.changed()).await;
        assert!(soon().await.is_err(), "unchanged file");
        fs::write(&path, "ab").unwrap();
        assert!(soon().await.is_ok());
        assert!(soon().await.is_ok(), "changed file that was not read yet");
        watch.mark_read();
        let mut soon = async || tokio::time::timeout(POLL_INTERVAL * 5, watch.changed()).await;
        assert!(soon().await.is_err());
        fs::remove_file(&path).unwrap();
        assert!(soon().await.is_err(), "removed file");
    }
}
