//! Charts of requests over time: stacked areas and sparklines.
//!
//! The charts need no inline styles or scripts, which the Content-Security-Policy forbids.

use std::fmt::Write as _;

use crate::TimeZone;
use robot_detection_traffic::summary::Count;
use robot_detection_traffic::traffic::{Line, TimeSteps};

use super::number::abbreviate;

/// The width of the drawing in SVG units.
const WIDTH: u64 = 760;
const HEIGHT: u64 = 220;
/// Space above the chart, which shows the maximum; the space below shows the times.
const TOP: u64 = 18;
const BOTTOM: u64 = 24;
const LEFT: u64 = 6;
const RIGHT: u64 = 6;
/// Number of groups with a separate colour; users could not distinguish more colours.
const COLOURS: usize = 6;
/// Number of time labels below the chart.
const LABELS: usize = 5;
/// The width of a sparkline in SVG units.
const SPARK_WIDTH: u64 = 120;
const SPARK_HEIGHT: u64 = 28;

const MINUTE_MS: i64 = 60_000;

/// A stacked area chart, with the table of its data.
#[derive(Clone, Debug, Default)]
pub(crate) struct AreaChart {
    pub(crate) view_box: String,
    pub(crate) ground: u64,
    pub(crate) right: u64,
    /// Highest sum as text, and the position of the line that marks it.
    pub(crate) most: String,
    pub(crate) top: u64,
    pub(crate) layers: Vec<LayerView>,
    /// Positions and widths of the segments of the chart that represent incomplete time steps.
    pub(crate) partial: Vec<(u64, u64)>,
    pub(crate) labels: Vec<LabelView>,
    pub(crate) rows: Vec<StepView>,
    /// Description of the chart in one sentence.
    pub(crate) words: String,
}

#[derive(Clone, Debug)]
pub(crate) struct LayerView {
    pub(crate) name: String,
    /// Link to the requests that the layer counts; empty if there is no link.
    pub(crate) link: String,
    /// Index of the layer's colour.
    pub(crate) colour: usize,
    pub(crate) path: String,
    pub(crate) total: String,
}

#[derive(Clone, Debug)]
pub(crate) struct LabelView {
    pub(crate) x: u64,
    pub(crate) text: String,
    /// Text anchor of the label: "start", "middle" or "end".
    pub(crate) anchor: &'static str,
}

/// A table row for one time step, with the number of requests in each layer.
#[derive(Clone, Debug)]
pub(crate) struct StepView {
    pub(crate) time: String,
    pub(crate) figures: Vec<u64>,
}

/// The label and the link of an area in the chart.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) link: String,
}

impl AreaChart {
    /// Creates the chart from lines, of which the largest comes first; lines without a colour are
    /// combined.
    pub(super) fn new(
        lines: &[Line],
        course: &TimeSteps,
        zone: TimeZone,
        name: impl Fn(&Line) -> Named,
    ) -> Self {
        let shown = if lines.len() > COLOURS + 1 {
            COLOURS
        } else {
            lines.len()
        };
        let (own, rest) = lines.split_at_checked(shown).unwrap_or((lines, &[]));
        let mut layers: Vec<(Named, Vec<u64>, u64)> = own
            .iter()
            .map(|line| (name(line), hits(&line.steps), line.count.hits))
            .collect();
        if !rest.is_empty() {
            let mut sums = vec![0_u64; course.steps];
            for line in rest {
                for (sum, step) in sums.iter_mut().zip(&line.steps) {
                    *sum = sum.saturating_add(step.hits);
                }
            }
            let total = rest.iter().map(|line| line.count.hits).sum();
            let named = Named {
                name: format!("{} others", rest.len()),
                link: String::new(),
            };
            layers.push((named, sums, total));
        }
        Self::drawn(&layers, course, zone)
    }

    fn drawn(layers: &[(Named, Vec<u64>, u64)], course: &TimeSteps, zone: TimeZone) -> Self {
        let sums: Vec<u64> = (0..course.steps)
            .map(|at| {
                layers
                    .iter()
                    .filter_map(|(_, steps, _)| steps.get(at))
                    .fold(0, |sum: u64, step| sum.saturating_add(*step))
            })
            .collect();
        let most = sums.iter().copied().max().unwrap_or_default();
        let times: Vec<String> = course
            .starts()
            .map(|at| step_text(at, course, zone))
            .collect();
        let mut below = vec![0_u64; course.steps];
        let mut views = Vec::new();
        for (number, (named, steps, total)) in layers.iter().enumerate() {
            let above: Vec<u64> = below
                .iter()
                .zip(steps)
                .map(|(low, step)| low.saturating_add(*step))
                .collect();
            views.push(LayerView {
                name: named.name.clone(),
                link: named.link.clone(),
                colour: number + 1,
                path: area(&below, &above, most),
                total: abbreviate(*total),
            });
            below = above;
        }
        let rows = times.iter().enumerate().map(|(at, time)| StepView {
            time: time.clone(),
            figures: layers
                .iter()
                .map(|(_, steps, _)| steps.get(at).copied().unwrap_or_default())
                .collect(),
        });
        Self {
            view_box: format!("0 0 {WIDTH} {HEIGHT}"),
            ground: HEIGHT - BOTTOM,
            right: WIDTH - RIGHT,
            top: TOP,
            most: abbreviate(most),
            partial: partial(course),
            labels: labels(course, zone),
            words: words(layers, &times, most),
            rows: rows.collect(),
            layers: views,
        }
    }

    /// Returns `true` if there is no data to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }
}

fn words(layers: &[(Named, Vec<u64>, u64)], times: &[String], most: u64) -> String {
    let names: Vec<&str> = layers.iter().map(|(named, ..)| &*named.name).collect();
    let first = times.first().map_or("", String::as_str);
    let last = times.last().map_or("", String::as_str);
    format!(
        "Requests over time, stacked: {}. From {first} to {last}, at most {} per interval. The table below contains the numbers.",
        names.join(", "),
        abbreviate(most)
    )
}

fn hits(steps: &[Count]) -> Vec<u64> {
    steps.iter().map(|count| count.hits).collect()
}

/// Returns the SVG path of the area between two lines.
fn area(below: &[u64], above: &[u64], most: u64) -> String {
    let mut path = String::new();
    let last = above.len().saturating_sub(1);
    for (at, value) in above.iter().enumerate() {
        let word = if at == 0 { 'M' } else { 'L' };
        // Writing to a `String` never fails.
        let _ = write!(path, "{word}{} {}", x(at, last), y(*value, most));
    }
    if above.len() == 1 {
        let _ = write!(path, "H{}", WIDTH - RIGHT);
    }
    for (at, value) in below.iter().enumerate().rev() {
        if above.len() == 1 {
            let _ = write!(path, "L{} {}", WIDTH - RIGHT, y(*value, most));
        }
        let _ = write!(path, "L{} {}", x(at, last), y(*value, most));
    }
    path.push('Z');
    path
}

fn x(at: usize, last: usize) -> u64 {
    LEFT + scaled(at as u64, last as u64, WIDTH - LEFT - RIGHT)
}

fn y(value: u64, most: u64) -> u64 {
    HEIGHT - BOTTOM - scaled(value, most, HEIGHT - BOTTOM - TOP)
}

fn scaled(value: u64, most: u64, length: u64) -> u64 {
    if most == 0 {
        return 0;
    }
    let scaled = u128::from(value) * u128::from(length) / u128::from(most);
    u64::try_from(scaled).unwrap_or(length).min(length)
}

/// Returns the segments of the chart for incomplete time steps, in which the lines rise or fall.
fn partial(course: &TimeSteps) -> Vec<(u64, u64)> {
    let last = course.steps.saturating_sub(1);
    let ends = [
        (course.begins_late, 0),
        (course.is_cut, last.saturating_sub(1)),
    ];
    let mut ends: Vec<_> = ends
        .into_iter()
        .filter(|(is_partial, _)| *is_partial)
        .collect();
    ends.dedup_by_key(|(_, at)| *at);
    let part = |(_, at)| (x(at, last), x(at + 1, last) - x(at, last));
    ends.into_iter()
        .map(part)
        .filter(|(_, width)| *width > 0)
        .collect()
}

fn labels(course: &TimeSteps, zone: TimeZone) -> Vec<LabelView> {
    let last = course.steps.saturating_sub(1);
    let mut places: Vec<usize> = (0..LABELS)
        .map(|number| number * last / (LABELS - 1))
        .collect();
    places.dedup();
    let starts: Vec<i64> = course.starts().collect();
    let label = |at: usize| {
        let start = starts.get(at)?;
        Some(LabelView {
            x: x(at, last),
            text: step_text(*start, course, zone),
            anchor: match at {
                0 => "start",
                at if at == last => "end",
                _ => "middle",
            },
        })
    };
    places.into_iter().filter_map(label).collect()
}

/// Returns the start time of a step as text; days are in UTC, as they are stored.
fn step_text(start: i64, course: &TimeSteps, zone: TimeZone) -> String {
    let day = 24 * 60;
    let at_ms = start.saturating_mul(MINUTE_MS);
    if course.step >= day {
        return TimeZone::default().at(at_ms).format("%d %b %Y").to_string();
    }
    let at = zone.at(at_ms);
    let length = course
        .step
        .saturating_mul(i64::try_from(course.steps).unwrap_or(i64::MAX));
    let form = if length > day { "%d %b %H:%M" } else { "%H:%M" };
    at.format(form).to_string()
}

/// Returns the points of a sparkline as SVG coordinates.
pub(super) fn sparkline(steps: &[u64]) -> String {
    let most = steps.iter().copied().max().unwrap_or_default();
    let last = steps.len().saturating_sub(1) as u64;
    let mut points = String::new();
    for (at, value) in (0_u64..).zip(steps) {
        let x = 1 + scaled(at, last, SPARK_WIDTH - 2);
        let y = SPARK_HEIGHT - 1 - scaled(*value, most, SPARK_HEIGHT - 3);
        // Writing to a `String` never fails.
        let _ = write!(points, "{x},{y} ");
    }
    points.pop();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, hits: &[u64]) -> Line {
        let count = |hits: &u64| Count {
            hits: *hits,
            bytes: 0,
        };
        Line {
            cells: vec![Some(name.to_owned())],
            count: count(&hits.iter().sum()),
            steps: hits.iter().map(count).collect(),
        }
    }

    fn chart(lines: &[Line]) -> AreaChart {
        let steps = lines.first().map_or(0, |line| line.steps.len());
        let course = TimeSteps {
            began: 0,
            step: 60,
            steps,
            begins_late: false,
            is_cut: false,
        };
        AreaChart::new(lines, &course, TimeZone::default(), |line| Named {
            name: line.cells[0].clone().unwrap(),
            link: String::new(),
        })
    }

    #[test]
    fn areas_are_stacked_and_the_highest_fills_the_height() {
        let chart = chart(&[line("a", &[10, 20]), line("b", &[0, 20])]);
        assert_eq!(chart.layers[0].path, "M6 152L754 107L754 196L6 196Z");
        assert_eq!(chart.layers[1].path, "M6 152L754 18L754 107L6 152Z");
        assert_eq!(chart.rows[1].figures, [20, 20]);
        assert_eq!(chart.rows[1].time, "01:00");
    }

    #[test]
    fn groups_without_a_colour_are_combined() {
        let lines: Vec<_> = (0..10)
            .map(|number| line(&number.to_string(), &[1, 2]))
            .collect();
        let chart = chart(&lines);
        assert_eq!(chart.layers.len(), COLOURS + 1);
        assert_eq!(chart.layers[COLOURS].name, "4 others");
        assert_eq!(chart.rows[1].figures[COLOURS], 8);
    }

    #[test]
    fn figures_stay_inside_the_chart() {
        for lines in [
            vec![],
            vec![line("a", &[u64::MAX])],
            vec![line("a", &[0, 0, u64::MAX])],
        ] {
            for layer in chart(&lines).layers {
                let numbers = layer.path.split(|c: char| !c.is_ascii_digit());
                let largest = numbers.filter_map(|number| number.parse().ok()).max();
                assert!(
                    largest.is_none_or(|number: u64| number <= WIDTH),
                    "{}",
                    layer.path
                );
            }
        }
        assert_eq!(sparkline(&[]), "");
        assert_eq!(sparkline(&[0, 5]), "1,27 119,2");
    }
}
