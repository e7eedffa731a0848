//! The builder of a site robot.

use std::{sync::Arc, time::Duration};

use url::Url;

use crate::document::{TrackingParameters, normalise};
use crate::filter::{Commands, Filter, Filters, Functions, NoCommands, NoFiles, RunNames};
use crate::render::RenderLimits;
use robot_detection_layer::clock::Clock;
use robot_detection_store::store::Store;

use super::{
    Rendering, RobotConf, SiteRobot, SiteRobotError, Summary, TrapLimits,
    links::unite_hosts,
    scope::Scope,
    settings::{Settings, Start},
    source::PageSource,
};

/// Bytes of a site's name; it is a part of keys in the database.
const MAX_SITE_BYTES: usize = 100;

/// Paths that are made for robots, or for the administrator.
const EXCLUDED: [&str; 2] = ["/robot-heaven/", "/robot-detection/"];

/// Builder of a [`SiteRobot`]; see [`SiteRobot::builder`].
#[must_use]
#[derive(Debug)]
pub struct SiteRobotBuilder {
    settings: Settings,
    hosts: Vec<(String, Reach)>,
}

/// How many links from a starting point are followed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Reach {
    /// None: it only names a host.
    Host,
    Own(Option<u32>),
    OfAll,
}

impl SiteRobotBuilder {
    pub(super) fn new(site: String, store: Store, source: PageSource) -> Self {
        let mut scope = Scope::default();
        // Heaven is made of descriptions: described itself, it would grow with each run.
        for prefix in EXCLUDED {
            scope.exclude(prefix);
        }
        let filters = Filters::shipped(&Functions::new(), &NoFiles)
            .expect("the filters that ship are read by a test");
        let filter = |name| {
            let filter = filters.filter(name).map(Arc::clone);
            filter.expect("the filters that ship have these names")
        };
        let settings = Settings {
            conf: RobotConf::default(),
            instance: super::holder_name(),
            store,
            source,
            clock: Clock::system(),
            enumeration: filter(Filters::ENUMERATION),
            generation: filter(Filters::GENERATION),
            commands: Arc::new(NoCommands),
            names: Arc::new(RunNames::default()),
            starts: Vec::new(),
            only: Vec::new(),
            scope,
            fingerprint: String::new(),
            requests_per_run: None,
            retries: (2, Duration::from_secs(2)),
            render: (Rendering::Never, RenderLimits::default()),
            traps: TrapLimits::default(),
            max_queries: 10_000,
            robots_of_hosts: Vec::new(),
            aliases: Vec::new(),
            tracking: TrackingParameters::default(),
            hold: None,
            on_end: None,
            site,
        };
        Self {
            settings,
            hosts: Vec::new(),
        }
    }

    /// Sets all keys of a robot.conf that are about visits; its `seed` lines add no starting points.
    ///
    /// The setters of the same settings change single keys of it, so they come later.
    pub fn conf(mut self, conf: &RobotConf) -> Self {
        self.settings.conf = conf.clone();
        self
    }

    /// Adds a starting point, and how many links from it are followed; `None` for any number.
    ///
    /// A sitemap or a feed may be one: what it lists is as near as itself. Hosts
    /// of starting points are in scope.
    pub fn start(mut self, url: impl Into<String>, depth: Option<u32>) -> Self {
        self.hosts.push((url.into(), Reach::Own(depth)));
        self
    }

    /// Adds a starting point with the depth of [`Self::depth`].
    pub fn start_at(mut self, url: impl Into<String>) -> Self {
        self.hosts.push((url.into(), Reach::OfAll));
        self
    }

    /// Sets how many links from a starting point are followed; default 10, `None` for any (`depth`).
    pub fn depth(mut self, depth: Option<u32>) -> Self {
        self.settings.conf.depth = depth;
        self
    }

    /// Adds a host to those of the starting points, by a URL of it.
    pub fn host(mut self, url: impl Into<String>) -> Self {
        self.hosts.push((url.into(), Reach::Host));
        self
    }

    /// Treats links to one site as links to another, such as an upstream's as the public ones.
    ///
    /// Scheme, host and port of both count, and nothing else of their URLs.
    pub fn alias(mut self, from: &Url, to: &Url) -> Self {
        self.settings.aliases.push((from.clone(), to.clone()));
        self
    }

    /// Holds back new and changed pages for a reason, also where a run is accepted; nothing by default.
    pub fn hold(mut self, reason: Option<String>) -> Self {
        self.settings.hold = reason;
        self
    }

    /// Sets the parameters that URLs are known without, the usual ones by default.
    ///
    /// See [`TrackingParameters::new`].
    pub fn tracking_parameters<S: AsRef<str>>(
        mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        self.settings.tracking = TrackingParameters::new(names);
        self
    }

    /// Restricts visits to paths that begin so; without any, all paths are in.
    pub fn only_below(mut self, prefix: &str) -> Self {
        self.settings.scope.add_prefix(prefix);
        self
    }

    /// Excludes paths that begin so, beside `/robot-heaven/` and `/robot-detection/`.
    pub fn never_below(mut self, prefix: &str) -> Self {
        self.settings.scope.exclude(prefix);
        self
    }

    /// Sets the filters; by default those that ship (`enumeration-filter`, `generation-filter`).
    pub fn filters(mut self, enumeration: Arc<Filter>, generation: Arc<Filter>) -> Self {
        self.settings.enumeration = enumeration;
        self.settings.generation = generation;
        self
    }

    /// Sets the runner of converters and summarizers; by default there is none.
    pub fn commands(mut self, commands: Arc<dyn Commands>) -> Self {
        self.settings.commands = commands;
        self
    }

    /// Sets a text that stands for the filters and all else that pages are judged by.
    ///
    /// When it changes, the next run asks for whole pages again.
    pub fn fingerprint(mut self, fingerprint: impl Into<String>) -> Self {
        self.settings.fingerprint = fingerprint.into();
        self
    }

    /// Sets whether robots.txt is fetched and obeyed; default true (`enable-robots-txt`).
    pub fn obey_robots_txt(mut self, obey: bool) -> Self {
        self.settings.conf.enable_robots_txt = obey;
        self
    }

    /// Sets whether one host's robots.txt is obeyed, whatever [`Self::obey_robots_txt`] says.
    pub fn obey_robots_txt_of(mut self, host: &str, obey: bool) -> Self {
        self.settings.robots_of_hosts.push((host.to_owned(), obey));
        self
    }

    /// Sets the limits beyond which a URL counts as a trap: endless paths, calendars and the like.
    pub fn traps(mut self, limits: TrapLimits) -> Self {
        self.settings.traps = limits;
        self
    }

    /// Sets how many queries of one path are visited in a run; default 10,000.
    pub fn max_queries(mut self, count: u32) -> Self {
        self.settings.max_queries = count;
        self
    }

    /// Sets which pages are read as scripts make them, and the limits of the browser that runs
    /// them; none by default.
    pub fn render(mut self, which: Rendering, limits: RenderLimits) -> Self {
        self.settings.render = (which, limits);
        self
    }

    /// Sets the pause between two visits of a host; default none (`server-delay`).
    ///
    /// A longer `Crawl-delay` of its robots.txt counts.
    pub fn server_delay(mut self, delay: Duration) -> Self {
        self.settings.conf.server_delay = Some(delay);
        self
    }

    /// Sets how many pages are asked for in a run; by default all.
    ///
    /// Then those come first that are due: a page is after a day where it has changed, after
    /// twice as long each time where it has not, and where a sitemap says that it is newer. A
    /// tenth is left for new pages. Others are kept as they are.
    pub fn requests_per_run(mut self, requests: Option<u64>) -> Self {
        self.settings.requests_per_run = requests;
        self
    }

    /// Sets how often a page that fails is tried again, and after how long first.
    ///
    /// Default 2 and 2 seconds; each pause is four times the last one, or as long
    /// as the server asks.
    pub fn retries(mut self, retries: u32, delay: Duration) -> Self {
        self.settings.retries = (retries, delay);
        self
    }

    /// Sets the clock; by default the system's.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.settings.clock = clock;
        self
    }

    /// Sets what is called with each run's summary (`cmd-hook`, `onCompletion`).
    pub fn on_end(mut self, hook: impl Fn(&Summary) + Send + Sync + 'static) -> Self {
        self.settings.on_end = Some(Arc::new(hook));
        self
    }

    /// Builds the robot.
    ///
    /// # Errors
    ///
    /// Fails without a starting point, when one is no HTTP URL, and when the
    /// site's name is empty or too long.
    pub fn build(self) -> Result<SiteRobot, SiteRobotError> {
        let mut settings = self.settings;
        if !(1..=MAX_SITE_BYTES).contains(&settings.site.len()) {
            let name = settings.site;
            return Err(SiteRobotError::BadSite { name });
        }
        if self.hosts.iter().all(|(_, reach)| *reach == Reach::Host) {
            return Err(SiteRobotError::NoStartingPoint);
        }
        for (text, reach) in self.hosts {
            let mut url = address(&text)?;
            if settings.conf.smart_host_heuristics {
                unite_hosts(&mut url);
            }
            settings.scope.add_host_of(&url);
            let max_depth = match reach {
                Reach::Host => continue,
                Reach::Own(depth) => depth,
                Reach::OfAll => settings.conf.depth,
            };
            settings.starts.push(Start { url, max_depth });
        }
        settings.names = Arc::new(RunNames {
            csid: settings.site.clone(),
            enumeration_filter: settings.enumeration.name().to_owned(),
            generation_filter: settings.generation.name().to_owned(),
        });
        Ok(SiteRobot::new(settings))
    }
}

fn address(text: &str) -> Result<Url, SiteRobotError> {
    let bad = |reason: String| SiteRobotError::BadStartingPoint {
        url: text.to_owned(),
        reason,
    };
    let url = Url::parse(text.trim()).map_err(|error| bad(error.to_string()))?;
    let scheme = url.scheme().to_owned();
    if scheme == "file" {
        return Ok(url);
    }
    normalise(url).ok_or_else(|| bad(format!("{scheme}: is not visited")))
}
