//! Checks whether the starting points responded as expected.

use url::Url;

use robot_detection_store::fetch::shown_url;
use robot_detection_store::store::{KnownUrl, Loss, StoreError};

use super::{links::AcceptedLink, losses::moved_to, settings::Settings};

/// Maximum number of redirects followed from a starting point.
const MAX_STEPS: usize = 10;

/// URL at which a chain of redirects ends.
#[derive(Clone, Debug)]
pub(super) enum RedirectEnd {
    /// The chain ends at a URL that the run has visited.
    Met(String, KnownUrl),
    /// The chain ends at a URL that the run has not visited because it is out of scope, too deep,
    /// or missing.
    Unmet(String),
}

/// Returns a reason to doubt the results if a starting point did not respond as expected.
///
/// Starting points that are down or missing are ignored, because the pages that they link to are
/// kept.
pub(super) async fn starting_point_doubt(
    settings: &Settings,
    run_id: i64,
) -> Result<Option<String>, StoreError> {
    for start in &settings.starts {
        let doubt = check_starting_point(settings, run_id, start.url.as_str()).await?;
        if doubt.is_some() {
            return Ok(doubt);
        }
    }
    Ok(None)
}

async fn check_starting_point(
    settings: &Settings,
    run_id: i64,
    start: &str,
) -> Result<Option<String>, StoreError> {
    let (store, site) = (&settings.store, &settings.site);
    let known = store.frontier().known_url(site, start).await?;
    let Some(known) = known.filter(|known| known.run_id == run_id) else {
        return Ok(None);
    };
    match known.loss {
        Some(Loss::Login) => return Ok(Some(login(settings, start, "asks for a password"))),
        Some(Loss::Locked) => {
            let outcome = known.outcome.unwrap_or_default();
            return Ok(Some(match known.status {
                Some(status) => login(settings, start, &format!("returned status {status}")),
                // If there was no response, the error from the form login contains the reason.
                None => format!(
                    "the starting point {start} was not visited: {}",
                    outcome_reason(&outcome)
                ),
            }));
        }
        Some(Loss::Moved) => {}
        _ => return Ok(None),
    }
    let was_shown = store.descriptions().find(site, start).await?.is_some();
    Ok(match redirect_end(settings, run_id, start, &known).await? {
        RedirectEnd::Unmet(to) => Some(moved(settings, start, &to)),
        RedirectEnd::Met(to, known) => {
            let asks =
                known.asks_password || matches!(known.loss, Some(Loss::Login | Loss::Locked));
            let is_new = store.descriptions().find(site, &to).await?.is_none();
            if asks && (was_shown || is_new) {
                let how = format!("redirects to {to}, which requires a login");
                Some(login(settings, start, &how))
            } else {
                let is_nothing = was_shown && !is_described(&known);
                is_nothing.then(|| {
                    login(
                        settings,
                        start,
                        &format!("redirects to {to}, which has no page"),
                    )
                })
            }
        }
    })
}

/// Follows the redirects of a URL, as recorded by the run.
pub(super) async fn redirect_end(
    settings: &Settings,
    run_id: i64,
    url: &str,
    known: &KnownUrl,
) -> Result<RedirectEnd, StoreError> {
    let (store, site) = (&settings.store, &settings.site);
    let (mut url, mut known) = (url.to_owned(), known.clone());
    for _ in 0..MAX_STEPS {
        if known.loss != Some(Loss::Moved) {
            return Ok(RedirectEnd::Met(url, known));
        }
        let links = store.frontier().links(site, &url).await?;
        let next = links.first().and_then(|line| AcceptedLink::from_line(line));
        // A target that is out of scope was not stored as a link, but is contained in the outcome
        // text.
        let Some(next) = next.map(|next| next.url) else {
            let to = known.outcome.as_deref().and_then(moved_to);
            return Ok(RedirectEnd::Unmet(absolute(&url, to.unwrap_or_default())));
        };
        let there = store.frontier().known_url(site, &next).await?;
        match there.filter(|there| there.run_id == run_id) {
            Some(there) => (url, known) = (next, there),
            None => return Ok(RedirectEnd::Unmet(next)),
        }
    }
    Ok(RedirectEnd::Unmet(url))
}

/// Returns `true` if the run that visited a URL has described its page.
pub(super) fn is_described(known: &KnownUrl) -> bool {
    known.is_described && known.loss.is_none()
}

/// Returns the largest depth of all starting points; `None` means no limit.
pub(super) fn max_depth(settings: &Settings) -> Option<u32> {
    let depths = settings.starts.iter().map(|start| start.max_depth);
    depths.collect::<Option<Vec<_>>>()?.into_iter().max()
}

fn absolute(base: &str, location: &str) -> String {
    let joined = Url::parse(base).and_then(|base| base.join(location));
    joined.map_or_else(|_| location.to_owned(), String::from)
}

/// Returns the reason contained in an outcome text.
fn outcome_reason(outcome: &str) -> &str {
    let reason = outcome.strip_prefix("not described: answer: ");
    reason.unwrap_or(outcome)
}

/// Returns advice for a site that returns a login page instead of the requested page.
pub(super) fn login_advice(settings: &Settings, page: &str) -> String {
    let page = Url::parse(page).ok();
    let foreign = page
        .as_ref()
        .and_then(|page| Some((settings.source.foreign_login(page)?, page)));
    match foreign {
        Some((form, page)) => format!(
            "site_robot.login_form is at {}, whose cookies are not sent to {}: use the form's \
             URL there and run again",
            shown_url(&form.origin().ascii_serialization()),
            shown_url(&page.origin().ascii_serialization()),
        ),
        None => "the login may have expired: renew site_robot.login and run again".to_owned(),
    }
}

fn login(settings: &Settings, start: &str, how: &str) -> String {
    format!(
        "the starting point {start} {how}: {}",
        login_advice(settings, start)
    )
}

fn moved(settings: &Settings, start: &str, to: &str) -> String {
    let is_in = Url::parse(to).is_ok_and(|to| settings.scope.check_host(&to).is_ok());
    if is_in {
        return login(
            settings,
            start,
            &format!("redirects to {to}, which may not be visited"),
        );
    }
    format!(
        "the starting point {start} has moved to {to}: if that is the site's URL, add it to \
         site_robot.starting_points and run again; if it is a login page, {}",
        login_advice(settings, start)
    )
}
