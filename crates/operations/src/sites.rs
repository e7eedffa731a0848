//! The sites of the process, as the application describes them for the console.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use axum::http;
use schemars::JsonSchema;
use serde::Serialize;

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
    /// Function that returns the upstream servers and their states.
    pub upstreams: Provider<Vec<UpstreamRow>>,
    /// Function that returns the numbers of requests since startup.
    pub counts: Provider<SiteCounts>,
    /// Function that returns a warning if a proxy appears to hide the clients' addresses.
    pub front: Provider<Option<String>>,
    /// Function that finds the heaven page for a path.
    pub own_pages: Arc<FindOwnPage>,
    /// Function that finds the part of the program that responds to a request that passes.
    pub answers: Arc<FindResponder>,
}

/// Function that returns a current value.
pub type Provider<T> = Arc<dyn Fn() -> T + Send + Sync>;

/// Function that returns the heaven page that is served directly for a path and query.
pub type FindOwnPage = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

/// Function that returns the part of the program that responds to a request; `None` means the site
/// itself.
pub type FindResponder = dyn Fn(&Request<'_>, &str) -> Option<String> + Send + Sync;

/// Function that returns the reason why a suspect is not served a copy of a page; `None` if a copy
/// is allowed.
pub type RefuseCopy = dyn Fn(&http::Request<()>) -> Option<&'static str> + Send + Sync;

/// An upstream server of a site, as shown on the sites page.
#[derive(Clone, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(rename = "Upstream")]
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

/// Returns a host without its port.
pub fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}
