//! `report --people`: counts the requests of people as COUNTER does for libraries.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use robot_detection_layer::detect::Detector;

use crate::access_log::Record;
use crate::traffic::Class;

use super::{
    counter::Agents,
    findings::Findings,
    merge::RequestSink,
    pages::{Pages, page},
};

/// Seconds within which a second request for the same page is a double click (COUNTER Code of
/// Practice, release 5.1, section 7.2).
const DOUBLE_CLICK_S: i64 = 30;

/// The maximum number of client and page pairs in memory.
const MAX_CLICKS: usize = 500_000;

/// Reasons to leave out a human request, in the order in which they apply.
pub const REASONS: [&str; 3] = [
    "not a page: images, style sheets, scripts, feeds and robots.txt",
    "not a successful GET: another method, or a status other than 200 and 304",
    "double click: the same page again within 30 seconds",
];

/// A counter of the pages that people requested.
#[derive(Debug)]
pub struct PeopleCounter<'d> {
    agents: Agents<'d>,
    findings: &'d Findings<'d>,
    hasher: RandomState,
    /// The time of the last request by client and page, of this and of the previous 30 seconds.
    clicks: [HashMap<u64, i64, RandomState>; 2],
    clicks_s: i64,
    /// Number of requests left out, by class.
    pub classes: BTreeMap<Class, u64>,
    /// Number of human requests left out, by [reason](REASONS).
    pub left_out: [u64; REASONS.len()],
    /// Number of counted requests by month.
    pub months: BTreeMap<String, u64>,
    /// Number of counted requests.
    pub counted: u64,
    /// Pages that people requested.
    pub pages: Pages,
    is_full: bool,
}

impl<'d> PeopleCounter<'d> {
    /// Creates a counter; keeps the queries of pages only if `is_full`.
    pub fn new(detector: &'d Detector, findings: &'d Findings<'d>, is_full: bool) -> Self {
        Self {
            agents: Agents::new(detector),
            findings,
            hasher: RandomState::default(),
            clicks: Default::default(),
            clicks_s: i64::MIN,
            classes: BTreeMap::new(),
            left_out: [0; REASONS.len()],
            months: BTreeMap::new(),
            counted: 0,
            pages: Pages::default(),
            is_full,
        }
    }

    fn is_double_click(&mut self, record: &Record<'_>, time_s: i64) -> bool {
        if time_s.abs_diff(self.clicks_s) >= DOUBLE_CLICK_S.unsigned_abs() {
            self.clicks.swap(0, 1);
            let [current, previous] = &mut self.clicks;
            current.clear();
            if time_s.abs_diff(self.clicks_s) >= 2 * DOUBLE_CLICK_S.unsigned_abs() {
                previous.clear();
            }
            self.clicks_s = time_s;
        }
        let page = (record.client, record.user_agent, record.host, record.target);
        let page = self.hasher.hash_one(page);
        let [current, previous] = &mut self.clicks;
        if current.len() >= MAX_CLICKS {
            current.clear();
        }
        let last = current
            .insert(page, time_s)
            .or_else(|| previous.get(&page).copied());
        last.is_some_and(|last_s| time_s.abs_diff(last_s) <= DOUBLE_CLICK_S.unsigned_abs())
    }
}

impl RequestSink for PeopleCounter<'_> {
    fn request(&mut self, record: &Record<'_>, time_s: i64) {
        let (_, class, _) = self.agents.classify(record, time_s, self.findings);
        if class != Class::People {
            *self.classes.entry(class).or_default() += 1;
            return;
        }
        let is_get = matches!(record.method, b"" | b"GET");
        let Some(page) = page(record.target, self.is_full) else {
            self.left_out[0] += 1;
            return;
        };
        let reason = if !is_get || !matches!(record.status, 200 | 304) {
            Some(1)
        } else {
            self.is_double_click(record, time_s).then_some(2)
        };
        if let Some(count) = reason.and_then(|reason| self.left_out.get_mut(reason)) {
            *count += 1;
            return;
        }
        let month = crate::suspicion::moment(time_s);
        let month = month.get(..7).unwrap_or(&month);
        *self.months.entry(month.to_owned()).or_default() += 1;
        self.counted += 1;
        self.pages.add(page, class, record.bytes.unwrap_or(0));
    }
}
