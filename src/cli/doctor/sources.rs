//! Checks the registry sources and address lists.

use super::{
    super::context,
    check::{Check, Subject},
    verification::age,
};
use crate::app;
use crate::clock::Clock;
use crate::detect::SharedDetector;
use crate::fetch::{FetchLimits, Fetcher};
use crate::origins::{ListState, PlaceState};
use crate::refresh::{Refresher, SourceSpec};
use crate::registry::Source;
use crate::store::RefreshRecord;

/// Probes each source; the configuration check reports misconfigured sources.
pub(super) async fn sources(subject: &Subject<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for spec in app::sources(subject.loaded).unwrap_or_default() {
        let name = format!("source {}", spec.source);
        checks.push(Check::new(name, source(&spec).await));
    }
    checks
}

/// Checks whether downloaded documents are held for review.
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
        // The database check reports database errors.
        if let Ok(Some(record)) = refresher.held(&spec).await {
            let text = held_back_text(&spec.source, &record);
            checks.push(Check::warning(&format!("source {}", spec.source), text));
        }
    }
    checks
}

/// Returns the reason why a document is held for review, and how to accept the document.
pub(in super::super) fn held_back_text(source: &Source, record: &RefreshRecord) -> String {
    let reason = &record.error;
    format!(
        "held for review: {reason}; the previous robots remain in use; to apply the new robots, run `registry refresh --source {source} --accept`"
    )
}

async fn source(spec: &SourceSpec) -> Result<String, String> {
    let fetcher = Fetcher::new(FetchLimits::default()).map_err(|error| error.to_string())?;
    spec.probe(&fetcher).await.map_err(|error| {
        format!(
            "{error}; until the source is available, the robots from the last refresh and the bundled registry are used"
        )
    })
}

/// Checks each address list and file; downloads lists that were never downloaded.
pub(super) async fn origins(subject: &Subject<'_>, offline: bool) -> Vec<Check> {
    // The configuration check reports errors.
    if let Err(error) = Box::pin(context::read_origins(subject.loaded, !offline)).await {
        return vec![Check::warning("lists", error.to_string())];
    }
    let origins = subject.loaded.origins();
    let now_ms = Clock::system().now_ms();
    let lists = origins.list_states();
    let lists = lists.iter().map(|list| of_list(list, now_ms));
    let places = origins.place_states();
    lists.chain(places.iter().map(of_place)).collect()
}

fn of_list(list: &ListState, now_ms: i64) -> Check {
    let name = format!("list {}", list.name);
    if let Some(problem) = list.problem() {
        return Check::warning(&name, problem);
    }
    let checked_ms = list.ranges.as_ref().and_then(|ranges| ranges.checked_ms);
    let age = if list.has_copy() {
        age(checked_ms, now_ms)
    } else {
        ", bundled with the program".to_owned()
    };
    let networks = match list.prefixes() {
        1 => "1 network".to_owned(),
        several => format!("{several} networks"),
    };
    Check::new(name, Ok(format!("{networks} from {}{age}", list.url)))
}

fn of_place(place: &PlaceState) -> Check {
    let in_use = place.in_use.as_deref().unwrap_or_default();
    let path = place.path.display();
    let result = match place.problem() {
        Some(problem) => Err(problem),
        None => Ok(format!("{path} is {in_use}")),
    };
    Check::new(place.setting, result)
}
