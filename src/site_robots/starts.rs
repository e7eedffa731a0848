//! Starting points of a site robot, and pages to visit again.

use url::Url;

use crate::config::{ConfigErrors, Loaded, Settings, SiteRobotSection, StartingPoint};
use crate::site_robot::RobotConf;

use super::settings::SiteRobotChanges;

/// A starting point of a site robot run.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) url: Url,
    /// The maximum number of links to follow from the starting point; `None` means no limit.
    pub(super) depth: Option<u32>,
    /// Whether the configuration contains the starting point; if so, the starting point is on this
    /// site.
    pub(super) is_configured: bool,
}

/// Parses the URLs of the pages to visit again.
pub(super) fn only(loaded: &Loaded, changes: &SiteRobotChanges) -> Result<Vec<Url>, ConfigErrors> {
    let points = points(loaded, &changes.only)?;
    Ok(points.iter().map(|point| point.url().clone()).collect())
}

fn points(loaded: &Loaded, urls: &[String]) -> Result<Vec<StartingPoint>, ConfigErrors> {
    let points = urls.iter().map(|url| StartingPoint::parse(url));
    let points = points.collect::<Result<_, _>>();
    points.map_err(|reason| loaded.invalid(&SiteRobotSection::KEY.starting_points, reason))
}

/// Returns the maximum number of links to follow, as set by the command, the settings or
/// robot.conf.
fn depth(
    loaded: &Loaded,
    settings: &Settings,
    conf: &RobotConf,
    changes: &SiteRobotChanges,
) -> Option<u32> {
    let configured = if loaded.is_set(&SiteRobotSection::KEY.depth) {
        settings.site_robot.depth.links()
    } else {
        conf.depth
    };
    changes.depth.unwrap_or(configured)
}

pub(super) fn starts(
    loaded: &Loaded,
    settings: &Settings,
    conf: &RobotConf,
    changes: &SiteRobotChanges,
) -> Result<Vec<Start>, ConfigErrors> {
    let depth = depth(loaded, settings, conf, changes);
    let is_configured = changes.urls.is_empty();
    let points = if is_configured {
        settings.site_robot.starting_points.clone()
    } else {
        points(loaded, &changes.urls)?
    };
    check_files(loaded, settings, &points, conf)?;
    let mut starts = Vec::new();
    for point in points {
        let url = point.url().clone();
        starts.push(Start {
            is_configured: is_configured
                || is_of(&url, &settings.server.hosts)
                || is_at(&url, &settings.site_robot.starting_points),
            depth,
            url,
        });
    }
    if is_configured {
        starts.extend(conf.seeds.iter().map(|seed| Start {
            url: seed.url.clone(),
            depth: match seed.depth {
                // robot.conf represents no limit as -1.
                Some(own) => u32::try_from(own).ok(),
                None => depth,
            },
            is_configured: true,
        }));
    }
    Ok(starts)
}

/// Returns an error for the first file that is not below the directory for files.
fn check_files(
    loaded: &Loaded,
    settings: &Settings,
    points: &[StartingPoint],
    conf: &RobotConf,
) -> Result<(), ConfigErrors> {
    let points = points.iter().map(StartingPoint::url);
    let urls = points.chain(conf.seeds.iter().map(|seed| &seed.url));
    let root = settings.site_robot.file_root.as_deref();
    for url in urls.filter(|url| url.scheme() == "file") {
        let path = url.to_file_path().unwrap_or_default();
        let reason = match root {
            Some(root) if path.starts_with(root) => continue,
            Some(root) => format!("{url} is not below {}", root.display()),
            None => format!(
                "{url} is a file; set the directory from which files may be read: file_root = \
                 \"/srv/documents\""
            ),
        };
        return Err(loaded.invalid(&SiteRobotSection::KEY.file_root, reason));
    }
    Ok(())
}

/// Returns `true` if the URL's host is one of `hosts`.
pub(super) fn is_of(url: &Url, hosts: &[String]) -> bool {
    let host = url.host_str().unwrap_or_default();
    hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
}

/// Returns `true` if a URL is on the site of one of the given starting points.
fn is_at(url: &Url, points: &[StartingPoint]) -> bool {
    let mut points = points.iter();
    points.any(|point| point.url().origin() == url.origin())
}
