//! Converts settings into a plan for `/robots.txt`; errors show the place of the setting in the
//! file.

use std::{fmt::Display, fs, path::Path, time::UNIX_EPOCH};

use rustls::pki_types::{CertificateDer, pem::PemObject as _};

use crate::clock::Clock;
use crate::config::{
    ConfigErrors, HeavenSource, Key, Loaded, RobotsTxtHostSettings, RobotsTxtKeys,
    RobotsTxtSection, RobotsTxtSource, ServerSection, Settings,
};
use crate::detect::SharedDetector;
use crate::fetch::Fetcher;
use crate::policy::HostName;
use crate::proxy::ProxyError;
use crate::robots_file::{
    COMMAND_WAIT, LIMITS, RobotsTxtContent, RobotsTxtPlan, RobotsTxtRules, ServedRobotsTxt,
    split_usage,
};

use super::{
    license_url,
    licensing::{is_reserved_everywhere, reserving},
};

/// The maximum size of a served robots.txt file, in bytes; robots read only 500 KiB.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Returns the plan for `/robots.txt` that the settings specify.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value or unreadable file.
pub fn robots_txt(loaded: &Loaded) -> Result<RobotsTxtPlan, ConfigErrors> {
    let settings = loaded.settings();
    let wrong = |key: &Key, reason: &dyn Display| loaded.invalid(key, reason);
    let name = settings.server.hosts.first().map(String::as_str);
    let content = content(&settings.robots_txt, settings, name, &wrong)?;
    let mut plan = RobotsTxtPlan::new(content);
    // The file is downloaded with a separate client that connects to these servers.
    let mut upstreams = settings.server.upstream.iter();
    if let Some(upstream) = upstreams.find(|url| !url.starts_with("unix:")) {
        let url = upstream.replacen("h2c://", "http://", 1);
        plan = plan.upstream(&url, settings.server.preserve_host, name);
        if let Some(file) = &settings.server.upstream_ca_file {
            let authorities = CertificateDer::pem_file_iter(file)
                .and_then(Iterator::collect)
                .map_err(|error| {
                    let file = file.clone();
                    let reason = format!("cannot be read: {error}");
                    let error = ProxyError::CaFile { file, reason };
                    wrong(&ServerSection::KEY.upstream_ca_file, &error)
                })?;
            plan = plan.upstream_authorities(authorities);
        }
    }
    let mut seen: Vec<HostName> = Vec::new();
    for host in &settings.tables.robots_txt_hosts {
        plan = add(plan, host, settings, &mut seen)?;
    }
    Ok(plan)
}

/// Returns the robots.txt that a server with these settings would serve and apply.
///
/// Requests the upstream's file if the settings need the file, and waits at most a few seconds.
///
/// # Errors
///
/// Returns an error with the place of an invalid value, or if the HTTP client cannot be created.
pub async fn active_robots_txt(
    loaded: &Loaded,
    detector: &SharedDetector,
) -> anyhow::Result<ServedRobotsTxt> {
    let served = configured_robots_txt(loaded, detector)?;
    served.prepare(COMMAND_WAIT).await;
    Ok(served)
}

/// Returns the robots.txt specified by the settings, without the upstream's file.
pub(crate) fn configured_robots_txt(
    loaded: &Loaded,
    detector: &SharedDetector,
) -> anyhow::Result<ServedRobotsTxt> {
    let plan = robots_txt(loaded)?;
    let fetcher = Fetcher::new(LIMITS)?;
    let clock = Clock::system();
    Ok(ServedRobotsTxt::new(plan, detector.clone(), fetcher, clock))
}

/// Adds the hosts of one `[[robots_txt.host]]` table.
fn add(
    mut plan: RobotsTxtPlan,
    host: &RobotsTxtHostSettings,
    settings: &Settings,
    seen: &mut Vec<HostName>,
) -> Result<RobotsTxtPlan, ConfigErrors> {
    let keys = RobotsTxtHostSettings::KEY;
    let wrong = |key: &Key, reason: &dyn Display| host.wrong(key, reason);
    let parse = |key: &Key, name: &str| {
        let name = name.trim();
        HostName::parse(name).map_err(|reason| host.wrong(key, format!("{name:?}: {reason}")))
    };
    let names = host.hosts.iter().map(|name| parse(&keys.hosts, name));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let main = host.main_mirror.as_deref();
    let main = main.map(|main| parse(&keys.main_mirror, main));
    let main = main.transpose()?;
    // Checked before the names of this table are added, which may include its main mirror.
    let is_seen = |main: &&HostName| seen.iter().any(|seen| seen.is_same(main));
    let taken = main.as_ref().filter(is_seen).cloned();
    for name in &names {
        if seen.iter().any(|seen| seen.is_same(name)) {
            return Err(host.wrong(&keys.hosts, format!("{name} is listed twice")));
        }
        seen.push(name.clone());
    }
    if let Some(main) = taken {
        let reason = "has a [[robots_txt.host]] above; move the hosts of both into that one";
        return Err(host.wrong(&keys.main_mirror, format!("{main} {reason}")));
    }
    let first = main.as_ref().or(names.first()).map(ToString::to_string);
    let content = content(&host.content(settings), settings, first.as_deref(), &wrong)?;
    let Some(main) = main else {
        return Ok(names
            .iter()
            .fold(plan, |plan, name| plan.host(name, content.clone())));
    };
    let others: Vec<HostName> = names
        .into_iter()
        .filter(|name| !name.is_same(&main))
        .collect();
    if !seen.iter().any(|seen| seen.is_same(&main)) {
        seen.push(main.clone());
    }
    plan = plan.mirrors(&main, others, content);
    Ok(plan)
}

type Wrong<'a> = dyn Fn(&Key, &dyn Display) -> ConfigErrors + 'a;

const KEY: RobotsTxtKeys = RobotsTxtSection::KEY;

/// Checks all robots.txt settings, including settings that are not currently used.
fn content(
    what: &RobotsTxtSection,
    settings: &Settings,
    host: Option<&str>,
    wrong: &Wrong<'_>,
) -> Result<RobotsTxtContent, ConfigErrors> {
    let mut rules = rules(what, settings, wrong)?;
    if let Some(url) = host.and_then(|host| heaven_sitemap(settings, host)) {
        rules = rules
            .sitemap(&url)
            .map_err(|error| wrong(&KEY.sitemaps, &error))?;
    }
    if let Some(url) = host.and_then(|host| license_url(settings, host)) {
        rules = rules
            .license(&url)
            .map_err(|error| wrong(&KEY.license, &error))?;
    }
    match what.serve {
        RobotsTxtSource::Pass => Ok(RobotsTxtContent::Pass),
        RobotsTxtSource::File if what.file.is_empty() => {
            Err(wrong(&KEY.serve, &"\"file\" needs robots_txt.file"))
        }
        RobotsTxtSource::File => read_file(&what.file).map_err(|reason| wrong(&KEY.file, &reason)),
        RobotsTxtSource::Settings => Ok(RobotsTxtContent::Settings(rules)),
        RobotsTxtSource::Merge => Ok(RobotsTxtContent::Merge(rules)),
    }
}

fn rules(
    what: &RobotsTxtSection,
    settings: &Settings,
    wrong: &Wrong<'_>,
) -> Result<RobotsTxtRules, ConfigErrors> {
    // A Content-Signal applies to all paths, so it would contradict an exception.
    let signal = if is_reserved_everywhere(settings) {
        reserving(settings, &what.content_signal, "ai-train", "no")
    } else {
        what.content_signal.clone()
    };
    let mut usage: Vec<String> = what.content_usage.iter().cloned().collect();
    match usage.iter_mut().find(|line| split_usage(line).0.is_empty()) {
        Some(line) => *line = reserving(settings, line, "train-ai", "n"),
        None => usage.push(reserving(settings, "", "train-ai", "n")),
    }
    usage.retain(|line| !line.is_empty());
    RobotsTxtRules::new()
        .refuse_purposes(what.refuse_purposes.iter().copied())
        .refuse_robots(&what.refuse_robots)
        .crawl_delay(what.crawl_delay)
        .disallow(&what.disallow)
        .map_err(|error| wrong(&KEY.disallow, &error))?
        .allow(&what.allow)
        .map_err(|error| wrong(&KEY.allow, &error))?
        .sitemaps(&what.sitemaps)
        .map_err(|error| wrong(&KEY.sitemaps, &error))?
        .content_signal(&signal)
        .map_err(|error| wrong(&KEY.content_signal, &error))?
        .content_usage(usage)
        .map_err(|error| wrong(&KEY.content_usage, &error))?
        .licenses(what.license.iter())
        .map_err(|error| wrong(&KEY.license, &error))
}

fn read_file(file: &str) -> Result<RobotsTxtContent, String> {
    let cannot = |error: std::io::Error| format!("cannot read {file}: {error}");
    let metadata = fs::metadata(file).map_err(cannot)?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(format!("{file} is over 1 MiB; robots read only 500 KiB"));
    }
    let modified = metadata.modified().ok();
    let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    Ok(RobotsTxtContent::File {
        text: fs::read(file).map_err(cannot)?,
        modified_ms: since.and_then(|since| i64::try_from(since.as_millis()).ok()),
    })
}

/// Returns the URL of heaven's sitemap, if this program serves heaven and a sitemap exists or will
/// exist after a run.
fn heaven_sitemap(settings: &Settings, host: &str) -> Option<String> {
    let directory = Path::new(&settings.heaven.directory);
    let has_file = !settings.heaven.directory.is_empty() && directory.join("sitemap.xml").is_file();
    let will_have_file = !settings.heaven.directory.is_empty()
        && settings.site_robot.publish.as_deref() == Some(directory);
    let is_made = will_have_file || settings.heaven.source == HeavenSource::Database;
    let has_one = settings.heaven.serve && (has_file || is_made);
    let scheme = if settings.admin.secure_cookies {
        "https"
    } else {
        "http"
    };
    let path = settings.heaven.path.trim_matches('/');
    has_one.then(|| format!("{scheme}://{host}/{path}/sitemap.xml"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Loader, tests::cases};

    fn plan(text: &str) -> Result<RobotsTxtPlan, String> {
        let loaded = Loader::new().file("c.toml", text).load();
        let plan = loaded.and_then(|loaded| robots_txt(&loaded));
        plan.map_err(|error| error.to_string())
    }

    fn wrong(text: &str, expected: &str) {
        let error = plan(text).unwrap_err();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }

    #[test]
    fn errors_name_the_place_of_wrong_values() {
        for (text, expected) in cases(
            r#"
            [robots_txt]\nserve = 'fiel' => c.toml:2: robots_txt.serve: "fiel" is not a valid source of robots.txt; did you mean "file"?
            [robots_txt]\nserve = 'file' => c.toml:2: robots_txt.serve: "file" needs robots_txt.file
            [robots_txt]\nserve = 'file'\nfile = '/nowhere/robots.txt' => c.toml:3: robots_txt.file: cannot read /nowhere/robots.txt: 
            [robots_txt]\ndisallow = ['a'] => c.toml:2: robots_txt.disallow: "a": a path must begin with / or *
            [robots_txt]\nallow = ['/a b'] => c.toml:2: robots_txt.allow: "/a b": a path cannot contain blanks
            [robots_txt]\nrefuse_purposes = 'ai-traning' => c.toml:2: robots_txt.refuse_purposes: "ai-traning" is not a valid purpose; did you mean "ai-training"?
            [robots_txt]\nsitemaps = '/sitemap.xml' => c.toml:2: robots_txt.sitemaps: "/sitemap.xml" is not a URL
            [robots_txt]\ncontent_signal = 'train=no' => c.toml:2: robots_txt.content_signal: "train" is not a known signal; known words are search
            [robots_txt]\ncontent_usage = 'train-ai=no' => c.toml:2: robots_txt.content_usage: "no" is not a value of train-ai; write y or n
            "#,
        ) {
            wrong(text, expected);
        }
    }

    #[test]
    fn errors_name_the_place_of_wrong_host_values() {
        for (text, expected) in cases(
            r#"
            [[robots_txt.host]]\nhosts = ['a.example/x'] => c.toml:2: robots_txt.host.hosts: "a.example/x": invalid host name
            [[robots_txt.host]]\nhosts = ['a.example']\nmain_mirror = 'http://a.example' => c.toml:3: robots_txt.host.main_mirror: "http://a.example": 
            [[robots_txt.host]]\nhosts = 'a.example'\n[[robots_txt.host]]\nhosts = 'A.example:80' => c.toml:4: robots_txt.host.hosts: a.example is listed twice
            [[robots_txt.host]]\nhosts = 'b.example'\n[[robots_txt.host]]\nhosts = 'a.example'\nmain_mirror = 'B.example' => c.toml:5: robots_txt.host.main_mirror: b.example has a [[robots_txt.host]] above; move the hosts
            [[robots_txt.host]]\nhosts = 'a.example'\nmain_mirror = 'm.example'\n[[robots_txt.host]]\nhosts = 'b.example'\nmain_mirror = 'm.example' => c.toml:6: robots_txt.host.main_mirror: m.example has a [[robots_txt.host]] above; 
            [[robots_txt.host]]\nhosts = 'a.example'\nfile = '/nowhere' => c.toml:3: robots_txt.host.file: cannot read /nowhere
            [[robots_txt.host]]\nhosts = 'a.example'\ndisallow = '/a#b' => c.toml:3: robots_txt.host.disallow: "/a#b": # would start a comment
            "#,
        ) {
            wrong(text, expected);
        }
    }

    #[test]
    fn host_overrides_settings_of_the_site() {
        let text = "[robots_txt]\nserve = 'settings'\ndisallow = '/a'\n\
            [[robots_txt.host]]\nhosts = 'x.example'\n\
            [[robots_txt.host]]\nhosts = ['www.y.example', 'y.example']\nmain_mirror = 'www.y.example'\nserve = 'pass'\n";
        let plan = plan(text).unwrap();
        for (host, who) in [
            ("x.example", "this program, from its settings"),
            ("www.y.example", "the site itself"),
            (
                "Y.example:443",
                "this program, because the host is a mirror of www.y.example",
            ),
            ("z.example", "this program, from its settings"),
        ] {
            assert_eq!(plan.who_answers(Some(host)), who, "{host}");
        }
    }

    #[test]
    fn sitemap_of_heaven_is_listed_if_it_exists() {
        let directory = tempfile::tempdir().unwrap();
        let text = format!(
            "[server]\nhosts = 'www.example.com'\n[heaven]\ndirectory = '{}'\n[robots_txt]\nserve = 'settings'",
            directory.path().display()
        );
        let sitemap = |plan: &RobotsTxtPlan| format!("{plan:?}").contains("/sitemap.xml");
        assert!(!sitemap(&plan(&text).unwrap()));
        fs::write(directory.path().join("sitemap.xml"), "<urlset/>").unwrap();
        let plan = format!("{:?}", plan(&text).unwrap());
        assert!(
            plan.contains("http://www.example.com/robot-heaven/sitemap.xml"),
            "{plan}"
        );
    }
}
