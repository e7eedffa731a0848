//! Search engines are told what a run has changed.

use crate::assembly::{index_now, indexed_site};
use crate::config::{ConfigErrors, IndexNowSection, Loaded, Settings};
use crate::heaven::HeavenSettings;
use crate::index_now::{Announcer, IndexNowTold};

use super::SiteRobotRuns;

/// Returns who tells of a site's pages, where anybody is to; why nobody does is a warning.
pub(super) fn announcer(
    loaded: &Loaded,
    settings: &Settings,
    heaven: &HeavenSettings,
    warnings: &mut Vec<String>,
) -> Result<Option<Announcer>, ConfigErrors> {
    let Some(told) = index_now(loaded)? else {
        return Ok(None);
    };
    match indexed_site(loaded, settings, heaven) {
        Ok(site) => {
            let announcer = Announcer::new(told, site);
            let wrong = |error| loaded.wrong(&IndexNowSection::KEY.endpoint, error);
            announcer.map(Some).map_err(wrong)
        }
        Err(why) => {
            warnings.push(why);
            Ok(None)
        }
    }
}

impl SiteRobotRuns {
    /// Tells them, where they are to be told; a failure is no failure of the run.
    pub(super) async fn tell_index_now(&self, run_id: i64) -> Option<IndexNowTold> {
        let announcer = self.settings.index_now.as_ref()?;
        let site = self.robot.site();
        let told = announcer.tell(&self.store, (site, run_id), self.clock.now_ms());
        let told = match told.await {
            Ok(told) => told,
            Err(error) => IndexNowTold::failed(error.to_string()),
        };
        let (taken, waiting) = (told.taken, told.waiting);
        if let Some(failure) = &told.failure {
            tracing::warn!(
                site,
                waiting,
                "IndexNow was not told of {waiting} URLs of {site}: {failure}"
            );
        }
        if taken > 0 {
            tracing::info!(site, taken, "IndexNow was told of {taken} URLs of {site}");
        }
        Some(told)
    }
}
