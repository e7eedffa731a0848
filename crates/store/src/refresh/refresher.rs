//! The handle that callers hold.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    Progress, RefreshError, RefreshOptions, SourceSpec, Trigger,
    attempt::Attempt,
    fingerprint::OriginKind,
    report::{report, report_due},
    shared::Shared,
};
use crate::fetch::Fetcher;
use crate::store::{RefreshRecord, Store, StoreError};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::detect::SharedDetector;
use robot_detection_layer::registry::Source;

/// Job that keeps the registry up to date; clones share everything.
///
/// A refresh goes on when its caller goes away; [`Refresher::run`] waits for
/// it at the end.
#[derive(Clone, Debug)]
pub struct Refresher {
    pub(super) shared: Arc<Shared>,
}

impl Refresher {
    /// Creates a refresher of the configured sources.
    pub fn new(
        store: Store,
        fetcher: Fetcher,
        detector: SharedDetector,
        clock: Clock,
        sources: Vec<SourceSpec>,
    ) -> Self {
        let shared = Shared::new(store, fetcher, detector, clock, sources);
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Replaces the sources, for a configuration that was read again.
    ///
    /// Rows of sources that are gone stay until the next start.
    pub fn set_sources(&self, sources: Vec<SourceSpec>) {
        self.shared.sources.store(Arc::new(sources));
    }

    /// Returns the configured sources.
    pub fn sources(&self) -> Vec<SourceSpec> {
        self.shared.sources.load().to_vec()
    }

    /// Returns a channel that holds the current progress and follows it.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.shared.progress.subscribe()
    }

    /// Stores the bundled registry, then loads the detector.
    ///
    /// The bundled registry is stored where its rows differ, as after an
    /// upgrade, and dropped where it is not used.
    ///
    /// # Errors
    ///
    /// Fails when the database does not answer. The bundled registry, if used,
    /// serves from memory then, the log says so, and [`Refresher::run`] tries
    /// again.
    pub async fn prepare(&self, use_bundled: bool) -> Result<(), StoreError> {
        self.shared.prepare(use_bundled).await
    }

    /// Makes [`Refresher::run`] prepare the store before it loads rows from it.
    ///
    /// For a store that was away: what is there when it is back may be another
    /// database, which has no robots yet.
    pub fn prepare_again(&self, use_bundled: bool) {
        self.shared.set_unprepared(Some(use_bundled));
    }

    /// Loads the store's active robots into the detector; returns the version loaded.
    ///
    /// # Errors
    ///
    /// Fails when the database does not answer; the detector stays as it was.
    pub async fn reload(&self) -> Result<i64, StoreError> {
        self.shared.reload().await
    }

    /// Refreshes a configured source, due or not.
    ///
    /// # Errors
    ///
    /// Fails for each reason of [`RefreshError`]; robots, detector and source
    /// state are then as before.
    pub async fn refresh(
        &self,
        source: &Source,
        trigger: Trigger,
        options: RefreshOptions,
    ) -> Result<RefreshRecord, RefreshError> {
        let spec = self
            .shared
            .spec(source)
            .ok_or_else(|| RefreshError::UnknownSource(source.to_string()))?;
        self.must(spec, trigger, options, OriginKind::Configured)
            .await
    }

    /// Refreshes a source from a place that the configuration does not name.
    ///
    /// The source's rows are replaced as in [`Refresher::refresh`]; for a
    /// configured source they serve until it is due, for another until they
    /// are replaced.
    ///
    /// # Errors
    ///
    /// Fails as [`Refresher::refresh`] does.
    pub async fn refresh_from(
        &self,
        spec: &SourceSpec,
        trigger: Trigger,
        options: RefreshOptions,
    ) -> Result<RefreshRecord, RefreshError> {
        let configured = self.shared.spec(&spec.source);
        let origin = match configured {
            Some(configured) if configured.url == spec.url => OriginKind::Configured,
            _ => OriginKind::Given,
        };
        self.must(spec.clone(), trigger, options, origin).await
    }

    /// Refreshes every source that is due, one after the other.
    ///
    /// A source is due when it never succeeded, when its rows are missing, when
    /// its URL or the program's rules changed, or when the last success is
    /// `interval_days` old; after failures, not before a delay from 5 minutes to
    /// 6 hours.
    /// Sources that are not due are left out of the answer.
    pub async fn refresh_due(&self, trigger: Trigger) -> Vec<Result<RefreshRecord, RefreshError>> {
        let mut results = Vec::new();
        for spec in self.sources() {
            let is_due = self.shared.is_due(&spec, trigger).await;
            report_due(&self.shared, &spec, &is_due);
            let result = match is_due {
                Ok(false) => Ok(None),
                Ok(true) => self.start(spec, trigger).await,
                Err(error) => Err(RefreshError::Store(error)),
            };
            results.extend(result.transpose());
        }
        results
    }

    /// Returns when a source is due next, in milliseconds since 1970.
    ///
    /// A source that is overdue is due now; `None` for a source that is not
    /// configured.
    ///
    /// # Errors
    ///
    /// Fails when the database does not answer.
    pub async fn next_due_ms(&self, source: &Source) -> Result<Option<i64>, StoreError> {
        let Some(spec) = self.shared.spec(source) else {
            return Ok(None);
        };
        let due_ms = self.shared.due_ms(&spec, Trigger::Schedule).await?;
        Ok(Some(due_ms.max(self.shared.clock.now_ms())))
    }

    /// Returns the failure of a source that has not succeeded since.
    ///
    /// A failed attempt to refresh a configured source from another place
    /// ([`Refresher::refresh_from`]) does not count.
    ///
    /// # Errors
    ///
    /// Fails when the database does not answer.
    pub async fn standing_failure(
        &self,
        source: &Source,
    ) -> Result<Option<RefreshRecord>, StoreError> {
        let failures = self.shared.failures(source).await?;
        Ok(failures.into_iter().next())
    }

    /// Returns the refresh of a source whose document is held back, if one is.
    ///
    /// It is held back until it is accepted ([`RefreshOptions::accept`]), or until another
    /// document of the same place comes in. The place is that of `spec`.
    ///
    /// # Errors
    ///
    /// Fails when the database does not answer.
    pub async fn held(&self, spec: &SourceSpec) -> Result<Option<RefreshRecord>, StoreError> {
        self.shared.held(spec).await
    }

    /// Runs until `stop`: refreshes what is due, and follows the store.
    ///
    /// At start the robots of sources that left the configuration are dropped;
    /// those added by hand stay, and those that a person once refreshed from a
    /// place of his choice ([`Refresher::refresh_from`]). A command, which may
    /// know less of the configuration, drops nothing, as it never runs this.
    /// At start and every five minutes the sources that are due are refreshed.
    /// Rows that another instance or the command line changed are put in force
    /// at once. It returns when all has ended: a download under way is given
    /// up, a transaction is finished. A refresher that was stopped refreshes no
    /// more.
    pub async fn run(&self, stop: CancellationToken) {
        let watch_stop = async {
            stop.cancelled().await;
            self.shared.stop.cancel();
        };
        tokio::join!(watch_stop, self.follow(), self.keep_schedule());
        self.shared.tracker.close();
        self.shared.tracker.wait().await;
    }

    async fn start(
        &self,
        spec: SourceSpec,
        trigger: Trigger,
    ) -> Result<Option<RefreshRecord>, RefreshError> {
        let options = RefreshOptions::default();
        let origin = OriginKind::Configured;
        self.attempt(spec, trigger, options, origin, true).await
    }

    async fn must(
        &self,
        spec: SourceSpec,
        trigger: Trigger,
        options: RefreshOptions,
        origin: OriginKind,
    ) -> Result<RefreshRecord, RefreshError> {
        let source = spec.source.clone();
        self.attempt(spec, trigger, options, origin, false)
            .await?
            // Only an attempt that is made if due ends without a record, and this one is made
            // anyway.
            .ok_or(RefreshError::Stopped(source))
    }

    /// Refreshes in a task of its own, so that a dropped caller does not cancel it.
    async fn attempt(
        &self,
        spec: SourceSpec,
        trigger: Trigger,
        options: RefreshOptions,
        origin: OriginKind,
        only_if_due: bool,
    ) -> Result<Option<RefreshRecord>, RefreshError> {
        let source = spec.source.clone();
        if [Source::manual(), Source::bundled()].contains(&source) {
            return Err(RefreshError::Reserved(source));
        }
        let shared = Arc::clone(&self.shared);
        let task = async move {
            let attempt = Attempt {
                shared: Arc::clone(&shared),
                spec: spec.clone(),
                trigger,
                options,
                origin,
                only_if_due,
            };
            let result = attempt.run().await;
            report(&shared, &spec, trigger, &result);
            result
        };
        let joined = self.shared.tracker.spawn(task).await;
        joined.unwrap_or(Err(RefreshError::Stopped(source)))
    }
}
