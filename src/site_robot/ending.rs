//! A run has visited everything: what it brought is judged, and published or held back.

use std::{collections::HashMap, future::Future, pin::Pin, time::Duration};

use url::Url;

use crate::store::{Loss, LostDescription, RunState, Staged, StagedChange, StoreError, StoredRun};

use super::{
    SiteRobotError, Summary, duplicates,
    losses::{Beside, Elsewhere, Fate, are_one_site, fate, fate_of_moved, reason},
    progress::is_much,
    scope::host_key,
    settings::Settings,
    starts::{End, doubt_of_starts, end_of, is_described, max_depth},
};

/// Lost descriptions that are looked at together.
const PIECE: u32 = 500;

/// URLs that said different things and say the same now, from which on they are one page.
const ALIKE: u32 = 3;

/// Places that redirects lead to whose number is counted.
const MAX_TARGETS: usize = 10_000;

/// Pause before it is looked again whether another process has ended a run.
const LOOK: Duration = Duration::from_secs(1);

/// Whether whoever runs the robot may still publish.
pub(crate) type MayPublish<'t> =
    dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send + 't>> + Send + Sync + 't;

/// On which terms a run is published.
#[derive(Default)]
pub(crate) struct Terms<'t> {
    /// Whether its results are in force whatever they are.
    pub(crate) accept: bool,
    /// Asked before anything is published; without it nobody else runs the robot.
    pub(crate) may_publish: Option<&'t MayPublish<'t>>,
}

/// End of a run.
pub(super) struct Ending<'r> {
    settings: &'r Settings,
    run: &'r StoredRun,
}

/// What would become of heaven.
#[derive(Debug, Default)]
struct Tally {
    /// Pages that go for another reason than that they say so, and the first of them.
    going: u64,
    first: Option<String>,
    /// Pages in whose place a login stands.
    locked: u64,
    /// How many redirects lead to each place.
    targets: HashMap<String, u64>,
    /// Contents that came in place of several pages, and how many.
    alike: Vec<(String, u64)>,
    /// Why the starting points did not answer as themselves.
    start: Option<String>,
}

/// Puts the results of a site's last run in force, where they are held back.
pub(super) async fn accept(settings: &Settings) -> Result<Option<Summary>, SiteRobotError> {
    let last = settings.store.runs(&settings.site, 1).await?;
    let Some(run) = last.first().filter(|run| run.state == RunState::Held) else {
        return Ok(None);
    };
    let terms = Terms {
        accept: true,
        may_publish: None,
    };
    let ending = Ending::new(settings, run);
    let now_ms = settings.clock.now_ms();
    ending.publish_or_hold(&terms, now_ms).await.map(Some)
}

/// Puts what the open run has brought so far in force, unless a login may have answered.
pub(super) async fn publish_so_far(settings: &Settings) -> Result<(), SiteRobotError> {
    let (store, site) = (&settings.store, &settings.site);
    let Some(run) = store.open_run(site).await? else {
        return Ok(());
    };
    let is_doubtful = doubt_of_starts(settings, run.run_id).await?.is_some()
        || store.stages_logins(site, run.run_id).await?
        || !store
            .alike_contents(site, run.run_id, ALIKE)
            .await?
            .is_empty();
    if !is_doubtful {
        let now_ms = settings.clock.now_ms();
        let what = Staged::Saved;
        store.publish_staged(site, run.run_id, what, now_ms).await?;
    }
    Ok(())
}

impl<'r> Ending<'r> {
    pub(super) fn new(settings: &'r Settings, run: &'r StoredRun) -> Self {
        Self { settings, run }
    }

    /// Publishes what the run brought; holds it back where it says too little of the site.
    pub(super) async fn publish_or_hold(
        &self,
        terms: &Terms<'_>,
        now_ms: i64,
    ) -> Result<Summary, SiteRobotError> {
        let Settings { store, site, .. } = self.settings;
        let run_id = self.run.run_id;
        if let Some(ended) = self.ended_elsewhere(terms).await? {
            return self.summary(ended).await;
        }
        duplicates::withdraw(self.settings, self.run).await?;
        let shown = store.description_count(site).await?;
        let tally = self.tally(terms.accept, now_ms).await?;
        // To go through a large heaven takes a while.
        if let Some(ended) = self.ended_elsewhere(terms).await? {
            return self.summary(ended).await;
        }
        if let Some(why) = tally.doubt(shown, &self.starts()).filter(|_| !terms.accept) {
            let hidden = store.publish_staged(site, run_id, Staged::Hidden, now_ms);
            let hidden = hidden.await?;
            let run = store.hold_run(run_id, &why, hidden, now_ms).await?;
            tracing::warn!(site, "the results of {site} are held back: {why}");
            return self.summary(run).await;
        }
        if terms.accept {
            store.accept_logins(site, run_id).await?;
        } else {
            let alike: Vec<String> = tally.alike.into_iter().map(|(hash, _)| hash).collect();
            store.discard_doubtful(site, run_id, &alike).await?;
        }
        let gone = store.publish_staged(site, run_id, Staged::All, now_ms);
        let gone = gone.await?;
        let run = if self.run.state == RunState::Held {
            store.accept_run(site, run_id, gone).await?
        } else {
            store.finish_run(site, run_id, gone, now_ms).await?
        };
        self.summary(run).await
    }

    /// Waits until this process may publish; returns the run where another one has ended it.
    async fn ended_elsewhere(&self, terms: &Terms<'_>) -> Result<Option<StoredRun>, StoreError> {
        loop {
            let run = self.settings.store.run(self.run.run_id).await?;
            if run.finished_ms.is_some() && self.run.state != RunState::Held {
                return Ok(Some(run));
            }
            match terms.may_publish {
                Some(may_publish) if !may_publish().await => tokio::time::sleep(LOOK).await,
                _ => return Ok(None),
            }
        }
    }

    async fn summary(&self, run: StoredRun) -> Result<Summary, SiteRobotError> {
        let Settings { store, site, .. } = self.settings;
        let mut summary = Summary::of(run);
        summary.failed_starts = self.failed_starts().await?;
        summary.missing = store.description_states(site).await?.missing;
        summary.shown = store.description_count(site).await?;
        Ok(summary)
    }

    /// Goes through what is in force and was not described: stages what becomes of each, and
    /// counts it.
    async fn tally(&self, is_accepted: bool, now_ms: i64) -> Result<Tally, StoreError> {
        let Settings { store, site, .. } = self.settings;
        let run_id = self.run.run_id;
        let mut tally = Tally::default();
        if !is_accepted {
            tally.alike = store.alike_contents(site, run_id, ALIKE).await?;
            tally.start = doubt_of_starts(self.settings, run_id).await?;
            if tally.start.is_none() {
                tally.start = self.doubt_of_alike(&tally.alike).await?;
            }
        }
        let hosts = store.answering_hosts(site, run_id).await?;
        let mut after = String::new();
        loop {
            let piece = store.lost_descriptions(site, run_id, &after, PIECE).await?;
            let Some(last) = piece.last() else {
                return Ok(tally);
            };
            after.clone_from(&last.url);
            let mut changes = Vec::new();
            for lost in &piece {
                let beside = self.beside(lost, &hosts, &tally, is_accepted);
                let fate = self.fate(lost, &beside, &mut tally).await?;
                tally.count(&lost.url, reason(lost, &beside), &fate);
                let reason = reason(lost, &beside).to_owned();
                changes.extend(change(&fate).map(|it| (lost.url.clone(), it, reason)));
            }
            store.stage_changes(site, run_id, &changes, now_ms).await?;
        }
    }

    /// Returns why what came is no site: a starting point says what many other pages say now.
    async fn doubt_of_alike(&self, alike: &[(String, u64)]) -> Result<Option<String>, StoreError> {
        let Settings { store, site, .. } = self.settings;
        for start in self.starts() {
            let known = store.known_url(site, start).await?;
            let hash = known.and_then(|known| known.content_hash);
            let same = alike.iter().find(|(it, _)| Some(it) == hash.as_ref());
            if let Some((_, count)) = same {
                return Ok(Some(format!(
                    "the starting point {start} and others, {count} in all, said different things \
                     and say the same now, as where a site is closed for a while: look at it and \
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
        tally: &Tally,
        is_accepted: bool,
    ) -> Beside {
        let host = Url::parse(&lost.url).map(|url| host_key(&url));
        let hash = lost.content_hash.as_ref();
        let max = max_depth(self.settings);
        Beside {
            run_id: self.run.run_id,
            host_answers: host.is_ok_and(|host| hosts.contains(&host)),
            is_too_deep: max.is_some_and(|max| lost.depth.is_some_and(|depth| depth > max)),
            is_alike: hash.is_some_and(|hash| tally.alike.iter().any(|(it, _)| it == hash)),
            is_accepted,
        }
    }

    async fn fate(
        &self,
        lost: &LostDescription,
        beside: &Beside,
        tally: &mut Tally,
    ) -> Result<Fate, StoreError> {
        if let Some(fate) = fate(lost, beside) {
            return Ok(fate);
        }
        let Some(loss) = lost.loss else {
            return Ok(Fate::Missing);
        };
        let elsewhere = if loss == Loss::Moved {
            self.behind_redirects(lost, tally).await?
        } else {
            self.at_a_start(lost).await?
        };
        Ok(fate_of_moved(loss, elsewhere))
    }

    /// Finds a page that moved where its redirects lead.
    async fn behind_redirects(
        &self,
        lost: &LostDescription,
        tally: &mut Tally,
    ) -> Result<Elsewhere, StoreError> {
        let Settings { store, site, .. } = self.settings;
        let run_id = self.run.run_id;
        let Some(known) = store.known_url(site, &lost.url).await? else {
            return Ok(Elsewhere::Behind);
        };
        let end = end_of(self.settings, run_id, &lost.url, &known).await?;
        let (End::Met(to, _) | End::Unmet(to)) = &end;
        tally.count_target(to);
        Ok(match end {
            End::Unmet(to) => {
                let urls = (Url::parse(&lost.url), Url::parse(&to));
                let is_lasting = matches!(lost.status, Some(301 | 308));
                let is_out = |to: &Url| self.settings.scope.check_host(to).is_err();
                match urls {
                    (Ok(from), Ok(to))
                        if is_lasting && is_out(&to) && !are_one_site(&from, &to) =>
                    {
                        Elsewhere::AwayForGood
                    }
                    _ => Elsewhere::Away,
                }
            }
            End::Met(to, there) => {
                let is_known = store.description(site, &to).await?.is_some();
                if is_described(&there) && (!there.asks_password || is_known) {
                    Elsewhere::Described
                } else if there.status.is_none()
                    || there.asks_password
                    || matches!(there.loss, Some(Loss::Login | Loss::Locked | Loss::Missing))
                {
                    Elsewhere::Behind
                } else {
                    Elsewhere::Nowhere
                }
            }
        })
    }

    /// Looks for a page that our settings leave out under a starting point: the site may have
    /// another scheme, another name, or be asked at another place now.
    async fn at_a_start(&self, lost: &LostDescription) -> Result<Elsewhere, StoreError> {
        let Settings {
            store,
            site,
            starts,
            ..
        } = self.settings;
        let Ok(url) = Url::parse(&lost.url) else {
            return Ok(Elsewhere::Nowhere);
        };
        let below = url.as_str().get(url.origin().ascii_serialization().len()..);
        for start in starts {
            let origin = start.url.origin();
            if origin == url.origin() {
                continue;
            }
            let twin = format!("{}{}", origin.ascii_serialization(), below.unwrap_or("/"));
            let known = store.known_url(site, &twin).await?;
            let is_here = |run_id| run_id == self.run.run_id;
            if known.is_some_and(|known| is_here(known.run_id) && is_described(&known)) {
                return Ok(Elsewhere::Described);
            }
        }
        Ok(Elsewhere::Nowhere)
    }

    fn starts(&self) -> Vec<&str> {
        let starts = self.settings.starts.iter();
        starts.map(|start| start.url.as_str()).collect()
    }

    /// Returns starting points with what became of each: all if none was answered well, else
    /// those that did not answer.
    async fn failed_starts(&self) -> Result<Vec<(String, String)>, StoreError> {
        let Settings { store, site, .. } = self.settings;
        let (mut failed, mut is_any_good) = (Vec::new(), false);
        for start in self.starts() {
            let known = store.known_url(site, start).await?;
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

impl Tally {
    fn count(&mut self, url: &str, reason: &str, fate: &Fate) {
        match fate {
            Fate::Goes => {
                self.going += 1;
                self.first
                    .get_or_insert_with(|| format!("{url} ({reason})"));
            }
            Fate::Doubtful => self.locked += 1,
            Fate::Stays | Fate::Hidden | Fate::Replaced | Fate::Forgotten | Fate::Missing => {}
        }
    }

    fn count_target(&mut self, to: &str) {
        let place = to.split(['?', '#']).next().unwrap_or(to);
        if self.targets.len() < MAX_TARGETS || self.targets.contains_key(place) {
            *self.targets.entry(place.to_owned()).or_default() += 1;
        }
    }

    /// Returns why the results are held back, where they are.
    fn doubt(&self, shown: u64, starts: &[&str]) -> Option<String> {
        if let Some(start) = &self.start {
            return Some(start.clone());
        }
        let renew = "renew site_robot.login and run again";
        if is_much(self.locked, shown) {
            let locked = self.locked;
            return Some(format!(
                "{locked} of {shown} pages answer with a login, or with one page for many URLs: \
                 {renew}"
            ));
        }
        let most = self.targets.iter().max_by_key(|(_, count)| **count);
        if let Some((place, count)) = most.filter(|(_, count)| is_much(**count, shown)) {
            return Some(format!(
                "{count} of {shown} pages lead to {place}, as where a login has expired: {renew}"
            ));
        }
        if let Some((_, count)) = self
            .alike
            .first()
            .filter(|(_, count)| is_much(*count, shown))
        {
            return Some(format!(
                "{count} of {shown} pages that said different things say the same now, as where \
                 a site is closed for a while: look at {} and run again",
                starts.first().unwrap_or(&"the site"),
            ));
        }
        let first = self.first.as_ref().filter(|_| is_much(self.going, shown))?;
        let going = self.going;
        Some(format!(
            "{going} of {shown} pages would go from heaven, the first being {first}"
        ))
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
