//! End of a run: its results are evaluated, and then published or held for review.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use url::Url;

use robot_detection_store::store::{
    AliasDescription, DuplicateDescription, Loss, LostDescription, RunState, StagedChange,
    StagedSelection, StoreError, StoredRun,
};

use crate::filter::url_rank;

use super::{
    Rejection, SiteRobotError, Step, Summary,
    losses::{ContentTrust, Fate, LossContext, fate, fate_of_moved, reason},
    page_result::WITHOUT_WORDS,
    scope::host_key,
    settings::Settings,
    starts::{max_depth, starting_point_doubt},
    tally::LossTally,
};

/// Number of duplicate descriptions read per batch.
const DUPLICATES_PIECE: u32 = 1_000;

/// Number of lost descriptions read per batch.
const BATCH_SIZE: u32 = 500;

/// Minimum number of URLs that are treated as one page if their different contents became
/// identical.
const MIN_IDENTICAL: u32 = 3;

/// Interval at which an instance checks whether another process has ended the run.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Function that returns whether the holder of the run may still publish.
pub type PublishPermission<'t> =
    dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send + 't>> + Send + Sync + 't;

/// Conditions under which the results of a run are published.
#[derive(Default)]
pub struct PublishConditions<'t> {
    /// Whether to publish the results without evaluating them.
    pub accept: bool,
    /// Function to call before publishing; `None` if no other process can run the site robot.
    pub may_publish: Option<&'t PublishPermission<'t>>,
}

impl fmt::Debug for PublishConditions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms = f.debug_struct("Terms");
        terms.field("accept", &self.accept).finish_non_exhaustive()
    }
}

/// A run that is being ended.
pub(super) struct RunEnd<'r> {
    pub(super) settings: &'r Settings,
    pub(super) run: &'r StoredRun,
}

/// Publishes the results of a site's most recent run if these results are held for review.
pub(super) async fn accept(settings: &Settings) -> Result<Option<Summary>, SiteRobotError> {
    let last = settings.frontier().runs(&settings.site, 1).await?;
    let Some(run) = last.first().filter(|run| run.state == RunState::Held) else {
        return Ok(None);
    };
    let terms = PublishConditions {
        accept: true,
        may_publish: None,
    };
    let ending = RunEnd::new(settings, run);
    let now_ms = settings.clock.now_ms();
    ending.publish_or_hold(&terms, now_ms).await.map(Some)
}

/// Publishes the open run's results so far, unless a login page may have replaced some pages.
pub(super) async fn publish_so_far(settings: &Settings) -> Result<(), SiteRobotError> {
    let site = &settings.site;
    let Some(run) = settings.frontier().open_run(site).await? else {
        return Ok(());
    };
    let (publications, run_id) = (settings.publications(), run.run_id);
    let is_doubtful = settings.hold.is_some()
        || starting_point_doubt(settings, run_id).await?.is_some()
        || publications.has_staged_logins(site, run_id).await?
        || !(publications
            .identical_contents(site, run_id, MIN_IDENTICAL)
            .await?)
            .is_empty();
    if !is_doubtful {
        let (what, now_ms) = (StagedSelection::Saved, settings.clock.now_ms());
        publications.publish(site, run_id, what, now_ms).await?;
    }
    Ok(())
}

impl<'r> RunEnd<'r> {
    pub(super) fn new(settings: &'r Settings, run: &'r StoredRun) -> Self {
        Self { settings, run }
    }

    /// Publishes the results of the run, or holds them for review if they are doubtful.
    pub(super) async fn publish_or_hold(
        &self,
        terms: &PublishConditions<'_>,
        now_ms: i64,
    ) -> Result<Summary, SiteRobotError> {
        let Settings { store, site, .. } = self.settings;
        let (run_id, published) = (self.run.run_id, store.publications());
        if let Some(ended) = self.ended_elsewhere(terms).await? {
            return self.summary(ended).await;
        }
        withdraw_other_urls(self.settings, self.run).await?;
        let shown = store.descriptions().count(site).await?;
        let tally = self.tally(terms.accept, now_ms).await?;
        // Evaluating a large robot heaven takes a while, so the check is repeated.
        if let Some(ended) = self.ended_elsewhere(terms).await? {
            return self.summary(ended).await;
        }
        if let Some(why) = tally
            .concern(shown, self.settings)
            .filter(|_| !terms.accept)
        {
            return self.hold(&why, now_ms).await;
        }
        if terms.accept {
            published.accept_logins(site, run_id).await?;
        } else {
            let alike: Vec<String> = tally.alike.into_iter().map(|(hash, _)| hash).collect();
            published
                .discard_suspicious_pages(site, run_id, &alike)
                .await?;
        }
        if let Some(why) = self.reason_to_hold().await? {
            return self.hold(&why, now_ms).await;
        }
        let gone = published.publish(site, run_id, StagedSelection::All, now_ms);
        let (gone, frontier) = (gone.await?, store.frontier());
        let run = if self.run.state == RunState::Held {
            frontier.accept_run(site, run_id, gone).await?
        } else {
            frontier.finish_run(site, run_id, gone, now_ms).await?
        };
        self.summary(run).await
    }

    async fn hold(&self, why: &str, now_ms: i64) -> Result<Summary, SiteRobotError> {
        let Settings { store, site, .. } = self.settings;
        let (run_id, published) = (self.run.run_id, store.publications());
        // Hidden pages are published without waiting for the run to be accepted.
        let hidden = published.publish(site, run_id, StagedSelection::Hidden, now_ms);
        let held = (store.frontier()).hold_run(run_id, why, hidden.await?, now_ms);
        let run = held.await?;
        tracing::warn!(site, "the results of {site} are held for review: {why}");
        self.summary(run).await
    }

    /// Returns the reason to hold staged pages for review even if an administrator accepts the run.
    async fn reason_to_hold(&self) -> Result<Option<String>, StoreError> {
        let Some(reason) = &self.settings.hold else {
            return Ok(None);
        };
        let staged = self
            .settings
            .publications()
            .staged_pages(&self.settings.site)
            .await?;
        let (pages, words, (url, title)) = (staged.pages, staged.words, staged.first);
        Ok((pages > 0).then(|| {
            format!("{reason}; {pages} new or changed pages with {words} words are pending, such as {url} ({title})")
        }))
    }

    /// Waits until this process may publish; if another process has ended the run, returns that
    /// run.
    async fn ended_elsewhere(
        &self,
        terms: &PublishConditions<'_>,
    ) -> Result<Option<StoredRun>, StoreError> {
        loop {
            let run = self.settings.frontier().run(self.run.run_id).await?;
            if run.finished_ms.is_some() && self.run.state != RunState::Held {
                return Ok(Some(run));
            }
            match terms.may_publish {
                Some(may_publish) if !may_publish().await => {
                    tokio::time::sleep(CHECK_INTERVAL).await;
                }
                _ => return Ok(None),
            }
        }
    }

    async fn summary(&self, run: StoredRun) -> Result<Summary, SiteRobotError> {
        let Settings { store, site, .. } = self.settings;
        let mut summary = Summary::from_run(run);
        summary.failed_starts = self.failed_starts().await?;
        summary.undescribed_starts = self.undescribed_starts(&summary.failed_starts).await?;
        let beginning = format!("not described: {}: {WITHOUT_WORDS}", Step::Generate);
        let published = store.publications();
        let without = published.urls_by_outcome(site, summary.run_id, &beginning);
        summary.without_words = without.await?;
        for (_, outcome) in &mut summary.without_words {
            *outcome = outcome.split_off(beginning.len().min(outcome.len()));
        }
        summary.missing = published.description_states(site).await?.missing;
        summary.shown = store.descriptions().count(site).await?;
        Ok(summary)
    }

    /// Counts the published descriptions that the run has not renewed, and stages the consequence
    /// for each of them.
    async fn tally(&self, is_accepted: bool, now_ms: i64) -> Result<LossTally, StoreError> {
        let Settings { store, site, .. } = self.settings;
        let (run_id, published) = (self.run.run_id, store.publications());
        let mut tally = LossTally::default();
        let hosts = published.responding_hosts(site, run_id);
        let hosts = if is_accepted {
            hosts.await?
        } else {
            let alike = published.identical_contents(site, run_id, MIN_IDENTICAL);
            let start = starting_point_doubt(self.settings, run_id);
            let (hosts, alike, start) = tokio::try_join!(hosts, alike, start)?;
            (tally.alike, tally.start) = (alike, start);
            if tally.start.is_none() {
                tally.start = self.doubt_of_alike(&tally.alike).await?;
            }
            hosts
        };
        let mut after = String::new();
        loop {
            let piece = published.lost_descriptions(site, run_id, &after, BATCH_SIZE);
            let piece = piece.await?;
            let Some(last) = piece.last() else {
                return Ok(tally);
            };
            after.clone_from(&last.url);
            let mut changes = Vec::new();
            let is_asked = |lost: &&LostDescription| {
                self.settings.only.is_empty() || lost.run_id == Some(self.run.run_id)
            };
            for lost in piece.iter().filter(is_asked) {
                let beside = self.beside(lost, &hosts, &tally, is_accepted);
                let fate = self.fate(lost, &beside, &mut tally).await?;
                tally.count(&lost.url, reason(lost, &beside), &fate);
                let reason = reason(lost, &beside).to_owned();
                changes.extend(change(&fate).map(|it| (lost.url.clone(), it, reason)));
            }
            published.stage(site, run_id, &changes, now_ms).await?;
        }
    }

    /// Returns a reason to doubt the results if a starting point has the same content as many other
    /// pages.
    async fn doubt_of_alike(&self, alike: &[(String, u64)]) -> Result<Option<String>, StoreError> {
        let Settings { store, site, .. } = self.settings;
        for start in self.starts() {
            let known = store.frontier().known_url(site, start).await?;
            let hash = known.and_then(|known| known.content_hash);
            let same = alike.iter().find(|(it, _)| Some(it) == hash.as_ref());
            if let Some((_, count)) = same {
                return Ok(Some(format!(
                    "the starting point {start} and others, {count} in total, used to differ \
                     but now have identical content, as on a site under maintenance: check the site and \
                     run again"
                )));
            }
        }
        Ok(None)
    }

    fn beside(
        &self,
        lost: &LostDescription,
        hosts: &[String],
        tally: &LossTally,
        is_accepted: bool,
    ) -> LossContext {
        let host = Url::parse(&lost.url).map(|url| host_key(&url));
        let max = max_depth(self.settings);
        LossContext {
            run_id: self.run.run_id,
            // In a run for single pages, the response for one page is considered reliable.
            host_answers: !self.settings.only.is_empty()
                || host.is_ok_and(|host| hosts.contains(&host)),
            is_too_deep: max.is_some_and(|max| lost.depth.is_some_and(|depth| depth > max)),
            trust: if is_accepted {
                ContentTrust::Accepted
            } else if tally.is_repeated_content(lost.content_hash.as_deref()) {
                ContentTrust::InPlaceOfMany
            } else {
                ContentTrust::AsSaid
            },
        }
    }

    async fn fate(
        &self,
        lost: &LostDescription,
        beside: &LossContext,
        tally: &mut LossTally,
    ) -> Result<Fate, StoreError> {
        if let Some(fate) = fate(lost, beside) {
            return Ok(fate);
        }
        let Some(loss) = lost.loss else {
            return Ok(Fate::Missing);
        };
        let elsewhere = if loss == Loss::Moved {
            self.follow_redirects(lost, tally).await?
        } else {
            self.find_at_starting_point(lost).await?
        };
        Ok(fate_of_moved(loss, elsewhere))
    }

    fn starts(&self) -> Vec<&str> {
        let starts = self.settings.starts.iter();
        starts.map(|start| start.url.as_str()).collect()
    }

    /// Returns the starting points that did not fail but have no description, each with the reason.
    async fn undescribed_starts(
        &self,
        failed: &[(String, String)],
    ) -> Result<Vec<(String, String)>, StoreError> {
        let Settings { store, site, .. } = self.settings;
        let mut undescribed = Vec::new();
        let is_failed = |start: &str| failed.iter().any(|(failed, _)| failed == start);
        for start in self.starts().into_iter().filter(|start| !is_failed(start)) {
            let known = store.frontier().known_url(site, start).await?;
            let known = known.filter(|known| known.run_id == self.run.run_id);
            let outcome = known.and_then(|known| known.outcome).unwrap_or_default();
            if let Some(reason) = outcome.strip_prefix("not described: ") {
                undescribed.push((start.to_owned(), reason.to_owned()));
            }
        }
        Ok(undescribed)
    }

    /// Returns failed starting points with their outcomes: all starting points if none succeeded,
    /// or else the ones that did not respond.
    async fn failed_starts(&self) -> Result<Vec<(String, String)>, StoreError> {
        let Settings { store, site, .. } = self.settings;
        let (mut failed, mut is_any_good) = (Vec::new(), false);
        for start in self.starts() {
            let known = store.frontier().known_url(site, start).await?;
            let known = known.as_ref();
            let is_down = known.is_some_and(|known| known.loss == Some(Loss::Missing));
            let status = known.and_then(|known| known.status);
            let is_good = !is_down && status.is_some_and(|status| status < 400);
            is_any_good |= is_good;
            if !is_good {
                let outcome = known.and_then(|known| known.outcome.clone());
                failed.push((start.to_owned(), outcome.unwrap_or_default(), is_down));
            }
        }
        failed.retain(|(.., is_down)| *is_down || !is_any_good);
        let failed = failed
            .into_iter()
            .map(|(start, outcome, _)| (start, outcome));
        Ok(failed.collect())
    }
}

fn change(fate: &Fate) -> Option<StagedChange> {
    match fate {
        Fate::Stays => None,
        Fate::Hidden => Some(StagedChange::Hide),
        Fate::Goes | Fate::Replaced | Fate::Forgotten => Some(StagedChange::Remove),
        Fate::Missing | Fate::Doubtful => Some(StagedChange::Miss),
    }
}

/// Withdraws descriptions of pages that are represented by another URL.
async fn withdraw_other_urls(settings: &Settings, run: &StoredRun) -> Result<(), SiteRobotError> {
    let frontier = settings.frontier();
    let not_canonical = || frontier.non_canonical_descriptions(run, DUPLICATES_PIECE);
    // Usually, both queries return nothing, but each scans all descriptions, so they run in
    // parallel.
    let (mut same, mut aliases) = tokio::try_join!(duplicates(settings, run), not_canonical())?;
    let outcome = |reason: &str| format!("not described: {}", Rejection::new(Step::Data, reason));
    // `filter-by-md5` rejects a page if a better URL is already known. A better URL may be found
    // later or by another instance, so duplicates are checked again here, and the result does not
    // depend on the order of visits.
    let is_better = outcome("filter-by-md5: a better URL has the same content");
    // Both queries are repeated for further batches, which do not contain withdrawn descriptions.
    if !same.is_empty() {
        while !same.is_empty() {
            frontier.withdraw_duplicates(run, &same, &is_better).await?;
            same = duplicates(settings, run).await?;
        }
        aliases = not_canonical().await?;
    }
    // Only now is it known whether a canonical URL has a page; if not, the page that references it
    // is kept.
    let is_described = outcome("its canonical URL is described");
    while !aliases.is_empty() {
        let withdrawn = frontier.withdraw_duplicates(run, &aliases, &is_described);
        withdrawn.await?;
        aliases = not_canonical().await?;
    }
    Ok(())
}

/// Returns the descriptions for which there is a better URL, if the filter drops duplicates.
async fn duplicates(
    settings: &Settings,
    run: &StoredRun,
) -> Result<Vec<AliasDescription>, StoreError> {
    if !settings.generation.drops_duplicates() {
        return Ok(Vec::new());
    }
    let same = settings
        .frontier()
        .duplicates(run, DUPLICATES_PIECE)
        .await?;
    let same = same.chunk_by(|one, other| one.md5 == other.md5);
    Ok(same.flat_map(worse).collect())
}

/// Returns all descriptions with the same content except the description with the best URL.
fn worse(same: &[DuplicateDescription]) -> impl Iterator<Item = AliasDescription> {
    let best = same.iter().min_by(|one, other| {
        url_rank(one.preference, &one.url).cmp(&url_rank(other.preference, &other.url))
    });
    let worse = same.iter().filter(move |it| best != Some(*it));
    worse.filter_map(move |it| {
        Some(AliasDescription {
            url: it.url.clone(),
            alias_of: best?.url.clone(),
            is_published: it.is_published,
        })
    })
}
