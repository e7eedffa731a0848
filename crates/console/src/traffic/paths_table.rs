//! Tables of paths, visitors and document formats.

use robot_detection_traffic::traffic::{PathFigure, PathFigures, PathGroup};

use super::number::group_digits;

/// A table of the rows that have the most requests.
pub(super) struct TableView {
    pub(super) rows: Vec<RowView>,
    /// Number of rows that are not shown, as text; empty if all rows are shown.
    pub(super) more: String,
}

/// The counts of a path as text.
pub(super) struct CountsView {
    pub(super) requests: String,
    /// Maximum number of missing requests as text; empty if the count is exact.
    pub(super) bound: String,
    pub(super) robots: String,
    pub(super) people: String,
    pub(super) redirects: String,
    pub(super) client_errors: String,
    pub(super) server_errors: String,
    pub(super) has_server_errors: bool,
}

/// A table row with a bar.
pub(super) struct RowView {
    pub(super) name: String,
    /// Link to the page about the row; empty if there is no such page.
    pub(super) link: String,
    /// Whether the row contains all other paths that match the page's pattern.
    pub(super) is_rest: bool,
    pub(super) figure: PathFigure,
    pub(super) counts: CountsView,
    /// Link to a search for descriptions if redirected paths have no descriptions; otherwise empty.
    pub(super) missing: String,
    /// Widths of the parts of the bar, in hundredths of the widest bar.
    pub(super) robots_width: u64,
    pub(super) people_width: u64,
}

impl TableView {
    /// Creates the table for a grouping; `filter` is the pattern that the page shows.
    pub(super) fn new(
        figures: &PathFigures,
        group: PathGroup,
        top: usize,
        filter: &str,
        link: impl Fn(&str) -> String,
    ) -> Self {
        let (rows, all) = figures.top(group, top);
        let most = rows.iter().map(|row| row.count.requests).max().unwrap_or(1);
        let more = match all - rows.len() {
            0 => String::new(),
            more => group_digits(more as u64),
        };
        let row = |figure: PathFigure| {
            let is_rest = figure.name == filter && filter.ends_with('*');
            let link = if is_rest {
                String::new()
            } else {
                link(&figure.name)
            };
            RowView::new(figure, most, link, is_rest)
        };
        Self {
            rows: rows.into_iter().map(row).collect(),
            more,
        }
    }
}

impl CountsView {
    pub(super) fn new(figure: &PathFigure) -> Self {
        let count = &figure.count;
        Self {
            requests: group_digits(count.requests),
            bound: match figure.more {
                0 => String::new(),
                more => format!("at most {} more", group_digits(more)),
            },
            robots: group_digits(figure.robots()),
            people: group_digits(figure.people),
            redirects: group_digits(count.redirects),
            client_errors: group_digits(count.client_errors),
            server_errors: group_digits(count.server_errors),
            has_server_errors: count.server_errors > 0,
        }
    }
}

impl RowView {
    fn new(figure: PathFigure, most: u64, link: String, is_rest: bool) -> Self {
        let width = |requests: u64| requests.saturating_mul(100) / most.max(1);
        Self {
            name: figure.name.clone(),
            link,
            is_rest,
            missing: String::new(),
            robots_width: width(figure.robots()),
            people_width: width(figure.people),
            counts: CountsView::new(&figure),
            figure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_store::store::PathCount;

    #[test]
    fn thousands_are_separated_as_on_other_pages() {
        let count = PathCount {
            requests: 12_345,
            redirects: 1_000,
            ..PathCount::default()
        };
        let figure = PathFigure {
            name: "/a".to_owned(),
            count,
            people: 2_345,
            more: 1_500,
        };
        let counts = CountsView::new(&figure);
        let shown = [
            counts.requests,
            counts.robots,
            counts.people,
            counts.redirects,
            counts.bound,
        ];
        let plain = shown.map(|text| text.replace('\u{202f}', " "));
        assert_eq!(
            plain,
            ["12 345", "10 000", "2 345", "1 000", "at most 1 500 more"]
        );
        assert!(!counts.has_server_errors);
    }
}
