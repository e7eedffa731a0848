//! Computes path counts for pages, reports and JSON.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
};

use serde_json::{Value, json};

use crate::summary::csv_cell;
use robot_detection_store::store::{
    PathCount, PathOmissions, PathSum, PathSums, parent_pattern, path_pattern,
};

use super::{OTHER, form::Form};

/// The word for people where a robot ID would otherwise be used.
pub const PEOPLE: &str = "people";

/// The pattern that matches every path.
const TOP: &str = "/*";

/// A filter for path counts.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PathFilter {
    /// ID of the robot, or [`PEOPLE`].
    pub robot: Option<String>,
    /// Path or pattern; a `*` matches one segment, and a final `*` matches all remaining segments.
    pub path: Option<String>,
}

/// An attribute by which path counts are grouped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PathGroup {
    /// Group by stored path; folded paths are counted under their pattern.
    Path,
    /// Group by a pattern that consists of two segments.
    Pattern,
    /// Group by the next segment after the filter's pattern.
    Below,
    /// Group by visitor: each robot, and people as a whole.
    Visitor,
    /// Group by the document format that robots requested: pages, Markdown or feeds.
    Form,
}

/// The number of requests for a path or group; the number may be too low by at most `more`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PathFigure {
    /// Path, pattern, visitor or document format.
    pub name: String,
    /// Number of requests that were counted; the actual number may be higher.
    pub count: PathCount,
    /// Number of human requests in `count`.
    pub people: u64,
    /// Maximum number of requests that are missing from the count.
    pub more: u64,
}

/// The path counts for a period, each with its maximum error.
#[derive(Debug)]
pub struct PathFigures {
    rows: Vec<PathSum>,
    cuts: BTreeMap<String, PathOmissions>,
    filter: PathFilter,
    /// Requests counted under a pattern: visitors with their numbers of requests, by site and
    /// pattern.
    folded: HashMap<(String, String), Vec<(String, u64)>>,
}

impl PathFigure {
    /// Returns the number of requests from robots.
    pub fn robots(&self) -> u64 {
        self.count.requests.saturating_sub(self.people)
    }

    /// Returns the count as JSON, with its name stored under `key`.
    pub fn to_json(&self, key: &str) -> Value {
        json!({
            key: self.name,
            "requests": self.count.requests,
            "at_most_more": self.more,
            "robots": self.robots(),
            "people": self.people,
            "redirects": self.count.redirects,
            "client_errors": self.count.client_errors,
            "server_errors": self.count.server_errors,
        })
    }

    /// Returns the maximum error as a text; empty if the count is exact.
    pub fn bound(&self) -> String {
        match self.more {
            0 => String::new(),
            more => format!("at most {more} more"),
        }
    }
}

impl PathFigures {
    /// Computes path counts from stored path sums.
    pub fn new(sums: PathSums, filter: PathFilter) -> Self {
        let mut folded = HashMap::<_, Vec<_>>::new();
        for row in sums.rows.iter().filter(|row| row.key.path.ends_with('*')) {
            let place = (row.key.site.clone(), row.key.path.clone());
            let one = (row.key.robot.clone(), row.count.requests);
            folded.entry(place).or_default().push(one);
        }
        let rows = sums.rows.into_iter().filter(|row| filter.matches(row));
        Self {
            rows: rows.collect(),
            cuts: sums.cuts,
            folded,
            filter,
        }
    }

    /// Returns the `top` most frequent groups, or all groups if `top` is 0, and the total number of
    /// groups.
    pub fn top(&self, group: PathGroup, top: usize) -> (Vec<PathFigure>, usize) {
        let mut figures = BTreeMap::<String, PathFigure>::new();
        for row in &self.rows {
            if let Some(name) = self.name(group, row) {
                figures.entry(name).or_default().add(row);
            }
        }
        let all = figures.len();
        let named = |(name, figure)| PathFigure { name, ..figure };
        let mut figures: Vec<_> = figures.into_iter().map(named).collect();
        // The sort is stable, so groups with equal counts stay sorted by name.
        figures.sort_by_key(|figure| std::cmp::Reverse(figure.count.requests));
        if top > 0 {
            figures.truncate(top);
        }
        for figure in &mut figures {
            figure.more = self.max_missing_of_group(group, &figure.name);
        }
        (figures, all)
    }

    /// Returns the total of all requests that match the filter.
    pub fn total(&self) -> PathFigure {
        let mut total = PathFigure::default();
        for row in &self.rows {
            total.add(row);
        }
        let path = self.filter.path.as_deref().unwrap_or(TOP);
        total.more = self.more(path, self.filter.robot.as_deref());
        total
    }

    fn name(&self, group: PathGroup, row: &PathSum) -> Option<String> {
        let path = &row.key.path;
        match group {
            PathGroup::Path => Some(path.clone()),
            PathGroup::Pattern => Some(path_pattern(path.as_bytes(), false)),
            PathGroup::Below => Some(group_below(
                self.filter.path.as_deref().unwrap_or(TOP),
                path,
            )),
            PathGroup::Visitor if row.key.robot.is_empty() => Some(PEOPLE.to_owned()),
            PathGroup::Visitor => Some(row.key.robot.clone()),
            // For people, only patterns are stored, which lack the end of the path.
            PathGroup::Form => {
                (!row.key.robot.is_empty()).then(|| Form::of(path).word().to_owned())
            }
        }
    }

    fn max_missing_of_group(&self, group: PathGroup, name: &str) -> u64 {
        let path = self.filter.path.as_deref().unwrap_or(TOP);
        let robot = self.filter.robot.as_deref();
        match group {
            PathGroup::Path | PathGroup::Pattern | PathGroup::Below => self.more(name, robot),
            PathGroup::Visitor => self.more(path, Some(name)),
            // Folded paths may be of any document format.
            PathGroup::Form => {
                let is_open = |row: &&PathSum| {
                    !row.key.robot.is_empty() && Form::of(&row.key.path) == Form::Unknown
                };
                let open = self.rows.iter().filter(is_open);
                let open = if name == Form::Unknown.word() {
                    0
                } else {
                    open.map(|row| row.count.requests).sum()
                };
                self.more(path, robot).saturating_add(open)
            }
        }
    }

    /// Returns the maximum number of requests that are missing from the count of a path or pattern.
    ///
    /// A folded request is counted under a more general pattern, for the same visitor or for
    /// `other`. For each visitor, the number of omitted requests limits the number of folded
    /// requests.
    fn more(&self, path: &str, robot: Option<&str>) -> u64 {
        let is_path = path_pattern(path.as_bytes(), false) != path;
        let above = std::iter::successors(parent_pattern(path), |path| parent_pattern(path));
        let above: Vec<_> = above.collect();
        let mut more = 0_u64;
        for (site, cut) in &self.cuts {
            more = more.saturating_add(cut.skipped);
            let most = if is_path { cut.paths } else { cut.patterns };
            let mut missing = BTreeMap::<&str, u64>::new();
            for pattern in &above {
                let place = (site.clone(), pattern.clone());
                for (visitor, requests) in self.folded.get(&place).into_iter().flatten() {
                    if matches_robot(robot, visitor) && visitor != OTHER {
                        *missing.entry(visitor).or_default() += requests;
                    }
                }
            }
            let missing = missing.values().map(|missing| missing.min(&most)).sum();
            more = more.saturating_add(missing);
            let is_in_others = path != TOP || robot.is_some_and(|robot| robot != OTHER);
            if is_in_others && robot != Some(PEOPLE) {
                let place = (site.clone(), TOP.to_owned());
                let all = self.folded.get(&place).into_iter().flatten();
                let others = all.filter(|(visitor, _)| visitor == OTHER);
                let others: u64 = others.map(|(_, requests)| *requests).sum();
                more = more.saturating_add(others);
            }
        }
        more
    }
}

impl PathFigure {
    fn add(&mut self, row: &PathSum) {
        self.count += row.count;
        if row.key.robot.is_empty() {
            self.people = self.people.saturating_add(row.count.requests);
        }
    }
}

impl PathFilter {
    fn matches(&self, row: &PathSum) -> bool {
        let path = self.path.as_deref();
        matches_robot(self.robot.as_deref(), &row.key.robot)
            && path.is_none_or(|pattern| is_below(pattern, &row.key.path))
    }
}

/// Formats path counts as CSV that is safe to open in spreadsheets.
pub fn path_csv(heading: &str, figures: &[PathFigure]) -> String {
    let mut csv = format!(
        "{heading},requests,at_most_more,robots,people,redirects,client_errors,server_errors\n"
    );
    for figure in figures {
        let PathCount {
            requests,
            redirects,
            client_errors,
            server_errors,
        } = figure.count;
        // Writing to a `String` never fails.
        let _ = writeln!(
            csv,
            "{},{requests},{},{},{},{redirects},{client_errors},{server_errors}",
            csv_cell(&figure.name),
            figure.more,
            figure.robots(),
            figure.people
        );
    }
    csv
}

/// Returns `true` if the filter's robot includes a visitor.
fn matches_robot(robot: Option<&str>, visitor: &str) -> bool {
    match robot {
        None => true,
        Some(PEOPLE) => visitor.is_empty(),
        Some(robot) => robot == visitor,
    }
}

/// Returns `true` if a path equals the filter's path or matches the filter's pattern.
fn is_below(pattern: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    let mut asked = pattern.split('/').peekable();
    while let Some(one) = asked.next() {
        let Some(segment) = segments.next() else {
            return false;
        };
        if one == "*" && asked.peek().is_none() {
            return true;
        }
        if one != "*" && one != segment {
            return false;
        }
    }
    segments.next().is_none()
}

/// Returns the group of a path among the groups one level below a pattern.
fn group_below(pattern: &str, path: &str) -> String {
    let level = pattern.matches('/').count();
    if !pattern.ends_with("/*") || level > 2 {
        return path.to_owned();
    }
    let full = path_pattern(path.as_bytes(), false);
    let mut segments = full.split('/').skip(1);
    let mut name = String::new();
    for segment in segments.by_ref().take(level) {
        name.push('/');
        name.push_str(segment);
    }
    if segments.next().is_some() {
        name.push_str("/*");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_store::store::PathKey;

    fn sums(rows: &[(&str, &str, u64)], cut: PathOmissions) -> PathSums {
        let mut sums = PathSums::default();
        for (robot, path, requests) in rows {
            let key = PathKey {
                site: "a".to_owned(),
                robot: (*robot).to_owned(),
                path: (*path).to_owned(),
            };
            let count = PathCount {
                requests: *requests,
                ..PathCount::default()
            };
            sums.rows.push(PathSum::new(key, count));
        }
        sums.cuts.insert("a".to_owned(), cut);
        sums
    }

    fn told(figures: &PathFigures, group: PathGroup) -> Vec<(String, u64, u64)> {
        let (top, _) = figures.top(group, 0);
        let told = top.into_iter();
        told.map(|figure| (figure.name, figure.count.requests, figure.more))
            .collect()
    }

    #[test]
    fn pattern_tree_leads_to_paths_with_consistent_sums() {
        let rows = [
            ("bot", "/docs/guide/a", 5),
            ("bot", "/docs/guide/b", 3),
            ("bot", "/docs/faq", 2),
            ("", "/docs/guide/*", 7),
            ("bot", "/", 1),
            ("bot", "/1234", 1),
        ];
        let at = |path: Option<&str>| {
            let filter = PathFilter {
                path: path.map(str::to_owned),
                ..PathFilter::default()
            };
            PathFigures::new(sums(&rows, PathOmissions::default()), filter)
        };
        let named = |name: &str, requests| (name.to_owned(), requests, 0);
        assert_eq!(
            told(&at(None), PathGroup::Below),
            [named("/docs/*", 17), named("/", 1), named("/*", 1)]
        );
        assert_eq!(
            told(&at(Some("/docs/*")), PathGroup::Below),
            [named("/docs/guide/*", 15), named("/docs/faq", 2)]
        );
        let guide = at(Some("/docs/guide/*"));
        assert_eq!(
            told(&guide, PathGroup::Below),
            [
                named("/docs/guide/*", 7),
                named("/docs/guide/a", 5),
                named("/docs/guide/b", 3)
            ]
        );
        assert_eq!(
            (guide.total().count.requests, guide.total().robots()),
            (15, 8)
        );
        assert_eq!(
            told(&guide, PathGroup::Visitor),
            [named("bot", 8), named("people", 7)]
        );
        assert_eq!(told(&at(Some("/docs/faq")), PathGroup::Path).len(), 1);
    }

    #[test]
    fn folded_requests_bound_the_missing_count() {
        let rows = [
            ("bot", "/docs/guide/a", 50),
            ("bot", "/docs/guide/*", 30),
            ("cat", "/docs/guide/*", 3),
            ("other", "/*", 2),
        ];
        let cut = PathOmissions {
            paths: 9,
            patterns: 1,
            skipped: 4,
        };
        let figures = PathFigures::new(sums(&rows, cut), PathFilter::default());
        let more = |path, robot| figures.more(path, robot);
        // At most 9 of the robot's 30, the other robot's 3, 2 of `other` and 4 skipped requests.
        assert_eq!(more("/docs/guide/a", None), 9 + 3 + 2 + 4);
        assert_eq!(more("/docs/guide/a", Some("cat")), 3 + 2 + 4);
        assert_eq!(more("/docs/guide/a", Some(PEOPLE)), 4);
        // No pattern above has folded requests, except for the folded requests of `other`.
        assert_eq!(more("/docs/guide/*", None), 2 + 4);
        assert_eq!(more(TOP, None), 4);
    }

    #[test]
    fn document_formats_are_bounded_by_folded_robot_requests() {
        let rows = [
            ("bot", "/a.md", 2),
            ("bot", "/a", 5),
            ("bot", "/a/b/*", 3),
            ("", "/a.md", 9),
        ];
        let figures =
            PathFigures::new(sums(&rows, PathOmissions::default()), PathFilter::default());
        let expected = [("html", 5, 3), ("unknown", 3, 0), ("markdown", 2, 3)];
        let expected = expected.map(|(form, requests, more)| (form.to_owned(), requests, more));
        assert_eq!(told(&figures, PathGroup::Form), expected);
    }

    #[test]
    fn patterns_match_segment_by_segment() {
        for (pattern, path, is) in [
            ("/docs/*", "/docs/a", true),
            ("/docs/*", "/docs/a/b/c", true),
            ("/docs/*", "/docs/", true),
            ("/docs/*", "/docs", false),
            ("/docs/*", "/docs2/a", false),
            ("/*/edit", "/17/edit", true),
            ("/*/edit", "/17/edit/a", false),
            ("/*", "/", true),
            ("/a", "/a", true),
            ("/a", "/a/b", false),
            ("", "/a", false),
        ] {
            assert_eq!(is_below(pattern, path), is, "{pattern} {path}");
        }
    }
}
