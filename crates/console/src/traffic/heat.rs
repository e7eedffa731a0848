//! The hours of a week in which a robot comes.

use chrono::{Datelike as _, Timelike as _};

use crate::TimeZone;
use robot_detection_store::store::TrafficSpan;
use robot_detection_traffic::traffic::Figures;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Shades that can be told apart.
const SHADES: u64 = 5;
const MINUTE_MS: i64 = 60_000;

/// Requests by day of the week and hour.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeatMap {
    pub(crate) days: Vec<DayView>,
    /// In a sentence.
    pub(crate) words: String,
}

#[derive(Clone, Debug)]
pub(crate) struct DayView {
    pub(crate) name: &'static str,
    pub(crate) y: usize,
    pub(crate) hours: Vec<HourView>,
}

#[derive(Clone, Debug)]
pub(crate) struct HourView {
    pub(crate) hour: usize,
    pub(crate) x: usize,
    pub(crate) requests: u64,
    /// 0 for none, up to 5 for the most.
    pub(crate) shade: u64,
}

impl HeatMap {
    /// Creates it of what is known by the hour; `None` where nothing is.
    pub(super) fn new(figures: &Figures<'_>, zone: TimeZone) -> Option<Self> {
        let mut counts = [[0_u64; 24]; 7];
        let by_hour = figures.steps().iter();
        for step in by_hour.filter(|step| step.span <= TrafficSpan::Hour) {
            let at = zone.at(step.began.saturating_mul(MINUTE_MS));
            let day = counts.get_mut(at.weekday().num_days_from_monday() as usize);
            if let Some(count) = day.and_then(|day| day.get_mut(at.hour() as usize)) {
                let cells = step.cells.iter().filter(|cell| figures.is_counted(cell));
                *count = cells.fold(*count, |sum, cell| sum.saturating_add(cell.requests));
            }
        }
        let most = counts.iter().flatten().copied().max().unwrap_or_default();
        (most > 0).then(|| Self {
            days: DAYS
                .iter()
                .zip(&counts)
                .enumerate()
                .map(|day| view(day, most))
                .collect(),
            words: words(&counts, most, zone),
        })
    }
}

fn view((row, (name, hours)): (usize, (&&'static str, &[u64; 24])), most: u64) -> DayView {
    let hour = |(hour, requests): (usize, &u64)| HourView {
        hour,
        x: 44 + 29 * hour,
        requests: *requests,
        shade: shade(*requests, most),
    };
    DayView {
        name,
        y: 4 + 25 * row,
        hours: hours.iter().enumerate().map(hour).collect(),
    }
}

fn shade(requests: u64, most: u64) -> u64 {
    let scaled = u128::from(requests) * u128::from(SHADES);
    let shade = scaled.div_ceil(u128::from(most.max(1)));
    u64::try_from(shade).unwrap_or(SHADES)
}

fn words(counts: &[[u64; 24]; 7], most: u64, zone: TimeZone) -> String {
    let place = DAYS.iter().zip(counts).find_map(|(day, hours)| {
        let hour = hours.iter().position(|count| *count == most)?;
        Some(format!("{day} {hour:02}:00"))
    });
    format!(
        "Requests by hour of the week in {zone}; most, {most}, on {}.",
        place.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_is_seen_and_the_most_is_darkest() {
        assert_eq!(shade(0, 100), 0);
        assert_eq!(shade(1, 1_000_000), 1);
        assert_eq!(shade(20, 100), 1);
        assert_eq!(shade(21, 100), 2);
        assert_eq!(shade(100, 100), SHADES);
        assert_eq!(shade(u64::MAX, u64::MAX), SHADES);
    }
}
