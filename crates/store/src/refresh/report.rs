//! Log messages and progress reports of refreshes.

use tracing::{debug, info, warn};

use super::{RefreshError, SourceSpec, Trigger, shared::Shared};
use crate::fetch::shown_url;
use crate::store::{RefreshOutcome, RefreshRecord, StoreError};
use robot_detection_layer::registry::Source;

/// Logs the result of a refresh; a repeated failure is logged again only if the reason changes.
///
/// A command prints its own failures, so they are not logged.
pub(super) fn report(
    shared: &Shared,
    spec: &SourceSpec,
    trigger: Trigger,
    result: &Result<Option<RefreshRecord>, RefreshError>,
) {
    let key = format!("refresh:{}", spec.source);
    match result {
        Ok(None) => {}
        Ok(Some(record)) => {
            shared.clear_failure(&key);
            success(record);
        }
        Err(error @ (RefreshError::Busy(..) | RefreshError::Stopped(_))) => {
            debug!(source = %spec.source, "{error}");
        }
        Err(error) if trigger == Trigger::Command => debug!(source = %spec.source, "{error}"),
        Err(error) => failure(shared, &key, spec, error),
    }
}

/// Logs once that the database cannot be queried to find out whether a source is due.
pub(super) fn report_due(shared: &Shared, spec: &SourceSpec, is_due: &Result<bool, StoreError>) {
    let source = &spec.source;
    let key = format!("due:{source}");
    let Err(error) = is_due else {
        shared.clear_failure(&key);
        return;
    };
    let reason = error.to_string();
    if shared.is_new_failure(&key, &reason) {
        warn!(%source, "cannot determine whether the registry {source} is due for a refresh; using \
                        the loaded registry: {reason}");
    }
}

fn success(record: &RefreshRecord) {
    let elapsed_ms = record.finished_ms.saturating_sub(record.started_ms);
    let (source, url) = (&record.source, &record.url);
    if record.outcome == RefreshOutcome::NotModified {
        info!(%source, elapsed_ms, "the registry {source} is unchanged at {url}");
        return;
    }
    info!(
        %source,
        records = record.records,
        added = record.added,
        changed = record.changed,
        removed = record.removed,
        skipped = record.skipped,
        quarantined = record.quarantined,
        unusable = record.unusable,
        elapsed_ms,
        "refreshed the registry {source} from {url}: {} records, {} robots added, {} changed, {} removed",
        record.records,
        record.added,
        record.changed,
        record.removed,
    );
}

fn failure(shared: &Shared, key: &str, spec: &SourceSpec, error: &RefreshError) {
    let source = &spec.source;
    let url = shown_url(&spec.url);
    let reason = error.to_string();
    if matches!(error, RefreshError::Held(_)) {
        if shared.is_new_failure(key, &reason) {
            warn!(%source, %url, "the registry {source} is {reason}; its robots remain unchanged \
                                  until you accept the document in the console or with registry \
                                  refresh --source {source} --accept");
        } else {
            debug!(%source, %url, "the registry {source} is still {reason}");
        }
    } else if shared.is_new_failure(key, &reason) {
        warn!(%source, %url, "failed to refresh the registry {source}; its robots remain \
                              unchanged: {reason}");
    } else {
        debug!(%source, %url, "failed to refresh the registry {source} again: {reason}");
    }
}

/// The progress of a refresh, for the console and the progress bar.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Progress {
    /// No refresh has started yet, or the last refresh was cancelled.
    #[default]
    Idle,
    /// The document is being downloaded.
    Downloading {
        /// The source that is being refreshed.
        source: Source,
        /// The number of bytes received so far, after decompression.
        bytes: u64,
        /// The total number of bytes, if announced by the server.
        total: Option<u64>,
    },
    /// The document is being parsed.
    Parsing {
        /// The source that is being refreshed.
        source: Source,
    },
    /// The patterns are being tested against browsers.
    Testing {
        /// The source that is being refreshed.
        source: Source,
        /// The number of parsed robots.
        robots: u64,
    },
    /// The rows are being replaced.
    Storing {
        /// The source that is being refreshed.
        source: Source,
        /// The number of robots to store.
        robots: u64,
    },
    /// The most recent refresh ended, successfully or not.
    Done {
        /// The record of the refresh in the history.
        record: Box<RefreshRecord>,
    },
}
