//! Settings of a site robot, checked.

use std::{sync::Arc, time::Duration};

use crate::filter::{Commands, Filter, RunNames};
use crate::render::RenderLimits;
use robot_detection_layer::clock::Clock;
use robot_detection_store::store::{Frontier, Publications, Store};

use super::{RobotConf, TrapLimits, scope::Scope, source::PageSource};

/// Name of a robot whose User-Agent has none.
const USER_AGENT: &str = "robot-detection";

robot_detection_layer::words! {
    /// Which pages are read as scripts make them.
    #[derive(Default)]
    pub enum Rendering {
        /// None.
        #[default]
        Never = "never",
        /// Those that have scripts and no words.
        Empty = "empty",
        /// All that are HTML.
        Always = "always",
    }
}

/// Starting point.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Start {
    pub(super) url: url::Url,
    pub(super) max_depth: Option<u32>,
}

/// Settings of a robot; see the builder for what they mean.
#[derive(Clone)]
pub(super) struct Settings {
    /// Keys of robot.conf.
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
    /// Pages that are asked for again, and nothing else; none: all are visited.
    pub(super) only: Vec<url::Url>,
    pub(super) scope: Scope,
    pub(super) fingerprint: String,
    /// Pages that are requested in one run; none: all.
    pub(super) requests_per_run: Option<u64>,
    /// Further attempts at a page that fails, and the pause before the first.
    pub(super) retries: (u32, Duration),
    /// Which pages are rendered, and within which limits.
    pub(super) render: (Rendering, RenderLimits),
    pub(super) traps: TrapLimits,
    /// Queries of one path that are visited.
    pub(super) max_queries: u32,
    /// Hosts whose robots.txt counts whatever the others' do.
    pub(super) robots_of_hosts: Vec<(String, bool)>,
    /// Sites that stand for another one, and that one.
    pub(super) aliases: Vec<(url::Url, url::Url)>,
    /// Parameters that URLs are known without.
    pub(super) tracking: crate::document::TrackingParameters,
    /// Reason to hold back new and changed pages even if the run is accepted.
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

    /// Returns `true` if what is logged from this `loglevel` on is to be seen.
    pub(super) fn tells(&self, level: u8) -> bool {
        self.conf.has_own("loglevel") && self.conf.loglevel >= level
    }

    /// Returns `true` if `loglevel` is set to log errors only.
    pub(super) fn is_silent(&self) -> bool {
        self.conf.has_own("loglevel") && self.conf.loglevel == 0
    }

    /// Returns the name that robots.txt and META tags are asked for: `robot/1.0 (…)` is `robot`.
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

/// Returns the name in a User-Agent: `robot/1.0 (…)` is `robot`.
fn product_token(user_agent: &str) -> Option<&str> {
    let is_end = |c: char| c == '/' || c.is_whitespace() || c == '(';
    let token = user_agent.split(is_end).next()?;
    (!token.is_empty()).then_some(token)
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
        "{READ_BY}\n{}\n{}\n{}\n{}{}",
        settings.fingerprint,
        settings.enumeration.name(),
        settings.generation.name(),
        settings.user_agent(),
        // Without a browser it is the text that it was before there was one.
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
    fn the_product_token_is_the_start_of_the_name() {
        let token = product_token("robot-detection/0.1");
        assert_eq!(token, Some("robot-detection"));
        assert_eq!(product_token("Ours (a@b.example)"), Some("Ours"));
        assert_eq!(product_token("/x"), None);
    }
}
