//! Submits pages changed in a run to search engines.

use crate::assembly::{index_now, indexed_site};
use crate::config::{ConfigErrors, IndexNowSection, Loaded, Settings};
use crate::heaven::HeavenSettings;
use crate::index_now::{Announcer, IndexNowResult};

use super::SiteRobotRuns;

/// Returns the IndexNow client of a site, if active; reasons that prevent submissions are added to
/// the warnings.
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
            let wrong = |error| loaded.invalid(&IndexNowSection::KEY.endpoint, error);
            announcer.map(Some).map_err(wrong)
        }
        Err(why) => {
            warnings.push(why);
            Ok(None)
        }
    }
}

impl SiteRobotRuns {
    /// Submits changed pages if IndexNow is active; the run succeeds even if the submission fails.
    pub(super) async fn announce_to_index_now(&self, run_id: i64) -> Option<IndexNowResult> {
        let announcer = self.settings.index_now.as_ref()?;
        let site = self.robot.site();
        let told = announcer.announce(&self.store, (site, run_id), self.clock.now_ms());
        let told = match told.await {
            Ok(told) => told,
            Err(error) => IndexNowResult::failed(error.to_string()),
        };
        let (taken, waiting) = (told.taken, told.waiting);
        if let Some(failure) = &told.failure {
            tracing::warn!(
                site,
                waiting,
                "cannot submit {waiting} URLs of {site} to IndexNow: {failure}"
            );
        }
        if taken > 0 {
            tracing::info!(site, taken, "submitted {taken} URLs of {site} to IndexNow");
        }
        Some(told)
    }
}
