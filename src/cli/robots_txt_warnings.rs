//! Warnings about settings of robots.txt that look like slips.

use robot_detection_site_robot::spelling::nearest;

use crate::config::{RobotsTxtHostSettings, Settings};
use crate::policy::HostName;
use crate::registry::Robot;

/// Returns a warning for each setting without an effect, or with another one than it seems.
pub(super) fn robots_txt_warnings(settings: &Settings, robots: &[Robot]) -> Vec<String> {
    let mut warnings = Vec::new();
    let site = &settings.robots_txt_refuse_robots;
    warnings.extend(
        site.iter()
            .filter_map(|id| id_warning("robots_txt", id, robots)),
    );
    warnings.extend(ineffective_keys(settings));
    for host in &settings.robots_txt_hosts {
        let label = format!("[[robots_txt.host]] ({})", host.origin);
        let ids = host.refuse_robots.iter().flatten();
        warnings.extend(ids.filter_map(|id| id_warning(&label, id, robots)));
        let Some(main) = host.main_mirror.as_deref().filter(|main| !main.is_empty()) else {
            continue;
        };
        let is_main = |name: &String| {
            let names = (HostName::parse(name.trim()), HostName::parse(main));
            matches!(names, (Ok(name), Ok(main)) if name.is_same(&main))
        };
        if !host.hosts.iter().any(is_main) {
            warnings.push(format!(
                "{label}: main_mirror {main:?} is not among its hosts; if it is no other server's, add it"
            ));
        } else if host.hosts.len() == 1 {
            warnings.push(format!(
                "{label}: main_mirror {main:?} is its only host; add the other names of the site"
            ));
        }
    }
    warnings
}

/// Returns a warning for each key that has no effect on what is served.
fn ineffective_keys(settings: &Settings) -> Vec<String> {
    let mut warnings = Vec::new();
    let serve = settings.robots_txt_serve.as_str();
    let hosts = &settings.robots_txt_hosts;
    for (key, is_set) in site_keys(settings) {
        // Hosts inherit the site's value unless they set their own.
        let is_used = hosts.iter().any(|host| {
            let own = host_keys(host).into_iter().find(|(own, _)| *own == key);
            own.is_some_and(|(_, own)| own.is_none()) && has_effect(key, host_serve(settings, host))
        });
        if is_set && !is_used && !has_effect(key, serve) {
            warnings.push(format!(
                "robots_txt.{key} has no effect on the site: robots_txt.serve is {serve}"
            ));
        }
    }
    if serve == "merge" && settings.upstream.is_empty() {
        warnings.push(NO_UPSTREAM.replace("WHERE", "robots_txt.serve"));
    }
    for host in hosts {
        let label = format!("[[robots_txt.host]] ({})", host.origin);
        let serve = host_serve(settings, host);
        for (key, is_set) in host_keys(host) {
            if is_set == Some(true) && !has_effect(key, serve) {
                warnings.push(format!("{label}: {key} has no effect: serve is {serve}"));
            }
        }
        if host.serve.as_deref() == Some("merge") && settings.upstream.is_empty() {
            warnings.push(NO_UPSTREAM.replace("WHERE", &format!("{label}: serve")));
        }
    }
    warnings
}

const NO_UPSTREAM: &str = "WHERE is merge, but there is no upstream to merge with: the settings are served alone; set server.upstream, or write settings";

/// Returns `true` if a key has an effect on a file that is served this way.
fn has_effect(key: &str, serve: &str) -> bool {
    match serve {
        "pass" => false,
        "file" => key == "file",
        "settings" | "merge" => key != "file",
        // Loading the configuration already refuses any other word.
        _ => true,
    }
}

/// Returns how a host is served: a host with a file of its own serves it unless told otherwise.
fn host_serve<'s>(settings: &'s Settings, host: &'s RobotsTxtHostSettings) -> &'s str {
    let has_file = host.file.as_ref().is_some_and(|file| !file.is_empty());
    match host.serve.as_deref() {
        Some(serve) => serve,
        None if has_file => "file",
        None => &settings.robots_txt_serve,
    }
}

/// Returns the keys about what is served, and whether the site sets them.
fn site_keys(site: &Settings) -> [(&'static str, bool); 10] {
    [
        ("file", !site.robots_txt_file.is_empty()),
        (
            "refuse_purposes",
            !site.robots_txt_refuse_purposes.is_empty(),
        ),
        ("refuse_robots", !site.robots_txt_refuse_robots.is_empty()),
        ("disallow", !site.robots_txt_disallow.is_empty()),
        ("allow", !site.robots_txt_allow.is_empty()),
        (
            "crawl_delay_seconds",
            !site.robots_txt_crawl_delay.is_zero(),
        ),
        ("sitemaps", !site.robots_txt_sitemaps.is_empty()),
        ("content_signal", !site.robots_txt_content_signal.is_empty()),
        ("content_usage", !site.robots_txt_content_usage.is_empty()),
        ("license", !site.robots_txt_license.is_empty()),
    ]
}

/// Returns the same keys; without a value where the host leaves one to the site.
fn host_keys(host: &RobotsTxtHostSettings) -> [(&'static str, Option<bool>); 10] {
    let text = |text: &Option<String>| text.as_ref().map(|text| !text.is_empty());
    let list = |list: &Option<Vec<String>>| list.as_ref().map(|list| !list.is_empty());
    [
        ("file", text(&host.file)),
        ("refuse_purposes", list(&host.refuse_purposes)),
        ("refuse_robots", list(&host.refuse_robots)),
        ("disallow", list(&host.disallow)),
        ("allow", list(&host.allow)),
        (
            "crawl_delay_seconds",
            host.crawl_delay.map(|delay| !delay.is_zero()),
        ),
        ("sitemaps", list(&host.sitemaps)),
        ("content_signal", text(&host.content_signal)),
        ("content_usage", text(&host.content_usage)),
        ("license", text(&host.license)),
    ]
}

fn id_warning(who: &str, id: &str, robots: &[Robot]) -> Option<String> {
    let id = id.trim();
    let Some(robot) = robots.iter().find(|robot| robot.id == id) else {
        let near = nearest(id, robots.iter().map(|robot| robot.id.as_str()));
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
        return Some(format!(
            "{who}.refuse_robots names the robot {id:?}, which no source has{near}"
        ));
    };
    robot.token().is_err().then(|| {
        format!("{who}.refuse_robots names {id:?}, for which robots.txt has no name: it is refused only where robots_txt.enforce is on")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    fn warnings(text: &str) -> Vec<String> {
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        robots_txt_warnings(&loaded.settings(), &[])
    }

    #[test]
    fn keys_that_what_is_served_makes_nothing_of_are_told() {
        let site = |key: &str, serve: &str| {
            format!("robots_txt.{key} has no effect on the site: robots_txt.serve is {serve}")
        };
        let host = |line: usize, key: &str, serve: &str| {
            format!("[[robots_txt.host]] (c.toml:{line}): {key} has no effect: serve is {serve}")
        };
        for (text, expected) in [
            ("[robots_txt]\nserve = 'settings'\ndisallow = '/x'", vec![]),
            (
                "[robots_txt]\ndisallow = '/x'",
                vec![site("disallow", "pass")],
            ),
            (
                "[robots_txt]\nserve = 'file'\nfile = 'f'\ndisallow = '/x'\ncrawl_delay_seconds = 2",
                vec![
                    site("disallow", "file"),
                    site("crawl_delay_seconds", "file"),
                ],
            ),
            (
                "[robots_txt]\nserve = 'settings'\nfile = 'f'",
                vec![site("file", "settings")],
            ),
            (
                "[robots_txt]\ndisallow = '/x'\n[[robots_txt.host]]\nhosts = 'a'\nserve = 'settings'",
                vec![],
            ),
            (
                "[[robots_txt.host]]\nhosts = 'a'\nfile = 'f'\nallow = '/x'",
                vec![host(1, "allow", "file")],
            ),
            (
                "[[robots_txt.host]]\nhosts = 'a'\nserve = 'settings'\nfile = 'f'",
                vec![host(1, "file", "settings")],
            ),
            (
                "[[robots_txt.host]]\nhosts = 'a'\nlicense = 'https://a/l'",
                vec![host(1, "license", "pass")],
            ),
        ] {
            assert_eq!(warnings(text), expected, "{text}");
        }
    }

    #[test]
    fn a_merge_needs_an_upstream() {
        let merge =
            "[robots_txt]\nserve = 'merge'\n[[robots_txt.host]]\nhosts = 'a'\nserve = 'merge'";
        let found = warnings(merge);
        let starts = |start: &str| found.iter().any(|doubt| doubt.starts_with(start));
        assert!(starts(
            "robots_txt.serve is merge, but there is no upstream"
        ));
        assert!(starts(
            "[[robots_txt.host]] (c.toml:3): serve is merge, but"
        ));
        let upstream = "[server]\nupstream = 'http://127.0.0.1:1'\n";
        assert_eq!(warnings(&format!("{upstream}{merge}")), [""; 0]);
    }
}
