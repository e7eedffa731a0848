//! Converts `[site_robot]` into the settings for a site robot.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::assembly::{form_login, heaven_settings, open_to_question, read_text, robot_conf};
use crate::config::{ConfigErrors, Loaded, Schedule, Settings, SiteRobotSection};
use crate::filter::{Filter, Filters, Functions};
use crate::heaven::HeavenSettings;
use crate::operations::DEFAULT_SITE;
use crate::render::obstacle;
use crate::site_robot::{
    ConfigFiles, Rendering, RobotConf,
    source::{Credentials, FormLogin},
};
use crate::store::StoredRun;

use super::{
    own_hosts::OwnHosts,
    public_url::{PublicUrl, move_login},
    schedule::is_due,
    starts::{Start, only, starts},
};

/// The checked settings for the site robot of one site.
#[derive(Clone, Debug)]
pub struct SiteRobotSettings {
    pub(super) site: String,
    /// Settings of the site, including changes made by a command.
    pub(super) configured: Settings,
    pub(super) starts: Vec<Start>,
    /// Pages to visit again; if empty, the whole site is visited.
    pub(super) only: Vec<Url>,
    pub(super) conf: RobotConf,
    pub(super) enumeration: Arc<Filter>,
    pub(super) generation: Arc<Filter>,
    pub(super) fingerprint: String,
    pub(super) form_login: Option<FormLogin>,
    /// The server that requests are sent to instead of these hosts; an empty list stands for all
    /// hosts.
    pub(super) upstream: Option<(Url, Vec<String>)>,
    pub(super) heaven: HeavenSettings,
    /// The hosts to which the site robot identifies itself.
    pub(super) own_hosts: OwnHosts,
    /// The public URL of the site, if the robot visits the upstream.
    pub(super) public: Option<PublicUrl>,
    /// Whether results are published even if they would otherwise be held for review.
    pub(super) accept: bool,
    /// The question about which visitors may read pages behind a login; `None` if `heaven.open_to`
    /// is set or no login is used.
    pub(super) question: Option<String>,
    warnings: Vec<String>,
}

/// Changes that a command makes to the settings for one run.
///
/// If the run is handed over to a server, the changes are passed on, except names of files: see
/// [`names_files`](Self::names_files).
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SiteRobotChanges {
    /// Starting points that replace the configured starting points.
    pub urls: Vec<String>,
    /// Pages to visit again instead of visiting the whole site.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// The maximum number of links to follow; the inner `None` means no limit.
    pub depth: Option<Option<u32>>,
    /// The pause between two visits to a host.
    pub delay: Option<Duration>,
    /// The path prefixes to visit, which replace the configured prefixes.
    pub only_below: Vec<String>,
    /// The path of a robot.conf that replaces the configured file.
    #[serde(skip)]
    pub robot_conf: Option<String>,
    /// The path of a filter.conf that replaces the configured file.
    #[serde(skip)]
    pub filter_conf: Option<String>,
    /// The directory to which heaven is published.
    #[serde(skip)]
    pub publish: Option<PathBuf>,
    /// Whether results are published even if they would be held for review; results already held
    /// are published without another run.
    pub accept: bool,
}

/// Returns the site robots of a configuration, one for each site with starting points.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub fn site_robots(loaded: &Loaded) -> Result<Vec<SiteRobotSettings>, ConfigErrors> {
    let mut found = Vec::new();
    let none = SiteRobotChanges::default();
    for site in loaded.sites() {
        // Common starting points are visited once, not for each site.
        let key = &SiteRobotSection::KEY.starting_points;
        if site.loaded().origin(key) != loaded.origin(key) {
            found.extend(SiteRobotSettings::of(site.loaded(), site.name(), &none)?);
        }
    }
    found.extend(SiteRobotSettings::of(loaded, DEFAULT_SITE, &none)?);
    check_directories(loaded, &found)?;
    Ok(found)
}

/// Returns an error if two sites publish to the same directory, where each would replace the
/// other's heaven.
fn check_directories(loaded: &Loaded, found: &[SiteRobotSettings]) -> Result<(), ConfigErrors> {
    let mut known: Vec<&Path> = Vec::new();
    for directory in found.iter().filter_map(SiteRobotSettings::publishes_into) {
        if known.contains(&directory) {
            let directory = directory.display();
            let reason =
                format!("two sites use {directory}; set a different directory for each site");
            return Err(loaded.invalid(&SiteRobotSection::KEY.publish, reason));
        }
        known.push(directory);
    }
    Ok(())
}

impl SiteRobotSettings {
    /// Checks the settings of a site, or the common settings if no site has this name.
    ///
    /// Returns `None` if neither the configuration nor `changes` contain a starting point.
    ///
    /// # Errors
    ///
    /// Returns an error that shows the place of the invalid value.
    pub fn new(
        loaded: &Loaded,
        site: &str,
        changes: &SiteRobotChanges,
    ) -> Result<Option<Self>, ConfigErrors> {
        Self::of(&loaded.for_site_named(site), site, changes)
    }

    /// Returns the name of the site.
    #[must_use]
    pub fn site(&self) -> &str {
        &self.site
    }

    /// Returns a warning for each setting that is not used, with the reason.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the question of which visitors may read pages behind a login, if no setting
    /// specifies these visitors.
    #[must_use]
    pub fn access_question(&self) -> Option<&str> {
        self.question.as_deref()
    }

    /// Returns the URLs of the starting points.
    pub fn starting_points(&self) -> impl Iterator<Item = &Url> {
        self.starts.iter().map(|start| &start.url)
    }

    /// Returns the directory to which heaven is published, if one is set.
    #[must_use]
    pub fn publishes_into(&self) -> Option<&Path> {
        self.section().publish.as_deref()
    }

    /// Returns the settings in the `[site_robot]` table.
    pub(super) fn section(&self) -> &SiteRobotSection {
        &self.configured.site_robot
    }

    /// Returns the schedule of runs, if one is set.
    pub(super) fn schedule(&self) -> Option<&Schedule> {
        self.section().schedule.as_ref()
    }

    /// Returns the paths that the site robot never visits, including those served by this program.
    pub(super) fn never_below(&self) -> Vec<String> {
        let mut paths = self.section().never_below.clone();
        for path in [&self.configured.heaven.path, &self.configured.admin.path] {
            paths.push(format!("/{}/", path.trim_matches('/')));
        }
        paths
    }

    /// Returns a description of the login without its secret, or `None` if the robot does not log
    /// in.
    #[must_use]
    pub fn login_kind(&self) -> Option<&'static str> {
        if self.form_login.is_some() {
            return Some("with a form");
        }
        match &self.section().login {
            Some(Credentials::Bearer(_)) => Some("with a bearer token"),
            Some(Credentials::Cookie(_)) => Some("with a cookie"),
            Some(Credentials::Basic { .. }) => Some("with a name and a password"),
            None => self
                .conf
                .password
                .as_ref()
                .map(|_| "with a name and a password"),
        }
    }

    /// Returns the time of the next scheduled run; `last` is the site's last run.
    ///
    /// For an overdue run, returns the current time.
    #[must_use]
    pub fn next_run_ms(&self, last: Option<&StoredRun>, now_ms: i64) -> Option<i64> {
        let schedule = self.schedule()?;
        if is_due(schedule, last, None, now_ms) {
            return Some(now_ms);
        }
        schedule.next_ms(now_ms)
    }

    /// Returns the path of the browser that renders pages, if rendering is enabled.
    #[must_use]
    pub fn browser_path(&self) -> Option<&Path> {
        let own = self.section();
        (own.render != Rendering::Never).then(|| own.browser.as_deref().unwrap_or(Path::new("")))
    }

    fn of(
        loaded: &Loaded,
        site: &str,
        changes: &SiteRobotChanges,
    ) -> Result<Option<Self>, ConfigErrors> {
        let mut settings = loaded.settings().clone();
        changes.apply(&mut settings);
        let (mut conf, conf_text, mut warnings) = robot_conf(loaded, &settings)?;
        conf.server_delay = changes.delay.or(conf.server_delay);
        if conf.server_delay == Some(Duration::ZERO) {
            conf.use_all_connections();
        }
        let mut starts = starts(loaded, &settings, &conf, changes)?;
        let public = PublicUrl::apply(&settings, &mut starts);
        if starts.is_empty() {
            return Ok(None);
        }
        let server = starts.iter().find(|start| start.url.has_host());
        let heaven = heaven(loaded, &settings, server.map(|start| &start.url))?;
        let (filters, filter_text) = filters(loaded, &settings)?;
        let filter = |name: &str| filter(loaded, &filters, name);
        let (form_login, login_warnings) = form_login(loaded, &settings)?;
        let form_login = form_login.map(|login| move_login(&settings, login));
        let question = open_to_question(loaded, &settings);
        warnings.extend(login_warnings.into_iter().chain(question.clone()));
        warnings.extend(render_warning(&settings.site_robot));
        Ok(Some(Self {
            site: site.to_owned(),
            enumeration: filter(&conf.enumeration_filter)?,
            generation: filter(&conf.generation_filter)?,
            fingerprint: format!("{conf_text}\n{filter_text}\n{}", Filters::SHIPPED),
            form_login,
            upstream: match &public {
                // No warning is needed, because the robot has a server to request.
                Some(public) => public.upstream(upstream(&settings, &mut Vec::new())),
                None => upstream(&settings, &mut warnings),
            },
            own_hosts: OwnHosts::from_settings(&settings, &starts),
            public,
            heaven,
            accept: changes.accept,
            question,
            configured: settings,
            only: only(loaded, changes)?,
            starts,
            conf,
            warnings,
        }))
    }
}

impl SiteRobotChanges {
    /// Returns `true` if the changes contain paths of files or directories, which other processes
    /// must not use.
    #[must_use]
    pub fn names_files(&self) -> bool {
        self.robot_conf.is_some() || self.filter_conf.is_some() || self.publish.is_some()
    }

    fn apply(&self, settings: &mut Settings) {
        if let Some(path) = &self.robot_conf {
            settings.site_robot.robot_conf.clone_from(path);
        }
        if let Some(path) = &self.filter_conf {
            settings.site_robot.filter_conf.clone_from(path);
        }
        if let Some(directory) = &self.publish {
            settings.site_robot.publish = Some(directory.clone());
        }
        if !self.only_below.is_empty() {
            settings.site_robot.only_below.clone_from(&self.only_below);
        }
    }
}

/// Returns a warning with the reason why pages are not rendered although rendering is enabled.
fn render_warning(own: &SiteRobotSection) -> Option<String> {
    if own.render == Rendering::Never {
        return None;
    }
    let reason = obstacle(own.browser.as_deref().unwrap_or(Path::new("")))?;
    Some(format!(
        "site_robot.render: pages are not rendered: {reason}"
    ))
}

fn heaven(
    loaded: &Loaded,
    settings: &Settings,
    first: Option<&Url>,
) -> Result<HeavenSettings, ConfigErrors> {
    let site = match settings.heaven.url.as_str() {
        // If all starting points are files, no page is in heaven, so any site URL is sufficient.
        "" => first.map_or_else(
            || "http://localhost".to_owned(),
            |first| first.origin().ascii_serialization(),
        ),
        url => url.to_owned(),
    };
    heaven_settings(loaded, settings, &site)
}

fn filters(loaded: &Loaded, settings: &Settings) -> Result<(Filters, String), ConfigErrors> {
    let path = settings.site_robot.filter_conf.as_str();
    let wrong = |reason: String| loaded.invalid(&SiteRobotSection::KEY.filter_conf, reason);
    let text = match path {
        "" => String::new(),
        path => read_text(path).map_err(wrong)?,
    };
    // Error messages need a file name for the bundled filters too.
    let named = if path.is_empty() { "filter.conf" } else { path };
    let files = ConfigFiles::beside(Path::new(named));
    let filters = Filters::compile(named, &text, &Functions::new(), &files);
    let filters = filters.map_err(|error| wrong(error.to_string()))?;
    Ok((filters, text))
}

fn filter(loaded: &Loaded, filters: &Filters, name: &str) -> Result<Arc<Filter>, ConfigErrors> {
    filters.filter(name).map(Arc::clone).ok_or_else(|| {
        let known = filters.names().join(", ");
        let reason = format!("there is no filter {name:?}; known filters: {known}");
        loaded.invalid(&SiteRobotSection::KEY.filter_conf, reason)
    })
}

/// Requests are sent directly to the upstream, so that no front proxy makes decisions about our
/// robot.
fn upstream(settings: &Settings, warnings: &mut Vec<String>) -> Option<(Url, Vec<String>)> {
    let first = settings.server.upstream.first()?;
    match Url::parse(first) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            Some((url, settings.server.hosts.clone()))
        }
        _ => {
            warnings.push(format!(
                "the site robot requests pages at their public URLs, because it cannot send requests directly to {first}"
            ));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Loader, tests::cases};

    fn loaded(text: &str) -> Loaded {
        Loader::new().file("c.toml", text).load().unwrap()
    }

    fn error(text: &str) -> String {
        let loaded = Loader::new().file("c.toml", text).load();
        let robots = loaded.and_then(|loaded| site_robots(&loaded));
        robots.unwrap_err().to_string()
    }

    fn settings(text: &str) -> SiteRobotSettings {
        let text = format!("[site_robot]\nstarting_points = 'http://www.example.com/a'\n{text}");
        site_robots(&loaded(&text)).unwrap().remove(0)
    }

    #[test]
    fn no_robot_without_a_starting_point() {
        assert!(site_robots(&loaded("")).unwrap().is_empty());
        assert_eq!(settings("").site(), "default");
        let seeds = "[site_robot]\nrobot = 'seed=http://h.example/ depth=2'";
        let settings = site_robots(&loaded(seeds)).unwrap().remove(0);
        assert_eq!(settings.starts[0].depth, Some(2));
    }

    #[test]
    fn depth_comes_from_robot_conf_unless_set() {
        let depth = |text: &str| settings(text).starts[0].depth;
        assert_eq!(depth(""), Some(10));
        assert_eq!(depth("robot = 'depth=3'"), Some(3));
        assert_eq!(depth("robot = 'depth=3'\ndepth = -1"), None);
    }

    #[test]
    fn each_site_has_its_own_robot() {
        let text = "[[site]]\nname = 'shop'\nhosts = 'shop.example.com'\nupstream = 'http://a'\n\
            [site.site_robot]\nstarting_points = 'http://shop.example.com/'\n\
            [[site]]\nname = 'other'\nhosts = 'o.example.com'\nupstream = 'http://b'\n";
        let found = site_robots(&loaded(text)).unwrap();
        let names: Vec<_> = found.iter().map(SiteRobotSettings::site).collect();
        assert_eq!(names, ["shop"]);
        let (upstream, hosts) = found[0].upstream.clone().unwrap();
        assert_eq!(upstream.as_str(), "http://a/");
        assert_eq!(hosts, ["shop.example.com"]);
    }

    #[test]
    fn two_sites_must_not_publish_to_one_directory() {
        let site = |name: &str| {
            format!(
                "[[site]]\nhosts = '{name}'\nupstream = 'http://a'\n\
                 site_robot.starting_points = 'http://{name}/'\n"
            )
        };
        let text = format!(
            "site_robot.publish = 'h'\n{}{}",
            site("a.example"),
            site("b.example")
        );
        let error = site_robots(&loaded(&text)).unwrap_err().to_string();
        assert!(
            error.contains("two sites use ") && error.contains("h; set"),
            "{error}"
        );
    }

    #[test]
    fn errors_name_their_place() {
        for (text, expected) in cases(
            r#"
            login = 'geheim' => c.toml:3: site_robot.login: the login is neither bearer
            schedule = 'soon' => c.toml:3: site_robot.schedule: "soon"
            filter_conf = '/nowhere' => c.toml:3: site_robot.filter_conf: cannot read
            converters = 'pdf' => c.toml:3: site_robot.converters: write a converter such as
            robot = 'generation-filter=mine' => default: site_robot.filter_conf: there is no filter "mine"; known filters:
            "#,
        ) {
            let text = format!("[site_robot]\nstarting_points = 'http://h/'\n{text}");
            let error = error(&text);
            assert!(error.starts_with(expected), "{error}");
        }
        let text = "[site_robot]\nstarting_points = 'h.example'";
        let error = error(text);
        assert!(
            error.contains("c.toml:2: site_robot.starting_points"),
            "{error}"
        );
    }

    #[test]
    fn urls_of_a_command_replace_the_configured_ones() {
        let changes = SiteRobotChanges {
            urls: vec!["http://h.example/b".to_owned()],
            depth: Some(None),
            ..SiteRobotChanges::default()
        };
        let text = "[site_robot]\nstarting_points = 'http://www.example.com/a'";
        let settings = SiteRobotSettings::new(&loaded(text), "default", &changes);
        let settings = settings.unwrap().unwrap();
        assert_eq!(settings.starts.len(), 1);
        assert!(!settings.starts[0].is_configured);
        assert_eq!(settings.starts[0].depth, None);
        assert_eq!(settings.heaven.site(), "http://h.example");
    }
}
