//! Every minute: is a site robot due? And whenever a page asks for a run.
//!
//! The cron job only rings; the database tells whether a run is due, and a lease
//! which instance of a fleet begins it. The expressions themselves are read by
//! [`when`](super::when): a time that passed while no program ran is made up for.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use tokio::{sync::mpsc, time};
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{error, info, warn};

use crate::operations::RobotRuns;
use crate::site_robot::{OnCompletion, SiteRobotError};
use crate::store::{LeaseError, RunCommand, StoredRun};

use super::{
    SiteRobotRuns,
    when::{Stopped, is_due},
};

/// Second, minute, hour, day, month, weekday.
const EVERY_MINUTE: &str = "0 * * * * *";

/// Time that visits get to end at shutdown; the next run begins them anew.
const LAST_VISITS: Duration = Duration::from_secs(10);

/// Site robots that run by a schedule, or when a page asks.
#[derive(Clone, Debug)]
pub(crate) struct Schedules {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    pages: RobotRuns,
    robots: ArcSwap<Vec<Arc<SiteRobotRuns>>>,
    /// Of each site: the stop that was seen.
    stops: Mutex<BTreeMap<String, Stopped>>,
    /// Sites whose robots have run and are to stay as they are (`onCompletion=quit`).
    quit: Mutex<Vec<String>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Schedules {
    /// Creates schedules without a robot; `pages` ask for runs and show them.
    pub(crate) fn new(pages: RobotRuns) -> Self {
        let inner = Inner {
            pages,
            ..Inner::default()
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Replaces the robots; runs under way go on as they began.
    pub(crate) fn replace(&self, robots: Vec<SiteRobotRuns>) {
        let Inner {
            pages,
            robots: known,
            ..
        } = &*self.inner;
        if robots.is_empty() && known.load().is_empty() {
            return;
        }
        pages.offer(robots.iter().map(|runs| runs.robot.site().to_owned()));
        for runs in &robots {
            pages.show(&runs.robot);
            if let Some(schedule) = runs.settings.schedule().cloned() {
                pages.tell_times(runs.robot.site(), move |ms| schedule.next_ms(ms));
            }
        }
        let robots = robots.into_iter().map(Arc::new).collect();
        known.store(Arc::new(robots));
    }

    /// Looks what is due, now and at each ring, until it is told to stop; then ends the runs.
    pub(crate) async fn keep(self, stop: CancellationToken) {
        let (ring, mut rings) = mpsc::channel(1);
        let mut bell = match start_bell(ring).await {
            Ok(bell) => bell,
            Err(error) => {
                error!("site robots will not run by themselves: {error}");
                return;
            }
        };
        self.look();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(()) = rings.recv() => self.look(),
                () = self.inner.pages.changed() => self.refresh_changed(),
                site = self.inner.pages.wanted(), if !self.inner.robots.load().is_empty() => {
                    self.begin(&site);
                }
            }
        }
        // Only now: runs end in order while nothing begins new ones any more.
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        if let Err(error) = bell.shutdown().await {
            error!("the schedule of the site robots did not end in order: {error}");
        }
    }

    fn look(&self) {
        // What was told of during a run is still to be asked for.
        self.refresh_changed();
        // A robot that still runs since an earlier ring has the lease: its task here ends at once.
        for runs in self.inner.robots.load().iter() {
            let (schedules, runs) = (self.clone(), Arc::clone(runs));
            self.inner.tasks.spawn(async move {
                let site = runs.robot.site();
                if let Err(error) = schedules.look_at(&runs).await {
                    warn!(
                        site,
                        "the site robot of {site} did not run to its end: {error:#}"
                    );
                    schedules.inner.pages.failed(site, format!("{error:#}"));
                }
            });
        }
    }

    /// Asks for the pages again that are said to have changed.
    fn refresh_changed(&self) {
        for runs in self.inner.robots.load().iter() {
            let site = runs.robot.site();
            let urls = self.inner.pages.takes_changed(site);
            if urls.is_empty() {
                continue;
            }
            let (schedules, runs) = (self.clone(), Arc::clone(runs));
            self.inner.tasks.spawn(async move {
                let (pages, site) = (&schedules.inner.pages, runs.robot.site());
                let ran = match runs.for_pages(urls.clone()) {
                    Ok(of_pages) => schedules.run(&of_pages, false).await,
                    Err(error) => Err(error.into()),
                };
                match ran {
                    Ok(_) => {}
                    // The run under way may have seen them before they changed.
                    Err(error) if is_running(&error) => pages.keep_changed(site, urls),
                    Err(error) => {
                        warn!(
                            site,
                            "changed pages of {site} were not asked for: {error:#}"
                        );
                        pages.failed(site, format!("{error:#}"));
                    }
                }
            });
        }
    }

    /// Begins a run that a page asks for.
    fn begin(&self, site: &str) {
        let robots = self.inner.robots.load();
        let Some(runs) = robots.iter().find(|runs| runs.robot.site() == site) else {
            return;
        };
        let (schedules, runs) = (self.clone(), Arc::clone(runs));
        self.inner.tasks.spawn(async move {
            let (pages, site) = (&schedules.inner.pages, runs.robot.site());
            let accept = pages.takes_acceptance(site);
            if accept && !runs.is_held().await {
                // Somebody else was faster, and nobody has asked for a run.
                return;
            }
            match schedules.run(&runs, accept).await {
                Ok(_) => {}
                Err(error) if is_running(&error) => pages.failed(site, format!("{error:#}")),
                Err(error) => {
                    warn!(
                        site,
                        "the site robot of {site} did not run to its end: {error:#}"
                    );
                    pages.failed(site, format!("{error:#}"));
                }
            }
        });
    }

    async fn look_at(&self, runs: &SiteRobotRuns) -> anyhow::Result<()> {
        let site = runs.robot.site();
        let last = runs
            .store
            .frontier()
            .runs(site, 1)
            .await?
            .into_iter()
            .next();
        let now_ms = runs.clock.now_ms();
        let stopped = self.note_stop(site, last.as_ref(), now_ms);
        let has_quit = lock(&self.inner.quit).iter().any(|quit| quit == site);
        let finished_ms = last.as_ref().and_then(|last| last.finished_ms);
        let loops = runs.on_completion() == OnCompletion::Loop
            && finished_ms.is_some_and(|ms| runs.next_round_ms(ms) <= now_ms);
        let is_due = match runs.settings.schedule() {
            Some(schedule) => is_due(schedule, last.as_ref(), stopped, now_ms),
            None => false,
        };
        if has_quit || !(is_due || loops) {
            return Ok(());
        }
        let ran = match self.run(runs, false).await {
            Err(error) if is_running(&error) => return Ok(()),
            ran => ran?,
        };
        if let Some(true) = ran
            && runs.on_completion() == OnCompletion::Quit
        {
            lock(&self.inner.quit).push(site.to_owned());
        }
        Ok(())
    }

    /// Runs, unless somebody else does; returns whether the run came to its end.
    async fn run(&self, runs: &SiteRobotRuns, accept: bool) -> anyhow::Result<Option<bool>> {
        let site = runs.robot.site();
        let running = runs.run_if_free(accept);
        tokio::pin!(running);
        let ran = tokio::select! {
            ran = &mut running => Some(ran?),
            () = self.inner.stop.cancelled() => {
                runs.robot.handle().stop();
                let _ = time::timeout(LAST_VISITS, running).await;
                // The stop was for this process; the next one goes on by itself.
                runs.store.frontier().set_run_command(site, RunCommand::Run).await?;
                info!(site, "the run of {site} will be resumed");
                None
            }
        };
        if ran.is_some() {
            self.inner.pages.ended(site);
        }
        Ok(ran.map(|ran| ran.summary.state == crate::store::RunState::Finished))
    }

    /// Remembers when a stop was seen first; forgets it with the run.
    fn note_stop(&self, site: &str, last: Option<&StoredRun>, now_ms: i64) -> Option<Stopped> {
        let mut stops = lock(&self.inner.stops);
        let stopped =
            last.filter(|last| last.finished_ms.is_none() && last.wanted == RunCommand::Stop);
        let Some(run) = stopped else {
            stops.remove(site);
            return None;
        };
        let known = stops.get(site).filter(|(run_id, _)| *run_id == run.run_id);
        let stop = known.copied().unwrap_or((run.run_id, now_ms));
        stops.insert(site.to_owned(), stop);
        Some(stop)
    }
}

fn is_running(error: &anyhow::Error) -> bool {
    let is_ours = matches!(
        error.downcast_ref(),
        Some(SiteRobotError::RunsAlready { .. })
    );
    is_ours || matches!(error.downcast_ref(), Some(LeaseError::Held(_)))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Each change is whole; what a panic left is as good as before.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn start_bell(ring: mpsc::Sender<()>) -> Result<JobScheduler, JobSchedulerError> {
    let bell = JobScheduler::new().await?;
    let job = Job::new(EVERY_MINUTE, move |_, _| {
        // A ring that is not heard yet stands for this one too.
        let _ = ring.try_send(());
    })?;
    bell.add(job).await?;
    bell.start().await?;
    Ok(bell)
}
