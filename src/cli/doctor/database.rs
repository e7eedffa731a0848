//! Checks the database, and the settings against its robots.

use std::path::Path;

use crate::app;
use crate::config::{Loaded, Settings};
use crate::policy::Enforce;
use crate::registry::Robot;
use crate::store::Store;

use super::{
    super::{context, robots_txt_warnings::robots_txt_warnings, rule_warnings::rule_warnings},
    check::Check,
    run::Subject,
};

/// Most robots that are listed by their ids.
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

/// Returns warnings about robots that are refused and cannot be named in robots.txt.
fn unnamed(loaded: &Loaded, robots: &[Robot]) -> Vec<String> {
    // The check of the configuration reports what is wrong.
    let (Ok(plan), Ok(enforcement)) = (app::robots_txt(loaded), app::enforcement(loaded)) else {
        return Vec::new();
    };
    let what_then = match enforcement.rules {
        Enforce::On => "they are refused all the same, since robots_txt.enforce is on",
        _ => "they pass: set robots_txt.enforce to on, so that they are refused all the same",
    };
    let told = plan.unnamed(robots).into_iter().map(|(host, unnamed)| {
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
        format!("{count} robots are refused that the file{host} cannot name, for want of a product token or of a name that is one word: {told}{more}; {what_then}")
    });
    told.collect()
}

/// Opens the database, unless a pooler stands before it that keeps no session.
async fn usable(settings: &Settings) -> Result<String, String> {
    let url = &settings.database.url;
    // Who cannot be reached is told of by who opens the database.
    if let Ok(true) = Store::has_transaction_pooler(url).await {
        return Err(format!(
            "{} is a pooler that gives a session to somebody else after each transaction: locks \
             between instances and news of changes get lost; set pool_mode = session for this \
             database and user, or name the address of PostgreSQL itself",
            Store::shown_url(url)
        ));
    }
    open(settings).await
}

/// Opens the database and counts its robots.
///
/// A missing file is not made: it would belong to the user of `doctor`, not to that of `serve`.
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
