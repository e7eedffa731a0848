//! Schedules repeated visits, using the dates of pages in sitemaps and feeds.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use tokio::sync::watch;

use robot_detection_store::description::{ResourceDescription, name};
use robot_detection_store::store::{ClaimedUrl, NextVisit, StoreError};

use crate::document::Moment;

use super::{links::SITEMAP, settings::Settings};

/// Time until a changed page is requested again; it is doubled after each visit that finds the page
/// unchanged.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Number of unchanged visits after which the interval has reached its maximum of 32 days.
const MAX_STEADY: u32 = 5;

/// Maximum number of pages whose dates are stored from sitemaps and feeds.
const MAX_LISTED: usize = 200_000;

/// State that determines which pages a run requests, such as the dates of pages and the budget.
#[derive(Debug)]
pub(super) struct Freshness {
    budget: Option<Budget>,
    listed: Mutex<HashMap<String, ListedDates>>,
    /// Number of sitemaps and feeds that are being read.
    lists: watch::Sender<usize>,
}

/// A sitemap or feed that is being read; pages wait until this guard is dropped.
#[derive(Debug)]
pub(super) struct OpenList(watch::Sender<usize>);

impl Drop for OpenList {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Dates of a page, as listed in a sitemap or feed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ListedDates {
    pub(super) published: Option<String>,
    pub(super) modified: Option<String>,
}

/// Request budget of a run.
#[derive(Debug)]
struct Budget {
    left: AtomicU64,
    /// Due time of the last page that fits the budget, if more pages are due than can be requested.
    last_due_ms: Option<i64>,
}

/// Handling of a page in this run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PageTreatment {
    /// Request the page.
    Ask,
    /// Keep the page's description and follow its known links.
    Keep,
    /// Leave the page to the next run, which will find the page again.
    Wait,
}

impl Freshness {
    /// Creates the state for a run that has already made `used` requests.
    pub(super) async fn of(settings: &Settings, used: u64) -> Result<Self, StoreError> {
        let (listed, lists) = (Mutex::default(), watch::Sender::default());
        let Some(requests) = settings
            .requests_per_run
            .filter(|_| settings.only.is_empty())
        else {
            return Ok(Self {
                budget: None,
                listed,
                lists,
            });
        };
        // A tenth of the budget is reserved for new pages.
        let known = (requests - requests / 10).max(1);
        let (store, site) = (&settings.store, &settings.site);
        let last_due = store
            .frontier()
            .nth_due_ms(site, settings.clock.now_ms(), known)
            .await?;
        let budget = Budget {
            left: AtomicU64::new(requests.saturating_sub(used)),
            last_due_ms: last_due,
        };
        Ok(Self {
            budget: Some(budget),
            listed,
            lists,
        })
    }

    /// Determines how to handle a page; if the page is to be requested, the budget is reduced.
    pub(super) fn handling(
        &self,
        claimed: &ClaimedUrl,
        is_current: bool,
        now_ms: i64,
    ) -> PageTreatment {
        let Some(budget) = &self.budget else {
            return PageTreatment::Ask;
        };
        let is_list = claimed.found_on.is_empty() || claimed.found_on == SITEMAP;
        let take = |left: u64| left.checked_sub(1);
        let has_left = || {
            let left = budget
                .left
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
            left.is_ok()
        };
        // Sitemaps and feeds are always requested, because otherwise nothing would be found.
        if is_list {
            has_left();
            return PageTreatment::Ask;
        }
        let due = |next_ms: i64| {
            let is_turn = budget.last_due_ms.is_none_or(|last_ms| next_ms <= last_ms);
            next_ms <= now_ms && is_turn
        };
        let is_due =
            claimed.next_ms.is_none_or(due) || !is_current || self.is_listed_as_changed(claimed);
        let is_known = claimed.next_ms.is_some() || claimed.is_described;
        match (is_due && has_left(), is_known) {
            (true, _) => PageTreatment::Ask,
            (false, true) => PageTreatment::Keep,
            (false, false) => PageTreatment::Wait,
        }
    }

    /// Waits until no sitemaps or feeds are being read.
    pub(super) async fn wait_for_lists(&self) {
        let mut lists = self.lists.subscribe();
        // The channel is never closed, so the error is ignored.
        let _ = lists.wait_for(|open| *open == 0).await;
    }

    /// Makes pages wait until a sitemap or feed has been read.
    pub(super) fn open_list(&self) -> OpenList {
        self.lists.send_modify(|count| *count += 1);
        OpenList(self.lists.clone())
    }

    /// Records the dates of a page, as listed in a sitemap or feed.
    pub(super) fn note_listed(&self, url: &str, dates: ListedDates) {
        let mut listed = self.listed.lock();
        if dates != ListedDates::default() && listed.len() < MAX_LISTED {
            listed.insert(url.to_owned(), dates);
        }
    }

    /// Adds dates from a sitemap or feed to a description without dates.
    pub(super) fn add_dates(&self, url: &str, description: &mut ResourceDescription) {
        let listed = self.listed.lock();
        let Some(dates) = listed.get(url) else { return };
        for (name, date) in [
            (name::PUBLISHED, &dates.published),
            (name::MODIFIED, &dates.modified),
        ] {
            if let Some(date) = date
                && description.value(name).is_none()
            {
                description.set(name, date);
            }
        }
    }

    /// Returns `true` if a sitemap or feed lists a change since the last visit to the page.
    fn is_listed_as_changed(&self, claimed: &ClaimedUrl) -> bool {
        let Some(next_ms) = claimed.next_ms else {
            return true;
        };
        let asked_ms = next_ms.saturating_sub(pause_ms(claimed.steady));
        let listed = self.listed.lock();
        let dates = listed.get(&claimed.url);
        let modified = dates.and_then(|dates| dates.modified.as_deref());
        modified.and_then(Moment::read).is_some_and(|moment| {
            // A date without a time may refer to the end of the day.
            let day_s = if moment.is_day { 86_400 } else { 0 };
            let at_ms = i64::try_from(moment.seconds.saturating_add(day_s) * 1_000);
            at_ms.is_ok_and(|at_ms| at_ms > asked_ms)
        })
    }
}

/// Returns the time of the next visit to a page that is visited now.
pub(super) fn next_visit(claimed: &ClaimedUrl, is_changed: bool, now_ms: i64) -> NextVisit {
    let steady = if is_changed {
        0
    } else {
        claimed.steady.saturating_add(1).min(MAX_STEADY)
    };
    NextVisit {
        steady,
        at_ms: now_ms.saturating_add(pause_ms(steady)),
    }
}

fn pause_ms(steady: u32) -> i64 {
    DAY_MS << steady.min(MAX_STEADY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_796_040_000_000;

    fn freshness(left: u64, last_due_ms: Option<i64>) -> Freshness {
        let left = AtomicU64::new(left);
        Freshness {
            budget: Some(Budget { left, last_due_ms }),
            listed: Mutex::default(),
            lists: watch::Sender::default(),
        }
    }

    fn page(next_ms: Option<i64>) -> ClaimedUrl {
        let mut page = ClaimedUrl::new("http://h/a", "h:80");
        "http://h/".clone_into(&mut page.found_on);
        page.next_ms = next_ms;
        page
    }

    #[test]
    fn changing_pages_are_requested_daily_and_others_monthly() {
        let mut claimed = page(None);
        let days: Vec<i64> = (0..8)
            .map(|visit| {
                let next = next_visit(&claimed, visit == 0, NOW_MS);
                claimed.steady = next.steady;
                (next.at_ms - NOW_MS) / DAY_MS
            })
            .collect();
        assert_eq!(days, [1, 2, 4, 8, 16, 32, 32, 32]);
        assert_eq!(next_visit(&claimed, true, NOW_MS).at_ms, NOW_MS + DAY_MS);
    }

    #[test]
    fn due_page_is_requested_while_the_budget_lasts() {
        let freshness = freshness(2, Some(NOW_MS - 10));
        for (next_ms, expected) in [
            (Some(NOW_MS + 1), PageTreatment::Keep),
            (Some(NOW_MS - 5), PageTreatment::Keep),
            (Some(NOW_MS - 10), PageTreatment::Ask),
            (None, PageTreatment::Ask),
            (None, PageTreatment::Wait),
            (Some(NOW_MS - 20), PageTreatment::Keep),
        ] {
            let turn = freshness.handling(&page(next_ms), true, NOW_MS);
            assert_eq!(turn, expected, "{next_ms:?}");
        }
        let start = ClaimedUrl::new("http://h/", "h:80");
        assert_eq!(freshness.handling(&start, true, NOW_MS), PageTreatment::Ask);
    }

    #[test]
    fn sitemap_date_makes_a_page_due() {
        let freshness = freshness(9, None);
        // The page was last requested half a day ago, at 2026-11-30 00:00 UTC.
        let known = page(Some(NOW_MS + DAY_MS / 2));
        let turn = |date: &str| {
            let modified = Some(date.to_owned());
            let published = None;
            freshness.note_listed(
                &known.url,
                ListedDates {
                    published,
                    modified,
                },
            );
            freshness.handling(&known, true, NOW_MS)
        };
        assert_eq!(turn("2026-11-29"), PageTreatment::Keep);
        assert_eq!(turn("2026-11-30"), PageTreatment::Ask);
        assert_eq!(turn("2026-11-29T23:59:00Z"), PageTreatment::Keep);
        assert_eq!(turn("2026-11-30T09:00:00Z"), PageTreatment::Ask);
        assert_eq!(turn("soon"), PageTreatment::Keep);
    }
}
