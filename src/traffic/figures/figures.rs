//! What was counted, as tables.

use std::collections::{BTreeMap, HashMap};

use crate::detect::{Detector, Kind};
use crate::registry::Robot;
use crate::store::{TrafficCell, TrafficKey, TrafficPart, TrafficSum};
use crate::summary::{Count, Row, Rows, Summary};

use super::{By, TrafficFilter};

/// Robots of the registry by their ids.
#[derive(Clone, Debug)]
pub(crate) struct KnownRobots<'d> {
    by_id: HashMap<&'d str, &'d Robot>,
}

/// Counts of some time, and the robots that they are about.
#[derive(Debug)]
pub(crate) struct Figures<'d> {
    sums: Vec<(TrafficKey, Count)>,
    /// The same over time, where that is asked for, with the places of their sums.
    cells: Vec<TrafficCell>,
    robots: KnownRobots<'d>,
}

/// Cells of a row; what is not known has none.
type Cells = Vec<Option<String>>;

impl<'d> KnownRobots<'d> {
    pub(crate) fn new(detector: &'d Detector) -> Self {
        let robots = detector.robots().iter();
        Self {
            by_id: robots.map(|robot| (&*robot.id, &**robot)).collect(),
        }
    }

    /// Returns the record of a robot; one that has gone from the registry since has none.
    pub(crate) fn of(&self, key: &TrafficKey) -> Option<&'d Robot> {
        self.by_id(&key.robot)
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&'d Robot> {
        self.by_id.get(id).copied()
    }
}

impl<'d> Figures<'d> {
    /// Creates them of sums.
    pub(crate) fn new(
        sums: Vec<TrafficSum>,
        filter: &TrafficFilter,
        robots: KnownRobots<'d>,
    ) -> Self {
        let counted = sums.into_iter().map(|sum| {
            let count = Count {
                hits: sum.count.requests,
                bytes: sum.count.bytes,
            };
            (sum.key, count)
        });
        Self {
            sums: counted
                .filter(|(key, _)| filter.matches(key, &robots))
                .collect(),
            cells: Vec::new(),
            robots,
        }
    }

    /// Creates them of what was counted when.
    pub(crate) fn over_time(
        keys: &[TrafficKey],
        part: &TrafficPart,
        filter: &TrafficFilter,
        robots: KnownRobots<'d>,
    ) -> Self {
        let mut sums = Vec::new();
        // Where the sum of a key stands: `None` of those that the filter leaves out.
        let places: Vec<Option<usize>> = keys
            .iter()
            .map(|key| {
                let is_wanted = filter.matches(key, &robots);
                is_wanted.then(|| {
                    sums.push((key.clone(), Count::default()));
                    sums.len() - 1
                })
            })
            .collect();
        let mut cells = Vec::with_capacity(part.cells.len());
        for cell in &part.cells {
            if let Some(place) = places.get(cell.key).copied().flatten()
                && let Some((_, sum)) = sums.get_mut(place)
            {
                sum.add(Count {
                    hits: cell.requests,
                    bytes: cell.bytes,
                });
                let mut cell = *cell;
                cell.key = place;
                cells.push(cell);
            }
        }
        Self {
            sums,
            cells,
            robots,
        }
    }

    /// Creates those of nothing.
    pub(crate) fn none(robots: KnownRobots<'d>) -> Self {
        Self {
            sums: Vec::new(),
            cells: Vec::new(),
            robots,
        }
    }

    /// Returns what was counted when.
    pub(crate) fn cells(&self) -> &[TrafficCell] {
        &self.cells
    }

    /// Returns what was counted apart, with its count.
    pub(crate) fn sums(&self) -> impl Iterator<Item = (&TrafficKey, Count)> {
        let counted = self.sums.iter().filter(|(_, count)| count.hits > 0);
        counted.map(|(key, count)| (key, *count))
    }

    /// Returns the robots of the registry.
    pub(crate) fn robots(&self) -> &KnownRobots<'d> {
        &self.robots
    }

    /// Returns what a cell was counted of.
    pub(crate) fn key(&self, cell: &TrafficCell) -> Option<&TrafficKey> {
        self.sums.get(cell.key).map(|(key, _)| key)
    }

    /// Returns what was counted apart, in the places that cells name.
    pub(super) fn keys(&self) -> impl Iterator<Item = &TrafficKey> {
        self.sums.iter().map(|(key, _)| key)
    }

    /// Returns the cells of the row that each sum is in, by their places.
    pub(super) fn places(&self, by: By) -> Vec<Option<Cells>> {
        self.keys().map(|key| self.cells_of(by, key)).collect()
    }

    /// Adds up by the cells of a row; what has none is left out.
    fn grouped(&self, by: By) -> Vec<Row> {
        let mut groups = BTreeMap::<_, Count>::new();
        for (key, count) in self.sums() {
            if let Some(cells) = self.cells_of(by, key) {
                groups.entry(cells).or_default().add(count);
            }
        }
        let row = |(cells, count)| Row { cells, count };
        groups.into_iter().map(row).collect()
    }

    fn cells_of(&self, by: By, key: &TrafficKey) -> Option<Cells> {
        let of_robot = |cells: Cells| names_robot(key).then_some(cells);
        let robot = self.robots.of(key);
        let operator = robot.and_then(|robot| robot.operator.clone());
        let purpose = robot.map(|robot| robot.purpose.to_string());
        let texts = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).collect();
        match by {
            By::Robot => of_robot(vec![
                Some(key.robot.clone()),
                robot.map(|robot| robot.name.clone()),
                operator,
                purpose,
                robot.map(|robot| robot.source.to_string()),
            ]),
            By::Operator => of_robot(vec![operator]),
            By::Purpose => of_robot(vec![purpose]),
            By::Verdict => of_robot(texts(&[&key.robot, &key.verdict])),
            By::Decision => Some(texts(&[&key.decision])),
            By::Cause => Some(texts(&[&key.decision, &key.cause])),
            By::Site => Some(texts(&[&key.site])),
            By::Status => Some(texts(&[&status_word(key.status)])),
            By::Total => total_name(&key.kind).map(|name| texts(&[name])),
        }
    }
}

/// Names of totals: those of `identify --summary`, so that the two can be compared.
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
                // Totals keep the order in which they add up.
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

/// Returns `true` if a request was a robot's that has a name, or `unlisted` for one.
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

/// Returns the word for a class of statuses.
pub(super) fn status_word(class: u8) -> String {
    match class {
        0 => "unknown".to_owned(),
        class => format!("{class}xx"),
    }
}
