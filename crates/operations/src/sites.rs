//! Sites of the process, as the application describes them to the pages.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use axum::http;

use robot_detection_layer::policy::{ByAction, Enforcer, Request, SharedPolicy};
use robot_detection_layer::suspect::Coherence;

/// Name of the site that the handle itself is for.
pub const DEFAULT_SITE: &str = "default";

/// Sites that the pages show; they are exchanged as a whole. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SharedSites {
    current: Arc<ArcSwap<Vec<AdminSite>>>,
}

/// Site that the pages show.
#[derive(Clone)]
#[must_use]
pub struct AdminSite {
    /// Name.
    pub name: String,
    /// Hosts of the site.
    pub hosts: Vec<String>,
    /// Path prefix.
    pub path: String,
    /// Policy in force.
    pub policy: SharedPolicy,
    /// Enforces robots.txt.
    pub enforcer: Enforcer,
    /// URL of robot heaven, and the source of its pages.
    pub heaven: Option<(String, String)>,
    /// Source of /robots.txt.
    pub robots_txt: String,
    /// First trap path, if any.
    pub traps: Option<String>,
    /// Distinguishes browsers from programs that claim to be one.
    pub suspects: Option<Arc<Coherence>>,
    /// Returns the reason why a suspect gets no copy.
    pub no_copy: Arc<RefuseCopy>,
    upstreams: Provider<Vec<UpstreamRow>>,
    counts: Provider<SiteCounts>,
    front: Provider<Option<String>>,
    /// Finds the page of robot heaven for a path.
    pub own_pages: Arc<FindOwnPage>,
    /// Finds the responder for a passing request.
    pub answers: Arc<FindResponder>,
}

type Provider<T> = Arc<dyn Fn() -> T + Send + Sync>;

/// Function that returns the page of heaven made from a path and query, in place of a location.
pub type FindOwnPage = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

/// Function that returns the part of the program that answers a request; `None` for the site.
pub type FindResponder = dyn Fn(&Request<'_>, &str) -> Option<String> + Send + Sync;

/// Function that returns why a suspect gets no copy of the page that he asks for; `None` where he does.
pub type RefuseCopy = dyn Fn(&http::Request<()>) -> Option<&'static str> + Send + Sync;

/// Server behind a site.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct UpstreamRow {
    /// Its URL.
    pub url: String,
    /// State in a few words; empty: not known.
    pub state: String,
    /// Nothing is sent to it at the moment.
    pub is_down: bool,
}

/// Requests of a site since the start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SiteCounts {
    /// Of people, passed.
    pub people: u64,
    /// Without a User-Agent, passed.
    pub nameless: u64,
    /// Of robots, by what was done.
    pub robots: ByAction<u64>,
}

impl SharedSites {
    /// Returns the sites of the moment.
    pub fn load(&self) -> Arc<Vec<AdminSite>> {
        self.current.load_full()
    }

    /// Shows other sites from now on.
    pub fn replace(&self, sites: Vec<AdminSite>) {
        self.current.store(Arc::new(sites));
    }
}

impl AdminSite {
    /// Creates a site that is reached at hosts and a path; no host: every other.
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

    /// Sets path and directory of robot heaven; none: it is not served here.
    pub fn heaven(mut self, heaven: Option<(String, String)>) -> Self {
        self.heaven = heaven;
        self
    }

    /// Sets the word for what `/robots.txt` is.
    pub fn robots_txt(mut self, word: impl Into<String>) -> Self {
        self.robots_txt = word.into();
        self
    }

    /// Sets the mark-up that links to its traps; none: it has no traps.
    pub fn traps(mut self, snippet: Option<String>) -> Self {
        self.traps = snippet;
        self
    }

    /// Sets who judges whether its visitors are the browsers that they name; `None`: nobody does.
    pub fn suspects(mut self, coherence: Option<Arc<Coherence>>) -> Self {
        self.suspects = coherence;
        self
    }

    /// Sets the function that returns why a suspect gets no copy of a page.
    pub fn no_copy(
        mut self,
        refuse: impl Fn(&http::Request<()>) -> Option<&'static str> + Send + Sync + 'static,
    ) -> Self {
        self.no_copy = Arc::new(refuse);
        self
    }

    /// Sets the function that returns the servers behind it.
    pub fn upstreams(mut self, ask: impl Fn() -> Vec<UpstreamRow> + Send + Sync + 'static) -> Self {
        self.upstreams = Arc::new(ask);
        self
    }

    /// Sets the function that returns the counts of its requests.
    pub fn counts(mut self, ask: impl Fn() -> SiteCounts + Send + Sync + 'static) -> Self {
        self.counts = Arc::new(ask);
        self
    }

    /// Sets the function that returns which front hides its visitors, and what to do.
    pub fn front(mut self, ask: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        self.front = Arc::new(ask);
        self
    }

    /// Sets the function that returns the page of heaven made from a page, in place of a location.
    pub fn own_pages(
        mut self,
        find: impl Fn(&str, &str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.own_pages = Arc::new(find);
        self
    }

    /// Sets the function that returns the part of the program that answers a passing request.
    pub fn answers(
        mut self,
        who: impl Fn(&Request<'_>, &str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.answers = Arc::new(who);
        self
    }

    /// Returns the upstream states.
    pub fn ask_upstreams(&self) -> Vec<UpstreamRow> {
        (self.upstreams)()
    }

    /// Returns the request counts.
    pub fn ask_counts(&self) -> SiteCounts {
        (self.counts)()
    }

    /// Returns the proxy or CDN in front of the server.
    pub fn ask_front(&self) -> Option<String> {
        (self.front)()
    }

    /// Returns `true` if a host is one of the site's, whatever the path.
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
    /// Creates a row for a server whose state is not known.
    pub fn new(url: String) -> Self {
        Self {
            url,
            ..Self::default()
        }
    }

    /// Sets its state in a few words, and whether nothing is sent to it.
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
