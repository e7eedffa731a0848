//! Checks whether the site robot would find pages at its starting points.

use url::Url;

use crate::app::{ServerSettings, SiteRobotRuns};
use crate::config::Loaded;
use crate::site_robot::Step;

/// The maximum number of starting points to request.
const MAX_REQUESTS: usize = 10;

/// The results of the requests for the starting points.
#[derive(Debug, Default)]
pub(super) struct Trial {
    /// Reasons why starting points did not return a page.
    pub(super) failures: Vec<String>,
    /// Whether all starting points failed.
    pub(super) is_in_vain: bool,
}

/// Connects to a site's upstream servers; returns the reason if no server accepts connections.
///
/// Without this check, the site robot would retry each server for some time.
pub(super) async fn try_upstream(loaded: &Loaded, site: &str) -> anyhow::Result<Option<String>> {
    let server = ServerSettings::new(loaded, false)?;
    let mut last = None;
    for (name, _, result) in server.check_upstreams().await {
        match result {
            Ok(()) if name.is_none_or(|name| name == site) => return Ok(None),
            Err(error) if name.is_none_or(|name| name == site) => last = Some(error.to_string()),
            _ => {}
        }
    }
    Ok(last)
}

/// Requests each starting point in the same way as a run of the site robot.
pub(super) async fn try_starts(runs: &SiteRobotRuns, starts: &[Url]) -> anyhow::Result<Trial> {
    let mut trial = Trial::default();
    let starts = starts.iter().filter(|url| url.has_host());
    let starts: Vec<_> = starts.take(MAX_REQUESTS).collect();
    for url in &starts {
        if let Err(why) = try_start(runs, url).await? {
            trial.failures.push(format!("{url} {why}"));
        }
    }
    trial.is_in_vain = !starts.is_empty() && trial.failures.len() == starts.len();
    Ok(trial)
}

async fn try_start(runs: &SiteRobotRuns, url: &Url) -> anyhow::Result<Result<(), String>> {
    let explained = runs.robot().explain(url.as_str()).await?;
    if let Some(step) = explained.steps.iter().find(|step| !step.goes_on) {
        let advice = if step.step == Step::RobotsTxt {
            "; change that file, or set site_robot.robots_txt_by_host"
        } else {
            ""
        };
        let (step, reason) = (step.step, &step.reason);
        return Ok(Err(format!("is not visited ({step}): {reason}{advice}")));
    }
    Ok(match runs.fetch_page(url).await {
        Ok(answer) => meaning(url, answer.status, answer.location().as_deref()),
        Err(error) => Err(format!("does not respond: {error}")),
    })
}

/// Returns an error if the site robot would find no pages through a response.
fn meaning(url: &Url, status: u16, location: Option<&str>) -> Result<(), String> {
    const LOGIN: &str = "configure the login with site_robot.login or site_robot.login_form";
    match (status, location) {
        (200..=299, _) => Ok(()),
        (300..=399, Some(to)) if is_below(url, to) => Ok(()),
        (300..=399, Some(to)) => Err(format!(
            "redirects to {}: start there, or, if it is a login page, {LOGIN}",
            to.escape_debug()
        )),
        (401 | 403, _) => Err(format!("returned status {status}: {LOGIN}")),
        (404 | 410, _) => Err(format!(
            "returned status {status}: specify the URL of the area that robots cannot access"
        )),
        _ => Err(format!("returned status {status}")),
    }
}

/// Returns `true` if a redirect leads to the requested URL or below it, such as a redirect that
/// adds a slash.
fn is_below(url: &Url, location: &str) -> bool {
    url.join(location)
        .is_ok_and(|to| to.host() == url.host() && to.path().starts_with(url.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_turned_into_advice() {
        let url: Url = "http://h/a/members".parse().unwrap();
        for (status, location, expected) in [
            (200, None, None),
            (301, Some("/a/members/"), None),
            (302, Some("https://h/a/members/"), None),
            (
                302,
                Some("/login?next=/a/members"),
                Some("site_robot.login"),
            ),
            (
                302,
                Some("http://other/a/members/"),
                Some("redirects to http://other/"),
            ),
            (302, Some("/\u{1b}[2J"), Some("\\u{1b}")),
            (403, None, Some("site_robot.login_form")),
            (404, None, Some("specify the URL")),
            (503, None, Some("returned status 503")),
        ] {
            match (meaning(&url, status, location), expected) {
                (Ok(()), None) => {}
                (Err(why), Some(expected)) if why.contains(expected) => {}
                (found, _) => panic!("{status} {location:?}: {found:?}"),
            }
        }
    }
}
