//! Checks that robots.txt closes the traps where this program does not write it.

use crate::app;
use crate::config::RobotsTxtSource;
use crate::detect::SharedDetector;

use super::{
    super::traps::{self, SiteTraps},
    check::Check,
    run::Subject,
};

const NAME: &str = "traps";

pub(super) async fn traps(subject: &Subject<'_>, offline: bool) -> Vec<Check> {
    let Some(store) = &subject.store else {
        return Vec::new();
    };
    let all = match traps::all(subject.loaded, store).await {
        Ok(all) => all,
        Err(error) => return vec![Check::warning(NAME, error.to_string())],
    };
    let mut checks = Vec::new();
    for site in &all {
        if site.loaded.settings().robots_txt.serve != RobotsTxtSource::Pass {
            let text = format!("robots.txt closes those of {} in each group", site.site);
            checks.push(Check::new(NAME, Ok(text)));
        } else if !offline {
            checks.push(of_upstream(site).await);
        }
    }
    checks
}

async fn of_upstream(site: &SiteTraps) -> Check {
    let detector = SharedDetector::default();
    let served = app::robots_txt_in_force(&site.loaded, &detector).await;
    let files = served.map(|served| served.files().load());
    let files = match &files {
        Ok(files) => files,
        Err(error) => return Check::warning(NAME, error.to_string()),
    };
    let host = site.loaded.settings().server.hosts.first();
    let file = files.of(host.map(String::as_str));
    let open = file.into_iter().flat_map(|file| {
        let mut agents: Vec<_> = file.groups().flat_map(|group| group.agents).collect();
        agents.push("*".into());
        agents.into_iter().filter(move |agent| {
            let rules = file.for_robot(agent);
            site.paths.iter().any(|path| rules.check(path).allowed())
        })
    });
    let open: Vec<_> = open.map(|agent| format!("{agent:?}")).take(5).collect();
    if file.is_some() && open.is_empty() {
        let text = format!("the robots.txt of {} closes them in each group", site.site);
        return Check::new(NAME, Ok(text));
    }
    let whom = if open.is_empty() {
        "everybody".to_owned()
    } else {
        open.join(", ")
    };
    Check::warning(
        NAME,
        format!(
            "the robots.txt of {} is its own and does not close them to {whom}, so that robots which keep to it are caught: add the paths that robot-detection traps prints, or set robots_txt.serve to merge",
            site.site
        ),
    )
}
