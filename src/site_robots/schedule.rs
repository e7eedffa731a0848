//! Checks every minute whether a site robot is due to run, and starts runs requested on an admin
//! page.
//!
//! The cron job only triggers the check. The database shows whether a run is due, and a lease
//! determines the instance that starts it. [`when`](super::when) parses the cron expressions. A run
//! missed while the program was not running is made up for at the next start.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::mpsc;
use tokio::time;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

use super::SiteRobotRuns;
use crate::config::Schedule;
use crate::operations::RobotRuns;
use crate::site_robot::{OnCompletion, SiteRobotError};
use crate::store::{LeaseError, RunCommand, StoredRun};

/// A cron expression for every minute: second, minute, hour, day, month, weekday.
const EVERY_MINUTE: &str = "0 * * * * *";

/// The time for active visits to finish at shutdown; the next run repeats unfinished visits.
const LAST_VISITS: Duration = Duration::from_secs(10);

/// Site robots that run on a schedule, or when a run is requested on an admin page.
#[derive(Clone, Debug)]
pub(crate) struct Schedules {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    pages: RobotRuns,
    robots: ArcSwap<Vec<Arc<SiteRobotRuns>>>,
    /// For each site, the stopped run and the time when the stop was first seen.
    stops: Mutex<BTreeMap<String, Stopped>>,
    /// Sites whose robots have finished and must not run again (`onCompletion=quit`).
    quit: Mutex<Vec<String>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Schedules {
    /// Creates schedules without a robot; the admin pages request and show runs through `pages`.
    pub(crate) fn new(pages: RobotRuns) -> Self {
        let inner = Inner {
            pages,
            ..Inner::default()
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Replaces the site robots; active runs continue with the old settings.
    pub(crate) fn replace(&self, robots: Vec<SiteRobotRuns>) {
        let Inner {
            pages,
            robots: known,
            ..
        } = &*self.inner;
        if robots.is_empty() && known.load().is_empty() {
            return;
        }
        pages.set_offered_sites(robots.iter().map(|runs| runs.robot.site().to_owned()));
        for runs in &robots {
            pages.show(&runs.robot);
            if let Some(schedule) = runs.settings.schedule().cloned() {
                pages.set_schedule(runs.robot.site(), move |ms| schedule.next_ms(ms));
            }
        }
        let robots = robots.into_iter().map(Arc::new).collect();
        known.store(Arc::new(robots));
    }

    /// Starts due runs now and at each trigger until `stop` is cancelled, then ends active runs.
    pub(crate) async fn start_due_runs(self, stop: CancellationToken) {
        let (ring, mut rings) = mpsc::channel(1);
        let mut bell = match start_bell(ring).await {
            Ok(bell) => bell,
            Err(error) => {
                error!("cannot start the site robot scheduler: {error}");
                return;
            }
        };
        self.look();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(()) = rings.recv() => self.look(),
                () = self.inner.pages.wait_for_change() => self.refresh_changed(),
                site = self.inner.pages.wait_for_request(), if !self.inner.robots.load().is_empty() => {
                    self.begin(&site);
                }
            }
        }
        // Runs are stopped only now, when no new runs can start, so that all runs end in order.
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        if let Err(error) = bell.shutdown().await {
            error!("the site robot scheduler did not shut down cleanly: {error}");
        }
    }

    fn look(&self) {
        // Pages reported as changed during a run are still to be visited.
        self.refresh_changed();
        // A robot that is still running holds the lease, so its task here ends immediately.
        for runs in self.inner.robots.load().iter() {
            let (schedules, runs) = (self.clone(), Arc::clone(runs));
            self.inner.tasks.spawn(async move {
                let site = runs.robot.site();
                if let Err(error) = schedules.look_at(&runs).await {
                    warn!(site, "the site robot run for {site} failed: {error:#}");
                    schedules.inner.pages.fail(site, format!("{error:#}"));
                }
            });
        }
    }

    /// Starts visits to pages that were reported as changed.
    fn refresh_changed(&self) {
        for runs in self.inner.robots.load().iter() {
            let site = runs.robot.site();
            let urls = self.inner.pages.take_changed(site);
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
                    // The current run may have visited these pages before they changed.
                    Err(error) if is_running(&error) => pages.requeue_changed(site, urls),
                    Err(error) => {
                        warn!(site, "cannot visit changed pages of {site}: {error:#}");
                        pages.fail(site, format!("{error:#}"));
                    }
                }
            });
        }
    }

    /// Starts a run requested on an admin page.
    fn begin(&self, site: &str) {
        let robots = self.inner.robots.load();
        let Some(runs) = robots.iter().find(|runs| runs.robot.site() == site) else {
            return;
        };
        let (schedules, runs) = (self.clone(), Arc::clone(runs));
        self.inner.tasks.spawn(async move {
            let (pages, site) = (&schedules.inner.pages, runs.robot.site());
            let accept = pages.take_acceptance(site);
            if accept && !runs.is_held().await {
                // Another instance was faster, or no run was requested.
                return;
            }
            match schedules.run(&runs, accept).await {
                Ok(_) => {}
                Err(error) if is_running(&error) => pages.fail(site, format!("{error:#}")),
                Err(error) => {
                    warn!(site, "the site robot run for {site} failed: {error:#}");
                    pages.fail(site, format!("{error:#}"));
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

    /// Runs the site robot unless another process is running it; returns `true` if the run
    /// finished.
    async fn run(&self, runs: &SiteRobotRuns, accept: bool) -> anyhow::Result<Option<bool>> {
        let site = runs.robot.site();
        let running = runs.run_if_free(accept);
        tokio::pin!(running);
        let ran = tokio::select! {
            ran = &mut running => Some(ran?),
            () = self.inner.stop.cancelled() => {
                runs.robot.handle().stop();
                let _ = time::timeout(LAST_VISITS, running).await;
                // Only this process was stopped; the next process continues the run.
                runs.store.frontier().set_run_command(site, RunCommand::Run).await?;
                info!(site, "the interrupted site robot run for {site} will be resumed");
                None
            }
        };
        if ran.is_some() {
            self.inner.pages.record_end(site);
        }
        Ok(ran.map(|ran| ran.summary.state == crate::store::RunState::Finished))
    }

    /// Stores the time when a stop was first seen; removes the time when the stopped run no longer
    /// exists.
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
    // Each change is complete, so the value is valid even after a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn start_bell(ring: mpsc::Sender<()>) -> Result<JobScheduler, JobSchedulerError> {
    let bell = JobScheduler::new().await?;
    let job = Job::new(EVERY_MINUTE, move |_, _| {
        // A pending trigger also covers this trigger.
        let _ = ring.try_send(());
    })?;
    bell.add(job).await?;
    bell.start().await?;
    Ok(bell)
}

/// The pause between two rounds of a loop without a schedule, in milliseconds.
const ROUND_MS: i64 = 60 * 60 * 1_000;

/// A run that was stopped, and the time when the stop was first seen.
pub(super) type Stopped = (i64, i64);

/// Returns the start time of a loop's next round (`onCompletion=loop`) after the last round ended.
///
/// The next round starts at the next scheduled time or, without a schedule, an hour after the last
/// round ended.
pub(super) fn next_round_ms(schedule: Option<&Schedule>, finished_ms: i64) -> i64 {
    let next_ms = schedule.and_then(|schedule| schedule.next_ms(finished_ms));
    next_ms.unwrap_or_else(|| finished_ms.saturating_add(ROUND_MS))
}

/// Returns `true` if a site's run must be started or resumed now.
///
/// A run is due if a scheduled time has passed since the last run began, if there was no run yet,
/// or if the last run was interrupted. A paused run stays paused; a stopped run is resumed at the
/// next scheduled time.
pub(super) fn is_due(
    schedule: &Schedule,
    last: Option<&StoredRun>,
    stopped: Option<Stopped>,
    now_ms: i64,
) -> bool {
    let Some(last) = last else { return true };
    let passed_since = |ms| {
        schedule
            .next_ms(ms)
            .is_some_and(|next_ms| next_ms <= now_ms)
    };
    match (last.finished_ms, last.wanted) {
        // Measured from the start of the last run: otherwise a run longer than the interval would
        // skip a scheduled time.
        (Some(_), _) => passed_since(last.started_ms),
        (None, RunCommand::Run) => true,
        (None, RunCommand::Pause) => false,
        (None, RunCommand::Stop) => {
            let seen = stopped.filter(|(run_id, _)| *run_id == last.run_id);
            seen.is_some_and(|(_, seen_ms)| passed_since(seen_ms))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    const HOUR_MS: i64 = 3_600_000;
    /// The time 2026-11-22T00:00:00Z, in milliseconds since 1970.
    const MIDNIGHT: i64 = 1_795_305_600_000;

    async fn run(finished: bool, wanted: RunCommand) -> StoredRun {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let (run, _) = store.frontier().begin_run("a", "", MIDNIGHT).await.unwrap();
        store.frontier().set_run_command("a", wanted).await.unwrap();
        if finished {
            store
                .frontier()
                .finish_run("a", run.run_id, 0, MIDNIGHT + 1)
                .await
                .unwrap();
        }
        store.frontier().run(run.run_id).await.unwrap()
    }

    #[test]
    fn expressions_are_in_utc() {
        let schedule = Schedule::parse("30 3 * * *").unwrap();
        assert_eq!(
            schedule.next_ms(MIDNIGHT),
            Some(MIDNIGHT + 3 * HOUR_MS + HOUR_MS / 2)
        );
        assert!(Schedule::parse("every day").is_err());
        assert!(Schedule::parse("").is_err());
    }

    #[test]
    fn loop_follows_its_schedule_or_pauses_for_an_hour() {
        let schedule = Schedule::parse("0 3 * * *").unwrap();
        let three = MIDNIGHT + 3 * HOUR_MS;
        assert_eq!(next_round_ms(Some(&schedule), MIDNIGHT + 1), three);
        assert_eq!(next_round_ms(Some(&schedule), three), three + 24 * HOUR_MS);
        assert_eq!(next_round_ms(None, MIDNIGHT + 1), MIDNIGHT + HOUR_MS + 1);
        let every_second = Schedule::parse("* * * * * *").unwrap();
        assert_eq!(
            next_round_ms(Some(&every_second), MIDNIGHT),
            MIDNIGHT + 1_000
        );
    }

    #[tokio::test]
    async fn run_is_due_when_its_time_has_passed() {
        let schedule = Schedule::parse("0 * * * *").unwrap();
        let is_due = |last: Option<&StoredRun>, now_ms| is_due(&schedule, last, None, now_ms);
        assert!(is_due(None, MIDNIGHT));
        let finished = run(true, RunCommand::Run).await;
        assert!(!is_due(Some(&finished), MIDNIGHT + HOUR_MS - 1));
        assert!(is_due(Some(&finished), MIDNIGHT + HOUR_MS));
        assert!(is_due(
            Some(&run(false, RunCommand::Run).await),
            MIDNIGHT + 1
        ));
        let paused = run(false, RunCommand::Pause).await;
        assert!(!is_due(Some(&paused), MIDNIGHT + 9 * HOUR_MS));
    }

    #[tokio::test]
    async fn stopped_run_waits_for_the_next_scheduled_time() {
        let schedule = Schedule::parse("0 * * * *").unwrap();
        let run = run(false, RunCommand::Stop).await;
        let seen_ms = MIDNIGHT + 2 * HOUR_MS + 5;
        let is_due = |stopped, now_ms| is_due(&schedule, Some(&run), stopped, now_ms);
        assert!(!is_due(None, seen_ms));
        assert!(!is_due(Some((run.run_id, seen_ms)), seen_ms + 60_000));
        assert!(is_due(Some((run.run_id, seen_ms)), MIDNIGHT + 3 * HOUR_MS));
        assert!(!is_due(
            Some((run.run_id + 1, seen_ms)),
            MIDNIGHT + 3 * HOUR_MS
        ));
    }
}
