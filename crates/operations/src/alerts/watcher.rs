//! The task that evaluates alerts once a minute and sends messages.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{
    Alert, Figures, Message, Watch, judge,
    state::{due, observe, record_attempt},
};
use crate::Certificates;
use robot_detection_layer::clock::Clock;
use robot_detection_store::refresh::Refresher;
use robot_detection_store::store::{
    AlertAttempt, AlertState, DatabaseOutage, Lease, LeaseError, RunState, Store, StoreError,
    TrafficSum,
};

/// Time between startup and the first evaluation.
const FIRST: Duration = Duration::from_secs(2);
/// Time between two attempts to become leader. `PostgreSQL` detects a failed leader within ten
/// seconds, so another instance takes over within fifteen.
const TRY: Duration = Duration::from_secs(4);
/// Number of attempts to become leader between two evaluations, which are a minute apart.
const TRIES: u32 = 15;
/// Lifetime of the leader's lease; each evaluation renews the lease.
const LEASE: Duration = Duration::from_mins(5);
const LEASE_NAME: &str = "alerts";
/// Maximum length of a database outage that is not reported; a database restart takes less time.
const AWAY_MS: i64 = 60_000;

const MINUTE_MS: i64 = 60_000;
const HOUR: i64 = 60;
const WEEK: i64 = 7 * 24 * HOUR;

/// The alerts in force, which a reload replaces. Clones share the alerts.
#[derive(Clone, Debug, Default)]
pub struct SharedAlerts {
    current: Arc<ArcSwap<Vec<Alert>>>,
}

/// The alert watcher of a process; if there are several instances, only the leader evaluates
/// alerts.
pub struct Watcher {
    store: Store,
    clock: Clock,
    alerts: SharedAlerts,
    refresher: Refresher,
    certificates: Certificates,
    role: Role,
    /// States of alerts about the database itself, which cannot be stored in the database.
    remembered: HashMap<String, AlertState>,
    /// An hour, and the traffic of the week before that hour; updated once an hour.
    week: Option<(i64, Vec<TrafficSum>)>,
}

/// Whether this process evaluates alerts.
#[derive(Debug)]
enum Role {
    /// The database has not been queried successfully yet.
    Unknown,
    /// This process evaluates alerts as long as it renews the lease.
    Looks(Lease),
    /// Another instance evaluates alerts.
    Waits,
}

impl SharedAlerts {
    /// Replaces the watched alerts.
    pub fn replace(&self, alerts: Vec<Alert>) {
        self.current.store(Arc::new(alerts));
    }

    /// Returns the alerts that are in force.
    fn load(&self) -> Arc<Vec<Alert>> {
        self.current.load_full()
    }
}

impl Watcher {
    /// Creates a watcher; `certificates` are the certificates that the process serves.
    pub fn new(
        store: Store,
        clock: Clock,
        alerts: SharedAlerts,
        refresher: Refresher,
        certificates: Certificates,
    ) -> Self {
        Self {
            store,
            clock,
            alerts,
            refresher,
            certificates,
            role: Role::Unknown,
            remembered: HashMap::new(),
            week: None,
        }
    }

    /// Evaluates alerts once a minute until `stop` is cancelled.
    pub async fn run(mut self, stop: CancellationToken) {
        let looking = async {
            tokio::time::sleep(FIRST).await;
            loop {
                self.evaluate().await;
                for _ in 0..TRIES {
                    tokio::time::sleep(TRY).await;
                    self.lead().await;
                }
            }
        };
        stop.run_until_cancelled(looking).await;
        self.release_leadership().await;
    }

    /// Becomes leader if there is no leader, so that the next evaluation is not missed.
    async fn lead(&mut self) {
        // A leader writes to the database at each evaluation, which is often enough.
        if !matches!(self.role, Role::Looks(_))
            && self.store.outage().is_none()
            && let Err(error) = self.is_ours().await
        {
            // The database's own watcher logs its outage.
            debug!("could not determine the leader for alerts: {error}");
        }
    }

    /// Gives up leadership, so that another instance can evaluate the alerts.
    pub async fn release_leadership(&mut self) {
        if let Role::Looks(lease) = std::mem::replace(&mut self.role, Role::Unknown) {
            lease.release().await;
        }
    }

    /// Evaluates all alerts once and sends the messages that are due.
    pub async fn evaluate(&mut self) {
        let alerts = self.alerts.load();
        let absence = self.store.outage();
        self.watch_database(&alerts, absence.as_deref()).await;
        if absence.is_none()
            && let Err(error) = self.watch_others(&alerts).await
        {
            // The database's own watcher logs its outage.
            debug!("could not evaluate alerts, retrying in a minute: {error}");
        }
    }

    /// Evaluates the alerts about the database, whose states are stored in memory.
    async fn watch_database(&mut self, alerts: &[Alert], absence: Option<&DatabaseOutage>) {
        let now_ms = self.clock.now_ms();
        let waits = matches!(self.role, Role::Waits);
        let of_database = alerts.iter().filter(|it| it.watch == Watch::Database);
        for alert in of_database {
            let mut state = self.remembered.remove(&alert.name).unwrap_or_default();
            // Each instance detects the outage, but only the last leader reports it; the instance
            // that reported its start also reports its end.
            if waits && !state.is_told {
                continue;
            }
            let is_long = |away: &&DatabaseOutage| now_ms.saturating_sub(away.since_ms) >= AWAY_MS;
            let findings = absence.filter(is_long).map(|away| away.reason.clone());
            observe(&mut state, findings.as_slice(), now_ms);
            self.tell(alert, &mut state, now_ms).await;
            self.remembered.insert(alert.name.clone(), state);
        }
    }

    async fn watch_others(&mut self, alerts: &[Alert]) -> Result<(), StoreError> {
        if !self.is_ours().await? {
            return Ok(());
        }
        let now_ms = self.clock.now_ms();
        let known = self.store.alerts().list().await?;
        for gone in known.iter().filter(|known| !has(alerts, &known.name)) {
            self.store.alerts().remove(&gone.name).await?;
        }
        if alerts.is_empty() {
            return Ok(());
        }
        let figures = self.figures(alerts, now_ms).await?;
        for alert in alerts {
            let before = known.iter().find(|known| known.name == alert.name);
            let mut state = match (alert.watch, before) {
                (Watch::Database, _) => self.remembered.get(&alert.name).cloned(),
                (_, before) => before.cloned(),
            }
            .unwrap_or_default();
            state.name.clone_from(&alert.name);
            alert.watch.as_str().clone_into(&mut state.watch);
            state.receiver = alert.webhook.redacted_url();
            if alert.watch != Watch::Database {
                observe(&mut state, &judge(alert.watch, &figures), now_ms);
                self.tell(alert, &mut state, now_ms).await;
            }
            if before != Some(&state) {
                self.store.alerts().save(&state).await?;
            }
        }
        Ok(())
    }

    /// Returns `true` if this process is the leader.
    async fn is_ours(&mut self) -> Result<bool, StoreError> {
        if let Role::Looks(lease) = &self.role
            && lease.renew().await?
        {
            return Ok(true);
        }
        self.role = match self.store.leases().acquire(LEASE_NAME, LEASE).await {
            Ok(lease) => Role::Looks(lease),
            Err(LeaseError::Store(error)) => return Err(error),
            Err(_) => Role::Waits,
        };
        Ok(matches!(self.role, Role::Looks(_)))
    }

    /// Sends the message that is due, if any, to the alert's receiver.
    async fn tell(&mut self, alert: &Alert, state: &mut AlertState, now_ms: i64) {
        let Some(event) = due(state, now_ms) else {
            return;
        };
        let message = Message::new(alert, event, &state.findings, state.since_ms, now_ms);
        let result = alert.webhook.send(alert, &message).await.map(drop);
        let (name, receiver, event) = (&alert.name, alert.webhook.redacted_url(), event.as_str());
        match &result {
            Ok(()) => info!(name, event, "sent alert {name:?} to {receiver}: {event}"),
            // Only the first failed attempt is logged.
            Err(error) if state.failures == 0 => {
                warn!(
                    name,
                    event, "failed to deliver alert {name:?} to {receiver}: {error}"
                );
            }
            Err(_) => {}
        }
        record_attempt(state, &result, now_ms);
        let attempt = AlertAttempt {
            at_ms: now_ms,
            name: alert.name.clone(),
            event: event.to_owned(),
            error: result.err().unwrap_or_default(),
        };
        if let Err(error) = self.store.alerts().record_attempt(&attempt).await {
            debug!("could not record the result of an alert: {error}");
        }
    }

    /// Reads the figures, but only those that the given alerts need.
    async fn figures(&mut self, alerts: &[Alert], now_ms: i64) -> Result<Figures, StoreError> {
        let wants = |is_wanted: fn(Watch) -> bool| alerts.iter().any(|it| is_wanted(it.watch));
        let mut figures = Figures {
            now_ms,
            ..Figures::default()
        };
        let now = now_ms.div_euclid(MINUTE_MS) + 1;
        let is_spike = |watch| matches!(watch, Watch::CrawlSpike { .. });
        let is_of_hour = |watch| matches!(watch, Watch::Impostor { .. } | Watch::RobotsTxt { .. });
        if wants(is_of_hour) || wants(is_spike) {
            figures.hour = self.store.traffic().read(now - HOUR..now, now_ms).await?;
        }
        if wants(is_spike) {
            (figures.week, figures.week_hours) = self.usual(now, now_ms).await?;
        }
        if wants(|watch| watch == Watch::Refresh) {
            for spec in self.refresher.sources() {
                let last = self.store.refreshes().last(&spec.source).await?;
                figures.refreshes.extend(last);
            }
        }
        if wants(|watch| watch == Watch::Heaven) {
            figures.held = self.held().await?;
        }
        if wants(|watch| watch == Watch::Parity) {
            figures.differing = self.differing().await?;
        }
        figures.certificates = self.certificates.load();
        Ok(figures)
    }

    /// Returns the traffic of the week before the last hour, and the number of hours that have
    /// traffic data.
    async fn usual(&mut self, now: i64, now_ms: i64) -> Result<(Vec<TrafficSum>, u64), StoreError> {
        // Whole hours have few rows, with the same sums as the rows of their minutes.
        let end = (now - HOUR).div_euclid(HOUR) * HOUR;
        let first = self.store.traffic().first_day().await?.unwrap_or(end);
        let hours = (end - first.max(end - WEEK)).max(0) / HOUR;
        let sums = match self.week.take() {
            Some((of, sums)) if of == end => sums,
            _ => self.store.traffic().read(end - WEEK..end, now_ms).await?,
        };
        self.week = Some((end, sums.clone()));
        Ok((sums, hours.unsigned_abs()))
    }

    async fn differing(&self) -> Result<Vec<(String, u64, String)>, StoreError> {
        let mut differing = Vec::new();
        for site in self.store.frontier().run_sites().await? {
            if let Some((state, first)) = self.store.publications().first_differing(&site).await? {
                differing.push((site, state.differing, first.url));
            }
        }
        Ok(differing)
    }

    async fn held(&self) -> Result<Vec<(String, String)>, StoreError> {
        let mut held = Vec::new();
        for site in self.store.frontier().run_sites().await? {
            let last = self
                .store
                .frontier()
                .runs(&site, 1)
                .await?
                .into_iter()
                .next();
            if let Some(run) = last.filter(|run| run.state == RunState::Held) {
                held.push((site, run.held.unwrap_or_default()));
            }
        }
        Ok(held)
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher")
            .field("alerts", &self.alerts)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

fn has(alerts: &[Alert], name: &str) -> bool {
    alerts.iter().any(|alert| alert.name == name)
}
