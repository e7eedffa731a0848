//! Bar charts, of hours, days or runs.
//!
//! They need neither inline styles nor a script, which the pages' Content-Security-Policy forbids.

/// Edges of the drawing in units of the picture; the numbers stand on the right, beside the newest
/// bar.
const LEFT: u64 = 10;
const TOP: u64 = 14;
const HEIGHT: u64 = 170;
/// Width of all bars with what is between them.
const WIDTH: u64 = 720;
/// Bars that there is room for at least: of a few, each is no wider than these are.
const MIN_BARS: usize = 20;
/// Bars with a word below them, as more would overlap.
const LABELS: usize = 4;
/// Least height of a part of a bar, so that one request among a million is visible too.
const MIN_HEIGHT: u64 = 3;

/// Bars of parts that stand on each other.
#[derive(Debug, Default)]
pub(super) struct BarChart {
    /// What is shown, as the title of the picture.
    pub(super) title: &'static str,
    /// The parts from below, for who does not see them.
    pub(super) words: String,
    /// What is counted, such as "requests".
    pub(super) unit: &'static str,
    /// Number that the highest bar stands for.
    pub(super) most: u64,
    pub(super) bar_width: u64,
    /// Line that the bars stand on.
    pub(super) ground: u64,
    /// Words and classes of the parts.
    pub(super) legend: Vec<(&'static str, &'static str)>,
    pub(super) columns: Vec<BarColumn>,
}

/// What a bar stands for, and how much of each part.
#[derive(Clone, Debug, Default)]
pub(super) struct Bar {
    /// Word below it; not all are shown.
    pub(super) label: String,
    /// It in full.
    pub(super) name: String,
    /// In the order of the legend.
    pub(super) parts: Vec<u64>,
}

/// Bar as it is drawn.
#[derive(Debug)]
pub(super) struct BarColumn {
    pub(super) x: u64,
    /// Middle of it.
    pub(super) middle: u64,
    /// Its counts in words.
    pub(super) words: String,
    /// Word below it; most have none.
    pub(super) label: String,
    pub(super) parts: Vec<BarPart>,
}

/// Part of a bar.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct BarPart {
    pub(super) class: &'static str,
    pub(super) y: u64,
    pub(super) height: u64,
}

impl BarChart {
    /// Creates the chart of bars, the oldest first; a legend has a word and a class for each part.
    pub(super) fn new(
        title: &'static str,
        unit: &'static str,
        legend: &[(&'static str, &'static str)],
        bars: &[Bar],
    ) -> Self {
        let most = bars.iter().map(Bar::sum).max().unwrap_or_default();
        let room = bars.len().max(MIN_BARS);
        let step = (WIDTH / room as u64).max(1);
        let bar_width = (step * 3 / 4).max(1);
        // The newest stands at the right end, however few there are.
        let first = LEFT + WIDTH.saturating_sub(step * bars.len() as u64);
        let every = bars.len().div_ceil(LABELS).max(1) as u64;
        let last = bars.len().saturating_sub(1) as u64;
        let column = |(number, bar): (u64, &Bar)| {
            let x = first + number * step;
            // Counted from the newest, which always has one.
            let is_labelled = (last - number).is_multiple_of(every);
            BarColumn {
                x,
                middle: x + bar_width / 2,
                words: bar.words(legend),
                label: if is_labelled {
                    bar.label.clone()
                } else {
                    String::new()
                },
                parts: parts(bar, legend, most),
            }
        };
        let words: Vec<_> = legend.iter().map(|(word, _)| *word).collect();
        Self {
            title,
            unit,
            words: words.join(", "),
            most,
            bar_width,
            ground: TOP + HEIGHT,
            legend: legend.to_vec(),
            columns: (0..).zip(bars).map(column).collect(),
        }
    }
}

impl Bar {
    fn sum(&self) -> u64 {
        let parts = self.parts.iter();
        parts.fold(0, |sum, part| sum.saturating_add(*part))
    }

    fn words(&self, legend: &[(&'static str, &'static str)]) -> String {
        let counts = self.parts.iter().zip(legend);
        let counts: Vec<_> = counts
            .map(|(count, (word, _))| format!("{count} {word}"))
            .collect();
        format!("{}: {}", self.name, counts.join(", "))
    }
}

fn parts(bar: &Bar, legend: &[(&'static str, &'static str)], most: u64) -> Vec<BarPart> {
    let mut y = TOP + HEIGHT;
    let mut parts = Vec::new();
    for (count, (_, class)) in bar.parts.iter().zip(legend) {
        // Least heights may add up to more than the bar has room for.
        let height = height(*count, most).min(y);
        if height > 0 {
            y -= height;
            parts.push(BarPart { class, y, height });
        }
    }
    parts
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

    const LEGEND: &[(&str, &str)] = &[("good", "a"), ("so-so", "b"), ("bad", "c")];

    fn chart(bars: &[[u64; 3]]) -> BarChart {
        let bar = |parts: &[u64; 3]| Bar {
            label: "12:00".to_owned(),
            name: "12:00".to_owned(),
            parts: parts.to_vec(),
        };
        BarChart::new(
            "Bars",
            "things",
            LEGEND,
            &bars.iter().map(bar).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn bars_are_stacked_and_the_highest_fills_the_height() {
        let chart = chart(&[[0, 0, 0], [50, 30, 20], [1, 0, 0]]);
        assert_eq!(chart.most, 100);
        let [none, full, low] = &*chart.columns else {
            panic!("three bars");
        };
        assert!(none.parts.is_empty());
        let stacked: Vec<_> = full
            .parts
            .iter()
            .map(|part| (part.y, part.height))
            .collect();
        assert_eq!(stacked, [(99, 85), (48, 51), (14, 34)]);
        assert_eq!(low.parts[0].height, MIN_HEIGHT);
        assert_eq!(full.words, "12:00: 50 good, 30 so-so, 20 bad");
    }

    #[test]
    fn no_count_and_no_number_of_bars_leaves_the_picture() {
        for bars in [
            vec![],
            vec![[u64::MAX; 3]; 24],
            vec![[1, 1, u64::MAX]],
            vec![[1, 2, 3]; 90],
        ] {
            let chart = chart(&bars);
            for column in &chart.columns {
                let top = column.parts.iter().map(|part| part.y).min();
                assert!(top.is_none_or(|y| y <= TOP + HEIGHT), "{column:?}");
                assert!(column.x + chart.bar_width <= LEFT + WIDTH);
            }
            let last = chart.columns.last();
            assert!(
                last.is_none_or(|last| last.x >= LEFT + WIDTH - 40),
                "{last:?}"
            );
            let labels = chart
                .columns
                .iter()
                .filter(|column| !column.label.is_empty());
            assert!(labels.count() <= LABELS);
        }
    }
}
