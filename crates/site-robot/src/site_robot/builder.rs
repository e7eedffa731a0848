//! Builder of a site robot.

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

/// Maximum length of a site name, in bytes; the name becomes part of database keys.
const MAX_SITE_BYTES: usize = 100;

/// Paths of pages that are generated for robots or for the administrator.
const EXCLUDED: [&str; 2] = ["/robot-heaven/", "/robot-detection/"];

/// Builder of a [`SiteRobot`]; see [`SiteRobot::builder`].
#[must_use]
#[derive(Debug)]
pub struct SiteRobotBuilder {
    settings: Settings,
    hosts: Vec<(String, LinkDepth)>,
}

/// Number of links to follow from a starting point.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LinkDepth {
    /// No links are followed: the URL only adds a host to the scope.
    Host,
    Own(Option<u32>),
    OfAll,
}

impl SiteRobotBuilder {
    pub(super) fn new(site: String, store: Store, source: PageSource) -> Self {
        let mut scope = Scope::default();
        // Robot heaven is generated from descriptions, so it would grow with each run if it was
        // described itself.
        for prefix in EXCLUDED {
            scope.exclude(prefix);
        }
        let filters =
            Filters::shipped(&Functions::new(), &NoFiles).expect("the bundled filters are valid");
        let filter = |name| {
            let filter = filters.filter(name).map(Arc::clone);
            filter.expect("the bundled filters have these names")
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

    /// Sets the values of all robot.conf keys that concern visits; `seed` lines add no starting
    /// points.
    ///
    /// Call this method before the setters for individual keys.
    pub fn conf(mut self, conf: &RobotConf) -> Self {
        self.settings.conf = conf.clone();
        self
    }

    /// Adds a starting point, and the number of links to follow from it; `None` means no limit.
    ///
    /// A starting point may be a sitemap or a feed; its entries have the same depth as the starting
    /// point. The hosts of starting points are in scope.
    pub fn start(mut self, url: impl Into<String>, depth: Option<u32>) -> Self {
        self.hosts.push((url.into(), LinkDepth::Own(depth)));
        self
    }

    /// Adds a starting point with the depth set by [`Self::depth`].
    pub fn start_at(mut self, url: impl Into<String>) -> Self {
        self.hosts.push((url.into(), LinkDepth::OfAll));
        self
    }

    /// Sets the maximum link depth from starting points (`depth`), 10 by default; `None` means no
    /// limit.
    pub fn depth(mut self, depth: Option<u32>) -> Self {
        self.settings.conf.depth = depth;
        self
    }

    /// Adds the host of a URL to the scope.
    pub fn host(mut self, url: impl Into<String>) -> Self {
        self.hosts.push((url.into(), LinkDepth::Host));
        self
    }

    /// Treats links to one site as links to another site, for example links to an upstream as links
    /// to its public site.
    ///
    /// Only the scheme, host and port of the URLs are used.
    pub fn alias(mut self, from: &Url, to: &Url) -> Self {
        self.settings.aliases.push((from.clone(), to.clone()));
        self
    }

    /// Sets the reason to hold new and changed pages for review even if an administrator accepts
    /// the run; by default, there is no such reason.
    pub fn hold(mut self, reason: Option<String>) -> Self {
        self.settings.hold = reason;
        self
    }

    /// Sets the tracking parameters that are removed from URLs; by default, the common parameters.
    ///
    /// See [`TrackingParameters::new`].
    pub fn tracking_parameters<S: AsRef<str>>(
        mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        self.settings.tracking = TrackingParameters::new(names);
        self
    }

    /// Restricts visits to paths that start with a prefix; by default, all paths are in scope.
    pub fn only_below(mut self, prefix: &str) -> Self {
        self.settings.scope.add_prefix(prefix);
        self
    }

    /// Excludes paths that start with a prefix, in addition to `/robot-heaven/` and
    /// `/robot-detection/`.
    pub fn never_below(mut self, prefix: &str) -> Self {
        self.settings.scope.exclude(prefix);
        self
    }

    /// Sets the filters (`enumeration-filter`, `generation-filter`); by default, the bundled
    /// filters.
    pub fn filters(mut self, enumeration: Arc<Filter>, generation: Arc<Filter>) -> Self {
        self.settings.enumeration = enumeration;
        self.settings.generation = generation;
        self
    }

    /// Sets the runner for converters and summarizers; by default, no programs are run.
    pub fn commands(mut self, commands: Arc<dyn Commands>) -> Self {
        self.settings.commands = commands;
        self
    }

    /// Sets a fingerprint of the filters and of all other rules that determine how pages are
    /// evaluated.
    ///
    /// If the fingerprint changes, the next run requests all pages unconditionally.
    pub fn fingerprint(mut self, fingerprint: impl Into<String>) -> Self {
        self.settings.fingerprint = fingerprint.into();
        self
    }

    /// Sets whether robots.txt is fetched and obeyed (`enable-robots-txt`); the default is `true`.
    pub fn obey_robots_txt(mut self, obey: bool) -> Self {
        self.settings.conf.enable_robots_txt = obey;
        self
    }

    /// Sets whether the robots.txt of a single host is obeyed, overriding
    /// [`Self::obey_robots_txt`].
    pub fn obey_robots_txt_of(mut self, host: &str, obey: bool) -> Self {
        self.settings.robots_of_hosts.push((host.to_owned(), obey));
        self
    }

    /// Sets the limits beyond which a URL is treated as a trap, such as an endless path or
    /// calendar.
    pub fn traps(mut self, limits: TrapLimits) -> Self {
        self.settings.traps = limits;
        self
    }

    /// Sets the maximum number of different queries visited per path in a run; the default is
    /// 10,000.
    pub fn max_queries(mut self, count: u32) -> Self {
        self.settings.max_queries = count;
        self
    }

    /// Sets which pages are rendered with scripts, and the limits of the browser; by default, no
    /// pages are rendered.
    pub fn render(mut self, which: Rendering, limits: RenderLimits) -> Self {
        self.settings.render = (which, limits);
        self
    }

    /// Sets the pause between two visits to a host (`server-delay`); by default, there is no pause.
    ///
    /// A longer `Crawl-delay` in robots.txt takes precedence.
    pub fn server_delay(mut self, delay: Duration) -> Self {
        self.settings.conf.server_delay = Some(delay);
        self
    }

    /// Sets the maximum number of pages requested in a run; by default, there is no maximum.
    ///
    /// Due pages come first. A page is due a day after it changed, and the interval doubles each
    /// time it is found unchanged; a page is also due when a sitemap lists a newer date. A tenth of
    /// the requests is reserved for new pages. All other pages keep their descriptions.
    pub fn requests_per_run(mut self, requests: Option<u64>) -> Self {
        self.settings.requests_per_run = requests;
        self
    }

    /// Sets the number of retries if a page fails, and the pause before the first retry.
    ///
    /// The default is 2 retries and 2 seconds. Each pause is four times as long as the previous
    /// one, or as long as the server requests.
    pub fn retries(mut self, retries: u32, delay: Duration) -> Self {
        self.settings.retries = (retries, delay);
        self
    }

    /// Sets the clock; by default, the system clock.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.settings.clock = clock;
        self
    }

    /// Sets a function that is called with the summary of each run (`cmd-hook`, `onCompletion`).
    pub fn on_end(mut self, hook: impl Fn(&Summary) + Send + Sync + 'static) -> Self {
        self.settings.on_end = Some(Arc::new(hook));
        self
    }

    /// Builds the site robot.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no starting point, if a starting point is not an HTTP URL, or
    /// if the site name is empty or too long.
    pub fn build(self) -> Result<SiteRobot, SiteRobotError> {
        let mut settings = self.settings;
        if !(1..=MAX_SITE_BYTES).contains(&settings.site.len()) {
            let name = settings.site;
            return Err(SiteRobotError::BadSite { name });
        }
        if self
            .hosts
            .iter()
            .all(|(_, reach)| *reach == LinkDepth::Host)
        {
            return Err(SiteRobotError::NoStartingPoint);
        }
        for (text, reach) in self.hosts {
            let mut url = address(&text)?;
            if settings.conf.smart_host_heuristics {
                unite_hosts(&mut url);
            }
            settings.scope.add_host_of(&url);
            let max_depth = match reach {
                LinkDepth::Host => continue,
                LinkDepth::Own(depth) => depth,
                LinkDepth::OfAll => settings.conf.depth,
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
    normalise(url).ok_or_else(|| bad(format!("unsupported scheme {scheme}:")))
}
