//! The task that writes bans to the database and to the log.

use std::{collections::VecDeque, fmt, net::IpAddr, time::Duration};

use tokio::{sync::mpsc, time};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{
    bans::{BanCandidate, Bans, ms},
    network::Network,
};
use robot_detection_layer::clock::Clock;
use robot_detection_store::fetch::AddressKind;
use robot_detection_store::store::{Ban, OutageLogger, Store, StoredSession};

/// Maximum number of bans buffered while the database is unavailable; the oldest bans are dropped
/// first.
const MAX_HELD: usize = 10_000;

/// Interval at which buffered bans are written and expired bans are removed.
const EVERY: Duration = Duration::from_secs(10);

/// Clients that are never banned.
pub struct BanExemptions {
    /// Function that returns the reason why an address is never banned, if any.
    pub addresses: Box<dyn Fn(IpAddr) -> Option<&'static str> + Send + Sync>,
    /// Function that returns `true` if a session was started from the network that contains an
    /// address.
    pub is_from: fn(&StoredSession, IpAddr) -> bool,
}

impl fmt::Debug for BanExemptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spared").finish_non_exhaustive()
    }
}

/// The task that stores the bans of one process.
pub struct BanKeeper {
    found: mpsc::Receiver<BanCandidate>,
    store: Store,
    clock: Clock,
    spared: BanExemptions,
    held: VecDeque<Ban>,
    outage: OutageLogger,
}

impl BanKeeper {
    /// Creates a keeper, and the counter that sends bans to this keeper.
    pub fn new(store: Store, clock: Clock, spared: BanExemptions) -> (Bans, Self) {
        let (bans, found) = Bans::new(clock.clone());
        let keeper = Self {
            found,
            store,
            clock,
            spared,
            held: VecDeque::new(),
            outage: OutageLogger::new(
                "database unavailable, buffering bans in memory",
                "bans are written to the database again",
            ),
        };
        (bans, keeper)
    }

    /// Stores bans until `stop` is cancelled.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut ticks = time::interval(EVERY);
        ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(found) = self.found.recv() => self.take(found).await,
                _ = ticks.tick() => self.prune().await,
            }
            self.write().await;
        }
        while let Ok(found) = self.found.try_recv() {
            self.take(found).await;
        }
        self.write().await;
    }

    /// Logs and stores a ban, unless the client's address is exempt.
    async fn take(&mut self, found: BanCandidate) {
        let network = Network::containing(found.address);
        if let Some(why) = self.exemption_reason(found.address).await {
            debug!(%network, "{network} is often refused but not banned: {why}");
            return;
        }
        let (address, seconds) = (found.address.to_canonical(), found.lasts.as_secs());
        // fail2ban's filter matches this line: the address comes first, and no part of the line is
        // written by a visitor.
        warn!("banned {address} for {seconds} s: {}", found.cause);
        self.held.push_back(Ban {
            network: network.to_string(),
            cause: found.cause.into(),
            since_ms: found.at_ms,
            until_ms: found.at_ms.saturating_add(ms(found.lasts)),
        });
        let too_many = self.held.len().saturating_sub(MAX_HELD);
        self.held.drain(..too_many);
    }

    async fn exemption_reason(&self, address: IpAddr) -> Option<&'static str> {
        let is_reached = matches!(
            AddressKind::from_address(address),
            // Examples and tests use documentation addresses as if they were public.
            AddressKind::Public | AddressKind::Documentation
        );
        if !is_reached {
            return Some("not a public network");
        }
        if let Some(why) = (self.spared.addresses)(address) {
            return Some(why);
        }
        match self.store.access().sessions(self.clock.now_ms()).await {
            Ok(sessions) => {
                let is_from = self.spared.is_from;
                let is_here = sessions.iter().any(|session| is_from(session, address));
                is_here.then_some("an administrator has logged in from this network")
            }
            // Locking out the administrator would be worse than delaying a ban.
            Err(_) => {
                Some("administrators' networks are unknown while the database is unavailable")
            }
        }
    }

    async fn write(&mut self) {
        while let Some(ban) = self.held.front() {
            if let Err(error) = self.store.bans().add(ban).await {
                return self.outage.log_failure(&error);
            }
            self.held.pop_front();
            self.outage.log_success();
        }
    }

    async fn prune(&mut self) {
        if let Err(error) = self.store.bans().prune(self.clock.now_ms()).await {
            self.outage.log_failure(&error);
        }
    }
}

impl fmt::Debug for BanKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BanKeeper")
            .field("held", &self.held.len())
            .finish_non_exhaustive()
    }
}
