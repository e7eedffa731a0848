//! Bar chart of the verdicts by hour.
//!
//! It needs neither inline styles nor a script, which the pages' Content-Security-Policy forbids.

use super::totals::HourView;
use crate::admin::time_zone::TimeZone;

/// Edges of the drawing in units of the picture; the numbers stand on the right, beside the newest
/// hour.
const LEFT: u64 = 10;
const TOP: u64 = 14;
const HEIGHT: u64 = 170;
/// Distance from one hour to the next, and width of a bar.
const STEP: u64 = 30;
const WIDTH: u64 = 22;
/// One hour in so many has its time below it, as more would overlap.
const LABEL_EVERY: usize = 6;
/// Least height of a part of a bar, so that one request among a million is visible too.
const MIN_HEIGHT: u64 = 3;

/// Bars of the hours, stacked by verdict.
#[derive(Debug)]
pub(super) struct Chart {
    /// Requests that the highest bar stands for.
    pub(super) most: u64,
    pub(super) bar_width: u64,
    /// Line that the bars stand on.
    pub(super) ground: u64,
    pub(super) columns: Vec<ChartColumn>,
}

/// Bar of one hour.
#[derive(Debug)]
pub(super) struct ChartColumn {
    pub(super) x: u64,
    /// Its counts in words.
    pub(super) words: String,
    /// Time below it; most have none.
    pub(super) label: String,
    pub(super) parts: Vec<ChartPart>,
}

/// Part of a bar that stands for one verdict.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct ChartPart {
    pub(super) verdict: &'static str,
    pub(super) y: u64,
    pub(super) height: u64,
}

impl Chart {
    pub(super) fn new(hours: &[HourView], zone: TimeZone) -> Self {
        let most = hours.iter().map(|hour| hour.counts.requests()).max();
        let most = most.unwrap_or_default();
        let columns = (LEFT..).step_by(usize::try_from(STEP).unwrap_or(1));
        let columns = hours.iter().zip(columns).enumerate();
        Self {
            most,
            bar_width: WIDTH,
            ground: TOP + HEIGHT,
            columns: columns
                .map(|(at, (hour, x))| ChartColumn::new(at, x, hour, most, zone))
                .collect(),
        }
    }
}

impl ChartColumn {
    fn new(at: usize, x: u64, hour: &HourView, most: u64, zone: TimeZone) -> Self {
        let counts = &hour.counts;
        let mut y = TOP + HEIGHT;
        let mut parts = Vec::new();
        for (verdict, count) in [
            ("verified", counts.verified),
            ("unverifiable", counts.unverifiable),
            ("spoofed", counts.spoofed),
        ] {
            // Parts of the least height may be more together than the bar has room for.
            let height = height(count, most).min(y);
            if height > 0 {
                y -= height;
                parts.push(ChartPart { verdict, y, height });
            }
        }
        let is_labelled = at % LABEL_EVERY == LABEL_EVERY - 1;
        Self {
            x,
            words: format!(
                "{}: {} verified, {} unverifiable, {} spoofed",
                hour.clock(zone),
                counts.verified,
                counts.unverifiable,
                counts.spoofed
            ),
            label: if is_labelled {
                hour.clock(zone)
            } else {
                String::new()
            },
            parts,
        }
    }
}

fn height(count: u64, most: u64) -> u64 {
    if count == 0 || most == 0 {
        return 0;
    }
    let height = u128::from(count) * u128::from(HEIGHT) / u128::from(most);
    u64::try_from(height).unwrap_or(HEIGHT).max(MIN_HEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::{moment::Moment, verification::TotalsView};

    fn hour(verified: u64, unverifiable: u64, spoofed: u64) -> HourView {
        HourView {
            began: Moment::new(1_772_366_400_000, 0),
            counts: TotalsView {
                verified,
                unverifiable,
                spoofed,
            },
        }
    }

    #[test]
    fn bars_are_stacked_and_the_highest_fills_the_height() {
        let chart = Chart::new(
            &[hour(0, 0, 0), hour(50, 30, 20), hour(1, 0, 0)],
            TimeZone::default(),
        );
        assert_eq!(chart.most, 100);
        let [none, full, low] = &*chart.columns else {
            panic!("three hours");
        };
        assert!(none.parts.is_empty());
        let stacked: Vec<_> = full
            .parts
            .iter()
            .map(|part| (part.y, part.height))
            .collect();
        assert_eq!(stacked, [(99, 85), (48, 51), (14, 34)]);
        assert_eq!(low.parts[0].height, MIN_HEIGHT);
        assert_eq!(
            full.words,
            "12:00: 50 verified, 30 unverifiable, 20 spoofed"
        );
    }

    #[test]
    fn no_count_leaves_the_picture() {
        for hours in [
            vec![],
            vec![hour(u64::MAX, u64::MAX, u64::MAX); 24],
            vec![hour(1, 1, u64::MAX)],
        ] {
            for column in Chart::new(&hours, TimeZone::default()).columns {
                let top = column.parts.iter().map(|part| part.y).min();
                assert!(top.is_none_or(|y| y <= TOP + HEIGHT), "{column:?}");
                assert!(column.x < 800);
            }
        }
    }
}
