//! Checks each site's robot heaven: the source, number and readers of its pages.

use std::path::{Path, absolute};

use tokio::sync::OnceCell;
use url::{Position, Url};

use crate::app::{self, SiteRobotSettings};
use crate::assembly::site_url;
use crate::cli::explain::{Explainer, GOOGLEBOT, example_page, obstacle};
use crate::config::{HeavenSource, OpenTo, RuleSettings, Settings, SuspectAction};
use crate::heaven::count_published;
use crate::policy::Action;
use crate::store::Store;

use super::check::{Check, ServedSite, Subject, sites};

const RUN_IT: &str = "run `robot-detection site-robot run`, or set site_robot.schedule";

/// Checks the pages to which robots are redirected.
pub(super) async fn heaven_checks(subject: &Subject<'_>) -> Vec<Check> {
    let (mut checks, explainer) = (Vec::new(), OnceCell::new());
    for site in sites(subject.loaded) {
        let settings = site.loaded.settings();
        let robot = site.robot(subject.loaded);
        let described = match &subject.store {
            Some(store) => store.descriptions().count(site.name()).await.ok(),
            None => None,
        };
        let sent = Box::pin(sent_to(subject, &site, &explainer)).await;
        checks.push(heaven(&site, (settings, &sent), robot.as_ref(), described));
        checks.extend(loops(&site, settings));
        if let Some(store) = &subject.store {
            checks.extend(parity(&site, store).await);
        }
    }
    checks
}

fn heaven(
    site: &ServedSite,
    (settings, sent): (&Settings, &SentTo),
    robot: Option<&SiteRobotSettings>,
    described: Option<u64>,
) -> Check {
    let name = site.label("heaven");
    let path = &settings.heaven.path;
    if !settings.heaven.serve {
        let text = format!(
            "not served by this program (heaven.serve = false): the upstream serves {path}"
        );
        return Check::new(name, Ok(text));
    }
    let directory = Path::new(&settings.heaven.directory);
    match (settings.heaven.source, &*settings.heaven.directory) {
        (HeavenSource::Database, _) => from_database(&name, (settings, sent), described),
        (_, "") => built_in(&name, path, robot.is_some()),
        _ => match pages(directory) {
            Ok(pages) => from_files(&name, (settings, sent), robot, pages),
            Err(text) => Check::new(name, Err(text)),
        },
    }
}

/// Warns about settings that cause redirect loops or leave suspects without a page.
fn loops(site: &ServedSite, settings: &Settings) -> Vec<Check> {
    let (name, open_to) = (site.label("heaven"), settings.heaven.open_to);
    if !settings.heaven.serve || open_to == OpenTo::All {
        return Vec::new();
    }
    let open_to = open_to.as_str();
    let mut texts = Vec::new();
    if settings.suspects.action == SuspectAction::Heaven {
        texts.push(format!(
            "suspects.action is heaven, but heaven.open_to is {open_to}: suspects may be human visitors and therefore get no copy; \
             set suspects.action to slow or refuse"
        ));
    }
    let sends = |rule: &RuleSettings| rule.action == Action::Redirect && rule.people == Some(true);
    for rule in settings.tables.rules.iter().filter(|rule| sends(rule)) {
        texts.push(format!(
            "rule {:?} redirects human visitors, but heaven.open_to {open_to} redirects them back to the original page: use serve or refuse in the rule",
            rule.name
        ));
    }
    let texts = texts.into_iter();
    texts.map(|text| Check::warning(&name, text)).collect()
}

/// Warns about heaven pages with content that is missing from their original pages.
async fn parity(site: &ServedSite, store: &Store) -> Option<Check> {
    let (state, first) = store
        .publications()
        .first_differing(site.name())
        .await
        .ok()??;
    let (differing, withdrawn, url) = (state.differing, state.withdrawn, &first.url);
    let text = format!(
        "{differing} of {} compared pages contain text that is missing from the original pages \
         (withdrawn: {withdrawn}), such as {url}, with the text {:?}: see the output of site-robot parity, \
         and visit the pages again with site-robot refresh",
        state.compared, first.sentence
    );
    Some(Check::warning(&site.label("heaven"), text))
}

fn from_database(
    name: &str,
    (settings, sent): (&Settings, &SentTo),
    described: Option<u64>,
) -> Check {
    let path = &settings.heaven.path;
    let made = format!("{path} is generated from the database");
    match described {
        None => Check::new(name, Ok(format!("{made}, which does not respond"))),
        Some(0) => {
            let text = format!("{made}, which contains no pages yet: {RUN_IT}");
            Check::warning(name, text)
        }
        Some(count) => sent.check(name, &format!("{made}: {}", pages_text(count))),
    }
}

fn built_in(name: &str, path: &str, has_robot: bool) -> Check {
    let text = format!("{path} is the bundled page");
    if has_robot {
        let advice = "no pages are generated from the site robot's results: set heaven.source = \"database\", or heaven.directory and site_robot.publish";
        return Check::warning(name, format!("{text}; {advice}"));
    }
    Check::new(name, Ok(text))
}

/// Returns the number of pages published in a directory, or an error that describes the problem.
fn pages(directory: &Path) -> Result<Option<usize>, String> {
    let shown = directory.display();
    if directory.is_file() {
        return Err(format!(
            "{shown} is not a directory: set heaven.directory to a directory, or clear the setting"
        ));
    }
    if !directory.is_dir() {
        return Err(format!(
            "the directory {shown} does not exist: create the directory, or clear heaven.directory"
        ));
    }
    count_published(directory).map_err(|error| {
        format!("cannot read {shown}: {error}; make the directory readable for the user that runs `serve`")
    })
}

fn from_files(
    name: &str,
    (settings, sent): (&Settings, &SentTo),
    robot: Option<&SiteRobotSettings>,
    pages: Option<usize>,
) -> Check {
    let (path, directory) = (&settings.heaven.path, &settings.heaven.directory);
    let served = format!("{path} is served from {directory}");
    let into = robot.map(SiteRobotSettings::publishes_into);
    // Compared as text, because the directories may not exist yet.
    let is_same = |into: &Path| absolute(into).ok() == absolute(directory).ok();
    match (into, pages) {
        (Some(Some(into)), _) if !is_same(into) => {
            let into = into.display();
            let advice = format!(
                "the site robot publishes to {into}: set site_robot.publish and heaven.directory to the same directory"
            );
            Check::warning(name, format!("{served}, and {advice}"))
        }
        (Some(Some(_)), None) => Check::warning(
            name,
            format!("{served}, with no published pages yet: {RUN_IT}"),
        ),
        (Some(None), None) => {
            let advice = "the site robot does not publish there: set site_robot.publish";
            Check::warning(name, format!("{served}; {advice}"))
        }
        (None, None) => Check::new(name, Ok(format!("{served}; the site provides the pages"))),
        (_, Some(count)) => {
            let count = pages_text(u64::try_from(count).unwrap_or(u64::MAX));
            sent.check(name, &format!("{served}: {count}"))
        }
    }
}

fn pages_text(count: u64) -> String {
    match count {
        1 => "1 page".to_owned(),
        count => format!("{count} pages"),
    }
}

/// A redirect target for robots that request a stored page.
struct SentTo {
    text: String,
    is_as_meant: bool,
}

impl SentTo {
    fn check(&self, name: &str, pages: &str) -> Check {
        let text = format!("{pages}; {}", self.text);
        if self.is_as_meant {
            Check::new(name, Ok(text))
        } else {
            Check::warning(name, text)
        }
    }
}

/// Returns the response that a server with this configuration sends to robots requesting a stored
/// page.
async fn sent_to(
    subject: &Subject<'_>,
    site: &ServedSite,
    explainer: &OnceCell<Explainer>,
) -> SentTo {
    let settings = site.loaded.settings();
    let is_of_files = settings.heaven.source != HeavenSource::Database;
    let why = match site_url(settings) {
        _ if !settings.heaven.own_pages => Some("heaven.own_pages = false"),
        None if is_of_files => Some("set heaven.url to redirect robots to the matching pages"),
        _ => None,
    };
    if let Some(why) = why {
        let text = format!("robots are redirected to heaven's start page ({why})");
        let is_as_meant = true;
        return SentTo { text, is_as_meant };
    }
    let asked = match &subject.store {
        Some(store) => ask(subject, site, (store, explainer)).await,
        None => Ok(None),
    };
    asked.map_or_else(
        |error| SentTo {
            text: format!("the redirect target is unknown: {error:#}"),
            is_as_meant: false,
        },
        |sent| {
            sent.unwrap_or(SentTo {
                text: "robots are redirected to the heaven page for the requested page".to_owned(),
                is_as_meant: true,
            })
        },
    )
}

async fn ask(
    subject: &Subject<'_>,
    site: &ServedSite,
    (store, explainer): (&Store, &OnceCell<Explainer>),
) -> anyhow::Result<Option<SentTo>> {
    let settings = site.loaded.settings();
    let policy = app::policy(&site.loaded)?;
    let page = example_page(store, site.name(), &policy).await?;
    let url = site_url(settings).and_then(|url| Url::parse(&url).ok());
    let (Some((page, _)), Some(url)) = (page, url) else {
        return Ok(None);
    };
    let asked = url.join(&page[Position::BeforePath..Position::AfterQuery])?;
    // Shared by all sites, because loading all robots is expensive.
    let explainer = explainer
        .get_or_try_init(|| Explainer::for_user_agents(subject.loaded))
        .await?;
    let answer = explainer.robot_answer(&asked, GOOGLEBOT).await?;
    let to = answer.location.as_deref().unwrap_or_default();
    let is_start = to.ends_with(&*settings.heaven.path);
    let (found, is_open) = (
        obstacle(&answer, &settings.heaven.path),
        !policy.is_filtered(asked.path()),
    );
    let (text, is_as_meant) = match found {
        Some(_) if is_open && answer.action == Action::Pass => (
            format!("robots read {asked} directly, because no filter_pattern matches this URL"),
            true,
        ),
        Some(obstacle) => (
            format!("a robot that requests {asked} is not redirected to heaven: {obstacle}"),
            false,
        ),
        None if is_start && page.origin() != url.origin() => (
            format!(
                "a robot that requests {asked} is redirected to heaven's start page, because the page is stored as {page}: a server \
                 with this configuration moves pages from a previous URL of the site to the new URL; otherwise, run \
                 the site robot at {url}"
            ),
            false,
        ),
        None if is_start => (
            format!(
                "a robot that requests {asked} is redirected to heaven's start page: the requested page has no heaven page"
            ),
            false,
        ),
        None => (
            format!(
                "robots are redirected to the heaven page for the requested page, for example from {asked} to {to}"
            ),
            true,
        ),
    };
    Ok(Some(SentTo { text, is_as_meant }))
}
