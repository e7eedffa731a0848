//! Registries that are refreshed.

use crate::app;
use crate::clock::Clock;
use crate::detect::SharedDetector;
use crate::fetch::{FetchLimits, Fetcher};
use crate::refresh::{Refresher, SourceSpec};
use crate::registry::Source;
use crate::store::RefreshRecord;

use super::{check::Check, run::Subject};

/// Probes each source; the check of the configuration reports those that are wrong.
pub(super) async fn sources(subject: &Subject<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for spec in app::sources(subject.loaded).unwrap_or_default() {
        let name = format!("source {}", spec.source);
        checks.push(Check::new(name, source(&spec).await));
    }
    checks
}

/// Checks whether documents are held back until somebody accepts them.
pub(super) async fn held_back(subject: &Subject<'_>) -> Vec<Check> {
    let (Some(store), Ok(specs), Ok(fetcher)) = (
        &subject.store,
        app::sources(subject.loaded),
        Fetcher::new(FetchLimits::default()),
    ) else {
        return Vec::new();
    };
    let (detector, clock) = (SharedDetector::default(), Clock::system());
    let refresher = Refresher::new(store.clone(), fetcher, detector, clock, specs);
    let mut checks = Vec::new();
    for spec in refresher.sources() {
        // The check of the database reports what is wrong with it.
        if let Ok(Some(record)) = refresher.held(&spec).await {
            let text = held_back_text(&spec.source, &record);
            checks.push(Check::warning(&format!("source {}", spec.source), text));
        }
    }
    checks
}

/// Returns the reason why a document is held back, and how it is accepted.
pub(in super::super) fn held_back_text(source: &Source, record: &RefreshRecord) -> String {
    let reason = &record.error;
    format!(
        "held back: {reason}; the robots of before serve; if that is right, `registry refresh --source {source} --accept` puts it in force"
    )
}

async fn source(spec: &SourceSpec) -> Result<String, String> {
    let fetcher = Fetcher::new(FetchLimits::default()).map_err(|error| error.to_string())?;
    spec.probe(&fetcher).await.map_err(|error| {
        format!(
            "{error}; until it answers, the rows of the last refresh and the bundled registry serve"
        )
    })
}
