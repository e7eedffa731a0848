//! Verdicts by robot and hour, counted without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

use robot_detection_layer::detect::Verdict;
use robot_detection_layer::registry::RobotMap;

/// Hours that are remembered, the current one included.
const HOURS: usize = 24;

/// [`HOURS`] as a number that timestamps are computed with.
const DAY: i64 = 24;

/// Robots that have counters of their own; the others share one.
const MAX_ROBOTS: usize = 500;

const HOUR_MS: i64 = 3_600_000;

/// Verdicts that are counted: verified, spoofed, unverifiable.
const VERDICTS: usize = 3;

/// Bits of a count; those above tell its hour, till far beyond the year 3000.
const COUNT_BITS: u32 = 40;

/// Verdicts on the requests of one robot, hour by hour.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RobotVerdicts {
    /// Id of the robot; `None` stands for all beyond the first 500.
    pub robot: Option<String>,
    /// The last 24 hours, the oldest first, and the current one last.
    pub hours: Vec<HourVerdicts>,
}

/// Verdicts on the requests of one hour.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct HourVerdicts {
    /// Begin of the hour, in milliseconds since 1970, UTC.
    pub began_ms: i64,
    /// Requests of robots that are who they say.
    pub verified: u64,
    /// Requests of robots that are not.
    pub spoofed: u64,
    /// Requests of robots of which nothing can be said.
    pub unverifiable: u64,
}

/// Counters of all robots, of bounded size.
#[derive(Debug)]
pub(super) struct VerdictCounts {
    robots: RobotMap<Hours>,
}

/// Counters of the last day; each is used anew when its hour comes round again.
#[derive(Debug, Default)]
struct Hours([[Count; VERDICTS]; HOURS]);

/// Hour, and how many requests were counted in it, in one number.
///
/// So counting the first request of an hour resets the last day's count in the same step,
/// and loses nothing that another thread counts meanwhile.
#[derive(Debug, Default)]
struct Count(AtomicU64);

impl RobotVerdicts {
    /// Returns the sum of all hours.
    #[must_use]
    pub fn total(&self) -> HourVerdicts {
        let began_ms = self.hours.first().map_or(0, |hour| hour.began_ms);
        let mut total = HourVerdicts {
            began_ms,
            ..HourVerdicts::default()
        };
        for hour in &self.hours {
            total.verified += hour.verified;
            total.spoofed += hour.spoofed;
            total.unverifiable += hour.unverifiable;
        }
        total
    }
}

impl HourVerdicts {
    /// Returns how many requests were counted.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.verified + self.spoofed + self.unverifiable
    }
}

impl VerdictCounts {
    /// Counts requests; allocates only for a robot that it has not seen.
    ///
    /// A pending request is counted once it has a verdict.
    pub(super) fn count(&self, robot: &str, verdict: Verdict, requests: u64, now_ms: i64) {
        let Some(index) = index(verdict) else {
            return;
        };
        self.robots.of(robot).count(index, requests, now_ms);
    }

    /// Returns the counters of each robot that came, those with most requests first.
    pub(super) fn all(&self, now_ms: i64) -> Vec<RobotVerdicts> {
        let named = self.robots.iter();
        let named = named.map(|(robot, hours)| (Some(robot.to_owned()), hours));
        let mut all: Vec<_> = named
            .chain([(None, self.robots.others())])
            .map(|(robot, hours)| RobotVerdicts {
                robot,
                hours: hours.read(now_ms),
            })
            .filter(|robot| robot.total().requests() > 0)
            .collect();
        all.sort_by(|a, b| {
            let most = |robot: &RobotVerdicts| std::cmp::Reverse(robot.total().requests());
            most(a).cmp(&most(b)).then_with(|| a.robot.cmp(&b.robot))
        });
        all
    }
}

impl Hours {
    fn count(&self, index: usize, requests: u64, now_ms: i64) {
        let number = now_ms.div_euclid(HOUR_MS);
        let count = self.hour(number).and_then(|hour| hour.get(index));
        if let Some(count) = count {
            count.add(number, requests);
        }
    }

    fn read(&self, now_ms: i64) -> Vec<HourVerdicts> {
        let now = now_ms.div_euclid(HOUR_MS);
        let first = now - (DAY - 1);
        (first..=now)
            .map(|number| {
                let read = |verdict| {
                    let count = self.hour(number).zip(index(verdict));
                    let count = count.and_then(|(hour, index)| hour.get(index));
                    count.map_or(0, |count| count.read(number))
                };
                HourVerdicts {
                    began_ms: number * HOUR_MS,
                    verified: read(Verdict::Verified),
                    spoofed: read(Verdict::Spoofed),
                    unverifiable: read(Verdict::Unverifiable),
                }
            })
            .collect()
    }

    fn hour(&self, number: i64) -> Option<&[Count; VERDICTS]> {
        let index = usize::try_from(number.rem_euclid(DAY)).ok()?;
        self.0.get(index)
    }
}

impl Count {
    /// The bits of the hour.
    const TAG: u64 = u64::MAX << COUNT_BITS;

    fn add(&self, hour: i64, requests: u64) {
        let tag = Self::tag(hour);
        let Self(count) = self;
        // If the hour ends in between, these requests are counted in the next one: no harm is done.
        if count.load(Ordering::Relaxed) & Self::TAG == tag {
            count.fetch_add(requests, Ordering::Relaxed);
            return;
        }
        // The counter still has an hour of the day before: it starts again with this hour's
        // tag, in one exchange, so that concurrent counts are kept.
        let add = |count| {
            let before = if count & Self::TAG == tag { count } else { tag };
            Some(before + requests)
        };
        // It never refuses.
        let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    fn read(&self, hour: i64) -> u64 {
        let count = self.0.load(Ordering::Relaxed);
        if count & Self::TAG == Self::tag(hour) {
            count & !Self::TAG
        } else {
            0
        }
    }

    /// Returns the hour as it stands above the count.
    fn tag(hour: i64) -> u64 {
        hour.cast_unsigned() << COUNT_BITS
    }
}

impl Default for VerdictCounts {
    fn default() -> Self {
        Self {
            robots: RobotMap::new(MAX_ROBOTS),
        }
    }
}

/// Returns the place of a verdict's counter.
fn index(verdict: Verdict) -> Option<usize> {
    match verdict {
        Verdict::Verified => Some(0),
        Verdict::Spoofed => Some(1),
        Verdict::Unverifiable => Some(2),
        Verdict::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread};

    use super::*;

    const NOW: i64 = 1_000_000 * HOUR_MS + 5;

    fn total(counts: &VerdictCounts, now_ms: i64) -> Vec<(Option<String>, u64)> {
        let all = counts.all(now_ms).into_iter();
        all.map(|robot| (robot.robot.clone(), robot.total().requests()))
            .collect()
    }

    #[test]
    fn verdicts_stand_in_their_hour_and_leave_after_a_day() {
        let counts = VerdictCounts::default();
        counts.count("a", Verdict::Verified, 1, NOW - HOUR_MS);
        counts.count("a", Verdict::Spoofed, 2, NOW);
        counts.count("a", Verdict::Unverifiable, 1, NOW);
        counts.count("a", Verdict::Pending, 1, NOW);
        let [robot] = counts.all(NOW).try_into().unwrap();
        assert_eq!(robot.hours.len(), HOURS);
        let (before, now) = (robot.hours[HOURS - 2], robot.hours[HOURS - 1]);
        assert_eq!(before.verified, 1);
        assert_eq!(before.began_ms, NOW - 5 - HOUR_MS);
        assert_eq!((now.verified, now.spoofed, now.unverifiable), (0, 2, 1));
        let nearly_a_day = NOW + 22 * HOUR_MS;
        assert_eq!(total(&counts, nearly_a_day), [(Some("a".to_owned()), 4)]);
        let day_later = NOW + DAY * HOUR_MS;
        counts.count("a", Verdict::Verified, 1, day_later);
        assert_eq!(
            total(&counts, day_later),
            [(Some("a".to_owned()), 1)],
            "the hour that came round again begins at zero"
        );
        assert_eq!(total(&counts, NOW + 99 * HOUR_MS), []);
    }

    #[test]
    fn robots_beyond_the_limit_share_a_counter() {
        let counts = VerdictCounts::default();
        for number in 0..MAX_ROBOTS + 7 {
            counts.count(&format!("robot-{number}"), Verdict::Spoofed, 1, NOW);
        }
        let all = total(&counts, NOW);
        assert_eq!(all.len(), MAX_ROBOTS + 1);
        assert_eq!(all[0], (None, 7));
    }

    #[test]
    fn a_robot_costs_the_same_whether_it_is_the_first_or_the_last_and_then_nothing() {
        let counts = VerdictCounts::default();
        let bytes = |robot: &str| {
            let count = || counts.count(robot, Verdict::Verified, 1, NOW);
            allocation_counter::measure(count).bytes_total
        };
        let robots: Vec<_> = (1..MAX_ROBOTS).map(|it| format!("robot-{it:03}")).collect();
        assert!(bytes("one that makes the table") > 0);
        let first = bytes(&robots[0]);
        assert!(first > 0);
        for robot in &robots[1..] {
            assert_eq!(bytes(robot), first, "{robot}");
        }
        for robot in robots.iter().map(String::as_str).chain(["one more"]) {
            assert_eq!(bytes(robot), 0, "{robot}");
        }
    }

    #[test]
    fn nothing_is_lost_where_an_hour_begins_for_all_at_once() {
        const THREADS: u64 = 8;
        const DAYS: u64 = 50;
        let (counts, start) = (VerdictCounts::default(), Barrier::new(8));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for day in 0..DAYS {
                        let now_ms = NOW + i64::try_from(day).unwrap() * DAY * HOUR_MS;
                        start.wait();
                        counts.count("a", Verdict::Verified, 1, now_ms);
                        start.wait();
                        assert_eq!(total(&counts, now_ms), [(Some("a".to_owned()), THREADS)]);
                    }
                });
            }
        });
    }
}
