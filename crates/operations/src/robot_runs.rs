//! Requests to run the site robots, sent from pages to the task that runs the site robots.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::Notify;
use url::Url;

use super::{HeavenUse, heaven_state::RunTimes};
use robot_detection_site_robot::site_robot::SiteRobot;

/// Runs of the site robots: the offered and requested runs, and their progress.
///
/// The process that has the robots [offers](Self::set_offered_sites) runs of sites, waits for
/// requests with [`wait_for_request`](Self::wait_for_request), [shows](Self::show) each robot,
/// preferably before the robot runs, and reports failed runs with [`fail`](Self::fail).
/// Everything else goes through the database: pages pause, resume, stop and clear the runs of all
/// processes, and read the counts of these runs. Clones share the state.
///
/// # Example
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use robot_detection_operations::RobotRuns;
/// use robot_detection_site_robot::site_robot::{SiteRobot, source::{HttpSettings, HttpSource}};
/// use robot_detection_store::store::Store;
///
/// let source = HttpSource::new(HttpSettings::default())?;
/// let robot = SiteRobot::builder("docs", Store::connect("sqlite::memory:").await?, source)
///     .start_at("http://127.0.0.1:9/")
///     .build()?;
/// let runs = RobotRuns::default();
/// runs.set_offered_sites([robot.site().to_owned()]);
/// runs.show(&robot);
/// // In a task, again and again: `let site = runs.wait_for_request().await;`, then run its robot.
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct RobotRuns {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    sites: Mutex<Sites>,
    is_wanted: Notify,
    is_changed: Notify,
}

#[derive(Debug, Default)]
struct Sites {
    offered: BTreeSet<String>,
    wanted: BTreeSet<String>,
    /// Sites whose quarantined results will be accepted once the request is handled.
    accepted: BTreeSet<String>,
    /// Handled requests, each with the robot's number of completed runs when the request was
    /// handled.
    taken: BTreeMap<String, u64>,
    robots: BTreeMap<String, SiteRobot>,
    failures: BTreeMap<String, String>,
    heavens: BTreeMap<String, HeavenUse>,
    times: BTreeMap<String, RunTimes>,
    /// Changed pages that must be fetched again, by site.
    changed: BTreeMap<String, BTreeSet<Url>>,
    /// Start of the hour in which changed pages are counted, and the number of these pages.
    told: (i64, usize),
}

/// Maximum number of changed pages, on all sites together, that programs may submit per hour.
const CHANGES_AN_HOUR: usize = 1_000;

const HOUR_MS: i64 = 60 * 60 * 1_000;

impl RobotRuns {
    /// Offers runs of exactly these sites, and no others.
    pub fn set_offered_sites(&self, sites: impl IntoIterator<Item = String>) {
        let mut known = self.inner.sites.lock();
        known.offered = sites.into_iter().collect();
        let Sites {
            offered,
            wanted,
            accepted,
            taken,
            robots,
            failures,
            heavens: _,
            times,
            changed,
            told: _,
        } = &mut *known;
        changed.retain(|site, _| offered.contains(site));
        wanted.retain(|site| offered.contains(site));
        accepted.retain(|site| offered.contains(site));
        taken.retain(|site, _| offered.contains(site));
        robots.retain(|site, _| offered.contains(site));
        failures.retain(|site, _| offered.contains(site));
        // The schedules are set again, because a site may no longer have a schedule.
        times.clear();
    }

    /// Sets the robot whose progress and explanations are shown for its site; returns the site's
    /// previous robot.
    #[expect(
        clippy::must_use_candidate,
        reason = "callers rarely need the previous robot"
    )]
    pub fn show(&self, robot: &SiteRobot) -> Option<SiteRobot> {
        let mut known = self.inner.sites.lock();
        // A new robot counts its runs from zero.
        known.taken.remove(robot.site());
        known.robots.insert(robot.site().to_owned(), robot.clone())
    }

    /// Waits until a page requests a run, and returns the name of the site.
    ///
    /// This method is cancel safe: no request is lost if the future is dropped before it is ready.
    pub async fn wait_for_request(&self) -> String {
        loop {
            let next = self.inner.sites.lock().take();
            if let Some(site) = next {
                return site;
            }
            // `notify_one` stores a permit, so a request made between the check and this line is
            // not missed.
            self.inner.is_wanted.notified().await;
        }
    }

    /// Returns `true` once after a page has requested that the quarantined results be published.
    ///
    /// The task that handles the request calls this method before the run.
    pub fn take_acceptance(&self, site: &str) -> bool {
        self.inner.sites.lock().accepted.remove(site)
    }

    /// Reports that a run failed; pages show the failure until the next request, or until a run has
    /// [ended](Self::record_end).
    pub fn fail(&self, site: &str, reason: impl Into<String>) {
        let mut known = self.inner.sites.lock();
        known.taken.remove(site);
        known.failures.insert(site.to_owned(), reason.into());
    }

    /// Reports that a run has ended, which clears the failure of an earlier run.
    pub fn record_end(&self, site: &str) {
        self.inner.sites.lock().failures.remove(site);
    }

    /// Sets the schedule of a site's runs, to which the console compares the age of heaven pages.
    ///
    /// The function returns the first start after a given time, in milliseconds since 1970. Another
    /// [offer](Self::set_offered_sites) removes the schedule.
    pub fn set_schedule(
        &self,
        site: &str,
        next_ms: impl Fn(i64) -> Option<i64> + Send + Sync + 'static,
    ) {
        let times = RunTimes::new(next_ms);
        self.inner.sites.lock().times.insert(site.to_owned(), times);
    }

    /// Returns the schedule of a site's runs, if known.
    pub fn run_times(&self, site: &str) -> Option<RunTimes> {
        self.inner.sites.lock().times.get(site).cloned()
    }

    /// Sets how the descriptions of a site are used, for display in the console.
    pub fn set_heaven_use(&self, site: &str, heaven: HeavenUse) {
        self.inner
            .sites
            .lock()
            .heavens
            .insert(site.to_owned(), heaven);
    }

    /// Returns how the descriptions of a site are used, if known.
    pub fn heaven(&self, site: &str) -> Option<HeavenUse> {
        self.inner.sites.lock().heavens.get(site).cloned()
    }

    /// Requests a run of a site; returns `true` if runs of this site are offered.
    pub fn request_run(&self, site: &str) -> bool {
        self.ask_and(site, false)
    }

    /// Requests that quarantined results be accepted; returns `true` if this process can accept
    /// them.
    pub fn request_acceptance(&self, site: &str) -> bool {
        self.ask_and(site, true)
    }

    fn ask_and(&self, site: &str, accept: bool) -> bool {
        let mut known = self.inner.sites.lock();
        if !known.offered.contains(site) {
            return false;
        }
        if accept {
            known.accepted.insert(site.to_owned());
        }
        // The recorded failure belongs to an earlier run.
        known.failures.remove(site);
        known.wanted.insert(site.to_owned());
        drop(known);
        self.inner.is_wanted.notify_one();
        true
    }

    /// Queues changed pages to be fetched again. If the hourly limit is exceeded, returns `false`
    /// and queues no pages.
    pub fn queue_changed(&self, site: &str, urls: &[Url], now_ms: i64) -> bool {
        let mut known = self.inner.sites.lock();
        if now_ms.saturating_sub(known.told.0) >= HOUR_MS {
            known.told = (now_ms, 0);
        }
        let count = known.told.1.saturating_add(urls.len());
        if count > CHANGES_AN_HOUR {
            return false;
        }
        known.told.1 = count;
        drop(known);
        self.requeue_changed(site, urls.to_vec());
        self.inner.is_changed.notify_one();
        true
    }

    /// Stores changed pages of a site until they are fetched again.
    pub fn requeue_changed(&self, site: &str, urls: Vec<Url>) {
        let mut known = self.inner.sites.lock();
        let changed = known.changed.entry(site.to_owned()).or_default();
        changed.extend(urls);
    }

    /// Waits until changed pages have been queued.
    pub async fn wait_for_change(&self) {
        self.inner.is_changed.notified().await;
    }

    /// Removes and returns the changed pages of a site.
    pub fn take_changed(&self, site: &str) -> Vec<Url> {
        let urls = self.inner.sites.lock().changed.remove(site);
        urls.into_iter().flatten().collect()
    }

    /// Returns the sites whose runs are offered.
    pub fn offered(&self) -> Vec<String> {
        self.inner.sites.lock().offered.iter().cloned().collect()
    }

    /// Returns the robot of a site if this process runs that robot.
    pub fn robot(&self, site: &str) -> Option<SiteRobot> {
        self.inner.sites.lock().robots.get(site).cloned()
    }

    /// Returns `true` if a requested run has not ended yet; pages wait until the run is visible.
    pub fn is_run_requested(&self, site: &str) -> bool {
        let known = self.inner.sites.lock();
        // Runs are counted, because a run may start and end between two checks.
        let is_under_way = |ended: &u64| known.ended(site) == Some(*ended);
        known.wanted.contains(site) || known.taken.get(site).is_some_and(is_under_way)
    }

    /// Returns the reason why the latest run failed or did not start.
    pub fn failure(&self, site: &str) -> Option<String> {
        self.inner.sites.lock().failures.get(site).cloned()
    }
}

impl Sites {
    /// Removes and returns a site with a requested run; the run appears in the database only later.
    fn take(&mut self) -> Option<String> {
        let site = self.wanted.pop_first()?;
        if let Some(ended) = self.ended(&site) {
            self.taken.insert(site.clone(), ended);
        }
        Some(site)
    }

    fn ended(&self, site: &str) -> Option<u64> {
        Some(self.robots.get(site)?.runs_ended())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn request_is_kept_until_handled() {
        let runs = RobotRuns::default();
        runs.set_offered_sites(["a".to_owned(), "b".to_owned()]);
        assert!(runs.request_run("b") && runs.request_run("b") && runs.request_run("a"));
        assert!(runs.is_run_requested("a"));
        assert_eq!(runs.wait_for_request().await, "a");
        assert!(!runs.is_run_requested("a"));
        assert_eq!(runs.wait_for_request().await, "b");
        let (next, ()) = tokio::join!(runs.wait_for_request(), async {
            assert!(runs.request_run("a"));
        });
        assert_eq!(next, "a");
    }

    #[test]
    fn only_offered_runs_can_be_requested() {
        let runs = RobotRuns::default();
        assert!(!runs.request_run("a"));
        runs.set_offered_sites(["a".to_owned()]);
        assert!(runs.request_run("a") && !runs.take_acceptance("a"));
        assert!(runs.request_acceptance("a"));
        assert!(runs.take_acceptance("a") && !runs.take_acceptance("a"));
        runs.set_offered_sites(["b".to_owned()]);
        assert!(!runs.is_run_requested("a"));
        assert_eq!(runs.offered(), ["b"]);
    }

    #[test]
    fn failure_is_shown_until_the_next_request() {
        let runs = RobotRuns::default();
        runs.set_offered_sites(["a".to_owned()]);
        runs.fail("a", "no such host");
        assert_eq!(runs.failure("a").as_deref(), Some("no such host"));
        assert!(runs.request_run("a"));
        assert_eq!(runs.failure("a"), None);
    }
}
