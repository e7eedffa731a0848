//! Accepts runs that commands hand over to a running server, and reloads changed heaven pages.

use std::{convert::Infallible, sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use tokio::{sync::Semaphore, time};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{info, warn};

use crate::clock::Clock;
use crate::config::Loaded;
use crate::layer::SiteRobotKey;
use crate::operations::own_robot;
use crate::operations::{Reloads, RobotRuns};
use crate::site_robot::{Handle, RobotState, holder_name};
use crate::store::{RunCommand, SiteRobotVersions, Store, StoreError, StoredOrder};

use super::{
    RunResult, SiteRobotRuns, SiteRobotSettings,
    handover::{Order, OrderOutcome, settings_digest},
};

/// The interval between a server's heartbeats, which show that the server is running.
// Four heartbeats within the minute for which the store regards a server as running.
const SHOWN_EVERY: Duration = Duration::from_secs(15);

/// The interval at which a run's progress is stored for the command that handed the run over.
const TOLD_EVERY: Duration = Duration::from_millis(500);

/// The pause before the database is queried again after a failure.
const RETRY: Duration = Duration::from_secs(15);

/// The maximum number of concurrent runs executed for commands; other processes may accept further
/// runs.
const MAX_AT_ONCE: usize = 4;

/// The time for active page visits to finish at shutdown; the next run repeats unfinished visits.
const LAST_VISITS: Duration = Duration::from_secs(10);

/// A type that can reload the list of heaven pages, if heaven is served.
pub(crate) trait HeavenReload: Clone + Send + Sync + 'static {
    /// Reloads the list of heaven pages.
    fn reload(&self) -> impl Future<Output = ()> + Send;
}

/// A queue of runs that commands hand over to this server; clones share the queue.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    inner: Arc<Desk>,
}

#[derive(Debug)]
struct Desk {
    holder: String,
    store: Store,
    clock: Clock,
    own: SiteRobotKey,
    pages: RobotRuns,
    reloads: Reloads,
    loaded: ArcSwapOption<Loaded>,
    tasks: TaskTracker,
    places: Arc<Semaphore>,
}

impl Orders {
    /// Creates a queue without settings; every run is declined until settings are set.
    pub(crate) fn new(
        store: &Store,
        clock: &Clock,
        own: &SiteRobotKey,
        (pages, reloads): (&RobotRuns, &Reloads),
    ) -> Self {
        let desk = Desk {
            holder: holder_name(),
            store: store.clone(),
            clock: clock.clone(),
            own: own.clone(),
            pages: pages.clone(),
            reloads: reloads.clone(),
            loaded: ArcSwapOption::empty(),
            tasks: TaskTracker::new(),
            places: Arc::new(Semaphore::new(MAX_AT_ONCE)),
        };
        Self {
            inner: Arc::new(desk),
        }
    }

    /// Replaces the settings; active runs continue with the old settings.
    pub(crate) fn replace(&self, loaded: &Loaded) {
        self.inner.loaded.store(Some(Arc::new(loaded.clone())));
    }

    /// Executes handed-over runs until `stop` is cancelled, then ends active runs.
    pub(crate) async fn execute_runs(self, heaven: impl HeavenReload, stop: CancellationToken) {
        let taking = async {
            tokio::join!(self.show(), self.listen(&heaven, &stop));
        };
        stop.run_until_cancelled(taking).await;
        let Desk {
            store,
            holder,
            tasks,
            ..
        } = &*self.inner;
        if let Err(error) = store.orders().remove_server(holder).await {
            tracing::debug!(
                "cannot report that this server has ended; commands will treat the server as running for another minute: {error}"
            );
        }
        tasks.close();
        tasks.wait().await;
    }

    /// Reports to commands that this server accepts handed-over runs.
    async fn show(&self) {
        let Desk {
            store,
            holder,
            clock,
            ..
        } = &*self.inner;
        loop {
            if let Err(error) = store
                .orders()
                .server_heartbeat(holder, clock.now_ms())
                .await
            {
                tracing::debug!("this server temporarily accepts no runs: {error}");
            }
            time::sleep(SHOWN_EVERY).await;
        }
    }

    async fn listen(&self, heaven: &impl HeavenReload, stop: &CancellationToken) {
        let mut seen = SiteRobotVersions::default();
        loop {
            match self.inner.store.orders().site_robot_changed(seen).await {
                Ok(news) => {
                    if news.heavens != seen.heavens {
                        heaven.reload().await;
                    }
                    seen = news;
                    if let Err(error) = self.take_all(heaven, stop).await {
                        warn!("cannot accept a site robot run: {error}");
                    }
                }
                Err(error) => {
                    warn!("this server temporarily accepts no runs: {error}");
                    time::sleep(RETRY).await;
                }
            }
        }
    }

    async fn take_all(
        &self,
        heaven: &impl HeavenReload,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        let Desk {
            store,
            holder,
            clock,
            tasks,
            places,
            ..
        } = &*self.inner;
        // A slot is reserved before an order is accepted: otherwise the order would have to be
        // returned.
        while let Ok(place) = Arc::clone(places).try_acquire_owned() {
            let Some(order) = store.orders().take(holder, clock.now_ms()).await? else {
                return Ok(());
            };
            let (orders, heaven, stop) = (self.clone(), heaven.clone(), stop.clone());
            tasks.spawn(async move {
                orders.carry_out(&order, &heaven, &stop).await;
                drop(place);
            });
        }
        Ok(())
    }

    async fn carry_out(
        &self,
        order: &StoredOrder,
        heaven: &impl HeavenReload,
        stop: &CancellationToken,
    ) {
        let (site, id) = (&order.site, &order.order_id);
        let outcome = match Box::pin(self.run(order, stop)).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let text = format!("{error:#}");
                warn!(site, "the site robot run for {site} failed: {text}");
                OrderOutcome::Failed(text)
            }
        };
        // Reloaded before the result is stored, so that the command sees the new heaven.
        heaven.reload().await;
        let Desk { store, clock, .. } = &*self.inner;
        let text = serde_json::to_string(&outcome).unwrap_or_default();
        if let Err(error) = store.orders().finish(id, &text, clock.now_ms()).await {
            warn!(
                site,
                "cannot report the result of the site robot run for {site}: {error}"
            );
        }
    }

    async fn run(
        &self,
        order: &StoredOrder,
        stop: &CancellationToken,
    ) -> anyhow::Result<OrderOutcome> {
        let (site, desk) = (&order.site, &*self.inner);
        let runs = match self.made(order).await? {
            Ok(runs) => runs,
            Err(reason) => return Ok(OrderOutcome::Declined(reason)),
        };
        info!(site, "a command requested a site robot run for {site}");
        // The admin pages show the run of this robot, and afterwards the site's own robot again.
        let before = desk.pages.show(&runs.robot);
        let ran = self.run_robot(&runs, &order.order_id, stop).await;
        if let Some(before) = before {
            desk.pages.show(&before);
        }
        ran.map(|ran| OrderOutcome::Ran(Box::new(ran)))
    }

    async fn run_robot(
        &self,
        runs: &SiteRobotRuns,
        order_id: &str,
        stop: &CancellationToken,
    ) -> anyhow::Result<RunResult> {
        let handle = runs.robot.handle();
        let running = runs.run();
        tokio::pin!(running);
        tokio::select! {
            ran = &mut running => ran,
            // This future ends with the run, because the other branch drops it.
            never = self.accompany(order_id, &handle) => match never {},
            () = stop.cancelled() => {
                handle.stop();
                let ran = time::timeout(LAST_VISITS, &mut running).await;
                // Only this process was stopped; the next process continues the run.
                self.inner.store.frontier().set_run_command(runs.robot.site(), RunCommand::Run).await?;
                ran.unwrap_or_else(|_| {
                    Err(anyhow::anyhow!("the server was stopped; repeat the command to resume the run"))
                })
            }
        }
    }

    /// Creates the site robot for a handed-over run, or returns the reason why this server declines
    /// the run.
    async fn made(&self, order: &StoredOrder) -> anyhow::Result<Result<SiteRobotRuns, String>> {
        let Desk {
            store, clock, own, ..
        } = &*self.inner;
        // Unknown fields are refused, so that a newer command's request is not silently ignored.
        let Ok(work) = serde_json::from_str::<Order>(&order.work) else {
            return Ok(Err(
                "the server runs another version of robot-detection".to_owned()
            ));
        };
        let key = own_robot::load_or_create_key(store, clock).await?;
        let is_same = |loaded: &Loaded| settings_digest(loaded, &order.site, &key) == work.settings;
        let loaded = match self.inner.loaded.load_full() {
            Some(loaded) if work.reload && !is_same(&loaded) => match self.reloaded().await {
                Ok(loaded) => loaded,
                Err(reason) => return Ok(Err(reason)),
            },
            loaded => loaded,
        };
        let Some(loaded) = loaded else {
            return Ok(Err(
                "the server was started without a configuration".to_owned()
            ));
        };
        // Otherwise, the command would show a different run from the run on this server.
        if !is_same(&loaded) {
            let reason = if work.reload {
                "the server was reloaded, but its configuration file has other settings for this site"
            } else {
                "the server has other settings for this site, and its configuration was not reloaded"
            };
            return Ok(Err(reason.to_owned()));
        }
        let settings = SiteRobotSettings::new(&loaded, &order.site, &work.changes)?;
        let Some(settings) = settings else {
            return Ok(Err(
                "no starting point is configured on the server".to_owned()
            ));
        };
        SiteRobotRuns::of(&settings, store, clock.clone(), own).map(Ok)
    }

    /// Reloads the configuration file; returns the current configuration, or the reason for a
    /// failure.
    async fn reloaded(&self) -> Result<Option<Arc<Loaded>>, String> {
        let Desk {
            reloads, loaded, ..
        } = &*self.inner;
        let outcome = if reloads.is_served() {
            reloads.request_reload(Reloads::COMMAND).await
        } else {
            None
        };
        match outcome.as_deref().map(|outcome| &outcome.result) {
            Some(Ok(_)) => Ok(loaded.load_full()),
            Some(Err(failure)) => Err(format!(
                "the server could not reload its configuration: {}",
                failure.text
            )),
            None => Err("the server cannot reload its configuration".to_owned()),
        }
    }

    /// Stores a run's progress, and stops the run if the command requests it.
    async fn accompany(&self, order_id: &str, handle: &Handle) -> Infallible {
        let Desk { store, clock, .. } = &*self.inner;
        loop {
            let mut progress = handle.progress();
            progress.hosts.clear();
            let text = serde_json::to_string(&progress).unwrap_or_default();
            match store.orders().update(order_id, &text, clock.now_ms()).await {
                // A run that has not started yet would not receive the request to stop.
                Ok(false) if progress.state == RobotState::Running => handle.stop(),
                Ok(_) => {}
                Err(error) => tracing::debug!("cannot store the progress of the run: {error}"),
            }
            time::sleep(TOLD_EVERY).await;
        }
    }
}
