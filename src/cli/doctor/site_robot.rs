//! Checks the site robots: starting points, login, the most recent run and the next run.

use std::process::{Command, Stdio};

use super::check::{Check, ServedSite, Subject, sites};
use crate::app::{SiteRobotRuns, SiteRobotSettings, site_robots};
use crate::clock::Clock;
use crate::operations::rfc3339;
use crate::render::{RenderLimits, Renderer, obstacle};
use crate::store::{RunCommand, Store, StoredRun};

/// The maximum number of starting points to request.
const MAX_REQUESTS: usize = 10;

/// The name of the systemd unit that the packages install.
const SERVICE: &str = "robot-detection.service";

/// Checks the settings of each site robot, and requests the starting points.
pub(super) async fn site_robot_checks(subject: &Subject<'_>, offline: bool) -> Vec<Check> {
    // The configuration check reports errors.
    let Ok(robots) = site_robots(subject.loaded) else {
        return Vec::new();
    };
    if robots.is_empty() {
        let none = "not configured, because site_robot.starting_points is empty";
        return vec![Check::new("site robot", Ok(none.to_owned()))];
    }
    let mut checks = Vec::from_iter(sandbox(&robots));
    let served = sites(subject.loaded);
    for robot in &robots {
        let site = served.iter().find(|site| site.name() == robot.site());
        let site = site
            .cloned()
            .unwrap_or_else(|| ServedSite::unserved(robot, subject.loaded));
        checks.push(robot_check(&site, robot, subject.store.as_ref()).await);
        let warnings = robot.warnings().iter();
        checks.extend(warnings.map(|text| Check::warning(&site.label("site robot"), text.clone())));
        checks.extend(rendering(&site, robot).await);
        if !offline {
            checks.extend(starting_points(&site, robot, subject.store.as_ref()).await);
        }
    }
    checks
}

async fn robot_check(site: &ServedSite, robot: &SiteRobotSettings, store: Option<&Store>) -> Check {
    let mut starts = robot.starting_points();
    let first = starts.next().map(ToString::to_string).unwrap_or_default();
    let more = match starts.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let login = robot
        .login_kind()
        .map_or_else(|| "no login".to_owned(), |kind| format!("logs in {kind}"));
    let runs = match store {
        Some(store) => runs(site, robot, store).await,
        None => "its runs are unknown".to_owned(),
    };
    let text = format!("starts at {first}{more}; {login}; {runs}");
    Check::new(site.label("site robot"), Ok(text))
}

/// Starts the browser that renders pages, if rendering is on; other obstacles are already reported
/// as warnings.
async fn rendering(site: &ServedSite, robot: &SiteRobotSettings) -> Option<Check> {
    let program = robot.browser_path()?.to_owned();
    if obstacle(&program).is_some() {
        return None;
    }
    let limits = RenderLimits {
        program,
        ..RenderLimits::default()
    };
    let started = Renderer::new(limits).start().await;
    let result = started
        .map(|()| "the rendering browser can be started with its sandbox".to_owned())
        .map_err(|error| format!("pages are not rendered: {error}"));
    Some(Check::new(site.label("site robot"), result))
}

/// Warns if the sandbox of the systemd service prevents the rendering browser from running.
fn sandbox(robots: &[SiteRobotSettings]) -> Option<Check> {
    robots.iter().find_map(SiteRobotSettings::browser_path)?;
    let mut asking = Command::new("systemctl");
    asking.args(["show", "--property=MemoryDenyWriteExecute", "--value"]);
    let answer = asking.arg(SERVICE).stdin(Stdio::null()).output();
    // If systemd is missing, the service does not exist.
    let is_closed = answer.is_ok_and(|answer| answer.stdout.trim_ascii() == b"yes");
    is_closed.then(|| {
        let text = format!(
            "{SERVICE} cannot render pages, because its sandbox prevents the browser of site_robot.render from running: copy \
             robot-detection-render.conf from the examples to /etc/systemd/system/{SERVICE}.d/render.conf, then \
             systemctl daemon-reload and systemctl restart robot-detection"
        );
        Check::warning("site robot", text)
    })
}

/// Returns a summary of the most recent run, and the time of the next run.
async fn runs(site: &ServedSite, robot: &SiteRobotSettings, store: &Store) -> String {
    let (Ok(runs), Ok(described)) = (
        store.frontier().runs(site.name(), 1).await,
        store.descriptions().count(site.name()).await,
    ) else {
        return "its runs are unknown".to_owned();
    };
    let last = runs.first();
    let last_text = last.map_or_else(
        || "it has never run".to_owned(),
        |run| format!("{}, {described} described resources", run_text(run)),
    );
    let Some(cron) = &site.loaded.settings().site_robot.schedule else {
        return format!("{last_text}; runs only on request (site_robot.schedule is empty)");
    };
    let now_ms = Clock::system().now_ms();
    let next = match robot.next_run_ms(last, now_ms) {
        None => format!("the schedule {cron} has no future runs"),
        Some(next_ms) if next_ms <= now_ms => {
            format!(
                "a run is due according to the schedule {cron}: a running `serve` starts the run"
            )
        }
        Some(next_ms) => format!(
            "the next run according to the schedule {cron} is at {}",
            rfc3339(next_ms)
        ),
    };
    format!("{last_text}; {next}")
}

fn run_text(run: &StoredRun) -> String {
    let (id, began) = (run.run_id, rfc3339(run.started_ms));
    let state = match (run.finished_ms, run.wanted) {
        (Some(at_ms), _) => format!("{} at {}", run.state.as_str(), rfc3339(at_ms)),
        (None, RunCommand::Run) => "is still running or was interrupted".to_owned(),
        (None, RunCommand::Pause) => "is paused".to_owned(),
        (None, RunCommand::Stop) => "was stopped; the next run resumes it".to_owned(),
    };
    format!("run {id}, started at {began}, {state}")
}

/// Requests each starting point in the same way as a run of the site robot.
async fn starting_points(
    site: &ServedSite,
    robot: &SiteRobotSettings,
    store: Option<&Store>,
) -> Vec<Check> {
    let name = site.label("starting point");
    let runs = match robot_runs(robot, store).await {
        Ok(runs) => runs,
        Err(error) => return vec![Check::new(name, Err(format!("{error:#}")))],
    };
    let mut checks = Vec::new();
    for url in robot.starting_points().take(MAX_REQUESTS) {
        checks.push(match runs.fetch_page(url).await {
            Ok(answer) => {
                let location = answer.location();
                starting_point_check(&name, url.as_str(), answer.status, location.as_deref())
            }
            Err(error) => Check::new(name.clone(), Err(format!("{url}: {error}"))),
        });
    }
    checks
}

/// Returns a site robot that can send requests.
///
/// Requests are signed with a key from the database; without a signature, our own sites reject
/// them.
async fn robot_runs(
    robot: &SiteRobotSettings,
    store: Option<&Store>,
) -> anyhow::Result<SiteRobotRuns> {
    match store {
        Some(store) => SiteRobotRuns::new(robot, store).await,
        None => SiteRobotRuns::new(robot, &Store::connect("sqlite::memory:").await?).await,
    }
}

fn starting_point_check(name: &str, url: &str, status: u16, location: Option<&str>) -> Check {
    match (status, location) {
        (200..=299, _) => Check::new(name, Ok(format!("{url} returned status {status}"))),
        (300..=399, Some(location)) => Check::warning(
            name,
            format!("{url} redirects to {location}: start there, or check site_robot.login"),
        ),
        (401 | 403, _) => Check::warning(
            name,
            format!("{url} returned status {status}: check site_robot.login"),
        ),
        _ => Check::warning(
            name,
            format!("{url} returned status {status}: a run cannot start from this URL"),
        ),
    }
}
