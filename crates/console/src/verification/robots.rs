//! Verdicts by robot, in a chosen order.

use std::{cmp::Reverse, collections::HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::totals::TotalsView;
use crate::{
    listing::Column,
    page::encode,
    problem::Problem,
    robot_view::{hours_link, link, shown_name},
};
use robot_detection_layer::detect::Detector;
use robot_detection_layer::registry::Robot;

/// Index of the robots in force by their ids.
#[derive(Debug)]
pub(super) struct RobotIndex<'d> {
    robots: HashMap<&'d str, &'d Robot>,
}

/// Robot that a row is about.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct RobotRef {
    pub(super) id: String,
    pub(super) name: String,
    /// Page about it, if it is in force.
    #[serde(skip)]
    pub(super) link: Option<String>,
}

/// Verdicts on the requests of one robot.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct RobotRow {
    pub(super) robot: RobotRef,
    pub(super) requests: u64,
    #[serde(flatten)]
    pub(super) counts: TotalsView,
}

/// What the rows are ordered by.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Sort {
    Robot,
    #[default]
    Requests,
    Verified,
    Unverifiable,
    Spoofed,
}

/// Order of the rows, which the headings change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Order {
    sort: Sort,
    is_descending: bool,
}

const SORTS: &[(Sort, &str, &str)] = &[
    (Sort::Robot, "robot", "Robot"),
    (Sort::Requests, "requests", "Requests"),
    (Sort::Verified, "verified", "Verified"),
    (Sort::Unverifiable, "unverifiable", "Unverifiable"),
    (Sort::Spoofed, "spoofed", "Spoofed"),
];

impl<'d> RobotIndex<'d> {
    pub(super) fn new(detector: &'d Detector) -> Self {
        let robots = detector.robots().iter();
        Self {
            robots: robots.map(|robot| (&*robot.id, &**robot)).collect(),
        }
    }

    /// Returns a reference to a robot; one that is not in force has its id for a name.
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

    /// Returns the link to the hours of this robot.
    pub(super) fn hours_link(&self) -> String {
        hours_link(&self.robot.id)
    }
}

impl Order {
    /// Parses the order; by default most requests come first.
    pub(super) fn parse(sort: &str, dir: &str) -> Result<Self, Problem> {
        let sort = match sort {
            "" => Sort::default(),
            word => {
                let mut sorts = SORTS.iter();
                let found = sorts.find(|(_, known, _)| *known == word);
                let words = "sort: use robot, requests, verified, unverifiable or spoofed";
                found.ok_or_else(|| Problem::invalid(words))?.0
            }
        };
        let is_descending = match dir {
            "" => sort != Sort::Robot,
            "asc" => false,
            "desc" => true,
            _ => return Err(Problem::invalid("dir: use asc or desc")),
        };
        Ok(Self {
            sort,
            is_descending,
        })
    }

    /// Sorts rows; equal ones stand by name.
    pub(super) fn apply(self, rows: &mut [RobotRow]) {
        // First by name: the sort by numbers is stable and keeps that order among equals.
        rows.sort_by_cached_key(|row| row.robot.name.to_lowercase());
        let number = |row: &RobotRow| match self.sort {
            Sort::Robot => 0,
            Sort::Requests => row.requests,
            Sort::Verified => row.counts.verified,
            Sort::Unverifiable => row.counts.unverifiable,
            Sort::Spoofed => row.counts.spoofed,
        };
        match (self.sort, self.is_descending) {
            (Sort::Robot, false) => {}
            (Sort::Robot, true) => rows.reverse(),
            (_, false) => rows.sort_by_key(number),
            (_, true) => rows.sort_by_key(|row| Reverse(number(row))),
        }
    }

    /// Returns the headings; each links to another order of the same page.
    pub(super) fn columns(self, robot: &str) -> Vec<Column> {
        let column = |&(sort, word, label): &(Sort, &str, &'static str)| {
            let is_sorted = sort == self.sort;
            let is_descending = if is_sorted {
                !self.is_descending
            } else {
                sort != Sort::Robot
            };
            let dir = if is_descending { "desc" } else { "asc" };
            let robot = match robot {
                "" => String::new(),
                robot => format!("robot={}&", encode(robot)),
            };
            Column {
                label,
                link: format!("verification?{robot}sort={word}&dir={dir}"),
                order: match (is_sorted, self.is_descending) {
                    (false, _) => "none",
                    (true, false) => "ascending",
                    (true, true) => "descending",
                },
            }
        };
        SORTS.iter().map(column).collect()
    }
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
    fn rows_stand_in_the_order_that_is_asked_for() {
        for (sort, dir, expected) in [
            ("", "", "cBa"),
            ("requests", "asc", "aBc"),
            ("robot", "", "aBc"),
            ("robot", "desc", "cBa"),
            ("spoofed", "", "aBc"),
            ("verified", "asc", "aBc"),
        ] {
            let mut rows = [row("c", 9, 0), row("a", 0, 1), row("B", 2, 0)];
            Order::parse(sort, dir).ok().unwrap().apply(&mut rows);
            let names: String = rows.iter().map(|row| &*row.robot.name).collect();
            assert_eq!(names, expected, "{sort} {dir}");
        }
        assert!(Order::parse("size", "").is_err());
        assert!(Order::parse("", "up").is_err());
    }

    #[test]
    fn a_heading_turns_its_order_around_and_keeps_the_robot() {
        let order = Order::parse("", "").ok().unwrap();
        let links = order.columns("a&b");
        assert_eq!(links[1].order, "descending");
        assert_eq!(
            links[1].link,
            "verification?robot=a%26b&sort=requests&dir=asc"
        );
        assert_eq!(links[0].link, "verification?robot=a%26b&sort=robot&dir=asc");
    }
}
