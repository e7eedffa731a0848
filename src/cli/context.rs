//! Loads the configuration, database and detector for commands.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;

use crate::app::{self, ClaimProver};
use crate::assembly::robot_conf;
use crate::clock::Clock;
use crate::config::{DatabaseSection, Loaded, Loader, Settings, SiteRobotSection};
use crate::detect::Detector;
use crate::live_rules::LiveRuleSet;
use crate::operations::Caller;
use crate::origins::{Keeper, WantedOrigins};
use crate::registry::{Robot, bundled};
use crate::store::Store;

use super::{
    every_error,
    output::{self, WrongUsage},
};

/// The name shown in the audit log as the author of changes made by commands.
pub(super) const ACTOR: &str = "command line";

/// Arguments that all commands accept.
#[derive(Args, Clone, Debug)]
pub(super) struct Cli {
    /// Configuration file [default: robot-detection.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Database: `sqlite://FILE` or `postgres://USER@HOST/NAME`
    #[arg(long, global = true, value_name = "URL")]
    pub(super) database: Option<String>,
    /// Configuration file of the site robot, if specified in a `site-robot` command.
    #[arg(skip)]
    pub(super) robot_conf: Option<String>,
}

/// The name of the default configuration file.
const DEFAULT_FILE: &str = "robot-detection.toml";

/// Reads the configuration file, the environment and the global flags.
pub(super) fn loader(cli: &Cli) -> anyhow::Result<Loader> {
    Ok(loader_for_text(cli, file_text(cli)?.as_deref()))
}

/// Returns the path of the configuration file, whether or not the file exists.
pub(super) fn file(cli: &Cli) -> &Path {
    cli.config.as_deref().unwrap_or(Path::new(DEFAULT_FILE))
}

/// Reads the configuration file; returns `None` if the default file does not exist.
pub(super) fn file_text(cli: &Cli) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(file(cli)) {
        Ok(text) => Ok(Some(text)),
        // A file given with --config must exist; the default file may be missing.
        Err(error) if cli.config.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            Ok(None)
        }
        Err(error) => {
            let (hint, file) = (
                "create a file with `robot-detection init`",
                file(cli).display(),
            );
            let text = format!("cannot read {file} ({hint}): {error}");
            Err(WrongUsage(text).into())
        }
    }
}

/// Reads the given configuration text, the environment and the global flags.
pub(super) fn loader_for_text(cli: &Cli, text: Option<&str>) -> Loader {
    let loader = text.map_or_else(Loader::new, |text| {
        Loader::new().file(&file(cli).display().to_string(), text)
    });
    let loader = loader
        .process_environment()
        .flag(
            &DatabaseSection::KEY.url,
            "--database",
            cli.database.clone(),
        )
        .flag(
            &SiteRobotSection::KEY.robot_conf,
            "--robot-conf",
            cli.robot_conf.clone(),
        );
    let state = state_of_robot(&loader);
    loader.flag(&DatabaseSection::KEY.url, "robot-state-dir", state)
}

/// Returns the database specified by `robot-state-dir` in robot.conf, if no setting specifies a
/// database.
fn state_of_robot(loader: &Loader) -> Option<String> {
    // Errors are reported when the settings are loaded for use.
    let loaded = loader.clone().load().ok()?;
    if loaded.is_set(&DatabaseSection::KEY.url) {
        return None;
    }
    let (conf, ..) = robot_conf(&loaded, loaded.settings()).ok()?;
    let place = conf.robot_state_dir?;
    Some(if place.contains("://") {
        place
    } else {
        format!(
            "sqlite://{}/robot-detection.db",
            place.trim_end_matches('/')
        )
    })
}

/// Loads the settings for a command that has no flags for settings.
pub(super) fn load(cli: &Cli) -> anyhow::Result<Loaded> {
    Ok(every_error::load(&loader(cli)?)?)
}

/// Returns a detector for the robots in the database, or for the bundled robots if no database
/// exists.
pub(super) async fn detector(loaded: &Loaded) -> anyhow::Result<Detector> {
    let robots = robots(loaded).await?;
    let detector = Detector::new(robots.into_iter().map(Arc::new))?;
    Ok(detector.recognise_unlisted(loaded.settings().general.unlisted_robots))
}

/// Returns the robots in the database, or the bundled robots if no database exists.
pub(super) async fn robots(loaded: &Loaded) -> anyhow::Result<Vec<Robot>> {
    let settings = loaded.settings();
    if !database_exists(&settings.database.url) {
        return Ok(bundled().robots);
    }
    let store = Store::connect(&settings.database.url).await?;
    let rows = store.robots().list().await?;
    store.close().await;
    if rows.is_empty() {
        return Ok(bundled().robots);
    }
    Ok(rows.into_iter().map(|row| row.robot).collect())
}

/// Returns a prover that verifies claims in the same way as a server with these settings.
pub(super) async fn claim_prover(loaded: &Loaded) -> anyhow::Result<ClaimProver> {
    let settings = app::verification(&loaded.settings().verify);
    Ok(ClaimProver::new(settings, store(loaded).await?).await?)
}

/// Returns the live rules that a server with these settings applies.
pub(super) async fn live_rules(loaded: &Loaded) -> anyhow::Result<LiveRuleSet> {
    if !loaded.settings().admin.rules {
        return Ok(LiveRuleSet::default());
    }
    let store = store(loaded).await?;
    let stored = store.live_rules().list(Clock::system().now_ms()).await?;
    store.close().await;
    Ok(LiveRuleSet::read(stored))
}

/// Returns the caller that represents the command line in operations.
pub(super) fn caller(store: &Store) -> Caller<'_> {
    Caller {
        store,
        now_ms: Clock::system().now_ms(),
        actor: ACTOR.to_owned(),
        ends_ms: None,
        warn: |text| output::note(&format!("warning: {text}")),
    }
}

/// Reads the address lists and address databases specified in these settings.
///
/// Downloaded copies are read from the database. If `may_fetch` is true, missing lists are
/// downloaded.
pub(super) async fn read_origins(loaded: &Loaded, may_fetch: bool) -> anyhow::Result<()> {
    let wanted = app::wanted_origins(loaded)?;
    if wanted == WantedOrigins::default() {
        return Ok(());
    }
    loaded.origins().set_wanted(wanted);
    let store = store(loaded).await?;
    let keeper = Keeper::new(loaded.origins(), &store)?;
    keeper.prepare().await;
    if may_fetch {
        keeper.fetch_missing().await;
    }
    store.close().await;
    Ok(())
}

/// Opens the database, or an empty in-memory database if no database exists.
pub(super) async fn store(loaded: &Loaded) -> anyhow::Result<Store> {
    let url = &loaded.settings().database.url;
    let url = if database_exists(url) {
        url
    } else {
        // Read-only commands do not create a file.
        "sqlite::memory:"
    };
    Ok(Store::connect(url).await?)
}

/// Opens the database for a command that writes to it; creates a missing database file.
pub(super) async fn changing_store(loaded: &Loaded) -> anyhow::Result<Store> {
    check_database(loaded.settings())?;
    Ok(Store::connect(&loaded.settings().database.url).await?)
}

/// Returns a detector for the bundled robots if `is_bundled`, or for those in the database.
pub(super) async fn chosen_detector(loaded: &Loaded, is_bundled: bool) -> anyhow::Result<Detector> {
    if !is_bundled {
        return detector(loaded).await;
    }
    let detector = Detector::new(bundled().robots.into_iter().map(Arc::new))?;
    Ok(detector.recognise_unlisted(loaded.settings().general.unlisted_robots))
}

/// Returns an error if the database file was removed; prints a note before a new database is
/// created.
///
/// # Errors
///
/// Returns an error if the file existed before: creating an empty file would hide the loss of data.
pub(super) fn check_database(settings: &Settings) -> anyhow::Result<()> {
    let url = &settings.database.url;
    if is_gone(url) {
        anyhow::bail!(
            "the database file {url} existed before but is missing: restore the file or a backup; \
             to create a new, empty database, run `robot-detection database new`"
        );
    }
    if !database_exists(url) && sqlite_file(url).is_some() {
        output::note(&format!("creating the database {url}"));
    }
    Ok(())
}

/// Returns `true` if the database file is missing but existed before.
///
/// Opening a database creates a `.lock` file next to it, which remains if the database file is
/// removed.
pub(super) fn is_gone(url: &str) -> bool {
    sqlite_file(url).is_some_and(|file| {
        let mut lock = file.as_os_str().to_owned();
        lock.push(".lock");
        !file.exists() && Path::new(&lock).exists()
    })
}

/// Returns `true` if the database can be opened without creating a file.
///
/// Read-only commands do not create a database file: the file would belong to the user of the
/// command, and `serve` might not be able to write to it.
pub(super) fn database_exists(url: &str) -> bool {
    !url.starts_with("sqlite:") || sqlite_file(url).is_some_and(Path::exists)
}

/// Returns the file of an SQLite database, or `None` for an in-memory database.
pub(super) fn sqlite_file(url: &str) -> Option<&Path> {
    // `sqlite:FILE` and `sqlite://FILE` both specify a file; options follow the `?`.
    let rest = url.strip_prefix("sqlite:")?.trim_start_matches("//");
    let path = rest.split('?').next().unwrap_or(rest);
    (!path.is_empty() && path != ":memory:").then(|| Path::new(path))
}
