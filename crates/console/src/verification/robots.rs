//! The verdicts by robot, sorted by a column.

use std::{cmp::Reverse, collections::HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::totals::TotalsView;
use crate::{
    page::encode,
    problem::Problem,
    robot_links::{link, verdicts_link},
    sorting::{Column, SortColumn, Sorting},
};
use robot_detection_layer::detect::Detector;
use robot_detection_layer::registry::Robot;
use robot_detection_operations::robots::shown_name;

/// An index of the robots in force by ID.
#[derive(Debug)]
pub(super) struct RobotIndex<'d> {
    robots: HashMap<&'d str, &'d Robot>,
}

/// A reference to the robot that a row is about.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RobotReference")]
pub(super) struct RobotRef {
    pub(super) id: String,
    pub(super) name: String,
    /// Link to the robot's page, if the robot is in force.
    #[serde(skip)]
    pub(super) link: Option<String>,
}

/// The verdicts on the requests from one robot.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RobotVerdicts")]
pub(super) struct RobotRow {
    pub(super) robot: RobotRef,
    pub(super) requests: u64,
    #[serde(flatten)]
    pub(super) counts: TotalsView,
}

/// The columns of the table of verdicts by robot.
const COLUMNS: &[SortColumn] = &[
    SortColumn::name("robot", "Robot"),
    SortColumn::number("requests", "Requests"),
    SortColumn::number("verified", "Verified"),
    SortColumn::number("unverifiable", "Unverifiable"),
    SortColumn::number("spoofed", "Spoofed"),
];

impl<'d> RobotIndex<'d> {
    pub(super) fn new(detector: &'d Detector) -> Self {
        let robots = detector.robots().iter();
        Self {
            robots: robots.map(|robot| (&*robot.id, &**robot)).collect(),
        }
    }

    /// Returns a reference to a robot; a robot that is not in force has its ID as its name.
    pub(super) fn find(&self, id: &str) -> RobotRef {
        let found = self.robots.get(id);
        RobotRef {
            id: id.to_owned(),
            name: found.map_or_else(|| id.to_owned(), |robot| shown_name(robot)),
            link: found.map(|robot| link(robot.source.as_str(), id)),
        }
    }
}

impl RobotRow {
    pub(super) fn new(id: &str, counts: TotalsView, known: &RobotIndex<'_>) -> Self {
        Self {
            robot: known.find(id),
            requests: counts.requests(),
            counts,
        }
    }

    /// Returns the link to the page that shows the verdicts on this robot over time.
    pub(super) fn verdicts_link(&self) -> String {
        verdicts_link(&self.robot.id)
    }
}

/// Returns the words for the columns by which rows can be sorted.
pub(crate) fn sort_words() -> Vec<&'static str> {
    COLUMNS.iter().map(|column| column.word).collect()
}

/// Parses the order of the rows; by default, the rows with the most requests come first.
pub(super) fn sorting(sort: &str, dir: &str) -> Result<Sorting, Problem> {
    Sorting::parse(COLUMNS, sort, dir).map_err(Problem::invalid)
}

/// Sorts the rows; rows that are equal are sorted by name.
pub(super) fn sort(rows: &mut [RobotRow], sorting: Sorting) {
    // Sorted by name first, because the stable sort by numbers preserves this order for equal rows.
    rows.sort_by_cached_key(|row| row.robot.name.to_lowercase());
    let number = |row: &RobotRow| match sorting.word {
        "requests" => row.requests,
        "verified" => row.counts.verified,
        "unverifiable" => row.counts.unverifiable,
        "spoofed" => row.counts.spoofed,
        _ => 0,
    };
    match (sorting.word, sorting.is_descending) {
        ("robot", false) => {}
        ("robot", true) => rows.reverse(),
        (_, false) => rows.sort_by_key(number),
        (_, true) => rows.sort_by_key(|row| Reverse(number(row))),
    }
}

/// Returns the column headings, each with a link that changes the sort order.
pub(super) fn headings(sorting: Sorting, robot: &str) -> Vec<Column> {
    let robot = match robot {
        "" => String::new(),
        robot => format!("robot={}&", encode(robot)),
    };
    let link = |word: &str, dir: &str| format!("verification?{robot}sort={word}&dir={dir}");
    let columns = COLUMNS.iter();
    columns
        .map(|column| sorting.heading(*column, link))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, verified: u64, spoofed: u64) -> RobotRow {
        let counts = TotalsView {
            verified,
            spoofed,
            unverifiable: 0,
        };
        RobotRow {
            robot: RobotRef {
                id: name.to_owned(),
                name: name.to_owned(),
                link: None,
            },
            requests: counts.requests(),
            counts,
        }
    }

    #[test]
    fn rows_are_sorted_in_the_requested_order() {
        for (sort, dir, expected) in [
            ("", "", "cBa"),
            ("requests", "asc", "aBc"),
            ("robot", "", "aBc"),
            ("robot", "desc", "cBa"),
            ("spoofed", "", "aBc"),
            ("verified", "asc", "aBc"),
        ] {
            let mut rows = [row("c", 9, 0), row("a", 0, 1), row("B", 2, 0)];
            super::sort(&mut rows, sorting(sort, dir).ok().unwrap());
            let names: String = rows.iter().map(|row| &*row.robot.name).collect();
            assert_eq!(names, expected, "{sort} {dir}");
        }
        assert!(sorting("size", "").is_err());
        assert!(sorting("", "up").is_err());
    }

    #[test]
    fn heading_reverses_its_order_and_keeps_the_robot() {
        let links = headings(sorting("", "").ok().unwrap(), "a&b");
        assert_eq!(links[1].order, "descending");
        assert_eq!(
            links[1].link,
            "verification?robot=a%26b&sort=requests&dir=asc"
        );
        assert_eq!(links[0].link, "verification?robot=a%26b&sort=robot&dir=asc");
    }
}
