//! Registries that are refreshed.

use crate::app;
use crate::fetch::{FetchLimits, Fetcher};
use crate::refresh::SourceSpec;

use super::{check::Check, run::Subject};

/// Asks each of them; those that are wrong are told with the configuration.
pub(super) async fn sources(subject: &Subject<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for spec in app::sources(subject.loaded).unwrap_or_default() {
        let name = format!("source {}", spec.source);
        checks.push(Check::new(name, source(&spec).await));
    }
    checks
}

async fn source(spec: &SourceSpec) -> Result<String, String> {
    let fetcher = Fetcher::new(FetchLimits::default()).map_err(|error| error.to_string())?;
    spec.probe(&fetcher).await.map_err(|error| {
        format!(
            "{error}; until it answers, the rows of the last refresh and the bundled registry serve"
        )
    })
}
