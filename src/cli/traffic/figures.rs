//! What was counted, as tables.

use std::collections::{BTreeMap, HashMap};

use crate::cli::summary::{Count, Row, Rows, Summary};
use crate::detect::{Detector, Kind};
use crate::registry::Robot;
use crate::store::{TrafficKey, TrafficSum};

use super::args::By;

/// Sums of some time, and the robots that they are about.
#[derive(Debug)]
pub(super) struct Figures<'d> {
    sums: Vec<TrafficSum>,
    robots: HashMap<&'d str, &'d Robot>,
}

impl<'d> Figures<'d> {
    pub(super) fn new(sums: Vec<TrafficSum>, detector: &'d Detector) -> Self {
        let robots = detector.robots().iter();
        Self {
            sums,
            robots: robots.map(|robot| (&*robot.id, &**robot)).collect(),
        }
    }

    /// Adds up by the cells of a row; what has none is left out.
    fn grouped(&self, cells: impl Fn(&TrafficKey) -> Option<Vec<Option<String>>>) -> Vec<Row> {
        let mut groups = BTreeMap::<_, Count>::new();
        for sum in &self.sums {
            if let Some(cells) = cells(&sum.key) {
                groups.entry(cells).or_default().add(count(sum));
            }
        }
        let row = |(cells, count)| Row { cells, count };
        groups.into_iter().map(row).collect()
    }

    /// Returns the record of a robot; one that has gone from the registry since has none.
    fn robot(&self, key: &TrafficKey) -> Option<&'d Robot> {
        self.robots.get(&*key.robot).copied()
    }

    fn robot_cells(&self, key: &TrafficKey) -> Option<Vec<Option<String>>> {
        let robot = self.robot(key);
        names_robot(key).then(|| {
            vec![
                Some(key.robot.clone()),
                robot.map(|robot| robot.name.clone()),
                robot.and_then(|robot| robot.operator.clone()),
                robot.map(|robot| robot.purpose.to_string()),
                robot.map(|robot| robot.source.to_string()),
            ]
        })
    }

    fn operator_cells(&self, key: &TrafficKey) -> Option<Vec<Option<String>>> {
        let operator = |robot: &Robot| robot.operator.clone();
        names_robot(key).then(|| vec![self.robot(key).and_then(operator)])
    }

    fn purpose_cells(&self, key: &TrafficKey) -> Option<Vec<Option<String>>> {
        let purpose = |robot: &Robot| robot.purpose.to_string();
        names_robot(key).then(|| vec![self.robot(key).map(purpose)])
    }
}

impl Summary for Figures<'_> {
    type By = By;

    fn totals(&self) -> Vec<(&'static str, Count)> {
        // The names of `identify --summary`, so that the two can be compared.
        let names = [
            (Kind::Person, "people"),
            (Kind::Shared, "shared"),
            (Kind::Listed, "robots"),
            (Kind::Unlisted, "unlisted"),
            (Kind::Nameless, "no-user-agent"),
        ];
        let total = |(kind, name): (Kind, _)| {
            let mut total = Count::default();
            let of_kind = |sum: &&TrafficSum| sum.key.kind == kind.as_str();
            for sum in self.sums.iter().filter(of_kind) {
                total.add(count(sum));
            }
            (name, total)
        };
        names.into_iter().map(total).collect()
    }

    fn rows(&self, by: By) -> Rows {
        let one = |text: &str| Some(vec![Some(text.to_owned())]);
        let (columns, rows) = match by {
            By::Robot => (
                ["robot", "name", "operator", "purpose", "source"].as_slice(),
                self.grouped(|key| self.robot_cells(key)),
            ),
            By::Operator => (
                ["operator"].as_slice(),
                self.grouped(|key| self.operator_cells(key)),
            ),
            By::Purpose => (
                ["purpose"].as_slice(),
                self.grouped(|key| self.purpose_cells(key)),
            ),
            By::Verdict => (
                ["robot", "verdict"].as_slice(),
                self.grouped(|key| {
                    let cells = [&key.robot, &key.verdict];
                    names_robot(key).then(|| cells.map(|cell| Some(cell.clone())).to_vec())
                }),
            ),
            By::Decision => (
                ["decision"].as_slice(),
                self.grouped(|key| one(&key.decision)),
            ),
            By::Cause => (
                ["decision", "cause"].as_slice(),
                self.grouped(|key| {
                    let cells = [&key.decision, &key.cause];
                    Some(cells.map(|cell| Some(cell.clone())).to_vec())
                }),
            ),
            By::Site => (["site"].as_slice(), self.grouped(|key| one(&key.site))),
            By::Status => (
                ["status"].as_slice(),
                self.grouped(|key| one(&status(key.status))),
            ),
            By::Total => (["total"].as_slice(), {
                let all = [("all", self.all())];
                let named = self.totals().into_iter().chain(all);
                named.map(total_row).collect()
            }),
        };
        let mut rows = Rows { columns, rows };
        // Totals keep the order in which they add up.
        if by != By::Total {
            rows.sort();
        }
        rows
    }
}

/// Returns `true` if a request was a robot's that has a name, or `unlisted` for one.
fn names_robot(key: &TrafficKey) -> bool {
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

fn status(class: u8) -> String {
    match class {
        0 => "other".to_owned(),
        class => format!("{class}xx"),
    }
}

fn count(sum: &TrafficSum) -> Count {
    Count {
        hits: sum.count.requests,
        bytes: sum.count.bytes,
    }
}
