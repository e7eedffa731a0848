//! The site robot and the handle that controls it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::watch;
use url::Url;

use robot_detection_store::store::{RunCommand, RunState, Store};

use super::{
    Explanation, Progress, PublishConditions, SiteRobotBuilder, SiteRobotError, Summary, ending,
    explain,
    robots::HostRules,
    run,
    settings::{Settings, run_settings},
    source::PageSource,
    visitor::Shared,
};

/// Function that is called with the summary of a run.
pub type OnEnd = dyn Fn(&Summary) + Send + Sync;

/// The site robot of one site.
///
/// See the [module](crate::site_robot) for an example. Clones refer to the same robot.
#[derive(Clone, Debug)]
pub struct SiteRobot {
    pub(super) shared: Arc<Shared>,
}

/// Handle that controls a site robot: pauses, resumes and stops it, and returns its progress.
#[derive(Clone, Debug)]
pub struct Handle {
    wanted: watch::Sender<RunCommand>,
    progress: watch::Receiver<Progress>,
}

impl SiteRobot {
    /// Creates a builder from the name of the site, the database, and the source of the pages.
    pub fn builder(
        site: impl Into<String>,
        store: Store,
        source: impl Into<PageSource>,
    ) -> SiteRobotBuilder {
        SiteRobotBuilder::new(site.into(), store, source.into())
    }

    pub(super) fn new(settings: Settings) -> Self {
        let shared = Shared {
            settings,
            wanted: watch::Sender::default(),
            progress: watch::Sender::default(),
            is_running: AtomicBool::new(false),
            runs_ended: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Runs until all URLs have been visited or the run is stopped, and then publishes the results.
    ///
    /// The results are published at the end, unless they are doubtful: if a login page is returned,
    /// a starting point has moved, or many pages would be removed, the results are held for review
    /// until [`Self::accept`] is called. A stopped or interrupted run is resumed. Dropping the
    /// future aborts fetches in progress; the next run resumes the aborted run.
    ///
    /// # Errors
    ///
    /// Returns an error if the database operation fails, or if this site robot is already running.
    /// Pages that cannot be fetched are counted, and are not errors.
    pub async fn run(&self) -> Result<Summary, SiteRobotError> {
        self.run_on(&PublishConditions::default()).await
    }

    /// Runs the site robot and publishes the results under the given conditions.
    ///
    /// # Errors
    ///
    /// Returns an error under the same conditions as [`run`](Self::run).
    pub async fn run_on(&self, terms: &PublishConditions<'_>) -> Result<Summary, SiteRobotError> {
        let _running = self.occupy()?;
        let mut summary = None;
        if let Some(whole) = self.cut_off().await? {
            summary = Some(run::run(&whole, terms).await?);
        }
        let summary = match summary.filter(|whole| whole.state != RunState::Finished) {
            // The run was stopped, or an administrator must review its results.
            Some(whole) => whole,
            None => run::run(&self.shared, terms).await?,
        };
        if let Some(on_end) = &self.shared.settings.on_end {
            on_end(&summary);
        }
        Ok(summary)
    }

    /// If this robot only requests single pages, returns the robot of an interrupted run, if there
    /// is one.
    ///
    /// The interrupted run is completed first, because its results would otherwise be lost.
    async fn cut_off(&self) -> Result<Option<Arc<Shared>>, SiteRobotError> {
        let Shared {
            settings,
            wanted,
            progress,
            ..
        } = &*self.shared;
        if settings.only.is_empty() {
            return Ok(None);
        }
        let whole = Settings {
            only: Vec::new(),
            ..settings.clone()
        };
        let open = settings.frontier().open_run(&settings.site).await?;
        let is_whole = open.is_some_and(|open| open.settings == run_settings(&whole));
        Ok(is_whole.then(|| {
            Arc::new(Shared {
                settings: whole,
                wanted: wanted.clone(),
                progress: progress.clone(),
                is_running: AtomicBool::new(true),
                runs_ended: AtomicU64::new(0),
            })
        }))
    }

    /// Returns a site robot that has the same settings but only requests single pages again.
    ///
    /// This robot follows no links, and all other pages remain unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error for the first page that is out of scope.
    pub fn for_pages(&self, urls: Vec<Url>) -> Result<Self, SiteRobotError> {
        let mut settings = self.shared.settings.clone();
        settings.restrict_to_pages(urls)?;
        Ok(Self::new(settings))
    }

    /// Publishes the results of the most recent run if they are held for review; sends no requests.
    ///
    /// Returns `None` if no results are held for review.
    ///
    /// # Errors
    ///
    /// Returns an error if the database operation fails, or if this site robot is running.
    pub async fn accept(&self) -> Result<Option<Summary>, SiteRobotError> {
        let _running = self.occupy()?;
        ending::accept(&self.shared.settings).await
    }

    /// Publishes the results of a run so far, without withdrawing any pages.
    ///
    /// # Errors
    ///
    /// Returns an error if the database operation fails.
    pub async fn publish_so_far(&self) -> Result<(), SiteRobotError> {
        ending::publish_so_far(&self.shared.settings).await
    }

    /// Explains step by step how the site robot would handle a URL, and includes the outcome of the
    /// last visit.
    ///
    /// The robots.txt file of the URL's host is requested, but the URL itself is not.
    ///
    /// # Errors
    ///
    /// Returns an error if the database operation fails.
    pub async fn explain(&self, url: &str) -> Result<Explanation, SiteRobotError> {
        explain::explain(&self.shared.settings, url).await
    }

    /// Returns the pause between two visits to a URL's host; requests the host's robots.txt file.
    #[doc(hidden)]
    pub async fn pause_of(&self, url: &Url) -> Duration {
        let settings = &self.shared.settings;
        let rules = HostRules::read(settings, url).await;
        settings
            .conf
            .server_delay
            .max(rules.delay())
            .unwrap_or_default()
    }

    /// Returns a handle that controls the site robot.
    pub fn handle(&self) -> Handle {
        Handle {
            wanted: self.shared.wanted.clone(),
            progress: self.shared.progress.subscribe(),
        }
    }

    /// Returns the name of the site.
    pub fn site(&self) -> &str {
        &self.shared.settings.site
    }

    /// Returns the reason to hold new pages for review, even if an administrator accepts a run.
    pub fn hold(&self) -> Option<&str> {
        self.shared.settings.hold.as_deref()
    }

    /// Returns the number of runs that have ended, whatever their outcome.
    pub fn runs_ended(&self) -> u64 {
        self.shared.runs_ended.load(Ordering::Acquire)
    }

    fn occupy(&self) -> Result<RunGuard<'_>, SiteRobotError> {
        if self.shared.is_running.swap(true, Ordering::AcqRel) {
            let site = self.site().to_owned();
            return Err(SiteRobotError::RunsAlready { site });
        }
        // A command to an earlier run does not apply to this run.
        self.shared.wanted.send_replace(RunCommand::Run);
        Ok(RunGuard(&self.shared))
    }
}

impl Handle {
    /// Pauses the run, so that no new visits start until the run is resumed.
    pub fn pause(&self) {
        self.wanted.send_replace(RunCommand::Pause);
    }

    /// Resumes a paused run.
    pub fn resume(&self) {
        self.wanted.send_replace(RunCommand::Run);
    }

    /// Stops the run as soon as the current visits are finished; the next run resumes it.
    pub fn stop(&self) {
        self.wanted.send_replace(RunCommand::Stop);
    }

    /// Returns the current progress of the run.
    pub fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    /// Returns a receiver that is notified of each change in progress.
    pub fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }
}

/// Guard that marks the site robot as idle when a run ends, for whatever reason.
struct RunGuard<'r>(&'r Shared);

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        let idle = super::RobotState::Idle;
        self.0
            .progress
            .send_modify(|progress| progress.state = idle);
        // The run is counted before the robot becomes free, so that the next caller knows that the
        // run has ended.
        self.0.runs_ended.fetch_add(1, Ordering::AcqRel);
        self.0.is_running.store(false, Ordering::Release);
    }
}
