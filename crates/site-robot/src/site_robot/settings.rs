//! Validated settings of a site robot.

use std::{sync::Arc, time::Duration};

use crate::filter::{Commands, Filter, RunNames};
use crate::render::RenderLimits;
use robot_detection_layer::clock::Clock;
use robot_detection_store::store::{Frontier, Publications, Store};

use super::{RobotConf, TrapLimits, scope::Scope, source::PageSource};

/// Robot name used if the User-Agent is empty.
const USER_AGENT: &str = "robot-detection";

robot_detection_layer::words! {
    /// Selection of the pages that are rendered with scripts.
    #[derive(Default)]
    pub enum Rendering {
        /// No pages are rendered.
        #[default]
        Never = "never",
        /// Pages that contain scripts but no text are rendered.
        Empty = "empty",
        /// All HTML pages are rendered.
        Always = "always",
    }
}

/// A starting point of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Start {
    pub(super) url: url::Url,
    pub(super) max_depth: Option<u32>,
}

/// Settings of a site robot; the builder documents their meaning.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) conf: RobotConf,
    pub(super) site: String,
    pub(super) instance: String,
    pub(super) store: Store,
    pub(super) source: PageSource,
    pub(super) clock: Clock,
    pub(super) enumeration: Arc<Filter>,
    pub(super) generation: Arc<Filter>,
    pub(super) commands: Arc<dyn Commands>,
    pub(super) names: Arc<RunNames>,
    pub(super) starts: Vec<Start>,
    /// Single pages to be requested again; if empty, all pages are visited.
    pub(super) only: Vec<url::Url>,
    pub(super) scope: Scope,
    pub(super) fingerprint: String,
    /// Maximum number of pages requested per run; `None` for no limit.
    pub(super) requests_per_run: Option<u64>,
    /// Number of retries for a failed page, and the pause before the first retry.
    pub(super) retries: (u32, Duration),
    /// Selection of pages to render, and the limits of the browser.
    pub(super) render: (Rendering, RenderLimits),
    pub(super) traps: TrapLimits,
    /// Maximum number of queries visited per path.
    pub(super) max_queries: u32,
    /// Hosts for which a separate setting determines whether robots.txt is obeyed.
    pub(super) robots_of_hosts: Vec<(String, bool)>,
    /// Pairs of an alias site and the site that it represents.
    pub(super) aliases: Vec<(url::Url, url::Url)>,
    /// Tracking parameters that are removed from URLs.
    pub(super) tracking: crate::document::TrackingParameters,
    /// Reason to hold new and changed pages for review, even if an administrator accepts the run.
    pub(super) hold: Option<String>,
    pub(super) on_end: Option<Arc<super::OnEnd>>,
}

impl Settings {
    pub(super) fn frontier(&self) -> Frontier<'_> {
        self.store.frontier()
    }

    pub(super) fn publications(&self) -> Publications<'_> {
        self.store.publications()
    }

    /// Returns `true` if messages of the given `loglevel` are logged.
    pub(super) fn logs_at(&self, level: u8) -> bool {
        self.conf.has_own("loglevel") && self.conf.loglevel >= level
    }

    /// Returns `true` if `loglevel` is set so that only errors are logged.
    pub(super) fn is_silent(&self) -> bool {
        self.conf.has_own("loglevel") && self.conf.loglevel == 0
    }

    /// Returns the robot name for robots.txt and META tags, such as `robot` for `robot/1.0 (…)`.
    pub(super) fn user_agent(&self) -> &str {
        product_token(&self.conf.user_agent).unwrap_or(USER_AGENT)
    }

    /// Returns `true` if the robots.txt of a URL's host is obeyed.
    pub(super) fn obeys_robots_of(&self, url: &url::Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let mut own = self.robots_of_hosts.iter();
        let own = own.find(|(name, _)| name.eq_ignore_ascii_case(host));
        own.map_or(self.conf.enable_robots_txt, |(_, obeys)| *obeys)
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("site", &self.site)
            .field("starts", &self.starts)
            .field("scope", &self.scope)
            .field("conf", &self.conf)
            .finish_non_exhaustive()
    }
}

/// Returns the product name in a User-Agent, such as `robot` for `robot/1.0 (…)`.
fn product_token(user_agent: &str) -> Option<&str> {
    let is_end = |c: char| c == '/' || c.is_whitespace() || c == '(';
    let token = user_agent.split(is_end).next()?;
    (!token.is_empty()).then_some(token)
}

/// Version of the rules for processing pages; a new version causes the next run to request all
/// pages again.
const READ_BY: u32 = 2;

/// Returns a text that identifies the settings; a run may resume only a run with the same text.
pub(super) fn run_settings(settings: &Settings) -> String {
    let pages = if settings.only.is_empty() {
        ""
    } else {
        "-pages"
    };
    format!("{}{pages}", fingerprint(settings))
}

/// Returns a text that changes if pages would be evaluated differently.
pub(super) fn fingerprint(settings: &Settings) -> String {
    use md5::{Digest as _, Md5};
    let judged_by = format!(
        "{READ_BY}\n{}\n{}\n{}\n{}{}",
        settings.fingerprint,
        settings.enumeration.name(),
        settings.generation.name(),
        settings.user_agent(),
        // Without rendering, the text is the same as before rendering was introduced.
        match settings.render.0 {
            Rendering::Never => String::new(),
            some => format!("\nrender {}", some.as_str()),
        },
    );
    let digest = Md5::digest(judged_by);
    hex::encode(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_token_is_the_start_of_the_user_agent() {
        let token = product_token("robot-detection/0.1");
        assert_eq!(token, Some("robot-detection"));
        assert_eq!(product_token("Ours (a@b.example)"), Some("Ours"));
        assert_eq!(product_token("/x"), None);
    }
}
