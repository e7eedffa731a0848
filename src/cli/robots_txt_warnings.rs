//! Warnings about robots.txt settings that look like mistakes.

use robot_detection_site_robot::spelling::nearest;

use crate::config::{Key, RobotsTxtSection, RobotsTxtSource, Settings};
use crate::policy::HostName;
use crate::registry::Robot;

/// Returns a warning for each setting that has no effect or an unexpected effect.
pub(super) fn robots_txt_warnings(settings: &Settings, robots: &[Robot]) -> Vec<String> {
    let mut warnings = Vec::new();
    let site = &settings.robots_txt.refuse_robots;
    warnings.extend(
        site.iter()
            .filter_map(|id| id_warning("robots_txt", id, robots)),
    );
    warnings.extend(ineffective_keys(settings));
    for host in &settings.tables.robots_txt_hosts {
        let label = format!("[[robots_txt.host]] ({})", host.origin());
        let ids = host.own.refuse_robots.iter();
        warnings.extend(ids.filter_map(|id| id_warning(&label, id, robots)));
        let Some(main) = host.main_mirror.as_deref() else {
            continue;
        };
        let is_main = |name: &String| {
            let names = (HostName::parse(name.trim()), HostName::parse(main));
            // Invalid names are reported as configuration errors.
            matches!(names, (Ok(name), Ok(main)) if name.is_same(&main))
        };
        if !host.hosts.iter().any(is_main) {
            warnings.push(format!(
                "{label}: main_mirror {main:?} is not in hosts; add the name to hosts, unless another server serves it"
            ));
        } else if host.hosts.len() == 1 {
            warnings.push(format!(
                "{label}: main_mirror {main:?} is the only host in hosts; add the other host names of the site"
            ));
        }
    }
    warnings
}

/// Returns a warning for each key that has no effect on the served file.
fn ineffective_keys(settings: &Settings) -> Vec<String> {
    let mut warnings = Vec::new();
    let (site, has_upstream) = (&settings.robots_txt, !settings.server.upstream.is_empty());
    let hosts = &settings.tables.robots_txt_hosts;
    let serve = site.serve.as_str();
    for (key, _) in keys(site).iter().filter(|(_, says)| *says) {
        // Hosts inherit the site's value unless they set their own value.
        let is_used = hosts.iter().any(|host| {
            host.origin_of(key).is_none() && has_effect(key, host.content(settings).serve)
        });
        if !is_used && !has_effect(key, site.serve) {
            warnings.push(format!(
                "{} has no effect because robots_txt.serve is {serve}",
                key.name
            ));
        }
    }
    if site.serve == RobotsTxtSource::Merge && !has_upstream {
        warnings.push(NO_UPSTREAM.replace("WHERE", "robots_txt.serve"));
    }
    for host in hosts {
        let label = format!("[[robots_txt.host]] ({})", host.origin());
        let serve = host.content(settings).serve;
        for (key, _) in keys(&host.own).iter().filter(|(_, says)| *says) {
            if !has_effect(key, serve) {
                let (key, serve) = (key.short_name, serve.as_str());
                warnings.push(format!(
                    "{label}: {key} has no effect because serve is {serve}"
                ));
            }
        }
        if host.own.serve == RobotsTxtSource::Merge && !has_upstream {
            warnings.push(NO_UPSTREAM.replace("WHERE", &format!("{label}: serve")));
        }
    }
    warnings
}

const NO_UPSTREAM: &str = "WHERE is merge, but there is no upstream whose file could be merged: only the settings are served; set server.upstream, or use settings instead of merge";

/// Returns `true` if a key has an effect on a file that is served in this way.
fn has_effect(key: &Key, serve: RobotsTxtSource) -> bool {
    let is_file = key.name == RobotsTxtSection::KEY.file.name;
    match serve {
        RobotsTxtSource::Pass => false,
        RobotsTxtSource::File => is_file,
        RobotsTxtSource::Settings | RobotsTxtSource::Merge => !is_file,
    }
}

/// Returns the keys that affect the served file, each with a flag that is `true` if the key is set.
fn keys(what: &RobotsTxtSection) -> [(Key, bool); 10] {
    let key = RobotsTxtSection::KEY;
    [
        (key.file, !what.file.is_empty()),
        (key.refuse_purposes, !what.refuse_purposes.is_empty()),
        (key.refuse_robots, !what.refuse_robots.is_empty()),
        (key.disallow, !what.disallow.is_empty()),
        (key.allow, !what.allow.is_empty()),
        (key.crawl_delay, !what.crawl_delay.is_zero()),
        (key.sitemaps, !what.sitemaps.is_empty()),
        (key.content_signal, !what.content_signal.is_empty()),
        (key.content_usage, !what.content_usage.is_empty()),
        (key.license, !what.license.is_empty()),
    ]
}

fn id_warning(who: &str, id: &str, robots: &[Robot]) -> Option<String> {
    let id = id.trim();
    let Some(robot) = robots.iter().find(|robot| robot.id == id) else {
        let near = nearest(id, robots.iter().map(|robot| robot.id.as_str()));
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
        return Some(format!(
            "{who}.refuse_robots contains the unknown robot {id:?}{near}"
        ));
    };
    robot.token().is_err().then(|| {
        format!("{who}.refuse_robots contains {id:?}, which robots.txt cannot name: the robot is refused only if robots_txt.enforce is on")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    fn warnings(text: &str) -> Vec<String> {
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        robots_txt_warnings(loaded.settings(), &[])
    }

    #[test]
    fn keys_without_effect_are_reported() {
        let site = |key: &str, serve: &str| {
            format!("robots_txt.{key} has no effect because robots_txt.serve is {serve}")
        };
        let host = |line: usize, key: &str, serve: &str| {
            format!(
                "[[robots_txt.host]] (c.toml:{line}): {key} has no effect because serve is {serve}"
            )
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
    fn merge_needs_an_upstream() {
        let merge =
            "[robots_txt]\nserve = 'merge'\n[[robots_txt.host]]\nhosts = 'a'\nserve = 'merge'";
        let found = warnings(merge);
        let starts = |start: &str| found.iter().any(|warning| warning.starts_with(start));
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
