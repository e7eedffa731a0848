//! Settings of a site robot, checked.

use std::{sync::Arc, time::Duration};

use crate::document::normalise;
use crate::filter::{Commands, Filter, RunNames};
use crate::render::RenderLimits;
use robot_detection_layer::clock::Clock;
use robot_detection_robots_txt::Dialect;
use robot_detection_store::fetch::shown_url;
use robot_detection_store::store::Store;

use super::{
    Rendering, SiteRobotError, TrapLimits,
    aside::MemoryLimit,
    links::{check, to_canonical_form},
    scope::Scope,
    source::PageSource,
};

/// Starting point.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Start {
    pub(super) url: url::Url,
    pub(super) max_depth: Option<u32>,
}

/// Settings of a robot; see the builder for what they mean.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that do not depend on each other"
)]
pub(super) struct Settings {
    pub(super) site: String,
    pub(super) instance: String,
    pub(super) user_agent: String,
    pub(super) store: Store,
    pub(super) source: PageSource,
    pub(super) clock: Clock,
    pub(super) enumeration: Arc<Filter>,
    pub(super) generation: Arc<Filter>,
    pub(super) commands: Arc<dyn Commands>,
    pub(super) names: Arc<RunNames>,
    pub(super) starts: Vec<Start>,
    /// Pages that are asked for again, and nothing else; none: all are visited.
    pub(super) only: Vec<url::Url>,
    pub(super) scope: Scope,
    pub(super) fingerprint: String,
    pub(super) dialect: Dialect,
    pub(super) obeys: ObeyedRules,
    pub(super) limits: Limits,
    /// Which pages are rendered, and within which limits.
    pub(super) render: (Rendering, RenderLimits),
    /// Bytes of a page that wait in memory, if that is limited.
    pub(super) memory: Option<MemoryLimit>,
    pub(super) traps: TrapLimits,
    /// Queries of one path that are visited.
    pub(super) max_queries: u32,
    pub(super) uses_sitemaps: bool,
    /// Whether servers are asked for descriptions of their own.
    pub(super) probes: bool,
    pub(super) tells_ip: bool,
    /// What of a run is logged, as `loglevel` says; nothing: its end.
    pub(super) log_level: Option<u8>,
    /// Hosts whose robots.txt counts whatever the others' do.
    pub(super) robots_of_hosts: Vec<(String, bool)>,
    /// Sites that stand for another one, and that one.
    pub(super) aliases: Vec<(url::Url, url::Url)>,
    /// Parameters that URLs are known without.
    pub(super) tracking: crate::document::TrackingParameters,
    /// Whether `www1.` and `www2.` are `www.`.
    pub(super) unites_hosts: bool,
    /// Reason to hold back new and changed pages even if the run is accepted.
    pub(super) hold: Option<String>,
    pub(super) on_end: Option<Arc<super::OnEnd>>,
}

/// Directives of a site that are obeyed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that do not depend on each other"
)]
pub(super) struct ObeyedRules {
    pub(super) robots_txt: bool,
    pub(super) header: bool,
    pub(super) meta: bool,
    pub(super) rel_nofollow: bool,
}

/// Numbers and times.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Limits {
    pub(super) max_connections: usize,
    pub(super) site_max_connections: usize,
    pub(super) readers: usize,
    pub(super) max_working: usize,
    pub(super) server_delay: Duration,
    /// Requests of one run; none: as many as there are pages.
    pub(super) requests: Option<u64>,
    pub(super) retries: u32,
    pub(super) retry_delay: Duration,
}

// The numbers that robot.conf has keys for are those of its reference; retries are ours.
impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 8,
            site_max_connections: 2,
            readers: 10,
            max_working: 1_024,
            server_delay: Duration::ZERO,
            requests: None,
            retries: 2,
            retry_delay: Duration::from_secs(2),
        }
    }
}

impl Settings {
    /// Asks for single pages again; fails with the first that is not to be visited.
    pub(super) fn take_pages(&mut self, urls: Vec<url::Url>) -> Result<(), SiteRobotError> {
        for url in urls {
            let wrong = |reason: String| SiteRobotError::NotVisited {
                url: shown_url(url.as_str()),
                reason,
            };
            let page = normalise(url.clone()).map(|url| to_canonical_form(self, url));
            let page = page.ok_or_else(|| wrong("it is no URL to fetch".to_owned()))?;
            check(self, &page).map_err(|rejection| wrong(rejection.to_string()))?;
            self.only.push(page);
        }
        Ok(())
    }

    /// Returns `true` if what is logged from this `loglevel` on is to be seen.
    pub(super) fn tells(&self, level: u8) -> bool {
        self.log_level.is_some_and(|own| own >= level)
    }

    /// Returns `true` if the robots.txt of a URL's host is obeyed.
    pub(super) fn obeys_robots_of(&self, url: &url::Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let mut own = self.robots_of_hosts.iter();
        let own = own.find(|(name, _)| name.eq_ignore_ascii_case(host));
        own.map_or(self.obeys.robots_txt, |(_, obeys)| *obeys)
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("site", &self.site)
            .field("starts", &self.starts)
            .field("scope", &self.scope)
            .field("obeys", &self.obeys)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Number of the rules by which pages are read: with others, whole pages are asked for again.
const READ_BY: u32 = 2;

/// Returns a text that tells runs apart that cannot go on as each other.
pub(super) fn run_settings(settings: &Settings) -> String {
    let pages = if settings.only.is_empty() {
        ""
    } else {
        "-pages"
    };
    format!("{}{pages}", fingerprint(settings))
}

/// Returns a text that changes when pages would be judged otherwise.
pub(super) fn fingerprint(settings: &Settings) -> String {
    use md5::{Digest as _, Md5};
    let judged_by = format!(
        "{READ_BY}\n{}\n{}\n{}\n{}\n{:?}{}",
        settings.fingerprint,
        settings.enumeration.name(),
        settings.generation.name(),
        settings.user_agent,
        settings.obeys,
        // Without a browser it is the text that it was before there was one.
        match settings.render.0 {
            Rendering::Never => String::new(),
            some => format!("\nrender {}", some.as_str()),
        },
    );
    let digest = Md5::digest(judged_by);
    hex::encode(digest)
}
