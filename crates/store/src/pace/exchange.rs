//! Exchange of rate limit usage between instances.

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use tokio::time;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::store::{OutageLogger, RateLimitDebt, Store, StoreError};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::policy::{BucketDebt, Policy, RateLimiter, SharedLimit};

/// The interval at which instances exchange their rate limit usage.
const EVERY: Duration = Duration::from_secs(1);

/// The number of usage exchanges between two heartbeats.
const SIGN_EVERY: u32 = 5;

/// The number of exchanges between two deletions of expired entries.
const PRUNE_EVERY: u32 = 60;

/// The maximum number of clients per exchange, over all rules; storing this many takes only
/// milliseconds.
const MOST_TOLD: usize = 2_000;

/// The exchange of rate limit usage between instances, for rules that slow down requests.
pub struct Exchange {
    store: Store,
    clock: Clock,
    policies: Policies,
    /// The random ID of this process, generated at each start.
    instance: String,
    fleet: Option<SharedLimit>,
    read_ms: i64,
    turn: u32,
    outage: OutageLogger,
}

/// A function that returns the current policies, each paired with the name of its site.
type Policies = Box<dyn Fn() -> Vec<(String, Arc<Policy>)> + Send + Sync>;

/// The rate limiters, each keyed by the hash of its rule.
type Limiters<'p> = HashMap<i64, &'p RateLimiter>;

impl Exchange {
    /// Creates an exchange for the rate limits of all sites.
    pub fn new(
        store: Store,
        clock: Clock,
        policies: impl Fn() -> Vec<(String, Arc<Policy>)> + Send + Sync + 'static,
    ) -> Self {
        let random = RandomState::new();
        Self {
            store,
            clock,
            policies: Box::new(policies),
            instance: format!("{:016x}", random.hash_one("instance")),
            fleet: None,
            read_ms: 0,
            turn: 0,
            outage: OutageLogger::new(
                "database unavailable; each instance enforces its share of the rate limits",
                "database available again; instances share the rate limits",
            ),
        }
    }

    /// Exchanges rate limit usage with the other instances until `stop` is cancelled.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut ticks = time::interval(EVERY);
        ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            let policies = (self.policies)();
            match self.talk(&policies).await {
                Ok(()) => self.outage.log_success(),
                Err(error) => self.outage.log_failure(&error),
            }
        }
        if self.fleet.is_some() {
            // If this fails, the instance is removed after some seconds.
            let _ = self.store.pace().leave(&self.instance).await;
        }
    }

    async fn talk(&mut self, policies: &[(String, Arc<Policy>)]) -> Result<(), StoreError> {
        let slows = |(_, policy): &(String, Arc<Policy>)| {
            policy.rules().any(|rule| rule.rate_limiter().is_some())
        };
        // If there are no rate limits, there is nothing to exchange, so nothing is written.
        if !policies.iter().any(slows) {
            return Ok(());
        }
        let turn = self.turn;
        self.turn = turn.wrapping_add(1);
        let fleet = match self.fleet {
            Some(fleet) if !turn.is_multiple_of(SIGN_EVERY) => fleet,
            _ => self.join().await?,
        };
        let limiters = limiters(policies, fleet);
        let now_ms = self.clock.now_ms();
        for limiter in limiters.values() {
            limiter.join(fleet, now_ms);
        }
        if fleet.instances > 1 {
            self.tell(&limiters).await?;
            self.hear(&limiters).await?;
        }
        if turn.is_multiple_of(PRUNE_EVERY) {
            self.store.pace().prune().await?;
        }
        Ok(())
    }

    /// Sends a heartbeat and counts the other instances.
    async fn join(&mut self) -> Result<SharedLimit, StoreError> {
        let seed = if let Some(fleet) = self.fleet {
            fleet.seed
        } else {
            let random = RandomState::new();
            let seed = [0, 1].map(|half| random.hash_one(half));
            self.store.pace().seed(seed).await?
        };
        let instances = self.store.pace().join(&self.instance).await?;
        let before = self.fleet.map_or(1, |fleet| fleet.instances);
        if instances != before {
            info!(instances, "{instances} instances share the rate limits");
        }
        let fleet = SharedLimit { seed, instances };
        self.fleet = Some(fleet);
        Ok(fleet)
    }

    /// Stores this instance's rate limit usage, for the other instances to read.
    async fn tell(&self, limiters: &Limiters<'_>) -> Result<(), StoreError> {
        let most = MOST_TOLD / limiters.len().max(1);
        let untold: Vec<_> = limiters
            .iter()
            .map(|(&rule, limiter)| (rule, limiter, limiter.take_unreported(most.max(1))))
            .collect();
        let served = untold.iter().flat_map(|(rule, _, debts)| {
            debts.iter().map(|debt| RateLimitDebt {
                rule: *rule,
                bucket: debt.key.cast_signed(),
                debt_us: debt.debt_us,
            })
        });
        let served: Vec<_> = served.collect();
        if served.is_empty() {
            return Ok(());
        }
        let told = self.store.pace().add(&served).await;
        told.inspect_err(|_| {
            for (_, limiter, debts) in &untold {
                limiter.restore_unreported(debts);
            }
        })
    }

    /// Reads the rate limit usage of all instances, and applies it.
    async fn hear(&mut self, limiters: &Limiters<'_>) -> Result<(), StoreError> {
        let changes = self.store.pace().changes_since(self.read_ms).await?;
        self.read_ms = changes.read_ms;
        let mut debts: HashMap<i64, Vec<BucketDebt>> = HashMap::new();
        for debt in changes.debts {
            debts.entry(debt.rule).or_default().push(BucketDebt {
                key: debt.bucket.cast_unsigned(),
                debt_us: debt.debt_us,
            });
        }
        let now_ms = self.clock.now_ms();
        for (rule, debts) in debts {
            // Other instances may have rules that this instance does not have.
            if let Some(limiter) = limiters.get(&rule) {
                limiter.apply_totals(&debts, now_ms);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

/// Returns the rate limiters, keyed by a hash of site, rule and rate that is the same on all
/// instances.
fn limiters(policies: &[(String, Arc<Policy>)], fleet: SharedLimit) -> Limiters<'_> {
    let rules = policies
        .iter()
        .flat_map(|(site, policy)| policy.rules().map(move |rule| (site, rule)));
    let found = rules.filter_map(|(site, rule)| {
        let limiter = rule.rate_limiter()?;
        let hash = fleet.hash(&(site, rule.label(), limiter.to_string()));
        Some((hash.cast_signed(), limiter))
    });
    found.collect()
}
