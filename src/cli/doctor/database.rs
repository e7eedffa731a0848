//! Checks the database, and compares the settings with the robots in it.

use std::path::Path;

use crate::app;
use crate::config::{Loaded, Settings};
use crate::policy::EnforcementMode;
use crate::registry::Robot;
use crate::store::Store;

use super::{
    super::{context, robots_txt_warnings::robots_txt_warnings, rule_warnings::rule_warnings},
    check::{Check, Subject},
};

/// The maximum number of robots to list by id in a warning.
const MAX_LISTED_IDS: usize = 20;

pub(super) async fn database(subject: &Subject<'_>) -> anyhow::Result<Vec<Check>> {
    let Subject {
        loaded, settings, ..
    } = subject;
    let mut checks = vec![Check::new("database", usable(settings).await)];
    let is_readable = checks.iter().all(Check::is_ok);
    if let (Ok(policy), true) = (app::policy(loaded), is_readable) {
        let robots = context::robots(loaded).await?;
        let of_rules = rule_warnings(settings, &policy, &robots).into_iter();
        checks.extend(of_rules.map(|text| Check::warning("rules", text)));
        let of_robots_txt = robots_txt_warnings(settings, &robots).into_iter();
        let of_robots_txt = of_robots_txt.chain(unnamed(loaded, &robots));
        checks.extend(of_robots_txt.map(|text| Check::warning("robots.txt", text)));
    }
    Ok(checks)
}

/// Returns warnings about refused robots for which robots.txt has no name.
fn unnamed(loaded: &Loaded, robots: &[Robot]) -> Vec<String> {
    // The configuration check reports errors.
    let (Ok(plan), Ok(enforcement)) = (app::robots_txt(loaded), app::enforcement(loaded)) else {
        return Vec::new();
    };
    let what_then = match enforcement.rules {
        EnforcementMode::On => "these robots are still refused, because robots_txt.enforce is on",
        _ => "these robots pass: to refuse them, set robots_txt.enforce to on",
    };
    let told = plan.unnameable(robots).into_iter().map(|(host, unnamed)| {
        let host = host.map_or_else(String::new, |host| format!(" of {host}"));
        let count = unnamed.len();
        let told = unnamed.iter().take(MAX_LISTED_IDS);
        let told: Vec<_> = told
            .map(|robot| format!("{} ({})", robot.id, robot.purpose))
            .collect();
        let more = match count.saturating_sub(told.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let told = told.join(", ");
        format!("robots.txt{host} cannot name {count} refused robots, because they have no product token and no one-word name: {told}{more}; {what_then}")
    });
    told.collect()
}

/// Opens the database, unless a transaction pooler is in front of it.
async fn usable(settings: &Settings) -> Result<String, String> {
    let url = &settings.database.url;
    // An unreachable database is reported when the database is opened.
    if let Ok(true) = Store::has_transaction_pooler(url).await {
        return Err(format!(
            "{} is a pooler in transaction mode, which shares sessions between clients: locks \
             between instances and change notifications are lost; set pool_mode = session for this \
             database and user, or use the address of PostgreSQL itself",
            Store::shown_url(url)
        ));
    }
    open(settings).await
}

/// Opens the database and counts the robots in it.
///
/// A missing file is not created, because it would belong to the user that runs `doctor`, not
/// `serve`.
async fn open(settings: &Settings) -> Result<String, String> {
    if let Some(file) = context::sqlite_file(&settings.database.url)
        && !file.exists()
    {
        return missing_file(file);
    }
    let store = Store::connect(&settings.database.url)
        .await
        .map_err(|error| error.to_string())?;
    let counts = store
        .robots()
        .counts()
        .await
        .map_err(|error| error.to_string())?;
    let active = counts.iter().map(|count| count.active).sum::<u64>();
    let engine = store.engine();
    store.close().await;
    Ok(match active {
        0 => {
            format!("{engine}, no robots yet: the first start of `serve` loads the bundled robots")
        }
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
            "{file} does not exist yet: the first start of `serve` creates the file"
        ))
    } else {
        let directory = directory.display();
        Err(format!(
            "the directory {directory} does not exist: create the directory, and make it writable for the user that runs `serve`"
        ))
    }
}
