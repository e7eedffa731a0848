//! The site robots run by a handle.

use std::sync::{Arc, Weak};

use crate::config::{ConfigErrors, Loaded, SiteLoaded, SiteRobotSection};
use crate::operations::DEFAULT_SITE;
use crate::site_robots::{HeavenReload, SiteRobotRuns, SiteRobotSettings, heaven_use, site_robots};

use super::{Inner, RobotDetection};

impl RobotDetection {
    /// Creates the site robots of a configuration and runs them on their schedules.
    ///
    /// The site robots end with the handle's other jobs; interrupted runs are resumed at the next
    /// start.
    ///
    /// # Errors
    ///
    /// Returns an error that shows the place of the invalid value.
    pub fn start_site_robots(&self, loaded: &Loaded) -> Result<(), ConfigErrors> {
        self.inner
            .server
            .schedules
            .replace(self.build_site_robots(loaded)?);
        self.configure_orders(loaded);
        let keeping = self
            .inner
            .server
            .schedules
            .clone()
            .start_due_runs(self.inner.stop.clone());
        self.inner.operations.tasks.spawn(keeping);
        let taking = self.inner.server.orders.clone();
        // A weak reference, because the job must not keep the handle alive.
        let taking = taking.execute_runs(Arc::downgrade(&self.inner), self.inner.stop.clone());
        self.inner.operations.tasks.spawn(taking);
        Ok(())
    }

    /// Creates the site robots of a configuration, and logs a warning about each unused setting.
    pub(super) fn build_site_robots(
        &self,
        loaded: &Loaded,
    ) -> Result<Vec<SiteRobotRuns>, ConfigErrors> {
        let settings = site_robots(loaded)?;
        let own = self.own_robot();
        let make = |settings: &SiteRobotSettings| {
            let site = settings.site();
            for warning in settings.warnings() {
                tracing::warn!(site, "the site robot of {site}: {warning}");
            }
            SiteRobotRuns::of(settings, self.store(), self.clock().clone(), own).map_err(|error| {
                loaded.invalid(&SiteRobotSection::KEY.starting_points, format!("{error:#}"))
            })
        };
        settings.iter().map(make).collect()
    }

    /// Uses these settings for runs handed over by commands, and shows the use of heaven on the
    /// admin pages.
    pub(super) fn configure_orders(&self, loaded: &Loaded) {
        self.orders().replace(loaded);
        let sites = loaded.sites();
        let names = sites.iter().map(SiteLoaded::name).chain([DEFAULT_SITE]);
        for name in names {
            let heaven = heaven_use(loaded, name, None);
            self.robot_runs().set_heaven_use(name, heaven);
        }
    }
}

impl HeavenReload for Weak<Inner> {
    async fn reload(&self) {
        let serving = self
            .upgrade()
            .and_then(|inner| inner.server.serving.load_full());
        if let Some(serving) = serving {
            serving.reload_heavens().await;
        }
    }
}
