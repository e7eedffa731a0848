//! Configuration, database and detector for commands.

use std::{path::Path, sync::Arc};

use crate::config::{ConfigErrors, Loaded, Loader};
use crate::detect::Detector;
use crate::registry::bundled;
use crate::store::Store;
use crate::telemetry::{LogFormat, check_log_filter};

use super::{Cli, usage::WrongUsage};

/// File that is read when none is named.
pub(super) const DEFAULT_FILE: &str = "robot-detection.toml";

/// Reads file, environment and the global flags.
pub(super) fn loader(cli: &Cli) -> anyhow::Result<Loader> {
    let named = cli.config.as_deref();
    let path = named.unwrap_or(Path::new(DEFAULT_FILE));
    let loader = match std::fs::read_to_string(path) {
        Ok(text) => Loader::new().file(&path.display().to_string(), &text),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            Loader::new()
        }
        Err(error) => {
            let hint = "`robot-detection init` writes one";
            let text = format!("cannot read {} ({hint}): {error}", path.display());
            return Err(WrongUsage(text).into());
        }
    };
    Ok(loader
        .process_environment()
        .flag("database.url", "--database", cli.database.clone()))
}

/// Loads the settings of a command that has no flags of its own for them.
pub(super) fn load(cli: &Cli) -> anyhow::Result<Loaded> {
    Ok(loader(cli)?.load()?)
}

/// Returns filter and format of the log.
pub(super) fn log_settings(loaded: &Loaded) -> Result<(String, LogFormat), ConfigErrors> {
    let settings = loaded.settings();
    let format = settings.log_format.parse();
    let format = format.map_err(|error| loaded.wrong("log.format", error))?;
    check_log_filter(&settings.log_level).map_err(|error| loaded.wrong("log.level", error))?;
    Ok((settings.log_level, format))
}

/// Returns a detector of the database's robots, or of the bundled ones where there is no database yet.
pub(super) async fn detector(loaded: &Loaded) -> anyhow::Result<Detector> {
    let settings = loaded.settings();
    if !database_exists(&settings.database_url) {
        return bundled_detector();
    }
    let store = Store::connect(&settings.database_url).await?;
    let robots = store.robots().await?;
    store.close().await;
    if robots.is_empty() {
        return bundled_detector();
    }
    Ok(Detector::new(
        robots.into_iter().map(|row| Arc::new(row.robot)),
    )?)
}

/// Returns a detector of the bundled robots.
pub(super) fn bundled_detector() -> anyhow::Result<Detector> {
    Ok(Detector::new(bundled().robots.into_iter().map(Arc::new))?)
}

/// A command that only reads makes no database file.
fn database_exists(url: &str) -> bool {
    !url.starts_with("sqlite:") || sqlite_file(url).is_some_and(Path::exists)
}

/// Returns the file of an SQLite database that is not in memory.
pub(super) fn sqlite_file(url: &str) -> Option<&Path> {
    let rest = url.strip_prefix("sqlite:")?.trim_start_matches("//");
    let path = rest.split('?').next().unwrap_or(rest);
    (!path.is_empty() && path != ":memory:").then(|| Path::new(path))
}
