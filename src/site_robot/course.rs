//! The course of a run: claims URLs, begins visits as hosts allow, records what came.

use std::{sync::Arc, time::Duration};

use tokio::{
    task::{JoinError, JoinSet},
    time::MissedTickBehavior,
};
use url::Url;

use crate::store::{FoundUrl, PageRecord, Recorded, RunCounts, RunKey, RunWanted, StoredRun};

use super::{
    Progress, QueryVariants, SiteRobotError,
    hosts::{Hosts, Job},
    robots::HostRules,
    seen::Seen,
    visit::{Visited, Visitor},
};

/// How often a sign of life is given, and orders are read.
const TICK: Duration = Duration::from_secs(1);

/// URLs of one host that are taken at once.
const MAX_CLAIM: usize = 256;

/// One instance's part of a run.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is true for a while of its own"
)]
pub(super) struct Course {
    pub(super) visitor: Arc<Visitor>,
    pub(super) run: StoredRun,
    pub(super) is_resumed: bool,
    pub(super) began_ms: i64,
    pub(super) position: i64,
    pub(super) hosts: Hosts,
    pub(super) seen: Seen,
    pub(super) queries: QueryVariants,
    pub(super) work: JoinSet<Result<Done, SiteRobotError>>,
    /// Visits that have begun and not ended.
    pub(super) active: usize,
    /// Visits that have ended and are not recorded.
    pub(super) unrecorded: usize,
    pub(super) pending: Vec<PageRecord>,
    pub(super) pending_counts: RunCounts,
    pub(super) is_recording: bool,
    /// Whether the database may have more to visit than was taken.
    pub(super) may_have_more: bool,
    pub(super) wanted: RunWanted,
    /// Whether somebody else has ended the run.
    pub(super) is_over: bool,
}

/// What a task has done.
pub(super) enum Done {
    Rules {
        host: Arc<str>,
        rules: Option<Arc<HostRules>>,
        sitemaps: Vec<FoundUrl>,
    },
    Visited(Box<Visited>),
    Recorded {
        pages: usize,
        recorded: Recorded,
    },
}

impl Course {
    pub(super) fn new(
        visitor: Arc<Visitor>,
        run: StoredRun,
        is_resumed: bool,
        began_ms: i64,
    ) -> Self {
        let limits = visitor.settings().limits;
        let max_queries = visitor.settings().max_queries;
        Self {
            hosts: Hosts::new(limits.site_max_connections, limits.server_delay),
            visitor,
            run,
            is_resumed,
            began_ms,
            position: began_ms.saturating_mul(1_000_000),
            seen: Seen::default(),
            queries: QueryVariants::new(max_queries),
            work: JoinSet::new(),
            active: 0,
            unrecorded: 0,
            pending: Vec::new(),
            pending_counts: RunCounts::default(),
            is_recording: false,
            may_have_more: true,
            wanted: RunWanted::Run,
            is_over: false,
        }
    }

    /// Works until nothing is left; returns whether the run has come to its end.
    pub(super) async fn go(&mut self) -> Result<bool, SiteRobotError> {
        let mut orders = self.visitor.shared.wanted.subscribe();
        // An order may have been given before there was anybody to hear it.
        orders.mark_changed();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tick.tick().await;
        self.show_alive().await?;
        loop {
            self.fill().await?;
            self.begin_visits();
            self.record();
            if self.is_idle() {
                if self.is_over || self.wanted == RunWanted::Stop {
                    return Ok(false);
                }
                let has_nothing = self.hosts.queued() == 0 && !self.may_have_more;
                if self.wanted == RunWanted::Run && has_nothing && self.is_done().await? {
                    return Ok(true);
                }
            }
            let pause = self.pause();
            tokio::select! {
                Some(done) = self.work.join_next() => self.done(flatten(done)?),
                changed = orders.changed() => self.order(changed, &orders).await?,
                () = tokio::time::sleep(pause), if pause < TICK => {}
                _ = tick.tick() => self.show_alive().await?,
            }
        }
    }

    /// Takes URLs while there is room for them.
    async fn fill(&mut self) -> Result<(), SiteRobotError> {
        let settings = self.visitor.settings();
        let max = settings.limits.max_working;
        let is_full = self.hosts.queued() > max / 2;
        if is_full || !self.may_have_more || self.wanted != RunWanted::Run || self.is_over {
            return Ok(());
        }
        let (store, site, run_id) = (&settings.store, &settings.site, self.run.run_id);
        let hosts = store.waiting_hosts(site, run_id).await?;
        let share = (max / hosts.len().max(1)).clamp(1, MAX_CLAIM);
        let mut room = max.saturating_sub(self.hosts.queued());
        let mut wanted = Vec::new();
        for host in hosts {
            let count = share.saturating_sub(self.hosts.queued_of(&host)).min(room);
            room -= count;
            if let Some(count) = u32::try_from(count).ok().filter(|count| *count > 0) {
                wanted.push((host, count));
            }
        }
        let mut claimed = Vec::new();
        if !wanted.is_empty() {
            let holder = &settings.instance;
            claimed = store.claim_urls(site, run_id, holder, &wanted).await?;
        }
        self.may_have_more = !claimed.is_empty();
        for claimed in claimed {
            self.hosts.push(claimed);
        }
        Ok(())
    }

    /// Begins visits as connections and the hosts' pauses allow.
    fn begin_visits(&mut self) {
        let limits = self.visitor.settings().limits;
        while self.wanted == RunWanted::Run
            && !self.is_over
            && self.active < limits.max_connections
            && self.active + self.unrecorded < limits.in_flight.max(limits.max_connections)
        {
            let now_ms = self.now_ms();
            let Some(job) = self.hosts.begin(now_ms) else {
                return;
            };
            self.active += 1;
            let visitor = Arc::clone(&self.visitor);
            match job {
                Job::Rules { host, url } => {
                    self.work.spawn(async move {
                        let (rules, sitemaps) = visitor.learn(&host, &url).await;
                        Ok(Done::Rules {
                            host,
                            rules,
                            sitemaps,
                        })
                    });
                }
                Job::Visit(claimed) => {
                    self.work.spawn(async move {
                        let visited = visitor.visit(claimed).await?;
                        Ok(Done::Visited(Box::new(visited)))
                    });
                }
            }
        }
    }

    /// Records what has come since the last time, while nothing else is being recorded.
    fn record(&mut self) {
        if self.is_recording
            || self.pending.is_empty() && self.pending_counts == RunCounts::default()
        {
            return;
        }
        self.is_recording = true;
        self.position += 1;
        let pages = std::mem::take(&mut self.pending);
        let counts = std::mem::take(&mut self.pending_counts);
        let (visitor, run_id, position) =
            (Arc::clone(&self.visitor), self.run.run_id, self.position);
        self.work.spawn(async move {
            let settings = visitor.settings();
            let key = RunKey {
                site: &settings.site,
                run_id,
                settings: &visitor.fingerprint,
                position,
            };
            let now_ms = settings.clock.now_ms();
            let recorded = settings.store.record_pages(&key, &pages, &counts, now_ms);
            Ok(Done::Recorded {
                recorded: recorded.await?,
                pages: pages.len(),
            })
        });
    }

    fn done(&mut self, done: Done) {
        let now_ms = self.now_ms();
        match done {
            Done::Rules {
                host,
                rules,
                sitemaps,
            } => {
                self.active -= 1;
                let delay = rules.and_then(|rules| rules.delay());
                self.hosts.rules_known(&host, delay, now_ms);
                self.enter_sitemaps(sitemaps);
            }
            Done::Visited(visited) => self.visited(*visited, now_ms),
            Done::Recorded { pages, recorded } => {
                self.is_recording = false;
                self.unrecorded -= pages;
                self.may_have_more |= recorded.counts.found > 0;
                self.tell(|progress| progress.counts.add(&recorded.counts));
            }
        }
    }

    fn visited(&mut self, visited: Visited, now_ms: i64) {
        let Visited {
            mut record,
            counts,
            was_asked,
            hold_ms,
        } = visited;
        self.active -= 1;
        self.unrecorded += 1;
        let host = record.claimed.host.clone();
        if let Some(until_ms) = hold_ms {
            self.hosts.hold(&host, until_ms);
        }
        self.hosts.finished(&host, was_asked, now_ms);
        let (seen, queries) = (&mut self.seen, &mut self.queries);
        record.found.retain(|found| {
            let url = Url::parse(&found.url);
            seen.is_news(&found.url, found.depth) && url.is_ok_and(|url| queries.admits(&url))
        });
        tracing::debug!(
            url = record.claimed.url,
            status = record.status,
            "{}",
            record.outcome
        );
        self.tell(|progress| {
            progress.count_host(&host, &counts);
            progress.last_url.clone_from(&record.claimed.url);
            progress.last_outcome.clone_from(&record.outcome);
        });
        self.pending_counts.add(&counts);
        self.pending.push(record);
    }

    /// Enters sitemaps as if a page had them; the host's first URL stands for it.
    fn enter_sitemaps(&mut self, sitemaps: Vec<FoundUrl>) {
        if sitemaps.is_empty() {
            return;
        }
        let visitor = Arc::clone(&self.visitor);
        let (run_id, position) = (self.run.run_id, self.position);
        self.unrecorded += 1;
        self.work.spawn(async move {
            let settings = visitor.settings();
            let entered = settings
                .store
                .enter_urls(&settings.site, run_id, position, &sitemaps);
            let mut recorded = Recorded::default();
            recorded.counts.found = entered.await?;
            Ok(Done::Recorded { pages: 1, recorded })
        });
    }

    fn is_idle(&self) -> bool {
        self.active == 0 && self.unrecorded == 0 && !self.is_recording && self.pending.is_empty()
    }

    /// Returns how long nothing can begin.
    fn pause(&self) -> Duration {
        let next_ms = self
            .hosts
            .next_ms()
            .filter(|_| self.wanted == RunWanted::Run);
        let pause_ms = next_ms.map_or(i64::MAX, |next_ms| next_ms.saturating_sub(self.now_ms()));
        let pause = Duration::from_millis(u64::try_from(pause_ms).unwrap_or(0));
        // Something is due and cannot begin: a task has to end first.
        if pause.is_zero() { TICK } else { pause }
    }

    pub(super) fn tell(&self, change: impl FnOnce(&mut Progress)) {
        self.visitor.shared.progress.send_modify(|progress| {
            change(progress);
            progress.run_id = self.run.run_id;
            progress.is_resumed = self.is_resumed;
            progress.started_ms = self.began_ms;
            progress.now_ms = self.now_ms();
            progress.waiting = self.hosts.queued();
            progress.active = self.active;
        });
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.visitor.settings().clock.now_ms()
    }
}

fn flatten(done: Result<Result<Done, SiteRobotError>, JoinError>) -> Result<Done, SiteRobotError> {
    done.unwrap_or_else(|error| {
        Err(SiteRobotError::Worker {
            reason: error.to_string(),
        })
    })
}
