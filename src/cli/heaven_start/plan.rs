//! Determines the settings that a site's robot heaven still needs.

use std::path::{Path, absolute};

use url::Url;

use crate::app;
use crate::assembly::logs_in;
use crate::cli::{
    doctor::ServedSite,
    init::{SCHEDULE, fixed_beginning},
    output,
};
use crate::config::{
    Change, GeneralSection, HeavenSection, HeavenSource, Key, ListenerSettings, Loaded,
    ServerSection, Settings, SiteRobotSection, StartingPoint, Value, is_host_of,
};

/// The missing settings for robot heaven, and notes about the existing settings.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) changes: Vec<Change>,
    pub(super) notes: Vec<String>,
    /// Filter patterns that were omitted because they would redirect robots away from public pages.
    pub(super) left_out: Option<Value>,
}

/// Arguments of the command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options<'a> {
    pub(super) urls: &'a [String],
    /// Visitors that may read the heaven pages.
    pub(super) open_to: Option<&'a str>,
    /// Whether to redirect robots away from public pages.
    pub(super) filters: bool,
}

/// A site, and the URLs given on the command line.
struct Subject<'a> {
    site: &'a ServedSite,
    settings: &'a Settings,
    whole: &'a Loaded,
    given: Vec<Url>,
    /// The public URL of the site, if any setting specifies it.
    base: Option<Url>,
}

/// Returns the settings to add so that robots are redirected to a site's heaven.
///
/// # Errors
///
/// Returns an error if an existing setting, which the error describes, must be changed manually, or
/// if the URL of the site is unknown.
pub(super) fn plan(site: &ServedSite, whole: &Loaded, wishes: Options<'_>) -> Result<Plan, String> {
    let subject = Subject::new(site, whole, wishes.urls)?;
    let mut plan = Plan::default();
    subject.add_patterns(&mut plan, wishes.filters)?;
    subject.add_starts(&mut plan)?;
    subject.add_heaven(&mut plan)?;
    subject.add_readers(&mut plan, wishes.open_to);
    subject.check_places(&plan)?;
    Ok(plan)
}

/// Selects the site to which the command applies.
///
/// # Errors
///
/// Returns an error if the selection is not unique; the error lists the existing sites.
pub(super) fn choose(sites: Vec<ServedSite>, name: Option<&str>) -> Result<ServedSite, String> {
    let names: Vec<_> = sites.iter().map(|site| site.name().to_owned()).collect();
    let names = names.join(", ");
    match name {
        None if sites.len() > 1 => Err(format!(
            "there are several sites: select a site with --site; configured sites: {names}"
        )),
        name => {
            let is_meant = |site: &ServedSite| name.is_none_or(|name| name == site.name());
            let found = sites.into_iter().find(is_meant);
            found.ok_or_else(|| {
                format!("--site: the site does not exist; configured sites: {names}")
            })
        }
    }
}

impl<'a> Subject<'a> {
    fn new(site: &'a ServedSite, whole: &'a Loaded, texts: &[String]) -> Result<Self, String> {
        let mut subject = Self {
            site,
            settings: site.loaded.settings(),
            whole,
            given: Vec::new(),
            base: None,
        };
        let is_path = |text: &&String| text.starts_with('/');
        for text in texts.iter().filter(|text| !is_path(text)) {
            let url = StartingPoint::parse(text)?.url().clone();
            subject.check_host(&url)?;
            subject.given.push(url);
        }
        subject.base = subject.base_url();
        for path in texts.iter().filter(is_path) {
            let url = subject
                .base()?
                .join(path)
                .map_err(|error| format!("{path}: {error}"))?;
            subject.given.push(url);
        }
        Ok(subject)
    }

    /// Checks the host of a URL, because a mistyped host would cause another site to be described.
    fn check_host(&self, url: &Url) -> Result<(), String> {
        let hosts = &self.settings.server.hosts;
        let host = url.host_str().unwrap_or_default();
        let with_port = url.port().map(|port| format!("{host}:{port}"));
        let is_host = |known: &String| {
            let is_same = |name: &str| known.eq_ignore_ascii_case(name);
            is_host_of(host, known) || with_port.as_deref().is_some_and(is_same)
        };
        let is_of_heaven = || {
            self.set_url()
                .is_some_and(|known| known.host_str() == url.host_str())
        };
        if hosts.is_empty() || hosts.iter().any(is_host) || self.is_upstream(url) || is_of_heaven()
        {
            return Ok(());
        }
        Err(format!(
            "{host} is not in server.hosts, which contains {}",
            hosts.join(", ")
        ))
    }

    fn is_upstream(&self, url: &Url) -> bool {
        self.upstreams()
            .any(|upstream| upstream.origin() == url.origin())
    }

    fn upstreams(&self) -> impl Iterator<Item = Url> {
        let urls = self.settings.server.upstream.iter();
        urls.filter_map(|url| Url::parse(url).ok())
            .filter(|url| matches!(url.scheme(), "http" | "https"))
    }

    /// Returns the URL of the site according to `heaven.url`.
    fn set_url(&self) -> Option<Url> {
        let url = &self.settings.heaven.url;
        self.is_own(&HeavenSection::KEY.url)
            .then(|| Url::parse(url).ok())
            .flatten()
    }

    fn base_url(&self) -> Option<Url> {
        let mut given = self.given.iter().filter(|url| url.has_host());
        let named = given.clone().find(|url| !self.is_upstream(url)).cloned();
        let base = self
            .set_url()
            .or(named)
            .or_else(|| self.url_of_host())
            .or_else(|| given.next().cloned())
            .or_else(|| self.upstreams().next())?;
        base.join("/").ok()
    }

    fn url_of_host(&self) -> Option<Url> {
        let Settings {
            server,
            admin,
            tables,
            ..
        } = self.settings;
        let is_tls = admin.secure_cookies || tables.listeners.iter().any(ListenerSettings::is_tls);
        let scheme = if is_tls { "https" } else { "http" };
        let host = server.hosts.iter().find(|host| !host.starts_with('*'))?;
        Url::parse(&format!("{scheme}://{host}/")).ok()
    }

    fn base(&self) -> Result<&Url, String> {
        self.base.as_ref().ok_or_else(|| {
            "the URL of the site is unknown: set server.upstream in the configuration file, \
             or use --upstream URL, as in `serve`"
                .to_owned()
        })
    }

    /// Returns `true` if a setting is set specifically for this site.
    fn is_own(&self, key: &Key) -> bool {
        let own = self.site.loaded.origin(key);
        let is_common = self.site.number.is_some() && own == self.whole.origin(key);
        self.site.loaded.is_set(key) && !is_common
    }

    fn origin(&self, key: &Key) -> &str {
        self.site.loaded.origin(key)
    }

    /// Adds filter patterns for a newly specified area, which robots presumably cannot access.
    fn add_patterns(&self, plan: &mut Plan, filters: bool) -> Result<(), String> {
        let keys = &GeneralSection::KEY;
        let (general, heaven) = (&self.settings.general, &self.settings.heaven.path);
        let policy = app::policy(&self.site.loaded).map_err(|errors| errors.to_string())?;
        let has_rules = policy.rules().next().is_some();
        if general.redirect_url.is_empty() && !has_rules {
            let origin = self.origin(&keys.redirect_url);
            return Err(format!(
                "robots are not redirected, because redirect_url is empty ({origin}): set redirect_url = \"{heaven}\""
            ));
        }
        let has_patterns = !general.filter_patterns.is_empty();
        let is_said = if has_patterns {
            self.site.loaded.is_set(&keys.filter_patterns)
        } else {
            has_rules
        };
        let is_filtered = |url: &&Url| policy.is_filtered(url.path());
        if is_said || self.given.iter().any(|url| is_filtered(&url)) {
            let others = self.given.iter().filter(|url| !is_filtered(url));
            plan.notes.extend(others.map(|url| {
                format!(
                    "robots can read {url} directly, because no filter_pattern matches this URL"
                )
            }));
            return Ok(());
        }
        let patterns: Vec<_> = self.given.iter().flat_map(patterns).collect();
        let is_public = !logs_in(&self.site.loaded, self.settings);
        if !patterns.is_empty() && is_public && !filters {
            plan.left_out = Some(Value::List(patterns));
        } else if !patterns.is_empty() {
            plan.changes
                .push((&keys.filter_patterns, Value::List(patterns)));
        } else if !self.given.is_empty() || !has_patterns {
            return Err(
                "the area that robots cannot access is unknown: specify it, as in `heaven start \
                 /members/`, or set filter_pattern"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn add_starts(&self, plan: &mut Plan) -> Result<(), String> {
        let keys = &SiteRobotSection::KEY;
        if self.site.robot(self.whole).is_some() {
            let known = &self.settings.site_robot.starting_points;
            let is_known = |url: &&Url| known.iter().any(|start| start.url() == *url);
            let new = self.given.iter().find(|url| !is_known(url));
            return match new {
                None => Ok(()),
                Some(url) => Err(format!(
                    "site_robot.starting_points ({}) does not contain {url}: add the URL there",
                    self.origin(&keys.starting_points)
                )),
            };
        }
        let starts = if self.given.is_empty() {
            self.starts_of_patterns()?
        } else {
            self.given.clone()
        };
        let starts = starts.iter().map(ToString::to_string).collect();
        plan.changes
            .push((&keys.starting_points, Value::List(starts)));
        if !self.site.loaded.is_set(&keys.schedule) {
            plan.changes
                .push((&keys.schedule, Value::Text(SCHEDULE.to_owned())));
        }
        Ok(())
    }

    fn starts_of_patterns(&self) -> Result<Vec<Url>, String> {
        let base = self.base()?;
        let mut starts = Vec::new();
        for glob in &self.settings.general.filter_patterns {
            let start = base
                .join(fixed_beginning(glob))
                .map_err(|error| format!("{glob}: {error}"))?;
            if !starts.contains(&start) {
                starts.push(start);
            }
        }
        if starts.is_empty() {
            return Err("the site robot has no starting point: specify a URL".to_owned());
        }
        Ok(starts)
    }

    fn add_heaven(&self, plan: &mut Plan) -> Result<(), String> {
        let (keys, heaven) = (&HeavenSection::KEY, &self.settings.heaven);
        if !heaven.serve {
            return Err(format!(
                "heaven.serve is false ({}), so the upstream serves {}: remove this setting and \
                 any rule that refuses robots on this path",
                self.origin(&keys.serve),
                heaven.path
            ));
        }
        let published = self.settings.site_robot.publish.as_deref();
        let is_published = published.is_some_and(|into| is_same(into, &heaven.directory));
        if heaven.source != HeavenSource::Database && !is_published {
            if !heaven.directory.is_empty() {
                return Err(format!(
                    "robot heaven already contains the pages in heaven.directory ({}): set \
                     heaven.source = \"database\" to generate pages from the site instead, or \
                     site_robot.publish = {:?} to write the generated pages there",
                    self.origin(&keys.directory),
                    heaven.directory
                ));
            }
            plan.changes
                .push((&keys.source, Value::Text("database".to_owned())));
        }
        if self.set_url().is_none() {
            let base = self.base()?;
            let url = base.as_str().trim_end_matches('/');
            plan.changes.push((&keys.url, Value::Text(url.to_owned())));
            if self.is_upstream(base) {
                plan.notes.push(format!(
                    "{url} is the address of the upstream: set server.hosts and heaven.url as soon as visitors \
                     reach the site by a host name"
                ));
            }
        }
        Ok(())
    }

    fn add_readers(&self, plan: &mut Plan, open_to: Option<&str>) {
        let (key, known) = (&HeavenSection::KEY.open_to, self.settings.heaven.open_to);
        if let Some(open_to) = open_to
            && (known.as_str() != open_to || !self.site.loaded.is_set(key))
        {
            plan.changes.push((key, Value::Text(open_to.to_owned())));
        }
    }

    /// Checks that the changes will take effect, and that they will affect only this site.
    fn check_places(&self, plan: &Plan) -> Result<(), String> {
        if plan.changes.is_empty() || self.site.number.is_some() {
            return Ok(());
        }
        if !self.whole.sites().is_empty() {
            let hosts = ServerSection::KEY.hosts.name_in_site();
            return Err(format!(
                "the settings of {} apply to every [[site]]: configure it as a [[site]] with its own {hosts}",
                self.site.name()
            ));
        }
        let is_in_file = |key: &Key| {
            let origin = self.origin(key);
            !(origin.starts_with("environment") || origin.starts_with("--"))
        };
        match plan.changes.iter().find(|(key, _)| !is_in_file(key)) {
            None => Ok(()),
            Some((key, value)) => Err(format!(
                "{} is set by {}, which overrides the configuration file: set it to {value} there",
                key.name,
                output::clean(self.origin(key))
            )),
        }
    }
}

/// Returns filter patterns for all paths below a URL, or an empty list for a whole site.
fn patterns(url: &Url) -> Vec<String> {
    match url.path() {
        "/" => Vec::new(),
        path if path.ends_with('/') => vec![format!("{path}*")],
        path => vec![path.to_owned(), format!("{path}/*")],
    }
}

/// Returns `true` if two paths are equal as text; the directories may not exist yet.
fn is_same(into: &Path, directory: &str) -> bool {
    !directory.is_empty() && absolute(into).ok() == absolute(directory).ok()
}
