//! Checks robot heaven of each site: where its pages come from, how many there are, who sees them.

use std::path::{Path, absolute};

use crate::app::SiteRobotSettings;
use crate::config::{HeavenSource, OpenTo, RuleSettings, Settings, SuspectAction};
use crate::heaven::count_published;
use crate::policy::Action;
use crate::store::Store;

use super::{
    check::Check,
    run::Subject,
    sites::{ServedSite, sites},
};

const RUN_IT: &str = "run `robot-detection site-robot run`, or give site_robot.schedule";

/// Checks the pages that robots are sent to.
pub(super) async fn heaven_checks(subject: &Subject<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for site in sites(subject.loaded) {
        let settings = site.loaded.settings();
        let robot = site.robot(subject.loaded);
        let described = match &subject.store {
            Some(store) => store.description_count(site.name()).await.ok(),
            None => None,
        };
        checks.push(heaven(&site, settings, robot.as_ref(), described));
        checks.extend(loops(&site, settings));
        if let Some(store) = &subject.store {
            checks.extend(parity(&site, store).await);
        }
    }
    checks
}

fn heaven(
    site: &ServedSite,
    settings: &Settings,
    robot: Option<&SiteRobotSettings>,
    described: Option<u64>,
) -> Check {
    let name = site.label("heaven");
    let path = &settings.heaven.path;
    if !settings.heaven.serve {
        let text =
            format!("not served here (heaven.serve = false): the upstream answers for {path}");
        return Check::new(name, Ok(text));
    }
    let directory = Path::new(&settings.heaven.directory);
    match (settings.heaven.source, &*settings.heaven.directory) {
        (HeavenSource::Database, _) => from_database(&name, settings, described),
        (_, "") => built_in(&name, path, robot.is_some()),
        _ => match pages(directory) {
            Ok(pages) => from_files(&name, settings, robot, pages),
            Err(text) => Check::new(name, Err(text)),
        },
    }
}

/// Warns of what would send visitors in circles, or gives suspects nothing.
fn loops(site: &ServedSite, settings: &Settings) -> Vec<Check> {
    let (name, open_to) = (site.label("heaven"), settings.heaven.open_to);
    if !settings.heaven.serve || open_to == OpenTo::Everybody {
        return Vec::new();
    }
    let open_to = open_to.as_str();
    let mut texts = Vec::new();
    if settings.suspects.action == SuspectAction::Heaven {
        texts.push(format!(
            "suspects.action is heaven, and heaven.open_to {open_to}: a suspect may be a person, so that none gets a copy; \
             set suspects.action to slow or refuse"
        ));
    }
    let sends = |rule: &RuleSettings| rule.action == Action::Redirect && rule.people == Some(true);
    for rule in settings.tables.rules.iter().filter(|rule| sends(rule)) {
        texts.push(format!(
            "rule {:?} redirects people, and heaven.open_to {open_to} sends them back to the original: let the rule serve or refuse",
            rule.name
        ));
    }
    let texts = texts.into_iter();
    texts.map(|text| Check::warning(&name, text)).collect()
}

/// Warns of pages that say what their originals do not.
async fn parity(site: &ServedSite, store: &Store) -> Option<Check> {
    let (state, first) = store.first_differing(site.name()).await.ok()??;
    let (differing, withdrawn, url) = (state.differing, state.withdrawn, &first.url);
    let text = format!(
        "{differing} of {} pages that were compared say what their originals do not, {withdrawn} of \
         them are withdrawn; the first is {url}, which says {:?}: see what site-robot parity says, \
         and visit them anew by site-robot refresh",
        state.compared, first.sentence
    );
    Some(Check::warning(&site.label("heaven"), text))
}

fn from_database(name: &str, settings: &Settings, described: Option<u64>) -> Check {
    let path = &settings.heaven.path;
    let made = format!("{path} is made from the database");
    match described {
        None => Check::new(name, Ok(format!("{made}, which does not answer"))),
        Some(0) => {
            let text = format!("{made}, which has no page yet: {RUN_IT}");
            Check::warning(name, text)
        }
        Some(count) => {
            let text = format!("{made}: {}; {}", pages_text(count), sent_to(settings));
            Check::new(name, Ok(text))
        }
    }
}

fn built_in(name: &str, path: &str, has_robot: bool) -> Check {
    let text = format!("{path} is the page that comes with the program");
    if has_robot {
        let advice = "nothing is made of what the site robot finds: set heaven.source = \"database\", or heaven.directory and site_robot.publish";
        return Check::warning(name, format!("{text}; {advice}"));
    }
    Check::new(name, Ok(text))
}

/// Returns how many pages are published in a directory, or what is wrong with it.
fn pages(directory: &Path) -> Result<Option<usize>, String> {
    let shown = directory.display();
    if !directory.is_dir() {
        return Err(format!(
            "there is no directory {shown} for it: make it, or empty heaven.directory"
        ));
    }
    count_published(directory)
        .map_err(|error| format!("cannot read {shown}: {error}: let the user of `serve` read it"))
}

fn from_files(
    name: &str,
    settings: &Settings,
    robot: Option<&SiteRobotSettings>,
    pages: Option<usize>,
) -> Check {
    let (path, directory) = (&settings.heaven.path, &settings.heaven.directory);
    let served = format!("{path} is served from {directory}");
    let into = robot.map(SiteRobotSettings::publishes_into);
    // By their spelling, as neither directory need be there yet.
    let is_same = |into: &Path| absolute(into).ok() == absolute(directory).ok();
    match (into, pages) {
        (Some(Some(into)), _) if !is_same(into) => {
            let into = into.display();
            let advice = format!(
                "the site robot publishes into {into}: make site_robot.publish and heaven.directory the same"
            );
            Check::warning(name, format!("{served}, and {advice}"))
        }
        (Some(Some(_)), None) => Check::warning(
            name,
            format!("{served}, where nothing is published yet: {RUN_IT}"),
        ),
        (Some(None), None) => {
            let advice = "the site robot publishes nothing there: set site_robot.publish";
            Check::warning(name, format!("{served}; {advice}"))
        }
        (None, None) => Check::new(name, Ok(format!("{served}, pages of the site's own"))),
        (_, Some(count)) => {
            let count = pages_text(u64::try_from(count).unwrap_or(u64::MAX));
            Check::new(
                name,
                Ok(format!("{served}: {count}; {}", sent_to(settings))),
            )
        }
    }
}

fn pages_text(count: u64) -> String {
    match count {
        1 => "1 page".to_owned(),
        count => format!("{count} pages"),
    }
}

/// Returns to which of the pages robots are redirected.
fn sent_to(settings: &Settings) -> String {
    let is_of_files = settings.heaven.source != HeavenSource::Database;
    let has_url = !settings.heaven.url.is_empty() || !settings.server.hosts.is_empty();
    let why = if !settings.heaven.own_pages {
        "heaven.own_pages = false"
    } else if is_of_files && !has_url {
        "set heaven.url to send them to their pages"
    } else {
        return "robots are sent to the page made from the one that they ask for".to_owned();
    };
    format!("robots are sent to its start ({why})")
}
