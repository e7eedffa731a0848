//! Reports all errors in a configuration instead of only the first.

use std::collections::BTreeSet;

use crate::app::{self, ServerSettings};
use crate::config::{ConfigError, ConfigErrors, Loaded, Loader, MOST_ERRORS, Removed};

/// The beginning of the error message about a reference to a missing list.
const NO_LIST: &str = "no [[list]] is named";

/// Loads the settings, or returns all errors in them.
pub(super) fn load(loader: &Loader) -> Result<Loaded, ConfigErrors> {
    let loaded = loader.clone().load();
    loaded.map_err(|first| every_error(loader, first))
}

/// Returns all errors in a configuration, except errors hidden by other errors.
///
/// Assembling the settings fails at the first invalid value, so the loop removes this value and
/// checks the remaining values again.
pub(super) fn every_error(loader: &Loader, first: ConfigErrors) -> ConfigErrors {
    let mut loader = loader.clone();
    let (mut loaded, mut errors) = loader.read();
    let is_whole = errors.is_empty();
    // A reference to a list is not reported if only the list itself is invalid.
    let mut has_lists = !errors.iter().any(is_of_list);
    // Tables from which a value was removed.
    let mut changed = BTreeSet::new();
    while errors.len() < MOST_ERRORS
        && let Err(ConfigErrors(found)) = judge(&loaded)
        && let Some(error) = found.into_iter().next()
    {
        let removed = loader.remove(&error.origin);
        let is_own = match &removed {
            Some(Removed::Value(_)) => has_lists || !error.message.contains(NO_LIST),
            Some(Removed::Table) => is_whole && !changed.contains(&error.origin),
            None => errors.is_empty(),
        };
        has_lists &= !is_of_list(&error);
        errors.extend(is_own.then_some(error));
        match removed {
            Some(Removed::Value(table)) => {
                changed.insert(table);
            }
            Some(Removed::Table) => {}
            None => break,
        }
        loaded = loader.read().0;
    }
    if errors.is_empty() {
        first
    } else {
        ConfigErrors(errors)
    }
}

fn is_of_list(error: &ConfigError) -> bool {
    let message = &error.message;
    message.starts_with("list.") || message.contains("[[list]]") && !message.contains(NO_LIST)
}

/// Checks all settings that `serve` checks before opening listeners or files; returns the first
/// error.
pub(super) fn judge(loaded: &Loaded) -> Result<(), ConfigErrors> {
    ServerSettings::new(loaded, false)?;
    app::assemble(loaded)
        .and_then(|_| app::site_robots(loaded))
        .map(drop)
}
