//! Visits described pages to which no page links, before a run ends.

use url::Url;

use robot_detection_store::store::{FoundUrl, RunCounts, UnvisitedDescription};

use super::{
    SiteRobotError,
    run_loop::RunLoop,
    scope::host_key,
    settings::Settings,
    starts::{max_depth, starting_point_doubt},
};

/// Value of `found_on` for a described page to which no page links.
const HEAVEN: &str = "robot heaven";

/// Number of descriptions read per batch.
const PIECE: u32 = 1_000;

impl RunLoop {
    /// Adds described pages that the run has not visited to the frontier, once per run; returns
    /// `true` if there are any such pages.
    ///
    /// Skips servers that did not respond in this run, and sites that return a login page instead.
    pub(super) async fn recheck(&mut self) -> Result<bool, SiteRobotError> {
        if self.has_rechecked {
            return Ok(false);
        }
        self.has_rechecked = true;
        let settings = self.visitor.settings();
        if !settings.only.is_empty() {
            return Ok(false);
        }
        let (store, site, run_id) = (&settings.store, &settings.site, self.run.run_id);
        if starting_point_doubt(settings, run_id).await?.is_some() {
            return Ok(false);
        }
        let hosts = store.publications().responding_hosts(site, run_id).await?;
        let (mut after, mut found) = (String::new(), 0);
        loop {
            let piece = store
                .publications()
                .unreached_descriptions(site, run_id, &after, PIECE)
                .await?;
            let Some(last) = piece.last() else { break };
            after.clone_from(&last.url);
            let urls = piece.iter().filter_map(|it| {
                let found = found_url(settings, it)?;
                // Pages that must not be requested are handled without a request.
                let is_decided = || self.visitor.is_refused(&found);
                (hosts.contains(&found.host) || is_decided()).then_some(found)
            });
            let urls: Vec<FoundUrl> = urls.collect();
            found += store
                .frontier()
                .add_urls(site, run_id, self.position + 1, &urls)
                .await?;
        }
        self.position += 1;
        self.pending.count(&RunCounts {
            found,
            ..RunCounts::default()
        });
        (self.may_have_more, self.is_look_due) = (true, true);
        Ok(found > 0)
    }
}

/// Returns the frontier entry for a page, unless the page is too deep; its links are not followed.
fn found_url(settings: &Settings, unmet: &UnvisitedDescription) -> Option<FoundUrl> {
    let url = Url::parse(&unmet.url).ok()?;
    let depth = unmet.depth.unwrap_or(0);
    let is_too_deep = max_depth(settings).is_some_and(|max| depth > max);
    (!is_too_deep).then(|| FoundUrl {
        url: unmet.url.clone(),
        host: host_key(&url),
        depth,
        max_depth: Some(depth),
        found_on: HEAVEN.to_owned(),
    })
}
