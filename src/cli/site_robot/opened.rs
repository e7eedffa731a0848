//! Configuration and database, as the commands need them.

use crate::app::{SiteRobotChanges, SiteRobotRuns, SiteRobotSettings};
use crate::cli::{Cli, context, output, usage::WrongUsage};
use crate::clock::Clock;
use crate::config::{Loaded, wants_colours};
use crate::store::{DescriptionQuery, Store};
use crate::telemetry::{LogFormat, start_log};

/// Configuration and database.
#[derive(Debug)]
pub(in crate::cli) struct Opened {
    pub(in crate::cli) loaded: Loaded,
    pub(in crate::cli) store: Store,
}

impl Opened {
    pub(in crate::cli) async fn new(cli: &Cli) -> anyhow::Result<Self> {
        let loaded = context::load(cli)?;
        // What a run has to say is printed as its result, not logged beside it.
        start_log("error", LogFormat::Text, wants_colours())?;
        let settings = loaded.settings();
        context::check_database(settings)?;
        let store = Store::connect(&settings.database.url).await?;
        Ok(Self { loaded, store })
    }

    /// Makes the robot of a site, and tells what of its settings is not used.
    pub(in crate::cli) async fn runs(
        &self,
        site: &str,
        changes: &SiteRobotChanges,
    ) -> anyhow::Result<SiteRobotRuns> {
        let settings = SiteRobotSettings::new(&self.loaded, site, changes)?;
        let Some(settings) = settings else {
            let text = "no starting point: name a URL, or set site_robot.starting_points";
            return Err(WrongUsage(text.to_owned()).into());
        };
        for warning in settings.warnings() {
            output::note(&format!("warning: {}", output::clean(warning)));
        }
        SiteRobotRuns::new(&settings, &self.store).await
    }

    /// Makes the robot of a site that is configured.
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

    /// Makes the robot of a site for a question about it, wherever it may begin.
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

    /// Returns the first URL of a site that has a description.
    pub(in crate::cli) async fn first_described(
        &self,
        site: &str,
    ) -> anyhow::Result<Option<String>> {
        let query = DescriptionQuery::new(site).limit(1);
        let first = self.store.descriptions(&query).await?.into_iter().next();
        Ok(first.map(|stored| stored.description.url().to_owned()))
    }

    pub(in crate::cli) fn now_ms() -> i64 {
        Clock::system().now_ms()
    }
}
