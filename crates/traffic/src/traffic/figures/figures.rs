//! Traffic figures as tables.

use std::{borrow::Cow, collections::HashMap};

use crate::summary::{Count, Row, Rows, Summary};
use robot_detection_layer::detect::{Detector, Kind};
use robot_detection_layer::registry::Robot;
use robot_detection_store::store::{
    TrafficCell, TrafficCount, TrafficKey, TrafficRange, TrafficStep, TrafficSum,
};

use super::{By, Class, TrafficFilter};

/// An index of the registry's robots by ID.
#[derive(Clone, Debug)]
pub struct KnownRobots<'d> {
    by_id: HashMap<&'d str, &'d Robot>,
}

/// The traffic counts of a period, with the robots that sent the requests.
#[derive(Debug)]
pub struct Figures<'d> {
    /// Keys of the counts; table cells refer to keys by index.
    keys: Cow<'d, [TrafficKey]>,
    /// Count of each key; zero for a key that the filter excludes.
    counts: Vec<Count>,
    /// Counts over time, if requested, including the counts that the filter excludes.
    steps: &'d [TrafficStep],
    robots: KnownRobots<'d>,
}

/// The cells of a table row; a `None` cell means that the value is unknown.
pub(super) type Cells = Vec<Option<String>>;

/// The groups of a table: the row number of each key, and the cells of each row.
pub(super) type Groups = (Vec<Option<usize>>, Vec<Cells>);

impl<'d> KnownRobots<'d> {
    /// Creates an index of the robots that a detector knows.
    pub fn new(detector: &'d Detector) -> Self {
        let robots = detector.robots().iter();
        Self {
            by_id: robots.map(|robot| (&*robot.id, &**robot)).collect(),
        }
    }

    /// Returns the robot of a traffic key; `None` if the robot is no longer in the registry.
    pub fn for_key(&self, key: &TrafficKey) -> Option<&'d Robot> {
        self.by_id(&key.robot)
    }

    /// Returns the robot with the given ID.
    pub fn by_id(&self, id: &str) -> Option<&'d Robot> {
        self.by_id.get(id).copied()
    }
}

impl<'d> Figures<'d> {
    /// Computes the traffic figures from traffic sums, without a time series.
    pub fn new(sums: Vec<TrafficSum>, filter: &TrafficFilter, robots: KnownRobots<'d>) -> Self {
        let counted = sums.into_iter().map(|sum| (sum.key, sum.count));
        let (keys, counts): (Vec<_>, Vec<_>) = counted.unzip();
        let counts = filtered_counts(&keys, &counts, filter, &robots);
        Self {
            keys: Cow::Owned(keys),
            counts,
            steps: &[],
            robots,
        }
    }

    /// Computes the traffic figures and a time series from traffic sums.
    pub fn over_time(
        keys: &'d [TrafficKey],
        part: &'d TrafficRange,
        filter: &TrafficFilter,
        robots: KnownRobots<'d>,
    ) -> Self {
        Self {
            keys: Cow::Borrowed(keys),
            counts: filtered_counts(keys, &part.sums, filter, &robots),
            steps: &part.steps,
            robots,
        }
    }

    /// Creates traffic figures without any counts.
    pub fn empty(robots: KnownRobots<'d>) -> Self {
        Self {
            keys: Cow::Borrowed(&[]),
            counts: Vec::new(),
            steps: &[],
            robots,
        }
    }

    /// Returns the counts over time, including the counts for which [`Self::is_counted`] returns
    /// `false`.
    pub fn steps(&self) -> &'d [TrafficStep] {
        self.steps
    }

    /// Returns `true` if the filter includes a cell's key.
    pub fn is_counted(&self, cell: &TrafficCell) -> bool {
        let count = self.counts.get(cell.key_index());
        count.is_some_and(|count| count.hits > 0)
    }

    /// Returns the keys that have requests, with their counts.
    pub fn sums(&self) -> impl Iterator<Item = (&TrafficKey, Count)> {
        let counted = self.keys.iter().zip(&self.counts);
        counted
            .filter(|(_, count)| count.hits > 0)
            .map(|(key, count)| (key, *count))
    }

    /// Returns the index of the registry's robots.
    pub fn robots(&self) -> &KnownRobots<'d> {
        &self.robots
    }

    /// Returns all keys; table cells refer to keys by index.
    pub(super) fn keys(&self) -> &[TrafficKey] {
        &self.keys
    }

    /// Assigns each key to a row of the table; keys without a group or a count have no row.
    pub(super) fn groups(&self, by: By) -> Groups {
        let mut numbers = HashMap::new();
        let mut rows = Vec::new();
        let counted = self.keys.iter().zip(&self.counts);
        let places = counted.map(|(key, count)| {
            let group = self.group_of(by, key).filter(|_| count.hits > 0)?;
            Some(*numbers.entry(group).or_insert_with(|| {
                rows.push(self.row_cells(by, key));
                rows.len() - 1
            }))
        });
        (places.collect(), rows)
    }

    /// Returns the rows with their counts; keys without a group are omitted.
    fn grouped(&self, by: By) -> Vec<Row> {
        let (places, cells) = self.groups(by);
        let row = |cells| Row {
            cells,
            count: Count::default(),
        };
        let mut rows: Vec<Row> = cells.into_iter().map(row).collect();
        for (place, count) in places.iter().zip(&self.counts) {
            if let Some(row) = place.and_then(|place| rows.get_mut(place)) {
                row.count.add(*count);
            }
        }
        rows
    }

    /// Returns the values that identify a key's row; thousands of keys share a few rows.
    fn group_of<'k>(&'k self, by: By, key: &'k TrafficKey) -> Option<(Option<&'k str>, &'k str)> {
        let of_robot = |group| names_robot(key).then_some(group);
        let robot = || self.robots.for_key(key);
        match by {
            By::Class => Some((Some(Class::for_key(key, &self.robots).as_str()), "")),
            By::Robot => of_robot((Some(&*key.robot), "")),
            By::Operator => of_robot((robot().and_then(|robot| robot.operator.as_deref()), "")),
            By::Purpose => of_robot((robot().map(|robot| robot.purpose.as_str()), "")),
            By::Verdict => of_robot((Some(&*key.robot), &*key.verdict)),
            By::Decision => Some((Some(&*key.decision), "")),
            By::Cause => Some((Some(&*key.decision), &*key.cause)),
            By::Site => Some((Some(&*key.site), "")),
            By::Status => Some((Some(status_word(key.status)), "")),
            By::Total => total_name(&key.kind).map(|name| (Some(name), "")),
        }
    }

    fn row_cells(&self, by: By, key: &TrafficKey) -> Cells {
        if by == By::Robot {
            let robot = self.robots.for_key(key);
            return vec![
                Some(key.robot.clone()),
                robot.map(|robot| robot.name.clone()),
                robot.and_then(|robot| robot.operator.clone()),
                robot.map(|robot| robot.purpose.to_string()),
                robot.map(|robot| robot.source.to_string()),
            ];
        }
        let (first, second) = self.group_of(by, key).unwrap_or_default();
        let mut cells = vec![first.map(str::to_owned)];
        if matches!(by, By::Verdict | By::Cause) {
            cells.push(Some(second.to_owned()));
        }
        cells
    }
}

/// Returns the count of each key; zero for a key that the filter excludes.
fn filtered_counts(
    keys: &[TrafficKey],
    counts: &[TrafficCount],
    filter: &TrafficFilter,
    robots: &KnownRobots<'_>,
) -> Vec<Count> {
    let counted = keys.iter().zip(counts);
    counted
        .map(|(key, count)| {
            let is_wanted = count.requests > 0 && filter.matches(key, robots);
            if is_wanted {
                Count {
                    hits: count.requests,
                    bytes: count.bytes,
                }
            } else {
                Count::default()
            }
        })
        .collect()
}

/// Names of the totals, as in the output of `identify --summary`.
const TOTALS: [(Kind, &str); 5] = [
    (Kind::Person, "people"),
    (Kind::Shared, "shared"),
    (Kind::Listed, "robots"),
    (Kind::Unlisted, "unlisted"),
    (Kind::Nameless, "no-user-agent"),
];

fn total_name(kind: &str) -> Option<&'static str> {
    let mut names = TOTALS.into_iter();
    names
        .find(|(of, _)| of.as_str() == kind)
        .map(|(_, name)| name)
}

impl Summary for Figures<'_> {
    type By = By;

    fn totals(&self) -> Vec<(&'static str, Count)> {
        let total = |(kind, name): (Kind, _)| {
            let mut total = Count::default();
            for (_, count) in self.sums().filter(|(key, _)| key.kind == kind.as_str()) {
                total.add(count);
            }
            (name, total)
        };
        TOTALS.into_iter().map(total).collect()
    }

    fn rows(&self, by: By) -> Rows {
        let columns: &[&str] = match by {
            By::Class => &["class"],
            By::Robot => &["robot", "name", "operator", "purpose", "source"],
            By::Operator => &["operator"],
            By::Purpose => &["purpose"],
            By::Verdict => &["robot", "verdict"],
            By::Decision => &["decision"],
            By::Cause => &["decision", "cause"],
            By::Site => &["site"],
            By::Status => &["status"],
            By::Total => {
                let named = self.totals().into_iter().chain([("all", self.all())]);
                // Totals are not sorted.
                return Rows {
                    columns: &["total"],
                    rows: named.map(total_row).collect(),
                };
            }
        };
        let mut rows = Rows {
            columns,
            rows: self.grouped(by),
        };
        rows.sort();
        rows
    }
}

/// Returns `true` if the requests came from a listed or unlisted robot.
pub(super) fn names_robot(key: &TrafficKey) -> bool {
    [Kind::Listed, Kind::Unlisted]
        .iter()
        .any(|kind| key.kind == kind.as_str())
}

fn total_row((name, count): (&str, Count)) -> Row {
    Row {
        cells: vec![Some(name.to_owned())],
        count,
    }
}

/// Returns the word for a status class, such as `2xx`.
pub(super) fn status_word(class: u8) -> &'static str {
    const WORDS: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
    let class = usize::from(class).checked_sub(1);
    class
        .and_then(|class| WORDS.get(class).copied())
        .unwrap_or("unknown")
}
