//! Invented but plausible traffic, stored as a server stores its counts.

use std::sync::atomic::{AtomicI64, Ordering};

use robot_detection::store::{MinuteCounts, Store, TrafficBatch, TrafficCount, TrafficKey};

use super::site::NOW_MS;

/// Current minute at the sites of these tests.
pub(crate) const NOW: i64 = NOW_MS / 60_000;
pub(crate) const HOUR: i64 = 60;
pub(crate) const DAY: i64 = 24 * HOUR;

/// A group of similar visitors.
#[derive(Clone, Copy)]
pub(crate) struct Visits {
    pub(crate) site: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) robot: &'static str,
    pub(crate) verdict: &'static str,
    pub(crate) decision: &'static str,
    pub(crate) status: u8,
    /// Requests in an hour of the busiest time.
    pub(crate) per_hour: u64,
    /// Busiest hour of the day (UTC); `None`: evenly all day.
    pub(crate) peak: Option<i64>,
}

const fn visits(
    (site, kind, robot): (&'static str, &'static str, &'static str),
    (verdict, decision, status): (&'static str, &'static str, u8),
    per_hour: u64,
    peak: Option<i64>,
) -> Visits {
    Visits {
        site,
        kind,
        robot,
        verdict,
        decision,
        status,
        per_hour,
        peak,
    }
}

/// Traffic of a shop and a blog in a day.
pub(crate) const USUAL: &[Visits] = &[
    visits(("shop", "person", ""), ("none", "pass", 2), 2_400, Some(19)),
    visits(("shop", "person", ""), ("none", "pass", 4), 60, Some(19)),
    visits(("blog", "person", ""), ("none", "pass", 2), 700, Some(12)),
    visits(("blog", "shared", ""), ("none", "pass", 2), 40, None),
    visits(
        ("shop", "listed", "googlebot"),
        ("verified", "pass", 2),
        320,
        None,
    ),
    visits(
        ("shop", "listed", "googlebot"),
        ("verified", "redirect", 3),
        45,
        None,
    ),
    visits(
        ("shop", "listed", "googlebot"),
        ("spoofed", "refuse", 4),
        14,
        Some(3),
    ),
    visits(
        ("blog", "listed", "googlebot"),
        ("verified", "pass", 2),
        130,
        None,
    ),
    visits(
        ("blog", "listed", "bingbot"),
        ("verified", "pass", 2),
        110,
        Some(6),
    ),
    visits(
        ("shop", "listed", "gptbot"),
        ("verified", "refuse", 4),
        180,
        Some(2),
    ),
    visits(
        ("blog", "listed", "gptbot"),
        ("verified", "pass", 2),
        90,
        Some(2),
    ),
    visits(
        ("blog", "listed", "claudebot"),
        ("verified", "pass", 2),
        70,
        Some(14),
    ),
    visits(
        ("shop", "listed", "ahrefsbot"),
        ("unverifiable", "redirect", 3),
        85,
        Some(22),
    ),
    visits(
        ("shop", "unlisted", "unlisted"),
        ("none", "pass", 2),
        30,
        Some(4),
    ),
    visits(
        ("blog", "unlisted", "unlisted"),
        ("none", "redirect", 3),
        12,
        None,
    ),
    visits(("shop", "nameless", ""), ("none", "pass", 4), 9, None),
];

/// Counts visits of some hours up to the time of these tests, ten minutes at a time.
pub(crate) async fn come(store: &Store, visits: &[Visits], hours: std::ops::Range<i64>) {
    come_until(NOW, store, visits, hours).await;
}

/// Counts visits of some hours up to a minute, ten minutes at a time.
pub(crate) async fn come_until(
    now: i64,
    store: &Store,
    visits: &[Visits],
    hours: std::ops::Range<i64>,
) {
    let mut counted = Vec::new();
    for hour in hours {
        for (number, visits) in visits.iter().enumerate() {
            let began = now - hour * HOUR;
            for part in 0..6 {
                let minute = began - 10 * part;
                let requests = requests(visits, minute, number);
                if requests > 0 {
                    counted.push(minute_of(visits, minute, requests));
                }
            }
        }
    }
    add_at(now * 60_000, store, &counted).await;
}

/// Adds counts up to the time of these tests.
pub(crate) async fn add(store: &Store, counted: &[MinuteCounts]) {
    add_at(NOW_MS, store, counted).await;
}

pub(crate) async fn add_at(now_ms: i64, store: &Store, counted: &[MinuteCounts]) {
    // A repeated number would mean that the same batch is sent again.
    static BATCHES: AtomicI64 = AtomicI64::new(1);
    for counted in counted.chunks(2_000) {
        let batch = TrafficBatch {
            writer: "test",
            number: BATCHES.fetch_add(1, Ordering::Relaxed),
            counted,
            paths: &[],
            live: &[],
        };
        store.traffic().add(&batch, now_ms).await.unwrap();
    }
}

/// Returns the counts of visits in a minute.
pub(crate) fn minute_of(visits: &Visits, minute: i64, requests: u64) -> MinuteCounts {
    let cause = match visits.decision {
        "pass" => "no-filter-pattern",
        "redirect" => "filter-pattern",
        _ => "rule 1",
    };
    MinuteCounts {
        minute,
        key: TrafficKey {
            site: visits.site.to_owned(),
            kind: visits.kind.to_owned(),
            robot: visits.robot.to_owned(),
            verdict: visits.verdict.to_owned(),
            decision: visits.decision.to_owned(),
            cause: cause.to_owned(),
            status: visits.status,
        },
        count: TrafficCount {
            requests,
            bytes: requests * if visits.status == 2 { 18_431 } else { 312 },
            micros: requests * 900,
        },
    }
}

/// Returns a sixth of an hour's requests, fewer away from the busiest time and slightly varied.
fn requests(visits: &Visits, minute: i64, number: usize) -> u64 {
    let hour = minute.rem_euclid(DAY) / HOUR;
    let away = visits.peak.map_or(0, |peak| {
        let apart = (hour - peak).rem_euclid(24);
        apart.min(24 - apart)
    });
    let tenths = u64::try_from(10 - away * 3 / 4).unwrap();
    let noise = (minute.unsigned_abs() / 10).wrapping_mul(2_654_435_761) + number as u64 * 97;
    visits.per_hour * tenths * (80 + noise % 41) / 6_000
}
