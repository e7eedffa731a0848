//! Runs the site robot on the demonstration site as a member, and generates heaven pages from its
//! descriptions.

use std::{convert::Infallible, time::Duration};

use axum::{body::Body, http::Request};
use tokio::time;
use tower::service_fn;
use tracing::warn;

use super::{
    super::{RobotDetection, made_pages::MadePages},
    login::Member,
    site::{MEMBERS, answer},
};
use crate::heaven::{HeavenError, HeavenSettings, Library, ServedHeaven};
use crate::operations::{DEFAULT_SITE, HeavenUse, RobotRuns};
use crate::site_robot::{SiteRobot, SiteRobotError, source::ApplicationSource};

/// The maximum time that the server's startup waits for the first run; the run then continues in
/// the background.
const PATIENCE: Duration = Duration::from_secs(10);

/// The site URL used if the listener has no address that visitors could use.
const NOWHERE: &str = "http://localhost";

/// Runs the site robot on the site at a URL and returns the generated pages; later runs are started
/// on the admin page.
pub(in crate::app) async fn walk(
    robots: &RobotDetection,
    url: &str,
    heaven_path: &str,
) -> Option<MadePages> {
    let settings = match settings(url, heaven_path) {
        Ok(settings) => settings,
        Err(error) => {
            warn!(%error, "cannot generate robot heaven for the demonstration site: {error}");
            return None;
        }
    };
    let library = Library::new(robots.store().clone(), DEFAULT_SITE);
    let heaven = ServedHeaven::new(library, settings.clone());
    let robot = match robot(robots, settings.site()) {
        Ok(robot) => robot,
        Err(error) => {
            warn!(%error, "cannot create the site robot for the demonstration site: {error}");
            return None;
        }
    };
    let runs = robots.robot_runs().clone();
    runs.set_offered_sites([DEFAULT_SITE.to_owned()]);
    runs.show(&robot);
    runs.set_heaven_use(DEFAULT_SITE, HeavenUse::Served);
    let walks = Walks {
        robot,
        heaven,
        runs,
    };
    if time::timeout(PATIENCE, walks.once()).await.is_err() {
        warn!(
            "the site robot is still running; until it finishes, robots are redirected to robot heaven's start page"
        );
    }
    let pages = MadePages::for_redirects(walks.heaven.clone(), settings);
    let stop = robots.stop();
    robots.tasks().spawn(async move {
        stop.run_until_cancelled(Box::pin(walks.again())).await;
    });
    Some(pages)
}

fn settings(url: &str, heaven_path: &str) -> Result<HeavenSettings, HeavenError> {
    // A Unix socket has no URL; the robot calls the application directly in any case.
    let settings = HeavenSettings::new(url).or_else(|_| HeavenSettings::new(NOWHERE))?;
    Ok(settings
        .path(heaven_path)
        .name("Harbour Library")
        .summary("A fictional library by the water, with a reading room for members.")
        .needs_login(|path| path.starts_with(MEMBERS))
        .redirects_here(|path| path.starts_with(MEMBERS)))
}

fn robot(robots: &RobotDetection, site: &str) -> Result<SiteRobot, SiteRobotError> {
    let site_itself =
        service_fn(async |request: Request<Body>| Ok::<_, Infallible>(answer(request).await));
    let source = ApplicationSource::new(site_itself, |request| {
        request.extensions_mut().insert(Member);
    });
    SiteRobot::builder(DEFAULT_SITE, robots.store().clone(), source)
        .start(format!("{site}{MEMBERS}"), None)
        .only_below(MEMBERS)
        .clock(robots.clock().clone())
        .build()
}

/// The runs of the demonstration's site robot, one after the other.
struct Walks {
    robot: SiteRobot,
    heaven: ServedHeaven,
    runs: RobotRuns,
}

impl Walks {
    async fn once(&self) {
        let walked = if self.runs.take_acceptance(DEFAULT_SITE) {
            self.robot.accept().await.map(drop)
        } else {
            self.robot.run().await.map(drop)
        };
        if let Err(error) = walked {
            warn!(%error, "the site robot run on the demonstration site failed: {error}");
            self.runs.fail(DEFAULT_SITE, error.to_string());
        }
        if let Err(error) = self.heaven.reload().await {
            warn!(%error, "cannot reload the pages of robot heaven: {error}");
        }
    }

    async fn again(&self) {
        loop {
            self.runs.wait_for_request().await;
            self.once().await;
        }
    }
}
