//! The history of a source, as the database has it.

use super::{
    SourceSpec, Trigger,
    due::{RefreshHistory, due_from_ms, jitter},
    fingerprint::{Fingerprint, OriginKind},
    shared::Shared,
};
use crate::fetch::shown_url;
use crate::store::{RefreshOutcome, RefreshRecord, SourceState, StoreError};
use robot_detection_layer::registry::Source;

/// Refreshes of all sources that are looked at; delays grow no more long before.
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

    /// Returns the instant from which a source is due.
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
    /// A failure to read a configured source from elsewhere does not count: it
    /// says nothing of the source.
    pub(super) async fn failures(&self, source: &Source) -> Result<Vec<RefreshRecord>, StoreError> {
        let url = self.spec(source).map(|spec| shown_url(&spec.url));
        self.failures_at(source, url.as_deref()).await
    }

    /// Returns the refresh whose document waits for a person's word, if one does.
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
        // The usual case is found out without reading the history.
        let last = self.store.refreshes().last(source).await?;
        if !last.as_ref().is_some_and(is_failure) {
            return Ok(Vec::new());
        }
        let is_here = |record: &RefreshRecord| url.is_none_or(|url| *url == record.url);
        let history = self.store.refreshes().list(HISTORY).await?;
        Ok(history
            .into_iter()
            .filter(|record| record.source == *source)
            // The order matters: a success ends the failures, wherever it was read from.
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

/// Returns what the rows of a source were made from.
pub(super) fn made_from(state: &SourceState) -> Option<Fingerprint> {
    Fingerprint::parse(state.content_sha256.as_deref()?)
}

/// Returns `true` if rows came from another place, or by other rules.
///
/// Rows that a person brought in from elsewhere serve until their time is up.
fn is_outdated(state: &SourceState, spec: &SourceSpec) -> bool {
    made_from(state).is_none_or(|made| {
        made.origin() == OriginKind::Configured
            && (state.url != shown_url(&spec.url) || !made.is_current(spec.format))
    })
}

/// Returns `true` if a refresh left the robots as they were, for want of something better.
fn is_failure(record: &RefreshRecord) -> bool {
    matches!(
        record.outcome,
        RefreshOutcome::Failed | RefreshOutcome::Held
    )
}
