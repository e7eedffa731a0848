//! Log messages of refreshes.

use tracing::{debug, info, warn};

use super::{RefreshError, SourceSpec, Trigger, shared::Shared};
use crate::fetch::shown_url;
use crate::store::{RefreshOutcome, RefreshRecord, StoreError};
use robot_detection_layer::registry::Source;

/// Logs how a refresh ended: a failure that lasts once, until its reason changes.
///
/// A command tells its failure to the person who typed it.
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
            shared.is_over(&key);
            success(record);
        }
        Err(error @ (RefreshError::Busy(..) | RefreshError::Stopped(_))) => {
            debug!(source = %spec.source, "{error}");
        }
        Err(error) if trigger == Trigger::Command => debug!(source = %spec.source, "{error}"),
        Err(error) => failure(shared, &key, spec, error),
    }
}

/// Logs once that the database does not tell whether a source is due.
pub(super) fn report_due(shared: &Shared, spec: &SourceSpec, is_due: &Result<bool, StoreError>) {
    let source = &spec.source;
    let key = format!("due:{source}");
    let Err(error) = is_due else {
        shared.is_over(&key);
        return;
    };
    let reason = error.to_string();
    if shared.is_news(&key, &reason) {
        warn!(%source, "whether the registry {source} is due is not known, it serves on from memory: {reason}");
    }
}

fn success(record: &RefreshRecord) {
    let elapsed_ms = record.finished_ms.saturating_sub(record.started_ms);
    let (source, url) = (&record.source, &record.url);
    if record.outcome == RefreshOutcome::NotModified {
        info!(%source, elapsed_ms, "the registry {source} has not changed at {url}");
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
        if shared.is_news(key, &reason) {
            warn!(%source, %url, "the registry {source} is {reason}; its robots stay as they are until the document is accepted: on the admin page, or with registry refresh --source {source} --accept");
        } else {
            debug!(%source, %url, "the registry {source} is {reason}, as before");
        }
    } else if shared.is_news(key, &reason) {
        warn!(%source, %url, "the registry {source} was not refreshed, its robots stay as they are: {reason}");
    } else {
        debug!(%source, %url, "the registry {source} was not refreshed, as before: {reason}");
    }
}

/// Progress of a refresh, for the admin page and the progress bar.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Progress {
    /// No refresh has begun yet, or the last one was given up.
    #[default]
    Idle,
    /// The source is being read.
    Downloading {
        /// The source.
        source: Source,
        /// Bytes so far, decompressed.
        bytes: u64,
        /// All bytes, where the server announced them.
        total: Option<u64>,
    },
    /// The records are being read.
    Parsing {
        /// The source.
        source: Source,
    },
    /// The patterns are being tested against browsers.
    Testing {
        /// The source.
        source: Source,
        /// Robots that were read.
        robots: u64,
    },
    /// The rows are being replaced.
    Storing {
        /// The source.
        source: Source,
        /// Robots that are stored.
        robots: u64,
    },
    /// The last refresh ended, well or not.
    Done {
        /// Its record in the history.
        record: Box<RefreshRecord>,
    },
}
