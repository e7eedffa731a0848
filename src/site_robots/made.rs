//! A site robot created from the configuration.

use std::sync::Arc;

use url::Url;

use crate::clock::Clock;
use crate::filter::CommandLine;
use crate::heaven::{HeavenSettings, Library};
use crate::layer::SiteRobotKey;
use crate::operations::own_robot;
use crate::render::RenderLimits;
use crate::site_robot::{
    OnCompletion, SiteRobot, SiteRobotBuilder, SiteRobotError,
    source::{
        Credentials, FileSource, HttpSettings, HttpSource, PageRequest, PageResponse, PageSource,
        SiteAccess, SourceError, SourceLimits,
    },
};
use crate::store::Store;

use super::{Programs, schedule::next_round_ms, settings::SiteRobotSettings, starts::is_of};

/// The default value of `email` in robot.conf.
const NO_EMAIL: &str = "user@domain";

/// A configured site robot, with the steps before and after its runs.
///
/// After a run, heaven is published if a directory is set, and `cmd-hook` is started if a page was
/// described.
#[derive(Clone, Debug)]
pub struct SiteRobotRuns {
    pub(super) robot: SiteRobot,
    pub(super) source: PageSource,
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) library: Library,
    pub(super) programs: Arc<Programs>,
    pub(super) settings: Arc<SiteRobotSettings>,
    /// Pages to visit again; if empty, the site robot visits the whole site.
    pub(super) only: Vec<Url>,
}

impl SiteRobotRuns {
    /// Creates the site robot from its settings; layers that use the same database allow its
    /// requests.
    ///
    /// # Errors
    ///
    /// Returns an error if a database operation fails, a value is not valid in a header, or the
    /// robot cannot be built.
    pub async fn new(settings: &SiteRobotSettings, store: &Store) -> anyhow::Result<Self> {
        let (own, clock) = (own_robot::unknown_key(), Clock::system());
        own_robot::load(&own, store, &clock).await?;
        Self::of(settings, store, clock, &own)
    }

    /// Creates a site robot that identifies itself to our sites with a key.
    pub(crate) fn of(
        settings: &SiteRobotSettings,
        store: &Store,
        clock: Clock,
        own: &SiteRobotKey,
    ) -> anyhow::Result<Self> {
        let source = source(settings, own, &clock)?;
        let converters = settings.section().converters.clone();
        let programs = Arc::new(Programs::new(&settings.conf, converters));
        let builder = builder(settings, store, source.clone(), &programs);
        let library = Library::new(store.clone(), settings.site.clone());
        let mut robot = builder.clock(clock.clone()).build()?;
        if !settings.only.is_empty() {
            robot = robot.for_pages(settings.only.clone())?;
        }
        Ok(Self {
            robot,
            source,
            store: store.clone(),
            clock,
            library,
            programs,
            only: settings.only.clone(),
            settings: Arc::new(settings.clone()),
        })
    }

    /// Returns a copy of this site robot that visits only the given pages.
    ///
    /// # Errors
    ///
    /// Returns an error that contains the first page that the robot would not visit.
    pub(crate) fn for_pages(&self, urls: Vec<Url>) -> Result<Self, SiteRobotError> {
        Ok(Self {
            robot: self.robot.for_pages(urls.clone())?,
            only: urls,
            ..self.clone()
        })
    }

    /// Returns the site robot, which makes the visits.
    #[must_use]
    pub fn robot(&self) -> &SiteRobot {
        &self.robot
    }

    /// Requests a page as a run would, with the same login and from the same upstream.
    ///
    /// # Errors
    ///
    /// Returns an error if no server responds within the limits of a run.
    pub async fn fetch_page(&self, url: &Url) -> Result<PageResponse, SourceError> {
        self.source.fetch(&PageRequest::get(url)).await
    }

    /// Returns the settings of the robot heaven that is generated from the robot's descriptions.
    #[must_use]
    pub fn heaven(&self) -> &HeavenSettings {
        &self.settings.heaven
    }

    /// Returns `true` if all starting points are on our own sites, where the layers allow the
    /// robot.
    #[must_use]
    pub fn stays_on_own_sites(&self) -> bool {
        let settings = &self.settings;
        let mut starts = settings.starts.iter();
        starts.all(|start| settings.own_hosts.contains(&start.url))
    }

    /// Returns the action to take after a run (`onCompletion`).
    #[must_use]
    pub fn on_completion(&self) -> OnCompletion {
        self.settings.conf.on_completion
    }

    /// Returns the start time of a loop's next round; the last round ended at `finished_ms`.
    #[must_use]
    pub fn next_round_ms(&self, finished_ms: i64) -> i64 {
        next_round_ms(self.settings.schedule(), finished_ms)
    }
}

fn builder(
    settings: &SiteRobotSettings,
    store: &Store,
    source: PageSource,
    programs: &Arc<Programs>,
) -> SiteRobotBuilder {
    let own = settings.section();
    let limits = RenderLimits {
        program: own.browser.clone().unwrap_or_default(),
        max_html_bytes: settings.conf.max_file_bytes,
        ..RenderLimits::default()
    };
    let mut builder = SiteRobot::builder(&settings.site, store.clone(), source)
        .conf(&settings.conf)
        .filters(
            Arc::clone(&settings.enumeration),
            Arc::clone(&settings.generation),
        )
        .fingerprint(&settings.fingerprint)
        .commands(Arc::<Programs>::clone(programs))
        .tracking_parameters(&own.tracking_parameters)
        .hold(settings.question.clone())
        .requests_per_run(Some(own.requests_per_run).filter(|requests| *requests > 0))
        .render(own.render, limits);
    for (host, obeys) in own.robots_txt_by_host.obeyed() {
        builder = builder.obey_robots_txt_of(&host, obeys);
    }
    for start in &settings.starts {
        builder = builder.start(start.url.as_str(), start.depth);
    }
    if let Some(public) = &settings.public {
        for alias in &public.aliases {
            builder = builder.alias(alias, &public.url);
        }
    }
    for prefix in &own.only_below {
        builder = builder.only_below(prefix);
    }
    for prefix in settings.never_below() {
        builder = builder.never_below(&prefix);
    }
    builder
}

fn source(
    settings: &SiteRobotSettings,
    own: &SiteRobotKey,
    clock: &Clock,
) -> anyhow::Result<PageSource> {
    let conf = &settings.conf;
    let proxy = conf.auto_proxy.as_deref();
    let mut sites: Vec<(url::Origin, SiteAccess)> = Vec::new();
    let servers = settings.starts.iter().filter(|it| it.url.has_host());
    for start in servers {
        let origin = start.url.origin();
        // A login applies to an origin; among starting points with the same origin, the first is
        // used.
        if sites.iter().all(|(known, _)| *known != origin) {
            sites.push((origin, access(settings, &start.url, start.is_configured)?));
        }
    }
    let limits = SourceLimits {
        connect_timeout: conf.connect_timeout,
        max_body_bytes: conf.max_file_bytes,
        ..SourceLimits::default()
    };
    let source = HttpSource::new(HttpSettings {
        user_agent: Some(conf.user_agent.clone()),
        // The default address is useless in the `From` header of each request.
        email: Some(conf.email.clone()).filter(|email| email != NO_EMAIL),
        referrer: conf.referer.clone(),
        proxy: proxy.and_then(|proxy| proxy.parse().ok()),
        limits: limits.clone(),
        sites: sites.into_iter().map(|(_, access)| access).collect(),
        login: settings.form_login.clone(),
        pass: Some(settings.own_hosts.clone().pass(own.clone(), clock.clone())),
    })?;
    Ok(match &settings.section().file_root {
        Some(root) => PageSource::HttpAndFiles(source, FileSource::new(root, limits)?),
        None => source.into(),
    })
}

fn access(
    settings: &SiteRobotSettings,
    url: &Url,
    is_configured: bool,
) -> Result<SiteAccess, SourceError> {
    let mut access = SiteAccess::new(url)?;
    let basic = settings.conf.password.as_ref();
    let basic = basic.map(|password| Credentials::Basic {
        username: settings.conf.username.clone(),
        password: password.as_str().to_owned(),
    });
    if let Some(credentials) = settings.section().login.clone().or(basic) {
        access = access.credentials(&credentials)?;
    }
    match &settings.upstream {
        Some((upstream, hosts)) if is_configured && (hosts.is_empty() || is_of(url, hosts)) => {
            access.upstream(upstream.clone())
        }
        _ => Ok(access),
    }
}

/// Parses a command line into a program and its arguments.
pub(super) fn command(line: &str) -> Option<CommandLine> {
    let mut words = line.split_whitespace();
    let program = CommandLine::new(words.next()?);
    Some(words.fold(program, CommandLine::argument))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hook_may_have_arguments() {
        let hook = command("/opt/hook -v a").unwrap();
        assert_eq!(hook.program, "/opt/hook");
        assert_eq!(hook.arguments, ["-v", "a"]);
        assert!(command(" ").is_none());
    }
}
