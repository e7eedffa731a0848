//! What robot heaven is told about its site.

use crate::config::{ConfigErrors, HeavenSection, Loaded, Settings};
use crate::heaven::HeavenSettings;

use super::{policy, robot_conf};

/// Returns the settings of the heaven of a site at a URL.
///
/// Its pages say that others must log in for the original where our own robot
/// does, and where filter patterns keep robots away from it.
pub(crate) fn heaven_settings(
    loaded: &Loaded,
    settings: &Settings,
    url: &str,
) -> Result<HeavenSettings, ConfigErrors> {
    let heaven =
        HeavenSettings::new(url).map_err(|error| loaded.wrong(&HeavenSection::KEY.url, error))?;
    let heaven = match settings.heaven.name.as_str() {
        "" => heaven,
        name => heaven.name(name),
    };
    let (policy, logs_in) = (policy(loaded)?, logs_in(loaded, settings));
    let needs_login = move |path: &str| logs_in || policy.is_filtered(path);
    let heaven = heaven.markdown_files(settings.heaven.markdown_files);
    let heaven = heaven.content_signal(&settings.robots_txt.content_signal);
    let heaven = heaven.tracking_parameters(&settings.site_robot.tracking_parameters);
    Ok(heaven.path(&settings.heaven.path).needs_login(needs_login))
}

/// Returns the URL of the site that the pages are about, if the settings tell it.
pub(crate) fn site_url(settings: &Settings) -> Option<String> {
    if !settings.heaven.url.is_empty() {
        return Some(settings.heaven.url.clone());
    }
    // The one setting that tells that visitors come by https, also where TLS ends in front of us.
    let scheme = if settings.admin.secure_cookies {
        "https"
    } else {
        "http"
    };
    let host = settings.server.hosts.first()?;
    Some(format!("{scheme}://{host}"))
}

/// Returns `true` if the site robot logs in, so that others have to as well.
fn logs_in(loaded: &Loaded, settings: &Settings) -> bool {
    // What is wrong with robot.conf is told where the robot is made.
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

    /// Returns which of three pages say that one must log in for them.
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
    fn what_robots_are_kept_away_from_needs_a_login() {
        assert_eq!(told("filter_pattern = '/members/*'"), [true, false, false]);
    }

    #[test]
    fn where_our_robot_logs_in_others_must() {
        let all = [true; 3];
        assert_eq!(told("site_robot.login = 'bearer t'"), all);
        assert_eq!(told("site_robot.robot = ['username=a', 'password=b']"), all);
        assert_eq!(told("site_robot.robot = 'username=a'"), [false; 3]);
    }
}
