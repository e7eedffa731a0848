//! Starts, executes and ends a run.

use std::{sync::Arc, time::Duration};

use crate::filter::{FilterRun, FilterRunState};
use crate::render::Renderer;
use robot_detection_store::store::{FoundUrl, RunCounts, RunState, StoreError, StoredRun};

use super::{
    Progress, PublishConditions, Rendering, RobotState, SiteRobotError, Summary,
    ending::RunEnd,
    freshness::Freshness,
    readers::Readers,
    run_loop::RunLoop,
    scope::host_key,
    settings::{Settings, run_settings},
    visitor::{AllRules, PageVisitor, ResourceCache, ServerDescriptions, Shared},
};

/// Number of descriptions whose checksums are read per batch.
const PIECE: u32 = 5_000;

/// Returns the renderer, if rendering is enabled.
fn renderer(settings: &Settings) -> Option<Renderer> {
    let (which, limits) = &settings.render;
    (*which != Rendering::Never).then(|| Renderer::new(limits.clone()))
}

/// Runs the site robot until all URLs have been visited or the run is stopped.
pub(super) async fn run(
    shared: &Arc<Shared>,
    terms: &PublishConditions<'_>,
) -> Result<Summary, SiteRobotError> {
    let settings = &shared.settings;
    let began_ms = settings.clock.now_ms();
    settings.source.begin_run().await;
    let fingerprint = super::settings::fingerprint(settings);
    let own = run_settings(settings);
    let begun = settings
        .frontier()
        .begin_run(&settings.site, &own, began_ms);
    let (run, is_resumed) = begun.await?;
    let withdrawn = settings
        .publications()
        .withdrawn_urls(&settings.site)
        .await?;
    // A resumed run has already used part of the `filter-by-max` limits.
    let counted = FilterRunState {
        objects: run.counts.fetched,
        ..FilterRunState::default()
    };
    let freshness = Freshness::of(settings, run.counts.fetched).await?;
    let visitor = PageVisitor {
        freshness,
        shared: Arc::clone(shared),
        fingerprint,
        enumeration_run: FilterRun::restore(counted.clone()),
        generation_run: FilterRun::restore(counted),
        rules: AllRules::default(),
        known_links: super::known_links::KnownLinks::default(),
        described: ServerDescriptions::default(),
        readers: Readers::new(settings.conf.engine_concurrent),
        renderer: renderer(settings),
        kept_files: ResourceCache::default(),
        looks: std::hash::RandomState::new(),
        withdrawn: withdrawn.into_iter().collect(),
    };
    if is_resumed {
        restore_checksums(&visitor, &run).await?;
    }
    let mut course = RunLoop::new(Arc::new(visitor), run, is_resumed, began_ms);
    course.enter_starts().await?;
    let ended = course.run().await;
    // The claims are released even after an error, so that other instances continue with the URLs
    // claimed here.
    course.release_urls().await;
    let has_finished = ended?;
    course.end(has_finished, terms).await
}

fn starting_urls(settings: &Settings) -> Vec<FoundUrl> {
    let starts = settings.starts.iter();
    let found = starts.map(|start| FoundUrl {
        url: start.url.as_str().to_owned(),
        host: host_key(&start.url),
        depth: 0,
        max_depth: start.max_depth,
        found_on: String::new(),
    });
    found.collect()
}

/// Returns the single pages that are to be requested again, with their known depth.
async fn single_urls(settings: &Settings) -> Result<Vec<FoundUrl>, StoreError> {
    let mut urls = Vec::new();
    for url in &settings.only {
        let known = settings.frontier().known_url(&settings.site, url.as_str());
        // An unknown page gets the depth of a page that a starting point links to.
        let depth = known.await?.map_or(1, |known| known.depth);
        urls.push(FoundUrl {
            url: url.as_str().to_owned(),
            host: host_key(url),
            depth,
            max_depth: Some(depth),
            found_on: String::new(),
        });
    }
    Ok(urls)
}

/// Restores the contents that the generation filter had seen before the run was interrupted.
async fn restore_checksums(visitor: &PageVisitor, run: &StoredRun) -> Result<(), StoreError> {
    let Settings { store, site, .. } = visitor.settings();
    let mut after = String::new();
    loop {
        let piece = store
            .frontier()
            .described_digests(site, run.run_id, &after, PIECE)
            .await?;
        for (url, md5, preference) in &piece {
            if let Some(md5) = md5 {
                let run = &visitor.generation_run;
                run.register_checksum(md5, url, *preference);
            }
        }
        match piece.into_iter().next_back() {
            Some((url, ..)) => after = url,
            None => return Ok(()),
        }
    }
}

impl RunLoop {
    pub(super) async fn enter_starts(&mut self) -> Result<(), SiteRobotError> {
        let settings = self.visitor.settings();
        let starts = if settings.only.is_empty() {
            starting_urls(settings)
        } else {
            single_urls(settings).await?
        };
        self.position += 1;
        let (site, run_id) = (&settings.site, self.run.run_id);
        if self.is_resumed {
            // URLs that this instance claimed before a database outage are still claimed.
            let released = settings
                .frontier()
                .release_urls(site, run_id, &settings.instance);
            released.await?;
        }
        let entered = settings
            .frontier()
            .add_urls(site, run_id, self.position, &starts);
        let found = entered.await?;
        self.pending.count(&RunCounts {
            found,
            ..RunCounts::default()
        });
        for (filter, run) in self.visitor.filters() {
            // At `Setup`, there is no resource to deny, so a denial is ignored.
            let _ = filter.setup(&self.visitor.surroundings(run));
        }
        self.update_progress(|progress| {
            *progress = Progress::default();
            progress.state = RobotState::Running;
        });
        Ok(())
    }

    /// Releases the claimed URLs, and aborts fetches in progress.
    pub(super) async fn release_urls(&mut self) {
        self.work.shutdown().await;
        let settings = self.visitor.settings();
        let (site, run_id) = (&settings.site, self.run.run_id);
        let left = settings
            .frontier()
            .release_urls(site, run_id, &settings.instance);
        if let Err(error) = left.await {
            tracing::warn!("{error}; other instances take over when the lease expires");
        }
        for (filter, run) in self.visitor.filters() {
            let _ = filter.shutdown(&self.visitor.surroundings(run));
        }
    }

    pub(super) async fn end(
        &self,
        has_finished: bool,
        terms: &PublishConditions<'_>,
    ) -> Result<Summary, SiteRobotError> {
        let settings = self.visitor.settings();
        let now_ms = self.now_ms();
        let elapsed_ms = u64::try_from(now_ms - self.began_ms).unwrap_or(0);
        let mut summary = if has_finished {
            let ending = RunEnd::new(settings, &self.run);
            ending.publish_or_hold(terms, now_ms).await?
        } else {
            Summary::from_run(settings.frontier().run(self.run.run_id).await?)
        };
        summary.is_resumed = self.is_resumed;
        summary.elapsed = Duration::from_millis(elapsed_ms);
        if summary.state == RunState::Finished && !settings.is_silent() {
            let site = &summary.site;
            tracing::info!(
                site,
                fetched = summary.counts.fetched,
                elapsed_ms,
                "the site robot has visited {site}"
            );
        }
        Ok(summary)
    }
}
