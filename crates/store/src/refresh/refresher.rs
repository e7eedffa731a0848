//! Refresher of the robot registry.

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

/// A background task that keeps the robot registry up to date; clones share all state.
///
/// A refresh continues even if its caller is dropped; [`Refresher::run`] waits for it to finish.
#[derive(Clone, Debug)]
pub struct Refresher {
    pub(super) shared: Arc<Shared>,
}

impl Refresher {
    /// Creates a refresher for the configured sources.
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

    /// Replaces the sources after a reload of the configuration.
    ///
    /// Rows of removed sources are deleted at the next start.
    pub fn set_sources(&self, sources: Vec<SourceSpec>) {
        self.shared.sources.store(Arc::new(sources));
    }

    /// Returns the configured sources.
    pub fn sources(&self) -> Vec<SourceSpec> {
        self.shared.sources.load().to_vec()
    }

    /// Returns a channel that provides the current progress and its updates.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.shared.progress.subscribe()
    }

    /// Stores the bundled registry, then loads the detector.
    ///
    /// The bundled registry is stored if the stored rows differ, as after an upgrade, and removed
    /// if `use_bundled` is `false`.
    ///
    /// # Errors
    ///
    /// Returns an error if the database is unavailable. In that case, the bundled registry (if
    /// used) is loaded into memory, a warning is logged, and [`Refresher::run`] retries.
    pub async fn prepare(&self, use_bundled: bool) -> Result<(), StoreError> {
        self.shared.prepare(use_bundled).await
    }

    /// Makes [`Refresher::run`] prepare the store before loading rows from it.
    ///
    /// Use this after an outage: the database may have been replaced by one without robots.
    pub fn prepare_again(&self, use_bundled: bool) {
        self.shared.set_pending_preparation(Some(use_bundled));
    }

    /// Loads the active robots from the store into the detector. Returns the loaded version.
    ///
    /// # Errors
    ///
    /// Returns an error if the database is unavailable; the detector remains unchanged.
    pub async fn reload(&self) -> Result<i64, StoreError> {
        self.shared.reload().await
    }

    /// Refreshes a configured source, whether it is due or not.
    ///
    /// # Errors
    ///
    /// Returns a [`RefreshError`] if the refresh fails; the robots, the detector and the source
    /// state remain unchanged.
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
        self.refresh_now(spec, trigger, options, OriginKind::Configured)
            .await
    }

    /// Refreshes a source from a URL other than the configured one.
    ///
    /// The source's rows are replaced in the same way as by [`Refresher::refresh`]. For a
    /// configured source, the new rows are used until the source is due; for other sources, until
    /// they are replaced.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`Refresher::refresh`].
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
        self.refresh_now(spec.clone(), trigger, options, origin)
            .await
    }

    /// Refreshes all due sources one after the other.
    ///
    /// A source is due if it was never refreshed successfully, if its rows are missing, if its URL
    /// or the program's rules have changed, or if the last success was `interval_days` ago. After
    /// failures, a delay of 5 minutes to 6 hours applies. Sources that are not due are not part of
    /// the result.
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

    /// Returns the time at which a source is next due, in milliseconds since 1970.
    ///
    /// Returns the current time for an overdue source, and `None` for a source that is not
    /// configured.
    ///
    /// # Errors
    ///
    /// Returns an error if the database is unavailable.
    pub async fn next_due_ms(&self, source: &Source) -> Result<Option<i64>, StoreError> {
        let Some(spec) = self.shared.spec(source) else {
            return Ok(None);
        };
        let due_ms = self.shared.due_ms(&spec, Trigger::Schedule).await?;
        Ok(Some(due_ms.max(self.shared.clock.now_ms())))
    }

    /// Returns the most recent failure of a source, unless a refresh has succeeded since.
    ///
    /// Failures to refresh a configured source from another URL ([`Refresher::refresh_from`]) are
    /// ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if the database is unavailable.
    pub async fn standing_failure(
        &self,
        source: &Source,
    ) -> Result<Option<RefreshRecord>, StoreError> {
        let failures = self.shared.failures(source).await?;
        Ok(failures.into_iter().next())
    }

    /// Returns the refresh of a source whose document is held for review, if any.
    ///
    /// A document is held until it is accepted ([`RefreshOptions::accept`]), or until another
    /// document from the same URL (the URL in `spec`) is published.
    ///
    /// # Errors
    ///
    /// Returns an error if the database is unavailable.
    pub async fn held(&self, spec: &SourceSpec) -> Result<Option<RefreshRecord>, StoreError> {
        self.shared.held(spec).await
    }

    /// Refreshes due sources and applies changes in the store until `stop` is cancelled.
    ///
    /// At start, robots from sources that are no longer configured are deleted, except robots added
    /// by hand or refreshed from another URL ([`Refresher::refresh_from`]). Commands never call
    /// this function, so they never delete robots this way. Due sources are refreshed at start and
    /// every five minutes. Rows changed by another instance or a command are loaded immediately. At
    /// shutdown, a running download is cancelled, and a running transaction is completed. A stopped
    /// refresher does not refresh any more sources.
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

    async fn refresh_now(
        &self,
        spec: SourceSpec,
        trigger: Trigger,
        options: RefreshOptions,
        origin: OriginKind,
    ) -> Result<RefreshRecord, RefreshError> {
        let source = spec.source.clone();
        self.attempt(spec, trigger, options, origin, false)
            .await?
            // Only an attempt with `only_if_due` can end without a record.
            .ok_or(RefreshError::Stopped(source))
    }

    /// Runs the refresh in a separate task, so that it is not cancelled if the caller is dropped.
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
