//! The sites of the process, as the application describes them for the console.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use axum::http;

use robot_detection_layer::policy::{ByAction, Enforcer, Request, SharedPolicy};
use robot_detection_layer::suspect::BrowserCheck;

/// Name of the site that a `RobotDetection` handle itself serves.
pub const DEFAULT_SITE: &str = "default";

/// The sites shown on the console's pages, replaced as a whole. Clones share the sites.
#[derive(Clone, Debug, Default)]
pub struct SharedSites {
    current: Arc<ArcSwap<Vec<AdminSite>>>,
}

/// A site, as shown on the console's pages.
#[derive(Clone)]
#[must_use]
pub struct AdminSite {
    /// Name of the site.
    pub name: String,
    /// Hosts of the site.
    pub hosts: Vec<String>,
    /// Path prefix of the site.
    pub path: String,
    /// Policy that is in force for the site.
    pub policy: SharedPolicy,
    /// Enforcer of the site's robots.txt.
    pub enforcer: Enforcer,
    /// URL of robot heaven, and the source of its pages.
    pub heaven: Option<(String, String)>,
    /// Source of the site's `/robots.txt`.
    pub robots_txt: String,
    /// HTML snippet that links to the site's traps, if any.
    pub traps: Option<String>,
    /// Checker that distinguishes browsers from programs that claim to be browsers.
    pub suspects: Option<Arc<BrowserCheck>>,
    /// Function that returns the reason why a suspect is not served a copy of a page.
    pub no_copy: Arc<RefuseCopy>,
    upstreams: Provider<Vec<UpstreamRow>>,
    counts: Provider<SiteCounts>,
    front: Provider<Option<String>>,
    /// Function that finds the heaven page for a path.
    pub own_pages: Arc<FindOwnPage>,
    /// Function that finds the part of the program that responds to a request that passes.
    pub answers: Arc<FindResponder>,
}

type Provider<T> = Arc<dyn Fn() -> T + Send + Sync>;

/// Function that returns the heaven page that is served directly for a path and query.
pub type FindOwnPage = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

/// Function that returns the part of the program that responds to a request; `None` means the site
/// itself.
pub type FindResponder = dyn Fn(&Request<'_>, &str) -> Option<String> + Send + Sync;

/// Function that returns the reason why a suspect is not served a copy of a page; `None` if a copy
/// is allowed.
pub type RefuseCopy = dyn Fn(&http::Request<()>) -> Option<&'static str> + Send + Sync;

/// An upstream server of a site, as shown on the sites page.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct UpstreamRow {
    /// URL of the upstream server.
    pub url: String,
    /// State of the server in a few words; empty if unknown.
    pub state: String,
    /// Whether requests are currently not sent to the server.
    pub is_down: bool,
}

/// The numbers of requests to a site since startup.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SiteCounts {
    /// Number of requests from people that passed.
    pub people: u64,
    /// Number of requests without a User-Agent that passed.
    pub nameless: u64,
    /// Number of requests from robots, by action.
    pub robots: ByAction<u64>,
}

impl SharedSites {
    /// Returns the current sites.
    pub fn load(&self) -> Arc<Vec<AdminSite>> {
        self.current.load_full()
    }

    /// Replaces all sites.
    pub fn replace(&self, sites: Vec<AdminSite>) {
        self.current.store(Arc::new(sites));
    }
}

impl AdminSite {
    /// Creates a site for the given hosts and path; an empty list of hosts means all other hosts.
    pub fn new(name: String, hosts: Vec<String>, path: String, policy: SharedPolicy) -> Self {
        Self {
            name,
            hosts,
            path,
            policy,
            enforcer: Enforcer::default(),
            heaven: None,
            robots_txt: String::new(),
            traps: None,
            suspects: None,
            no_copy: Arc::new(|_| None),
            upstreams: Arc::new(Vec::new),
            counts: Arc::new(SiteCounts::default),
            front: Arc::new(|| None),
            own_pages: Arc::new(|_, _| None),
            answers: Arc::new(|_, _| None),
        }
    }

    /// Sets the enforcer of robots.txt.
    pub fn enforcer(mut self, enforcer: Enforcer) -> Self {
        self.enforcer = enforcer;
        self
    }

    /// Sets the path and directory of robot heaven; `None` if this process does not serve robot
    /// heaven.
    pub fn heaven(mut self, heaven: Option<(String, String)>) -> Self {
        self.heaven = heaven;
        self
    }

    /// Sets the description of the source of the site's `/robots.txt`.
    pub fn robots_txt(mut self, word: impl Into<String>) -> Self {
        self.robots_txt = word.into();
        self
    }

    /// Sets the HTML snippet that links to the site's traps; `None` if the site has no traps.
    pub fn traps(mut self, snippet: Option<String>) -> Self {
        self.traps = snippet;
        self
    }

    /// Sets the checker that distinguishes browsers from programs that claim to be browsers; `None`
    /// disables the check.
    pub fn suspects(mut self, browser_check: Option<Arc<BrowserCheck>>) -> Self {
        self.suspects = browser_check;
        self
    }

    /// Sets the function that returns the reason why a suspect is not served a copy of a page.
    pub fn no_copy(
        mut self,
        refuse: impl Fn(&http::Request<()>) -> Option<&'static str> + Send + Sync + 'static,
    ) -> Self {
        self.no_copy = Arc::new(refuse);
        self
    }

    /// Sets the function that returns the site's upstream servers.
    pub fn upstreams(mut self, ask: impl Fn() -> Vec<UpstreamRow> + Send + Sync + 'static) -> Self {
        self.upstreams = Arc::new(ask);
        self
    }

    /// Sets the function that returns the site's request counts.
    pub fn counts(mut self, ask: impl Fn() -> SiteCounts + Send + Sync + 'static) -> Self {
        self.counts = Arc::new(ask);
        self
    }

    /// Sets a function that reports a front proxy that hides the visitors' addresses, and how to
    /// correct this.
    pub fn front(mut self, ask: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        self.front = Arc::new(ask);
        self
    }

    /// Sets the function that returns the heaven page that is served directly for a path and query.
    pub fn own_pages(
        mut self,
        find: impl Fn(&str, &str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.own_pages = Arc::new(find);
        self
    }

    /// Sets the function that returns the part of the program that responds to a request that
    /// passes.
    pub fn answers(
        mut self,
        who: impl Fn(&Request<'_>, &str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.answers = Arc::new(who);
        self
    }

    /// Returns the current states of the site's upstream servers.
    pub fn upstream_states(&self) -> Vec<UpstreamRow> {
        (self.upstreams)()
    }

    /// Returns the site's current request counts.
    pub fn request_counts(&self) -> SiteCounts {
        (self.counts)()
    }

    /// Returns the text about the proxy or CDN that hides the visitors' addresses, if there is one.
    pub fn masking_proxy(&self) -> Option<String> {
        (self.front)()
    }

    /// Returns `true` if the host belongs to the site, regardless of the path.
    pub fn matches_host(&self, host: &str) -> bool {
        let host = without_port(host).trim_end_matches('.');
        self.hosts
            .iter()
            .any(|known| match known.strip_prefix('*') {
                None => known.eq_ignore_ascii_case(host),
                Some(suffix) => host
                    .len()
                    .checked_sub(suffix.len())
                    .and_then(|start| host.get(start..))
                    .is_some_and(|end| end.eq_ignore_ascii_case(suffix)),
            })
    }
}

impl fmt::Debug for AdminSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminSite")
            .field("name", &self.name)
            .field("hosts", &self.hosts)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl UpstreamRow {
    /// Creates a row for a server whose state is unknown.
    pub fn new(url: String) -> Self {
        Self {
            url,
            ..Self::default()
        }
    }

    /// Sets the server's state in a few words, and whether requests are currently not sent to the
    /// server.
    #[must_use]
    pub fn state(mut self, words: impl Into<String>, is_down: bool) -> Self {
        self.state = words.into();
        self.is_down = is_down;
        self
    }
}

/// Returns a host without its port.
pub fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}
