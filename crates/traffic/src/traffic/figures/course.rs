//! Traffic figures as a time series.

use std::ops::Range;

use crate::summary::Count;
use robot_detection_store::store::{TrafficKey, TrafficSpan, TrafficStep};

use super::{By, Figures};

const HOUR: i64 = 60;
const DAY: i64 = 24 * HOUR;

/// Step widths for charts: the maximum duration in minutes, the span of the counts to read, and the
/// minutes per step. Each width fits the chart, and no more counts are read than are shown.
const STEPS: &[(i64, TrafficSpan, i64)] = &[
    (2 * HOUR, TrafficSpan::Minute, 1),
    (6 * HOUR, TrafficSpan::Minute, 5),
    (3 * DAY, TrafficSpan::Hour, HOUR),
    (8 * DAY, TrafficSpan::Hour, 3 * HOUR),
    (190 * DAY, TrafficSpan::Day, DAY),
    (3 * 366 * DAY, TrafficSpan::Day, 7 * DAY),
    (i64::MAX, TrafficSpan::Day, 30 * DAY),
];

/// Offset of the first Monday in minutes: 1970 began on a Thursday, and weeks begin on Mondays.
const MONDAY: i64 = 3 * DAY;

/// A period divided into equal steps for a chart.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TimeSteps {
    /// First minute of the first step.
    pub began: i64,
    /// Number of minutes in each step.
    pub step: i64,
    /// Number of steps in the chart.
    pub steps: usize,
    /// Whether the first step starts before the requested period and is therefore incomplete.
    pub begins_late: bool,
    /// Whether the last step ends after the requested period.
    pub is_cut: bool,
}

/// The counts of one group over time.
#[derive(Clone, Debug)]
pub struct Line {
    /// Cells that identify the group in a table.
    pub cells: Vec<Option<String>>,
    /// Requests and bytes in all steps together.
    pub count: Count,
    /// Requests and bytes in each step.
    pub steps: Vec<Count>,
}

impl TimeSteps {
    /// Returns the longest span whose stored counts are detailed enough for a range of minutes.
    pub fn span(minutes: &Range<i64>) -> TrafficSpan {
        Self::step(minutes).0
    }

    fn step(minutes: &Range<i64>) -> (TrafficSpan, i64) {
        let length = minutes.end - minutes.start;
        let fits = STEPS.iter().find(|(most, _, _)| length <= *most);
        fits.map_or((TrafficSpan::Day, 30 * DAY), |(_, span, step)| {
            (*span, *step)
        })
    }

    /// Creates the steps of a chart for a range of minutes.
    pub fn new(minutes: &Range<i64>, counted: &[TrafficStep]) -> Self {
        let (_, step) = Self::step(minutes);
        // Old counts are stored only by day, so an hourly step would show the requests of a whole
        // day.
        let longest = counted.iter().map(|step| step.span.minutes()).max();
        let step = step.max(longest.unwrap_or(1));
        let offset = if step == 7 * DAY { MONDAY } else { 0 };
        let began = minutes.start - (minutes.start + offset).rem_euclid(step);
        let steps = (minutes.end - began).max(0);
        let steps = steps / step + i64::from(steps % step > 0);
        Self {
            began,
            step,
            steps: usize::try_from(steps).unwrap_or_default(),
            begins_late: began < minutes.start,
            is_cut: began + steps * step > minutes.end,
        }
    }

    /// Returns the first minute of each step.
    pub fn starts(&self) -> impl Iterator<Item = i64> {
        let (began, step) = (self.began, self.step);
        (0..).take(self.steps).map(move |at: i64| began + at * step)
    }

    fn place(&self, minute: i64) -> usize {
        let place = (minute - self.began).div_euclid(self.step.max(1));
        usize::try_from(place).unwrap_or_default()
    }
}

impl<'d> Figures<'d> {
    /// Returns the number of requests in each step, counting only keys for which `is_of` returns
    /// `true`.
    pub fn requests_per_step(
        &self,
        course: &TimeSteps,
        is_of: impl Fn(&TrafficKey) -> bool,
    ) -> Vec<u64> {
        let mut steps = vec![0_u64; course.steps];
        let keys = self.keys().iter();
        let is_wanted: Vec<bool> = keys.map(is_of).collect();
        for counted in self.steps() {
            let Some(step) = steps.get_mut(course.place(counted.began)) else {
                continue;
            };
            for cell in &counted.cells {
                if is_wanted.get(cell.key_index()) == Some(&true) && self.is_counted(cell) {
                    *step = step.saturating_add(cell.requests);
                }
            }
        }
        steps
    }

    /// Returns each key with the last step in which requests were counted for the key.
    pub fn last_seen(&self) -> impl Iterator<Item = (&TrafficKey, &'d TrafficStep)> {
        let mut steps: Vec<&'d TrafficStep> = self.steps().iter().collect();
        steps.sort_by_key(|step| step.began + step.span.minutes());
        let mut last = vec![None; self.keys().len()];
        for step in steps {
            for cell in step.cells.iter().filter(|cell| self.is_counted(cell)) {
                if let Some(last) = last.get_mut(cell.key_index()) {
                    *last = Some(step);
                }
            }
        }
        let keys = self.keys().iter().zip(last);
        keys.filter_map(|(key, last)| Some((key, last?)))
    }

    /// Returns the counts of each table row over time, sorted by number of requests, highest first.
    pub fn lines(&self, by: By, course: &TimeSteps) -> Vec<Line> {
        let (places, rows) = self.groups(by);
        let line = |cells| Line {
            cells,
            count: Count::default(),
            steps: vec![Count::default(); course.steps],
        };
        let mut lines: Vec<Line> = rows.into_iter().map(line).collect();
        for counted in self.steps() {
            let at = course.place(counted.began);
            for cell in &counted.cells {
                let place = places.get(cell.key_index()).copied().flatten();
                if let Some(line) = place.and_then(|place| lines.get_mut(place)) {
                    let count = Count {
                        hits: cell.requests,
                        bytes: cell.bytes,
                    };
                    line.count.add(count);
                    if let Some(step) = line.steps.get_mut(at) {
                        step.add(count);
                    }
                }
            }
        }
        lines.retain(|line| line.count.hits > 0);
        lines.sort_by(|a, b| {
            let most = |line: &Line| std::cmp::Reverse((line.count.hits, line.count.bytes));
            most(a).cmp(&most(b)).then_with(|| a.cells.cmp(&b.cells))
        });
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_has_a_number_of_steps_that_fits_a_chart() {
        for length in [
            1,
            60,
            24 * HOUR,
            7 * DAY,
            30 * DAY,
            90 * DAY,
            366 * DAY,
            3_000 * DAY,
        ] {
            let minutes = 20_000 * DAY + 700 - length..20_000 * DAY + 700;
            let course = TimeSteps::new(&minutes, &[]);
            assert!((1..=200).contains(&course.steps), "{length}: {course:?}");
            let last = course.starts().last().unwrap();
            assert!(course.began <= minutes.start && last < minutes.end);
            assert!(last + course.step >= minutes.end);
        }
        assert_eq!(TimeSteps::new(&(5..5), &[]).steps, 0);
    }

    #[test]
    fn weeks_begin_on_mondays() {
        let course = TimeSteps::new(&(20_000 * DAY..20_400 * DAY), &[]);
        // 2024-10-07 was a Monday.
        assert_eq!(
            (course.step, (course.began / DAY - 20_003) % 7),
            (7 * DAY, 0)
        );
    }
}
