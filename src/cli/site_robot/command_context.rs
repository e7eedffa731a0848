//! Loads the configuration and database for `site-robot` commands.

use crate::app::{SiteRobotChanges, SiteRobotRuns, SiteRobotSettings};
use crate::assembly::{replace_texts, robot_conf};
use crate::cli::output::WrongUsage;
use crate::cli::{Cli, context, output};
use crate::clock::Clock;
use crate::config::{Loaded, wants_colours};
use crate::store::{DescriptionQuery, Store};
use crate::telemetry::{LogFormat, start_log};

/// The configuration and the database of a `site-robot` command.
#[derive(Debug)]
pub(in crate::cli) struct CommandContext {
    pub(in crate::cli) loaded: Loaded,
    pub(in crate::cli) store: Store,
}

impl CommandContext {
    pub(in crate::cli) async fn new(cli: &Cli) -> anyhow::Result<Self> {
        Self::open(context::load(cli)?).await
    }

    /// Opens the database specified in a configuration.
    pub(in crate::cli) async fn open(loaded: Loaded) -> anyhow::Result<Self> {
        replace_texts(&loaded)?;
        let settings = loaded.settings();
        let conf = robot_conf(&loaded, settings).map(|(conf, ..)| conf);
        let is_told = conf.is_ok_and(|conf| conf.has_own("loglevel") && conf.loglevel > 0);
        // Log lines are suppressed unless `loglevel` is set, because the result of a run is
        // printed.
        let level = if is_told {
            "error,robot_detection_site_robot=info,robot_detection::site_robots=info"
        } else {
            "error"
        };
        start_log(level, LogFormat::Text, wants_colours())?;
        let store = context::changing_store(&loaded).await?;
        Ok(Self { loaded, store })
    }

    /// Returns the site robot of a site; prints warnings about unused settings.
    pub(in crate::cli) async fn runs(
        &self,
        site: &str,
        changes: &SiteRobotChanges,
    ) -> anyhow::Result<SiteRobotRuns> {
        let settings = SiteRobotSettings::new(&self.loaded, site, changes)?;
        let Some(settings) = settings else {
            let text = "no starting point: specify a URL, or set site_robot.starting_points";
            return Err(WrongUsage(text.to_owned()).into());
        };
        for warning in settings.warnings() {
            output::note(&format!("warning: {}", output::clean(warning)));
        }
        SiteRobotRuns::new(&settings, &self.store).await
    }

    /// Returns the site robot of a site, if configured.
    pub(in crate::cli) async fn configured(
        &self,
        site: &str,
    ) -> anyhow::Result<Option<SiteRobotRuns>> {
        let none = SiteRobotChanges::default();
        match SiteRobotSettings::new(&self.loaded, site, &none)? {
            Some(settings) => Ok(Some(SiteRobotRuns::new(&settings, &self.store).await?)),
            None => Ok(None),
        }
    }

    /// Returns the site robot of a site for a query; if none is configured, `url` is its starting
    /// point.
    pub(super) async fn runs_for(&self, site: &str, url: &str) -> anyhow::Result<SiteRobotRuns> {
        let none = SiteRobotChanges::default();
        if SiteRobotSettings::new(&self.loaded, site, &none)?.is_some() {
            return self.runs(site, &none).await;
        }
        let changes = SiteRobotChanges {
            urls: vec![url.to_owned()],
            ..none
        };
        self.runs(site, &changes).await
    }

    /// Returns the first URL of a site for which a description exists.
    pub(in crate::cli) async fn first_described(
        &self,
        site: &str,
    ) -> anyhow::Result<Option<String>> {
        let query = DescriptionQuery::new(site).limit(1);
        let first = self
            .store
            .descriptions()
            .list(&query)
            .await?
            .into_iter()
            .next();
        Ok(first.map(|stored| stored.description.url().to_owned()))
    }

    pub(in crate::cli) fn now_ms() -> i64 {
        Clock::system().now_ms()
    }
}
