//! Main loop of a run: claims URLs, starts visits when hosts allow, and records the results.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    task::{JoinError, JoinSet},
    time::MissedTickBehavior,
};
use url::Url;

use robot_detection_store::store::{
    ClaimedUrl, DescriptionChange, FoundUrl, Loss, PageRecord, RecordSummary, RunCommand, StoredRun,
};

use super::{
    Progress, QueryVariants, SiteRobotError,
    fetched_page::FetchedPage,
    finished_visit::FinishedVisit,
    freshness::next_visit,
    hosts::{Hosts, Job},
    pending::{MAX_UNRECORDED, Pending},
    repeats::RepeatCounter,
    robots::HostRules,
    seen_urls::{Chains, SeenUrls},
    visit::Visit,
    visitor::PageVisitor,
};

/// Interval at which heartbeats are sent and new commands are read.
const TICK: Duration = Duration::from_secs(1);

/// Number of queued URLs per host below which more URLs are claimed; this many URLs last for the
/// duration of a disk sync.
pub(super) const LOW: usize = 128;

/// Part of a run that is executed by one instance.
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
pub(super) struct RunLoop {
    pub(super) visitor: Arc<PageVisitor>,
    pub(super) run: StoredRun,
    pub(super) is_resumed: bool,
    pub(super) began_ms: i64,
    pub(super) position: i64,
    pub(super) hosts: Hosts,
    pub(super) seen: SeenUrls,
    pub(super) queries: QueryVariants,
    pub(super) chains: Chains,
    pub(super) repeats: RepeatCounter,
    pub(super) work: JoinSet<Result<TaskResult, SiteRobotError>>,
    /// Number of visits in progress.
    pub(super) active: usize,
    /// Number of finished visits that are not yet recorded.
    pub(super) unrecorded: usize,
    pub(super) pending: Pending,
    pub(super) is_recording: bool,
    /// Whether URLs are being claimed from the database.
    pub(super) is_taking: bool,
    /// Whether the database may contain hosts with waiting URLs that are unknown to this instance.
    pub(super) is_look_due: bool,
    /// Whether the database may contain more URLs to visit.
    pub(super) may_have_more: bool,
    pub(super) wanted: RunCommand,
    /// Whether another instance or an administrator has ended the run.
    pub(super) is_over: bool,
    /// Whether described pages to which no page links have been added to the frontier.
    pub(super) has_rechecked: bool,
}

pub(super) enum TaskResult {
    Rules {
        host: Arc<str>,
        rules: Option<Arc<HostRules>>,
        sitemaps: Vec<FoundUrl>,
    },
    /// A page was fetched, so its connection is free and the page must be processed.
    FetchedPage(Box<FetchedPage>),
    FinishedVisit(Box<FinishedVisit>),
    RecordSummary {
        pages: usize,
        recorded: RecordSummary,
    },
    /// Hosts that have waiting URLs in the database.
    WaitingHosts(Vec<String>),
    Claimed(Vec<ClaimedUrl>),
}

impl RunLoop {
    pub(super) fn new(
        visitor: Arc<PageVisitor>,
        run: StoredRun,
        is_resumed: bool,
        began_ms: i64,
    ) -> Self {
        let conf = &visitor.settings().conf;
        let delay = conf.server_delay.unwrap_or_default();
        let hosts = Hosts::new(conf.site_max_connections, delay);
        let max_queries = visitor.settings().max_queries;
        let max_alike = visitor.settings().traps.max_alike;
        Self {
            hosts,
            visitor,
            run,
            is_resumed,
            began_ms,
            // This number grows from one start to the next, and leaves room for a million batches
            // per millisecond.
            position: began_ms.saturating_mul(1_000_000),
            seen: SeenUrls::default(),
            queries: QueryVariants::new(max_queries),
            chains: Chains::default(),
            repeats: RepeatCounter::new(max_alike),
            work: JoinSet::new(),
            active: 0,
            unrecorded: 0,
            pending: Pending::default(),
            is_recording: false,
            is_taking: false,
            is_look_due: true,
            may_have_more: true,
            wanted: RunCommand::Run,
            is_over: false,
            has_rechecked: false,
        }
    }

    /// Runs until there is nothing left to visit; returns `true` if the run is complete.
    pub(super) async fn run(&mut self) -> Result<bool, SiteRobotError> {
        let mut orders = self.visitor.shared.wanted.subscribe();
        // A command may have been sent before this subscription.
        orders.mark_changed();
        let mut tick = tokio::time::interval(TICK);
        // After a process has been frozen, it sends one heartbeat instead of all the missed
        // heartbeats.
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tick.tick().await;
        self.heartbeat().await?;
        loop {
            self.claim_if_room();
            self.begin_visits();
            self.record();
            if self.is_idle() {
                if self.is_over || self.wanted == RunCommand::Stop {
                    return Ok(false);
                }
                let has_nothing = self.hosts.queued() == 0 && !self.may_have_more;
                if self.wanted == RunCommand::Run && has_nothing && self.is_done().await? {
                    // Another instance may have added some of the pages.
                    if !self.recheck().await? && self.is_done().await? {
                        return Ok(true);
                    }
                    continue;
                }
            }
            let pause = self.pause();
            // All branches are cancel-safe.
            tokio::select! {
                Some(done) = self.work.join_next() => self.done(flatten(done)?),
                changed = orders.changed() => self.handle_command(changed, &orders).await?,
                () = tokio::time::sleep(pause), if pause < TICK => self.pending.make_due(),
                _ = tick.tick() => self.heartbeat().await?,
            }
        }
    }

    /// Starts visits when connections and the pauses of hosts allow.
    fn begin_visits(&mut self) {
        let max_connections = self.visitor.settings().conf.max_connections;
        while self.wanted == RunCommand::Run
            && !self.is_over
            && self.active < max_connections
            && self.unrecorded < MAX_UNRECORDED
            && !self.pending.is_full()
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
                        let (rules, sitemaps) = visitor.load_rules(&host, &url).await;
                        Ok(TaskResult::Rules {
                            host,
                            rules,
                            sitemaps,
                        })
                    });
                }
                Job::Visit(claimed) => {
                    self.work.spawn(async move {
                        Ok(match visitor.visit(claimed).await? {
                            Visit::FetchedPage(came) => TaskResult::FetchedPage(came),
                            Visit::Ended(visited) => TaskResult::FinishedVisit(visited),
                        })
                    });
                }
            }
        }
    }

    /// Starts database work on a separate thread.
    ///
    /// Rows are converted on the same thread, because the thread that sends requests and processes
    /// pages is the bottleneck of a run. The work is completed even if the run is aborted.
    pub(super) fn spawn_database_work(
        &mut self,
        work: impl Future<Output = Result<TaskResult, SiteRobotError>> + Send + 'static,
    ) {
        let runtime = Handle::current();
        self.work.spawn_blocking(move || runtime.block_on(work));
    }

    fn done(&mut self, done: TaskResult) {
        let now_ms = self.now_ms();
        match done {
            TaskResult::Rules {
                host,
                rules,
                sitemaps,
            } => {
                self.active -= 1;
                let delay = rules.and_then(|rules| rules.delay());
                self.hosts.record_rules(&host, delay, now_ms);
                self.enter_sitemaps(sitemaps);
            }
            TaskResult::FetchedPage(came) => self.read(*came, now_ms),
            TaskResult::FinishedVisit(visited) => self.visited(*visited, now_ms),
            TaskResult::RecordSummary { pages, recorded } => {
                self.is_recording = false;
                self.unrecorded -= pages;
                self.may_have_more |= recorded.counts.found > 0;
                self.update_progress(|progress| progress.counts.add(&recorded.counts));
            }
            TaskResult::WaitingHosts(hosts) => self.claim_urls(hosts),
            TaskResult::Claimed(claimed) => self.queue_claimed(claimed),
        }
    }

    /// Processes a page in a separate task; in the meantime, the next page of its host can be
    /// fetched.
    fn read(&mut self, came: FetchedPage, now_ms: i64) {
        self.hosts.record_finished(came.host(), true, now_ms);
        let visitor = Arc::clone(&self.visitor);
        self.work.spawn(async move {
            let visited = visitor.read(came).await?;
            Ok(TaskResult::FinishedVisit(Box::new(visited)))
        });
    }

    fn visited(&mut self, visited: FinishedVisit, now_ms: i64) {
        let FinishedVisit {
            mut record,
            counts,
            holds_host,
            was_asked,
            hold_ms,
            is_list,
            look,
        } = visited;
        self.active -= 1;
        self.unrecorded += 1;
        if was_asked && record.retry_ms.is_none() && record.loss != Some(Loss::Missing) {
            let is_changed = counts.unmodified == 0;
            record.next = Some(next_visit(&record.claimed, is_changed, now_ms));
        }
        let host = record.claimed.host.clone();
        if let Some(until_ms) = hold_ms {
            self.hosts.hold(&host, until_ms);
        }
        if holds_host {
            self.hosts.record_finished(&host, was_asked, now_ms);
        }
        // The page may be described, but its links only lead deeper into the repetition.
        if look.is_some_and(|look| self.repeats.is_repeated(look)) {
            record.found.clear();
            record.links = Some(Vec::new());
        }
        self.keep_new_links(&mut record, is_list);
        self.is_look_due |= record.found.iter().any(|it| !self.hosts.contains(&it.host));
        self.log_visit(&record);
        self.update_progress(|progress| {
            progress.count_host(&host, &counts);
            progress.last_url.clone_from(&record.claimed.url);
            progress.last_outcome.clone_from(&record.outcome);
        });
        self.pending.push(record, &counts, now_ms);
    }

    fn log_visit(&self, record: &PageRecord) {
        let PageRecord {
            claimed, outcome, ..
        } = record;
        let (url, status) = (&claimed.url, record.status);
        let level = match record.description {
            DescriptionChange::Save(_) => 1,
            _ if status.is_some() => 2,
            _ => 3,
        };
        if self.visitor.settings().logs_at(level) {
            tracing::info!(url, status, "{outcome}");
        } else {
            tracing::debug!(url, status, "{outcome}");
        }
    }

    /// Removes links that are already known, and links that could continue endlessly.
    fn keep_new_links(&mut self, record: &mut PageRecord, is_list: bool) {
        let length = self.chains.length(&record.claimed.url);
        let depth = record.claimed.depth;
        let (seen, queries) = (&mut self.seen, &mut self.queries);
        record.found.retain(|found| {
            let is_step = found.depth <= depth;
            if is_step && !Chains::may_continue(length, is_list) {
                return false;
            }
            let is_new = seen.is_new(&found.url, found.depth)
                // Only URLs that have a query are counted.
                && (!found.url.contains('?')
                    || Url::parse(&found.url).is_ok_and(|url| queries.admits(&url)));
            if is_step && is_new {
                self.chains.record(&found.url, length);
            }
            is_new
        });
    }

    /// Adds sitemaps to the frontier as if the host's first URL linked to them.
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
                .frontier()
                .add_urls(&settings.site, run_id, position, &sitemaps);
            let mut recorded = RecordSummary::default();
            recorded.counts.found = entered.await?;
            Ok(TaskResult::RecordSummary { pages: 1, recorded })
        });
    }

    fn is_idle(&self) -> bool {
        let is_busy = self.is_recording || self.is_taking;
        self.active == 0 && self.unrecorded == 0 && !is_busy && self.pending.is_empty()
    }

    /// Returns the time until a visit can start or a page is due to be recorded.
    fn pause(&self) -> Duration {
        let next_ms = self
            .hosts
            .next_ms()
            .filter(|_| self.wanted == RunCommand::Run);
        let pause_ms = next_ms.map_or(i64::MAX, |next_ms| next_ms.saturating_sub(self.now_ms()));
        let pause = Duration::from_millis(u64::try_from(pause_ms).unwrap_or(0));
        // A job is due, but cannot start until another task has ended.
        let pause = if pause.is_zero() { TICK } else { pause };
        let due_ms = self.pending.due_ms().filter(|_| !self.is_recording);
        let wait_ms = due_ms.map(|due_ms| due_ms.saturating_sub(self.now_ms()));
        match wait_ms.map(|wait_ms| u64::try_from(wait_ms).unwrap_or(0)) {
            Some(wait_ms) => pause.min(Duration::from_millis(wait_ms)),
            None => pause,
        }
    }

    pub(super) fn update_progress(&self, change: impl FnOnce(&mut Progress)) {
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

fn flatten(
    done: Result<Result<TaskResult, SiteRobotError>, JoinError>,
) -> Result<TaskResult, SiteRobotError> {
    done.unwrap_or_else(|error| {
        Err(SiteRobotError::Worker {
            reason: error.to_string(),
        })
    })
}
