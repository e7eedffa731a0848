//! The robot, and the handle that others hold.

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
    Explanation, Progress, PublishTerms, SiteRobotBuilder, SiteRobotError, Summary, ending,
    explain,
    robots::HostRules,
    run,
    settings::{Settings, run_settings},
    source::PageSource,
    visitor::Shared,
};

/// Hook that is called with the summary of a run.
pub type OnEnd = dyn Fn(&Summary) + Send + Sync;

/// Robot of one site.
///
/// See the [room](crate::site_robot) for an example. Clones are the same robot.
#[derive(Clone, Debug)]
pub struct SiteRobot {
    pub(super) shared: Arc<Shared>,
}

/// Control of a robot: pause, resume, stop, and its progress.
#[derive(Clone, Debug)]
pub struct Handle {
    wanted: watch::Sender<RunCommand>,
    progress: watch::Receiver<Progress>,
}

impl SiteRobot {
    /// Creates a builder: the name of the site, where descriptions go, where pages come from.
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

    /// Runs until everything is visited, or until it is stopped; then publishes what it brought.
    ///
    /// What a run brings is in force when it has ended, and only where it saw the site: where
    /// a login answers, a starting point has moved, or much would go, its results are held back
    /// until [`Self::accept`]. A run that was stopped or cut off is resumed. Dropping the future ends
    /// what is being fetched; the next run resumes it.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and when this robot runs already. Pages
    /// that cannot be fetched are counted, not errors.
    pub async fn run(&self) -> Result<Summary, SiteRobotError> {
        self.run_on(&PublishTerms::default()).await
    }

    /// Runs, and publishes on these terms.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn run_on(&self, terms: &PublishTerms<'_>) -> Result<Summary, SiteRobotError> {
        let _running = self.occupy()?;
        let mut summary = None;
        if let Some(whole) = self.cut_off().await? {
            summary = Some(run::run(&whole, terms).await?);
        }
        let summary = match summary.filter(|whole| whole.state != RunState::Finished) {
            // Somebody has stopped it, or has to look at what it found.
            Some(whole) => whole,
            None => run::run(&self.shared, terms).await?,
        };
        if let Some(on_end) = &self.shared.settings.on_end {
            on_end(&summary);
        }
        Ok(summary)
    }

    /// Returns the robot of a run that was cut off, where this one asks for single pages only.
    ///
    /// That run comes to its end first: it would lose what it has, or end as one of single pages.
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

    /// Returns a robot with the same settings that asks for single pages again.
    ///
    /// It follows no link, and what is known of all other pages stays.
    ///
    /// # Errors
    ///
    /// Fails with the first page that is outside of what the robot visits.
    pub fn for_pages(&self, urls: Vec<Url>) -> Result<Self, SiteRobotError> {
        let mut settings = self.shared.settings.clone();
        settings.take_pages(urls)?;
        Ok(Self::new(settings))
    }

    /// Publishes the results of the last run, if they are held back; sends no request to the site.
    ///
    /// Returns nothing where no results are held back.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and when this robot runs.
    pub async fn accept(&self) -> Result<Option<Summary>, SiteRobotError> {
        let _running = self.occupy()?;
        ending::accept(&self.shared.settings).await
    }

    /// Publishes the results of a run so far, and withdraws nothing yet.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn publish_so_far(&self) -> Result<(), SiteRobotError> {
        ending::publish_so_far(&self.shared.settings).await
    }

    /// Explains, step by step, what the robot would do with a URL, and what it did.
    ///
    /// The robots.txt of its host is asked for; the URL itself is not.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn explain(&self, url: &str) -> Result<Explanation, SiteRobotError> {
        explain::explain(&self.shared.settings, url).await
    }

    /// Returns the pause that it makes between two visits of a URL's host, whose robots.txt is asked
    /// for.
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

    /// Returns a handle, which may be held by others.
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

    /// Returns why new and changed pages are held back, also where a run is accepted.
    pub fn hold(&self) -> Option<&str> {
        self.shared.settings.hold.as_deref()
    }

    /// Returns how many runs have ended, in whatever way.
    pub fn runs_ended(&self) -> u64 {
        self.shared.runs_ended.load(Ordering::Acquire)
    }

    fn occupy(&self) -> Result<RunGuard<'_>, SiteRobotError> {
        if self.shared.is_running.swap(true, Ordering::AcqRel) {
            let site = self.site().to_owned();
            return Err(SiteRobotError::RunsAlready { site });
        }
        // An order to an earlier run is none to this one.
        self.shared.wanted.send_replace(RunCommand::Run);
        Ok(RunGuard(&self.shared))
    }
}

impl Handle {
    /// Has the robot begin no more visits until it is resumed.
    pub fn pause(&self) {
        self.wanted.send_replace(RunCommand::Pause);
    }

    /// Has the robot go on.
    pub fn resume(&self) {
        self.wanted.send_replace(RunCommand::Run);
    }

    /// Has the robot finish what it has begun, and end; the next run resumes it.
    pub fn stop(&self) {
        self.wanted.send_replace(RunCommand::Stop);
    }

    /// Returns the progress as it is now.
    pub fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    /// Returns a receiver that hears of each change.
    pub fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }
}

/// Frees the robot when a run ends, however it ends.
struct RunGuard<'r>(&'r Shared);

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        let idle = super::RobotState::Idle;
        self.0
            .progress
            .send_modify(|progress| progress.state = idle);
        // Counted before the robot is free: who runs it next knows that this one has ended.
        self.0.runs_ended.fetch_add(1, Ordering::AcqRel);
        self.0.is_running.store(false, Ordering::Release);
    }
}
