//! A site robot made from settings.

use std::{path::PathBuf, sync::Arc, time::Duration};

use url::Url;

use crate::clock::Clock;
use crate::config::Schedule;
use crate::filter::CommandLine;
use crate::heaven::{HeavenError, HeavenSettings, Library, PublishReport, publish};
use crate::index_now::Announcer;
use crate::layer::OwnRobot;
use crate::operations::own_robot;
use crate::render::RenderLimits;
use crate::site_robot::{
    OnCompletion, Rendering, SiteRobot, SiteRobotBuilder, SiteRobotError,
    source::{
        Credentials, FileSource, HttpSettings, HttpSource, PageRequest, PageResponse, PageSource,
        RequestSigner, SiteAccess, SourceError, SourceLimits,
    },
};
use crate::store::Store;

use super::{
    Programs, parity_pass::ParitySettings, settings::SiteRobotSettings, starts::is_of,
    when::next_round_ms,
};

/// What `email` is without being set.
const NO_EMAIL: &str = "user@domain";

/// Site robot of a configuration, and what happens around its runs.
///
/// A run that came to its end publishes heaven, where a directory is set for it, and
/// starts `cmd-hook`, where something was described.
#[derive(Clone, Debug)]
pub struct SiteRobotRuns {
    pub(super) robot: SiteRobot,
    pub(super) source: PageSource,
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) publication: Publication,
    pub(super) programs: Arc<Programs>,
    pub(super) hook: Option<CommandLine>,
    pub(super) on_completion: OnCompletion,
    pub(super) schedule: Option<Schedule>,
    is_at_home: bool,
    /// Which pages are read as scripts make them.
    pub(super) rendering: Rendering,
    /// Pages that are asked for again; none: all are visited.
    pub(super) only: Vec<Url>,
    /// How pages of heaven are compared after a run.
    pub(super) parity: ParitySettings,
    /// Who is told of pages that changed, if anybody is.
    pub(super) index_now: Option<Announcer>,
    /// Time between two publications of a long run.
    pub(super) publish_every: Duration,
    /// Whether the results are in force whatever they are.
    pub(super) accept: bool,
}

/// Where heaven is published to after a run, and from what.
#[derive(Clone, Debug)]
pub(super) struct Publication {
    pub(super) library: Library,
    pub(super) settings: HeavenSettings,
    /// None: heaven is served from the database, which needs no publication.
    pub(super) directory: Option<PathBuf>,
}

impl SiteRobotRuns {
    /// Makes the robot that the settings describe; layers of the same database let it pass.
    ///
    /// # Errors
    ///
    /// Fails when the database does, a value fits in no header, or the robot cannot be built.
    pub async fn new(settings: &SiteRobotSettings, store: &Store) -> anyhow::Result<Self> {
        let (own, clock) = (own_robot::unknown(), Clock::system());
        own_robot::load(&own, store, &clock).await?;
        Self::of(settings, store, clock, &own)
    }

    /// Makes a robot that is known by a key.
    pub(crate) fn of(
        settings: &SiteRobotSettings,
        store: &Store,
        clock: Clock,
        own: &OwnRobot,
    ) -> anyhow::Result<Self> {
        let conf = &settings.conf;
        let source = source(settings, own, &clock)?;
        let programs = Arc::new(Programs::new(conf, settings.converters.clone()));
        let builder = builder(settings, store, source.clone(), &programs);
        let library = Library::new(store.clone(), settings.site.clone());
        let mut robot = builder.clock(clock.clone()).build()?;
        if !settings.only.is_empty() {
            robot = robot.for_pages(settings.only.clone())?;
        }
        let hook = conf.cmd_hook.as_deref().and_then(command);
        Ok(Self {
            robot,
            source,
            store: store.clone(),
            clock,
            publication: Publication {
                library,
                settings: settings.heaven.clone(),
                directory: settings.directory.clone(),
            },
            programs,
            hook,
            on_completion: conf.on_completion,
            schedule: settings.schedule.clone(),
            is_at_home: (settings.starts.iter()).all(|start| settings.own_hosts.has(&start.url)),
            rendering: settings.render.0,
            only: settings.only.clone(),
            parity: settings.parity,
            index_now: settings.index_now.clone(),
            publish_every: conf.index_after,
            accept: settings.accept,
        })
    }

    /// Returns what asks for single pages again, and is the same otherwise.
    ///
    /// # Errors
    ///
    /// Fails with the first page that is outside of what the robot visits.
    pub(crate) fn for_pages(&self, urls: Vec<Url>) -> Result<Self, SiteRobotError> {
        Ok(Self {
            robot: self.robot.for_pages(urls.clone())?,
            only: urls,
            ..self.clone()
        })
    }

    /// Returns the robot itself.
    #[must_use]
    pub fn robot(&self) -> &SiteRobot {
        &self.robot
    }

    /// Asks for a page as a run would, with its login and at its upstream.
    ///
    /// # Errors
    ///
    /// Fails when nobody answers, or not within the limits of a run.
    pub async fn ask(&self, url: &Url) -> Result<PageResponse, SourceError> {
        self.source.ask(&PageRequest::get(url)).await
    }

    /// Returns the settings of the heaven that it fills.
    #[must_use]
    pub fn heaven(&self) -> &HeavenSettings {
        &self.publication.settings
    }

    /// Returns `true` if it begins at sites that are known as our own, whose layers let it pass.
    #[must_use]
    pub fn is_at_home(&self) -> bool {
        self.is_at_home
    }

    /// Returns what is to come after a run (`onCompletion`).
    #[must_use]
    pub fn on_completion(&self) -> OnCompletion {
        self.on_completion
    }

    /// Returns when the next round of a loop begins, behind the end of the last.
    #[must_use]
    pub fn next_round_ms(&self, finished_ms: i64) -> i64 {
        next_round_ms(self.schedule.as_ref(), finished_ms)
    }
}

impl Publication {
    /// Publishes what the database holds now; what did not change is left alone.
    pub(super) async fn publish(&self) -> Result<Option<PublishReport>, HeavenError> {
        let Some(directory) = &self.directory else {
            return Ok(None);
        };
        let published = publish(&self.library, directory, &self.settings).await?;
        if published.is_changed {
            let (pages, directory) = (published.catalogue.len(), directory.display());
            tracing::info!(pages, %directory, "published robot heaven, {pages} pages, in {directory}");
        }
        Ok(Some(published))
    }
}

fn builder(
    settings: &SiteRobotSettings,
    store: &Store,
    source: PageSource,
    programs: &Arc<Programs>,
) -> SiteRobotBuilder {
    let conf = &settings.conf;
    let mut builder = SiteRobot::builder(&settings.site, store.clone(), source)
        .filters(
            Arc::clone(&settings.enumeration),
            Arc::clone(&settings.generation),
        )
        .fingerprint(&settings.fingerprint)
        .commands(Arc::<Programs>::clone(programs))
        .obey_robots_txt(conf.enable_robots_txt)
        .tracking_parameters(&settings.tracking_parameters)
        .hold(settings.question.clone())
        .requests_per_run(settings.requests)
        .ip(conf.enable_ip)
        .probe(conf.enable_rdm_probe)
        .unite_hosts(conf.smart_host_heuristics)
        .max_connections(conf.max_connections)
        .site_max_connections(conf.site_max_connections)
        .engine_concurrent(conf.engine_concurrent)
        .max_working(conf.max_working)
        .server_delay(conf.server_delay.unwrap_or_default());
    let (render, browser) = &settings.render;
    let limits = RenderLimits {
        program: browser.clone(),
        max_html_bytes: conf.max_file_bytes,
        ..RenderLimits::default()
    };
    builder = builder.render(*render, limits);
    if conf.has_own("max-memory-per-url") {
        builder = builder.max_memory(conf.max_memory_per_url_bytes, conf.tmpdir.clone());
    }
    if conf.has_own("loglevel") {
        builder = builder.log_level(conf.loglevel);
    }
    for (host, obeys) in &settings.robots_of_hosts {
        builder = builder.obey_robots_txt_of(host, *obeys);
    }
    if let Some(token) = product_token(&conf.user_agent) {
        builder = builder.user_agent(token);
    }
    for start in &settings.starts {
        builder = builder.start(start.url.as_str(), start.depth);
    }
    if let Some(public) = &settings.public {
        for alias in &public.aliases {
            builder = builder.alias(alias, &public.url);
        }
    }
    for prefix in &settings.only_below {
        builder = builder.only_below(prefix);
    }
    for prefix in &settings.never_below {
        builder = builder.never_below(prefix);
    }
    builder
}

/// Returns the name that robots.txt is asked for: `robot/1.0 (…)` is `robot`.
fn product_token(user_agent: &str) -> Option<&str> {
    let is_end = |c: char| c == '/' || c.is_whitespace() || c == '(';
    let token = user_agent.split(is_end).next()?;
    (!token.is_empty()).then_some(token)
}

fn source(
    settings: &SiteRobotSettings,
    own: &OwnRobot,
    clock: &Clock,
) -> anyhow::Result<PageSource> {
    let conf = &settings.conf;
    let proxy = conf.auto_proxy.as_deref();
    let mut sites: Vec<(url::Origin, SiteAccess)> = Vec::new();
    let servers = settings.starts.iter().filter(|it| it.url.has_host());
    for start in servers {
        let origin = start.url.origin();
        // A login is for an origin: of several starting points of one, the first speaks for all.
        if sites.iter().all(|(known, _)| *known != origin) {
            sites.push((origin, access(settings, &start.url, start.is_configured)?));
        }
    }
    let signer = settings.signing.as_ref();
    let signer = signer
        .map(|signing| signing.signer(clock.clone()))
        .transpose()?;
    let limits = SourceLimits {
        connect_timeout: conf.connect_timeout,
        max_body_bytes: conf.max_file_bytes,
        ..SourceLimits::default()
    };
    let source = HttpSource::new(HttpSettings {
        user_agent: Some(conf.user_agent.clone()),
        // An address that nobody reads is worse than none in the `From` of each request.
        email: Some(conf.email.clone()).filter(|email| email != NO_EMAIL),
        referrer: conf.referer.clone(),
        proxy: proxy.and_then(|proxy| proxy.parse().ok()),
        limits: limits.clone(),
        sites: sites.into_iter().map(|(_, access)| access).collect(),
        login: settings.form_login.clone(),
        signer: signer.map(|signer| {
            RequestSigner::new(move |method, url, headers| signer.sign(method, url, headers))
        }),
        pass: Some(settings.own_hosts.clone().pass(own.clone(), clock.clone())),
    })?;
    Ok(match &settings.file_root {
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
    if let Some(credentials) = settings.login.clone().or(basic) {
        access = access.credentials(&credentials)?;
    }
    match &settings.upstream {
        Some((upstream, hosts)) if is_configured && (hosts.is_empty() || is_of(url, hosts)) => {
            access.upstream(upstream.clone())
        }
        _ => Ok(access),
    }
}

/// Reads a program and its arguments.
fn command(line: &str) -> Option<CommandLine> {
    let mut words = line.split_whitespace();
    let program = CommandLine::new(words.next()?);
    Some(words.fold(program, CommandLine::argument))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_token_is_the_start_of_the_name() {
        assert_eq!(
            product_token("robot-detection/0.1"),
            Some("robot-detection")
        );
        assert_eq!(product_token("Ours (a@b.example)"), Some("Ours"));
        assert_eq!(product_token("/x"), None);
    }

    #[test]
    fn a_hook_may_have_arguments() {
        let hook = command("/opt/hook -v a").unwrap();
        assert_eq!(hook.program, "/opt/hook");
        assert_eq!(hook.arguments, ["-v", "a"]);
        assert!(command(" ").is_none());
    }
}
