//! Prepared robots.txt responses and rules, and the task that fetches the upstream's files.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use arc_swap::ArcSwap;
use axum::{
    Router, body,
    extract::{Request, State},
    http::{self, Response, StatusCode, header},
    response::IntoResponse,
    routing::any,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::Notify,
    time::{self, Instant},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::fetch::{Fetcher, shown_url};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::detect::{Detector, SharedDetector};
use robot_detection_layer::policy::{HostMap, SharedRobotsFiles};

use super::{
    RobotsTxtPlan,
    answer::{PreparedFile, unknown_file_response},
    host_file::{HostBody, HostFile, Sources},
    merged_file::{MergedFile, parse},
    upstream::{FetchOutcome, UpstreamCopy, retry_after},
};

/// The only path that robots request for robots.txt; case-sensitive, and any query is ignored.
const PATH: &str = "/robots.txt";

/// The interval at which the registry is checked for changes.
// A check compares two pointers, so it can be frequent.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The maximum time that program startup waits for the upstream's robots.txt before leaving the
/// fetch to the background task.
pub const START_WAIT: Duration = Duration::from_millis(500);
/// The maximum time that a command waits for the upstream's robots.txt, on which the command's
/// output depends.
pub const COMMAND_WAIT: Duration = Duration::from_secs(3);

/// The `/robots.txt` of each host, as served and as enforced; clones share all state.
#[derive(Clone, Debug)]
pub struct ServedRobotsTxt {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    plan: ArcSwap<RobotsTxtPlan>,
    answers: ArcSwap<HostMap<Answer>>,
    files: SharedRobotsFiles,
    /// The paths that are disallowed in each group of the served robots.txt files.
    closed: ArcSwap<Vec<String>>,
    /// Copies of the upstream's robots.txt files, keyed by the host name sent to the upstream.
    copies: Mutex<HashMap<Option<String>, UpstreamCopy>>,
    /// The state of the prepared responses, locked so that an older one cannot replace a newer one.
    build_state: Mutex<BuildState>,
    changed: Notify,
    detector: SharedDetector,
    fetcher: Fetcher,
    clock: Clock,
}

/// The state from which the current robots.txt responses were prepared.
#[derive(Debug, Default)]
struct BuildState {
    // Weak, so that an old registry is freed. The allocation remains, so that no later detector has
    // the same address and seems unchanged.
    detector: Weak<Detector>,
    /// The merged robots.txt files by host, cached because merging is expensive and the file of a
    /// single host may change often.
    merged_file: HashMap<Option<String>, MergedFile>,
}

/// The prepared robots.txt response for a host.
#[derive(Clone, Debug)]
enum Answer {
    Site,
    /// The response for a merged file while the upstream's robots.txt is not known yet.
    Unknown,
    Ours {
        prepared: Arc<PreparedFile>,
        remark: Option<&'static str>,
    },
}

impl ServedRobotsTxt {
    /// Creates the robots.txt files specified by a plan.
    pub fn new(
        plan: RobotsTxtPlan,
        detector: SharedDetector,
        fetcher: Fetcher,
        clock: Clock,
    ) -> Self {
        let served = Self {
            inner: Arc::new(Inner {
                plan: ArcSwap::from_pointee(plan),
                answers: ArcSwap::default(),
                files: SharedRobotsFiles::default(),
                closed: ArcSwap::default(),
                copies: Mutex::default(),
                build_state: Mutex::default(),
                changed: Notify::new(),
                detector,
                fetcher,
                clock,
            }),
        };
        served.rebuild();
        served
    }

    /// Replaces the robots.txt plan except for its upstream, whose files are fetched again.
    pub fn replace(&self, mut plan: RobotsTxtPlan) {
        plan.upstream.clone_from(&self.inner.plan.load().upstream);
        self.inner.plan.store(Arc::new(plan));
        for copy in self.copies().values_mut() {
            copy.due = None;
        }
        self.rebuild();
        self.inner.changed.notify_one();
    }

    /// Replaces the robots.txt plan and its upstream; copies from another upstream are dropped.
    pub fn replace_all(&self, plan: RobotsTxtPlan) {
        let is_same = plan.upstream == self.inner.plan.load().upstream;
        self.inner.plan.store(Arc::new(plan));
        if !is_same {
            self.copies().clear();
        }
        for copy in self.copies().values_mut() {
            copy.due = None;
        }
        self.rebuild();
        self.inner.changed.notify_one();
    }

    /// Sets the paths to disallow in each group of the robots.txt files served by this program.
    pub fn set_disallowed_paths(&self, paths: Vec<String>) {
        if **self.inner.closed.load() != paths {
            self.inner.closed.store(Arc::new(paths));
            self.rebuild();
        }
    }

    /// Returns the enforced robots.txt rules of each host.
    pub fn files(&self) -> &SharedRobotsFiles {
        &self.inner.files
    }

    /// Returns the current robots.txt plan.
    pub fn plan(&self) -> Arc<RobotsTxtPlan> {
        self.inner.plan.load_full()
    }

    /// Returns the response to a request for `/robots.txt`, or `None` if the site itself responds.
    pub fn answer<B>(&self, request: &http::Request<B>) -> Option<Response<body::Body>> {
        if request.uri().path() != PATH {
            return None;
        }
        match self.inner.answers.load().get(host(request)) {
            Some(Answer::Ours { prepared, .. }) => {
                Some(prepared.answer(request.method(), request.headers()))
            }
            Some(Answer::Unknown) => Some(unknown_file_response(request.method())),
            Some(Answer::Site) | None => None,
        }
    }

    /// Describes who serves `/robots.txt` on a host, with remarks.
    pub fn who_answers(&self, host: Option<&str>) -> String {
        let who = self.plan().who_answers(host);
        match self.inner.answers.load().get(host) {
            Some(Answer::Unknown) => {
                format!("{who}; responds with 503 until the upstream's file is known")
            }
            Some(Answer::Ours {
                remark: Some(remark),
                ..
            }) => format!("{who}; the files {remark}"),
            _ => who,
        }
    }

    /// Returns a router for `/robots.txt`, which responds with 404 if the site itself serves the
    /// file.
    pub fn router(&self) -> Router {
        async fn answer(
            State(served): State<ServedRobotsTxt>,
            request: Request,
        ) -> Response<body::Body> {
            let answer = served.answer(&request);
            answer.unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
        }
        Router::new()
            .route(PATH, any(answer))
            .with_state(self.clone())
    }

    /// Checks the registry and fetches the upstream's files, both within a time limit.
    ///
    /// The background task fetches the files that do not arrive in time.
    pub async fn prepare(&self, within: Duration) {
        if self.has_other_robots() {
            self.rebuild();
        }
        let _ = time::timeout(within, Box::pin(self.fetch_due())).await;
    }

    /// Applies changes to the upstream's files and to the registry until `stop` is cancelled.
    pub async fn run(&self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                // `notify_one` stores a permit: a change during the fetch below is handled in the
                // next iteration.
                () = self.inner.changed.notified() => {}
                () = time::sleep_until(self.next_poll()) => {}
            }
            if self.has_other_robots() {
                self.rebuild();
            }
            let fetching = Box::pin(self.fetch_due());
            if stop.run_until_cancelled(fetching).await.is_none() {
                return;
            }
        }
    }

    fn next_poll(&self) -> Instant {
        let plan = self.inner.plan.load();
        let copies = self.copies();
        let now = Instant::now();
        let due = plan.hosts_to_fetch().into_iter().map(|host| {
            let due = copies.get(&host).and_then(|copy| copy.due);
            due.unwrap_or(now)
        });
        due.chain([now + POLL_INTERVAL]).min().unwrap_or(now)
    }

    fn has_other_robots(&self) -> bool {
        let detector = self.inner.detector.load();
        let made = self.inner.build_state.lock().detector.as_ptr();
        self.inner.plan.load().needs_registry() && made != Arc::as_ptr(&detector)
    }

    /// Fetches each of the upstream's robots.txt files that is due to be fetched.
    async fn fetch_due(&self) {
        let plan = self.inner.plan.load_full();
        let Some(upstream) = &plan.upstream else {
            return;
        };
        for host in plan.hosts_to_fetch() {
            // Cloned, as no lock may be held while waiting for the upstream.
            let copy = self.copies().get(&host).cloned().unwrap_or_default();
            if copy.due.is_some_and(|due| due > Instant::now()) {
                continue;
            }
            let fetching = upstream.fetch(&self.inner.fetcher, host.as_deref(), &copy.conditions);
            let outcome = fetching.await;
            if !Arc::ptr_eq(&plan, &self.inner.plan.load()) {
                // The plan was replaced in the meantime, so the response may be from another
                // server.
                return;
            }
            self.take(&upstream.url, host, copy, outcome);
        }
    }

    /// Stores the result of fetching a robots.txt file. After a failure, the last good copy
    /// remains.
    fn take(&self, url: &str, host: Option<String>, mut copy: UpstreamCopy, outcome: FetchOutcome) {
        let url = shown_url(url);
        let failed = copy.failures;
        let fresh_for = match outcome {
            FetchOutcome::Failed(reason) => {
                // Log only the first failure: retries continue as long as the upstream is down.
                if failed == 0 {
                    let kept = match copy.text {
                        Some(_) => "using the last good copy",
                        None => "its rules are unknown",
                    };
                    warn!(upstream = %url, "cannot fetch the upstream's robots.txt; {kept}: {reason}");
                }
                copy.failures = failed.saturating_add(1);
                retry_after(copy.failures)
            }
            FetchOutcome::Same { fresh_for } => {
                copy.failures = 0;
                fresh_for
            }
            FetchOutcome::File {
                text,
                conditions,
                fresh_for,
                remark,
            } => {
                copy.conditions = conditions;
                let is_new = copy.text.as_ref() != Some(&text);
                if let Some(remark) = remark.filter(|_| is_new) {
                    warn!(upstream = %url, "the robots.txt of {url} {remark}");
                }
                copy.text = Some(text);
                copy.failures = 0;
                fresh_for
            }
        };
        if failed > 0 && copy.failures == 0 {
            info!(upstream = %url, "the upstream's robots.txt is available again");
        }
        copy.due = Some(Instant::now() + fresh_for);
        // A separate scope: `rebuild` locks the copies again, and a std mutex is not re-entrant.
        let is_same = {
            let mut copies = self.copies();
            let is_same = copies.get(&host).is_some_and(|old| old.text == copy.text);
            copies.insert(host, copy);
            is_same
        };
        if !is_same {
            self.rebuild();
        }
    }

    /// Prepares the robots.txt responses and rules of all hosts.
    fn rebuild(&self) {
        let mut build_state = self.inner.build_state.lock();
        let plan = self.inner.plan.load();
        let detector = self.inner.detector.load_full();
        let closed = self.inner.closed.load();
        let old = self.inner.answers.load();
        let (mut answers, mut files) = (HostMap::default(), HostMap::default());
        let mut refused = HostMap::default();
        let mut merged = HashMap::new();
        for (host, entry) in plan.entries.iter() {
            let key = host.map(str::to_owned);
            let mut merged_file = build_state.merged_file.remove(&key);
            let theirs = || self.copies().get(&plan.upstream_host(host))?.text.clone();
            let sources = Sources {
                theirs: &theirs,
                has_upstream: plan.upstream.is_some(),
                robots: detector.robots(),
                closed: &closed,
            };
            let made = HostFile::new(entry, &sources, &mut merged_file);
            merged.extend(merged_file.map(|merged_file| (key, merged_file)));
            let answer = self.prepared(made.body, &old, host);
            let of_host = entry.refused().cloned().unwrap_or_default();
            refused = match host {
                Some(host) => refused.host(host, of_host),
                None => refused.with_default(of_host),
            };
            (answers, files) = match (host, made.file) {
                // A host with a separate entry must not fall back to the file of the other hosts.
                (Some(host), file) => {
                    let file = file.unwrap_or_else(|| parse(&[]));
                    (answers.host(host, answer), files.host(host, file))
                }
                (None, Some(file)) => (answers.with_default(answer), files.with_default(file)),
                (None, None) => (answers.with_default(answer), files),
            };
        }
        self.inner.answers.store(Arc::new(answers));
        self.inner.files.replace_with(files, refused);
        *build_state = BuildState {
            detector: Arc::downgrade(&detector),
            merged_file: merged,
        };
    }

    fn prepared(&self, body: HostBody, old: &HostMap<Answer>, host: Option<&str>) -> Answer {
        let (text, modified_ms, remark) = match body {
            HostBody::Site => return Answer::Site,
            HostBody::Unknown => return Answer::Unknown,
            HostBody::Ours {
                text,
                modified_ms,
                remark,
            } => (text, modified_ms, remark),
        };
        let now = || self.inner.clock.now_ms();
        let prepared = PreparedFile::new(text, modified_ms.unwrap_or_else(now));
        let earlier = old.iter().find_map(|(old_host, answer)| match answer {
            Answer::Ours { prepared, .. } if old_host == host => Some(prepared.as_ref()),
            _ => None,
        });
        // A file on disk has its own modification time, which may be older.
        let earlier = earlier.filter(|_| modified_ms.is_none());
        Answer::Ours {
            prepared: Arc::new(prepared.with_date_of(earlier)),
            remark,
        }
    }

    fn copies(&self) -> MutexGuard<'_, HashMap<Option<String>, UpstreamCopy>> {
        self.inner.copies.lock()
    }
}

fn host<B>(request: &http::Request<B>) -> Option<&str> {
    match request.uri().authority() {
        Some(authority) => authority.as_str().rsplit('@').next(),
        None => request.headers().get(header::HOST)?.to_str().ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::super::{LIMITS, RobotsTxtContent};
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn start_waits_only_briefly_for_an_unresponsive_upstream() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let plan = RobotsTxtPlan::new(RobotsTxtContent::Pass).upstream(&url, true, None);
        let served = ServedRobotsTxt::new(
            plan,
            SharedDetector::default(),
            Fetcher::new(LIMITS).unwrap(),
            Clock::system(),
        );
        let start = Instant::now();
        served.prepare(START_WAIT).await;
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}
