//! Refresh history of a source, read from the database.

use super::{
    SourceSpec, Trigger,
    due::{RefreshHistory, due_from_ms, jitter},
    fingerprint::{Fingerprint, OriginKind},
    shared::Shared,
};
use crate::fetch::shown_url;
use crate::store::{RefreshOutcome, RefreshRecord, SourceState, StoreError};
use robot_detection_layer::registry::Source;

/// Number of refreshes of all sources to examine; delays stop growing long before.
const HISTORY: u64 = 100;

impl Shared {
    /// Returns `true` if a source is due.
    pub(super) async fn is_due(
        &self,
        spec: &SourceSpec,
        trigger: Trigger,
    ) -> Result<bool, StoreError> {
        Ok(self.due_ms(spec, trigger).await? <= self.clock.now_ms())
    }

    /// Returns the time from which a source is due, in milliseconds.
    pub(super) async fn due_ms(
        &self,
        spec: &SourceSpec,
        trigger: Trigger,
    ) -> Result<i64, StoreError> {
        let history = self.history(spec).await?;
        let jitter = jitter(self.seed, &spec.source, &history);
        let now_ms = self.clock.now_ms();
        let due_ms = due_from_ms(&history, spec.interval_days, trigger, now_ms, jitter);
        Ok(due_ms)
    }

    /// Returns the failures of a source since its last success, newest first.
    ///
    /// Failures to read a configured source from another URL are left out.
    pub(super) async fn failures(&self, source: &Source) -> Result<Vec<RefreshRecord>, StoreError> {
        let url = self.spec(source).map(|spec| shown_url(&spec.url));
        self.failures_at(source, url.as_deref()).await
    }

    /// Returns the refresh whose document is held for review, if any.
    pub(super) async fn held(
        &self,
        spec: &SourceSpec,
    ) -> Result<Option<RefreshRecord>, StoreError> {
        let url = shown_url(&spec.url);
        let failures = self.failures_at(&spec.source, Some(&url)).await?;
        let mut failures = failures.into_iter();
        Ok(failures.find(|record| record.outcome == RefreshOutcome::Held))
    }

    async fn failures_at(
        &self,
        source: &Source,
        url: Option<&str>,
    ) -> Result<Vec<RefreshRecord>, StoreError> {
        // The usual case needs no history.
        let last = self.store.refreshes().last(source).await?;
        if !last.as_ref().is_some_and(is_failure) {
            return Ok(Vec::new());
        }
        let is_here = |record: &RefreshRecord| url.is_none_or(|url| *url == record.url);
        let history = self.store.refreshes().list(HISTORY).await?;
        Ok(history
            .into_iter()
            .filter(|record| record.source == *source)
            // This order matters: a success with any URL ends the failures.
            .take_while(is_failure)
            .filter(is_here)
            .collect())
    }

    async fn history(&self, spec: &SourceSpec) -> Result<RefreshHistory, StoreError> {
        let failures = self.failures(&spec.source).await?;
        let state = self.store.refreshes().source_state(&spec.source).await?;
        let rows = self.row_count(&spec.source).await?;
        let is_outdated = rows == 0 || state.as_ref().is_none_or(|state| is_outdated(state, spec));
        Ok(RefreshHistory {
            succeeded_ms: state.and_then(|state| state.succeeded_ms),
            failures: u32::try_from(failures.len()).unwrap_or(u32::MAX),
            failed_ms: failures.first().map(|record| record.finished_ms),
            is_outdated,
        })
    }
}

/// Returns the fingerprint of a source's rows.
pub(super) fn fingerprint_of(state: &SourceState) -> Option<Fingerprint> {
    Fingerprint::parse(state.content_sha256.as_deref()?)
}

/// Returns `true` if configured rows were made from another URL or by other rules.
///
/// Rows from a URL given on the command line are used until the source is due.
fn is_outdated(state: &SourceState, spec: &SourceSpec) -> bool {
    fingerprint_of(state).is_none_or(|made| {
        made.origin() == OriginKind::Configured
            && (state.url != shown_url(&spec.url) || !made.is_current(spec.format))
    })
}

/// Returns `true` if a refresh did not update the robots, because it failed or was held for review.
fn is_failure(record: &RefreshRecord) -> bool {
    matches!(
        record.outcome,
        RefreshOutcome::Failed | RefreshOutcome::Held
    )
}
