//! Settings of a site's robot heaven.

use std::sync::Arc;

use url::Url;

use crate::config::{ConfigErrors, HeavenSection, Loaded, Settings, SiteUrl};
use crate::detect::{Claim, Listed, Verdict};
use crate::heaven::HeavenSettings;
use crate::policy::{Decision, Policy, Request, Visitor};
use crate::registry::{Purpose, Robot, Source};

use super::{policy, robot_conf};

/// Returns the settings for a site's robot heaven at the given URL.
///
/// Heaven pages state that the original requires a login if the site robot logs in, or if filter
/// patterns redirect robots away from the original.
pub(crate) fn heaven_settings(
    loaded: &Loaded,
    settings: &Settings,
    url: &str,
) -> Result<HeavenSettings, ConfigErrors> {
    let heaven =
        HeavenSettings::new(url).map_err(|error| loaded.invalid(&HeavenSection::KEY.url, error))?;
    let heaven = match settings.heaven.name.as_str() {
        "" => heaven,
        name => heaven.name(name),
    };
    let (policy, logs_in) = (Arc::new(policy(loaded)?), logs_in(loaded, settings));
    let filters = Arc::clone(&policy);
    let needs_login = move |path: &str| logs_in || filters.is_filtered(path);
    let heaven = heaven.markdown_files(settings.heaven.markdown_files);
    let heaven = heaven.content_signal(&settings.robots_txt.content_signal);
    let heaven = heaven.tracking_parameters(&settings.site_robot.tracking_parameters);
    let heaven = heaven.path(&settings.heaven.path).needs_login(needs_login);
    let own = site_url(settings).and_then(|url| HeavenSettings::new(&url).ok());
    // Without a configured URL, the site's URL is taken from the visited pages.
    let heaven = if own.is_some_and(|own| own.site() == heaven.site()) {
        let others = other_addresses(settings, heaven.site());
        heaven.move_from(others)
    } else {
        heaven
    };
    let (base, site) = (heaven.base().to_owned(), heaven.site().to_owned());
    let (host, is_served) = (host(url), settings.heaven.serve);
    let is_heaven = move |to: &str| {
        let start = to.strip_suffix(&base);
        is_served && start.is_some_and(|start| start.is_empty() || start == site)
    };
    let mut robot = Robot::new("googlebot", Source::manual());
    robot.purpose = Purpose::Search;
    let robot = Arc::new(robot);
    Ok(heaven.redirects_here(move |path| {
        sent_from(&policy, &robot, host.as_deref(), path).is_some_and(&is_heaven)
    }))
}

/// Returns the URL to which a verified robot that requests a path is redirected, if any.
fn sent_from<'p>(
    policy: &'p Policy,
    robot: &Arc<Robot>,
    host: Option<&str>,
    path: &str,
) -> Option<&'p str> {
    let claim = Claim::Listed(Listed {
        robot,
        pattern: None,
        range: 0..0,
    });
    let asked = Request {
        method: "GET",
        host,
        path,
        query: None,
    };
    let visitor = Visitor::new(&claim, Verdict::Verified);
    match policy.decide(&asked, Some(visitor)) {
        Decision::Redirect(redirect) if !policy.is_dry_run() => Some(&redirect.location),
        _ => None,
    }
}

/// Returns the host of a URL.
fn host(url: &str) -> Option<String> {
    Some(Url::parse(url).ok()?.host_str()?.to_owned())
}

/// Returns the URL of the original site, if the settings specify the URL.
pub(crate) fn site_url(settings: &Settings) -> Option<String> {
    if !settings.heaven.url.is_empty() {
        return Some(settings.heaven.url.clone());
    }
    // This is the only setting that indicates https for visitors even if a front proxy terminates
    // TLS.
    let scheme = if settings.admin.secure_cookies {
        "https"
    } else {
        "http"
    };
    let host = settings.server.hosts.first()?;
    Some(format!("{scheme}://{host}"))
}

/// Returns other origins at which the site is reachable: its upstreams and, if an origin is set,
/// the other scheme.
fn other_addresses(settings: &Settings, site: &str) -> Vec<String> {
    let upstreams = settings.server.upstream.iter();
    let upstreams = upstreams.filter_map(|url| Some(SiteUrl::parse(url)?.into_url()));
    let mut others: Vec<_> = upstreams
        .map(|url| url.origin().ascii_serialization())
        .collect();
    if !others.is_empty() && !settings.heaven.url.is_empty() {
        others.extend(
            site.strip_prefix("https://")
                .map(|it| format!("http://{it}")),
        );
        others.extend(
            site.strip_prefix("http://")
                .map(|it| format!("https://{it}")),
        );
    }
    others
}

/// Returns the question of which visitors may read pages behind a login, if `heaven.open_to` is not
/// set.
pub(crate) fn open_to_question(loaded: &Loaded, settings: &Settings) -> Option<String> {
    let is_open = logs_in(loaded, settings) && !loaded.is_set(&HeavenSection::KEY.open_to);
    is_open.then(|| {
        "heaven.open_to does not specify who may read full texts of pages that the site robot reads with \
         a login: set it to all, robots or verified"
            .to_owned()
    })
}

/// Returns `true` if the site robot logs in, which means that other visitors must also log in.
pub(crate) fn logs_in(loaded: &Loaded, settings: &Settings) -> bool {
    // Errors in robot.conf are reported when the robot is created.
    let has_password =
        || robot_conf(loaded, settings).is_ok_and(|(conf, ..)| conf.password.is_some());
    let own = &settings.site_robot;
    own.login.is_some() || !own.login_form.is_empty() || has_password()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;
    use crate::description::{ResourceDescription, name};
    use crate::heaven::{Catalogue, page};

    /// Returns for each of three heaven pages whether the page states that a login is required.
    fn told(text: &str) -> [bool; 3] {
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        let site = "https://www.example.com";
        let settings = heaven_settings(&loaded, loaded.settings(), site).unwrap();
        ["/members/a?b", "/open/members/", "/"].map(|path| {
            let mut description = ResourceDescription::new(format!("{site}{path}"));
            description.set(name::FULL_TEXT, "Text.");
            let html = page(&description, &Catalogue::default(), &settings);
            let is_told = html.contains("\"isAccessibleForFree\":false");
            assert_eq!(html.contains("\"cssSelector\":\".text\""), is_told);
            is_told
        })
    }

    #[test]
    fn filtered_pages_are_marked_as_requiring_a_login() {
        assert_eq!(told("filter_pattern = '/members/*'"), [true, false, false]);
    }

    /// Returns `true` if the heaven page for a path is canonical.
    fn is_canonical(text: &str, path: &str) -> bool {
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        let site = "https://www.example.com";
        let settings = heaven_settings(&loaded, loaded.settings(), site).unwrap();
        let description = ResourceDescription::new(format!("{site}{path}"));
        let html = page(&description, &Catalogue::default(), &settings);
        let own = format!(
            "<link rel=\"canonical\" href=\"{site}{}\">",
            settings.link(description.url())
        );
        let original = format!("<link rel=\"canonical\" href=\"{site}{path}\">");
        assert_ne!(html.contains(&own), html.contains(&original), "{html}");
        html.contains(&own)
    }

    #[test]
    fn pages_are_canonical_if_robots_are_redirected_to_heaven() {
        let members = "filter_pattern = '/members/*'\nredirect_url = '/robot-heaven/'\n";
        assert!(is_canonical(members, "/members/a"));
        assert!(!is_canonical(members, "/a"));
        // If robots get heaven's page at the original's URL, that URL is canonical.
        let serve = format!("{members}[[rule]]\nrobots = 'googlebot'\naction = 'serve'");
        assert!(!is_canonical(&serve, "/members/a"));
        let elsewhere = members.replace("/robot", "https://other.example/robot");
        assert!(!is_canonical(&elsewhere, "/members/a"));
        let report = format!("mode = 'report'\n{members}");
        assert!(!is_canonical(&report, "/members/a"));
        let ai = format!("redirect_purposes = ['ai-training']\n{members}");
        assert!(!is_canonical(&ai, "/members/a"));
    }

    #[test]
    fn pages_require_a_login_if_the_site_robot_logs_in() {
        let all = [true; 3];
        assert_eq!(told("site_robot.login = 'bearer t'"), all);
        assert_eq!(told("site_robot.robot = ['username=a', 'password=b']"), all);
        assert_eq!(told("site_robot.robot = 'username=a'"), [false; 3]);
    }
}
