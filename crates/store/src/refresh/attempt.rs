//! A single attempt to refresh a source, step by step.

use std::{sync::Arc, time::Duration};

use tracing::warn;

use super::{
    Progress, RefreshError, RefreshOptions, SourceSpec, Trigger,
    candidate::{Candidate, sizes},
    fingerprint::{Fingerprint, OriginKind},
    history::fingerprint_of,
    judge::{Acceptance, content_refusal, decide, size_doubt, truncation_doubt},
    record,
    shared::Shared,
};
use crate::fetch::{Conditions, FetchResponse, Origin, shown_url};
use crate::store::{
    Lease, LeaseError, RefreshOutcome, RefreshRecord, SourceState, StoreError, StoreErrorKind,
};
use robot_detection_layer::detect::Detector;
use robot_detection_layer::registry::{Robot, Source};

/// The minimum duration of a lease. A lease also ends when its process ends.
const SHORTEST_LEASE: Duration = Duration::from_mins(10);

/// A single attempt to refresh a source.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) shared: Arc<Shared>,
    pub(super) spec: SourceSpec,
    pub(super) trigger: Trigger,
    pub(super) options: RefreshOptions,
    pub(super) origin: OriginKind,
    /// Whether to skip the source if it is no longer due once the lease has been acquired.
    pub(super) only_if_due: bool,
}

/// The reason why a refresh attempt ended early.
enum Interruption {
    /// The refresh failed for this reason, which is recorded in the history.
    Failed(String),
    /// The document with this SHA-256 hash is held for review.
    Held(String, String),
    /// A database query failed.
    Store(StoreError),
    /// Another instance has acquired the lease.
    Overtaken,
    /// The program is shutting down.
    Stopped,
}

/// A downloaded document and its validators.
struct Download {
    bytes: Vec<u8>,
    state: SourceState,
    fingerprint: Fingerprint,
}

impl Attempt {
    /// Refreshes the source. Returns `None` if the source is not due.
    pub(super) async fn run(self) -> Result<Option<RefreshRecord>, RefreshError> {
        let shared = &self.shared;
        let source = &self.spec.source;
        if shared.stop.is_cancelled() {
            return Err(RefreshError::Stopped(source.clone()));
        }
        let name = format!("refresh:{source}");
        // The lease lasts longer than the slowest permitted download.
        let life = SHORTEST_LEASE + shared.fetcher.limits().timeout;
        let lease = match shared.store.leases().acquire(&name, life).await {
            Ok(lease) => lease,
            Err(LeaseError::Held(holder)) => {
                return Err(RefreshError::Busy(source.clone(), holder));
            }
            Err(LeaseError::Store(error)) => return Err(RefreshError::Store(error)),
        };
        let result = self.run_leased(&lease).await;
        lease.release().await;
        result
    }

    async fn run_leased(&self, lease: &Lease) -> Result<Option<RefreshRecord>, RefreshError> {
        if self.only_if_due && !self.shared.is_due(&self.spec, self.trigger).await? {
            return Ok(None);
        }
        let mut record = record::begin(&self.spec, self.trigger, self.shared.clock.now_ms());
        match self.steps(lease, &mut record).await {
            Ok(outcome) => {
                record.outcome = outcome;
                Ok(Some(self.save(record).await))
            }
            Err(Interruption::Failed(reason)) => {
                record.error = record::reason(&reason);
                Err(RefreshError::Failed(Box::new(self.save(record).await)))
            }
            Err(Interruption::Held(reason, sha256)) => {
                record.outcome = RefreshOutcome::Held;
                record.error = record::reason(&reason);
                record.held_sha256 = Some(sha256);
                Err(RefreshError::Held(Box::new(self.save(record).await)))
            }
            Err(Interruption::Store(error)) => {
                record.error = record::reason(&format!("database error: {error}"));
                let record = self.save(record).await;
                match record.refresh_id {
                    // The history could not be written either, so there is no record to look up.
                    0 => Err(RefreshError::Store(error)),
                    _ => Err(RefreshError::Failed(Box::new(record))),
                }
            }
            Err(Interruption::Overtaken) => {
                self.shared.progress.send_replace(Progress::Idle);
                Err(RefreshError::Overtaken(self.spec.source.clone()))
            }
            Err(Interruption::Stopped) => {
                self.shared.progress.send_replace(Progress::Idle);
                Err(RefreshError::Stopped(self.spec.source.clone()))
            }
        }
    }

    async fn steps(
        &self,
        lease: &Lease,
        record: &mut RefreshRecord,
    ) -> Result<RefreshOutcome, Interruption> {
        let store = &self.shared.store;
        let before = store.refreshes().source_state(&self.spec.source).await?;
        let rows = self.shared.row_count(&self.spec.source).await?;
        // If there are no rows, "not modified" would leave the source empty.
        let before = before.filter(|_| rows > 0);
        let Some(download) = self.download(before.as_ref()).await? else {
            return self.not_modified(lease, before.unwrap_or_default()).await;
        };
        let made = before.as_ref().and_then(fingerprint_of);
        let is_same = made
            .as_ref()
            .is_some_and(|made| made.makes_same_rows(&download.fingerprint));
        if is_same && !self.options.force {
            return self.not_modified(lease, download.state).await;
        }
        let doubt = truncation_doubt(self.spec.format, &download.bytes, made.as_ref());
        let candidate = self.parse(download.bytes).await?;
        copy_counts(record, &candidate);
        let stored = self.stored_robots().await?;
        let is_other = made.is_none_or(|made| !made.is_same_document(&download.fingerprint));
        let loss = self.loss(&candidate, &stored, is_other)?;
        let doubts: Vec<String> = doubt.into_iter().chain(loss).collect();
        let sha256 = download.fingerprint.sha256();
        match decide(&doubts, &self.options, sha256) {
            Acceptance::Take => {}
            Acceptance::TakeAnother(note) => record.problems.insert(0, note.to_owned()),
            Acceptance::Hold(reason) => return Err(Interruption::Held(reason, sha256.to_owned())),
        }
        let detector = self.admit(&candidate, stored).await?;
        self.publish(lease, record, candidate.robots, &download.state, detector)
            .await
    }

    /// Downloads the source. Returns `None` if the server reports that nothing changed.
    async fn download(
        &self,
        before: Option<&SourceState>,
    ) -> Result<Option<Download>, Interruption> {
        let origin = Origin::parse(&self.spec.url).map_err(Interruption::Failed)?;
        let conditions = self.conditions(before);
        let told = |bytes, total| {
            self.tell(|source| Progress::Downloading {
                source,
                bytes,
                total,
            });
        };
        told(0, None);
        let fetched = tokio::select! {
            // Shutdown has priority, even if the download is finished.
            biased;
            () = self.shared.stop.cancelled() => return Err(Interruption::Stopped),
            fetched = origin.read(&self.shared.fetcher, &conditions, &told) => {
                fetched.map_err(Interruption::Failed)?
            }
        };
        let FetchResponse::Body {
            bytes,
            content_type,
            etag,
            last_modified,
        } = fetched
        else {
            return Ok(None);
        };
        let url = shown_url(&self.spec.url);
        if let Some(reason) = content_refusal(content_type.as_deref(), &bytes) {
            return Err(Interruption::Failed(format!("{url}: {reason}")));
        }
        let fingerprint = Fingerprint::new(self.origin, self.spec.format, &bytes);
        let state = SourceState {
            url,
            etag,
            last_modified,
            content_sha256: Some(fingerprint.to_string()),
            succeeded_ms: None,
        };
        Ok(Some(Download {
            bytes,
            state,
            fingerprint,
        }))
    }

    /// Returns the conditions for the request; they are empty if a "not modified" response would
    /// not help.
    fn conditions(&self, before: Option<&SourceState>) -> Conditions {
        // Validators apply to a single URL. Rows that were generated by older rules are rebuilt,
        // even from an unchanged document.
        let is_of_use = |state: &&SourceState| {
            !self.options.force
                && state.url == shown_url(&self.spec.url)
                && fingerprint_of(state).is_some_and(|made| made.is_current(self.spec.format))
        };
        before
            .filter(is_of_use)
            .map(|state| Conditions {
                etag: state.etag.clone(),
                last_modified: state.last_modified.clone(),
            })
            .unwrap_or_default()
    }

    async fn not_modified(
        &self,
        lease: &Lease,
        mut state: SourceState,
    ) -> Result<RefreshOutcome, Interruption> {
        self.go_on()?;
        state.succeeded_ms = Some(self.shared.clock.now_ms());
        state.content_sha256 =
            fingerprint_of(&state).map(|made| made.with_origin(self.origin).to_string());
        let source = &self.spec.source;
        lease.save_source_state(source, &state).await?;
        Ok(RefreshOutcome::NotModified)
    }

    async fn parse(&self, bytes: Vec<u8>) -> Result<Candidate, Interruption> {
        self.go_on()?;
        self.tell(|source| Progress::Parsing { source });
        let (format, source) = (self.spec.format, self.spec.source.clone());
        let shared = Arc::clone(&self.shared);
        let testing = move |source, robots| {
            shared
                .progress
                .send_replace(Progress::Testing { source, robots });
        };
        let parsing = move || {
            Candidate::read(format, &bytes, &source, |robots| {
                testing(source.clone(), robots);
            })
        };
        self.shared
            .tracker
            .spawn_blocking(parsing)
            .await
            .map_err(|_| self.failed("the content crashed the parser; please report this bug"))?
            .map_err(|error| self.failed(&format!("{error}; check the URL and the format")))
    }

    async fn stored_robots(&self) -> Result<Vec<Robot>, Interruption> {
        self.go_on()?;
        let stored = self.shared.store.robots().list().await?;
        Ok(stored.into_iter().map(|row| row.robot).collect())
    }

    /// Rejects a document without robots. Returns the reason for doubt if a document contains too
    /// few robots.
    ///
    /// New rules may yield fewer robots from an unchanged document; such a decrease is not a loss.
    fn loss(
        &self,
        candidate: &Candidate,
        stored: &[Robot],
        is_other: bool,
    ) -> Result<Option<String>, Interruption> {
        let now = candidate.sizes();
        if now.robots == 0 {
            return Err(self.failed("no robots found; check the URL and the format"));
        }
        let ours = stored.iter();
        let ours = ours.filter(|robot| robot.source == self.spec.source && is_other);
        Ok(size_doubt(self.spec.format, now, sizes(ours)))
    }

    /// Returns an error if no detector can be built from a set of robots.
    async fn admit(
        &self,
        candidate: &Candidate,
        stored: Vec<Robot>,
    ) -> Result<Detector, Interruption> {
        self.go_on()?;
        let others = stored.into_iter();
        let mut all: Vec<Robot> = others
            .filter(|robot| robot.source != self.spec.source)
            .collect();
        all.extend(candidate.robots.iter().cloned());
        let built = self.shared.build(all).await;
        built.map_err(|reason| self.failed(&format!("cannot build a detector: {reason}")))
    }

    /// Replaces the source's rows and publishes the detector; a shutdown does not interrupt this
    /// step.
    async fn publish(
        &self,
        lease: &Lease,
        record: &mut RefreshRecord,
        robots: Vec<Robot>,
        state: &SourceState,
        detector: Detector,
    ) -> Result<RefreshOutcome, Interruption> {
        self.go_on()?;
        let count = robots.len() as u64;
        self.tell(|source| Progress::Storing {
            source,
            robots: count,
        });
        let now_ms = self.shared.clock.now_ms();
        let state = SourceState {
            succeeded_ms: Some(now_ms),
            ..state.clone()
        };
        let source = &self.spec.source;
        // If this process was suspended, another process may have acquired the lease, which this
        // detects.
        let changes = lease
            .replace_source(source, &robots, &state, now_ms)
            .await?;
        record.added = changes.added.len() as u64;
        record.changed = changes.changed.len() as u64;
        record.removed = changes.removed.len() as u64;
        if let Err(error) = self.shared.reload().await {
            // The rows are stored: use the detector built from them until they can be loaded.
            warn!("the new registry is in use, but could not be loaded from the database: {error}");
            self.shared.detector.replace_robots(&detector);
        }
        Ok(RefreshOutcome::Replaced)
    }

    /// Completes and stores the record of a refresh; the record's ID remains 0 if storing fails.
    async fn save(&self, mut record: RefreshRecord) -> RefreshRecord {
        record.finished_ms = self.shared.clock.now_ms();
        match self.shared.store.refreshes().record(&record).await {
            Ok(id) => record.refresh_id = id,
            Err(error) => warn!("could not record the refresh of {}: {error}", record.source),
        }
        let done = Box::new(record.clone());
        self.shared
            .progress
            .send_replace(Progress::Done { record: done });
        record
    }

    fn go_on(&self) -> Result<(), Interruption> {
        if self.shared.stop.is_cancelled() {
            return Err(Interruption::Stopped);
        }
        Ok(())
    }

    fn failed(&self, reason: &str) -> Interruption {
        let url = shown_url(&self.spec.url);
        Interruption::Failed(format!("{url}: {reason}"))
    }

    fn tell(&self, progress: impl FnOnce(Source) -> Progress) {
        let source = self.spec.source.clone();
        self.shared.progress.send_replace(progress(source));
    }
}

impl From<StoreError> for Interruption {
    fn from(error: StoreError) -> Self {
        match error.kind() {
            StoreErrorKind::LeaseLost => Self::Overtaken,
            _ => Self::Store(error),
        }
    }
}

fn copy_counts(record: &mut RefreshRecord, candidate: &Candidate) {
    record.records = candidate.records;
    record.skipped = candidate.skipped;
    record.quarantined = candidate.quarantined;
    record.unusable = candidate.unusable;
    record.problems.clone_from(&candidate.problems);
}
