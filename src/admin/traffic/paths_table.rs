//! Tables of paths, visitors and forms.

use crate::traffic::{PathFigure, PathFigures, PathGroup};

/// Rows with most requests.
pub(super) struct TableView {
    pub(super) rows: Vec<RowView>,
    /// Rows that are not shown.
    pub(super) more: usize,
}

/// Row with its bar.
pub(super) struct RowView {
    pub(super) name: String,
    /// Page about it alone; empty: none.
    pub(super) link: String,
    /// What is counted with the pattern that the page is about.
    pub(super) is_rest: bool,
    pub(super) figure: PathFigure,
    /// Search for descriptions, where robots were redirected and there is none; else empty.
    pub(super) missing: String,
    /// Widths of the bar, in hundredths of the widest row.
    pub(super) robots_width: u64,
    pub(super) people_width: u64,
}

impl TableView {
    /// Creates the table of a group; `filter` is the pattern that the page is about.
    pub(super) fn new(
        figures: &PathFigures,
        group: PathGroup,
        top: usize,
        filter: &str,
        link: impl Fn(&str) -> String,
    ) -> Self {
        let (rows, all) = figures.top(group, top);
        let most = rows.iter().map(|row| row.count.requests).max().unwrap_or(1);
        let more = all - rows.len();
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
            figure,
        }
    }
}
