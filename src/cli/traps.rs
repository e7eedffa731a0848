//! `traps`: prints trap paths, and the link to add to pages.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::config::{Loaded, RobotsTxtSource};
use crate::operations::DEFAULT_SITE;
use crate::store::Store;
use crate::traps::TrapPaths;

use super::{Cli, context, output};

/// A site and its traps.
pub(super) struct SiteTraps {
    pub(super) site: String,
    pub(super) paths: TrapPaths,
    pub(super) loaded: Loaded,
}

/// Returns the traps of each site that has traps; opens the database only if there are such sites.
///
/// # Errors
///
/// Returns an error if no database exists: trap paths depend on the seed in the database.
pub(super) async fn of_configured(loaded: &Loaded) -> anyhow::Result<Vec<SiteTraps>> {
    if active(loaded).is_empty() {
        return Ok(Vec::new());
    }
    let url = &loaded.settings().database.url;
    anyhow::ensure!(
        context::database_exists(url),
        "trap paths depend on a seed in the database, but {url} does not exist yet: start robot-detection serve once, then try again"
    );
    let store = context::store(loaded).await?;
    let traps = all(loaded, &store).await;
    store.close().await;
    traps
}

/// Returns the traps of each site that has traps, derived from the seed in the database.
pub(super) async fn all(loaded: &Loaded, store: &Store) -> anyhow::Result<Vec<SiteTraps>> {
    let active = active(loaded);
    if active.is_empty() {
        return Ok(Vec::new());
    }
    let own = [fastrand::u64(..), fastrand::u64(..)];
    let seed = store.pace().seed(own).await?;
    let traps = active.into_iter().map(|(site, loaded)| SiteTraps {
        paths: TrapPaths::new(seed, &site),
        site,
        loaded,
    });
    Ok(traps.collect())
}

/// Returns the sites with active traps.
fn active(loaded: &Loaded) -> Vec<(String, Loaded)> {
    let sites = loaded.sites();
    let of_sites = sites.iter().map(|site| (site.name(), site.loaded()));
    let is_served = sites.is_empty() || !loaded.settings().server.upstream.is_empty();
    let all = of_sites.chain(is_served.then_some((DEFAULT_SITE, loaded)));
    all.filter(|(_, loaded)| loaded.settings().traps.active)
        .map(|(name, loaded)| (name.to_owned(), loaded.clone()))
        .collect()
}

pub(super) async fn run(cli: &Cli, is_json: bool) -> anyhow::Result<ExitCode> {
    let traps = of_configured(&context::load(cli)?).await?;
    if traps.is_empty() {
        output::note("no site has traps: set traps.active = true");
    }
    if is_json {
        let all: Vec<Value> = traps.iter().map(value).collect();
        output::json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    for of_site in &traps {
        output::text(&told(of_site))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn value(traps: &SiteTraps) -> Value {
    json!({
        "site": traps.site,
        "paths": traps.paths.iter().collect::<Vec<_>>(),
        "snippet": traps.paths.snippet(),
    })
}

fn told(traps: &SiteTraps) -> String {
    let paths = traps.paths.iter().map(|path| format!("  {path}\n"));
    let paths: String = paths.collect();
    let robots_txt = match traps.loaded.settings().robots_txt.serve {
        RobotsTxtSource::Pass => {
            "the upstream provides robots.txt: disallow the paths in every group of the file, or set robots_txt.serve = \"merge\""
        }
        _ => "robots.txt disallows the paths in every group",
    };
    let (site, snippet) = (output::clean(&traps.site), traps.paths.snippet());
    format!(
        "site {site}: an empty page with noindex is served at\n{paths}{robots_txt}.\n\
         Add this link, which human visitors cannot see or reach, to the end of <body> in your pages:\n\n{snippet}\n\n"
    )
}
