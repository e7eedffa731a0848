//! The database, and what its robots say about the settings.

use std::path::Path;

use crate::app;
use crate::config::Settings;
use crate::store::Store;

use super::{
    super::{context, doubts::doubts, robots_txt_doubts::robots_txt_doubts},
    check::Check,
    run::Subject,
};

pub(super) async fn database(subject: &Subject<'_>) -> anyhow::Result<Vec<Check>> {
    let Subject {
        loaded, settings, ..
    } = subject;
    let mut checks = vec![Check::new("database", open(settings).await)];
    let is_readable = checks.iter().all(Check::is_ok);
    if let (Ok(policy), true) = (app::policy(loaded), is_readable) {
        let robots = context::robots(loaded).await?;
        let of_rules = doubts(settings, &policy, &robots).into_iter();
        checks.extend(of_rules.map(|text| Check::doubt("rules", text)));
        let of_robots_txt = robots_txt_doubts(settings, &robots).into_iter();
        checks.extend(of_robots_txt.map(|text| Check::doubt("robots.txt", text)));
    }
    Ok(checks)
}

/// A missing file is not made here: it would belong to whoever asks, not to who serves.
async fn open(settings: &Settings) -> Result<String, String> {
    if let Some(file) = context::sqlite_file(&settings.database_url)
        && !file.exists()
    {
        return missing_file(file);
    }
    let store = Store::connect(&settings.database_url)
        .await
        .map_err(|error| error.to_string())?;
    let counts = store
        .robot_counts()
        .await
        .map_err(|error| error.to_string())?;
    let active = counts.iter().map(|count| count.active).sum::<u64>();
    let engine = store.engine();
    store.close().await;
    Ok(match active {
        0 => format!("{engine}, no robots yet: the first `serve` brings in those of the program"),
        _ => format!("{engine}, {active} active robots"),
    })
}

pub(super) fn missing_file(file: &Path) -> Result<String, String> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if directory.is_dir() {
        let file = file.display();
        Ok(format!(
            "{file} is not there yet: the first `serve` makes it"
        ))
    } else {
        let directory = directory.display();
        Err(format!(
            "there is no directory {directory} for it: make it, for the user of `serve` to write in"
        ))
    }
}
