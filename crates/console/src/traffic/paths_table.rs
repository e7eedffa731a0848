//! Tables of paths, visitors and document formats.

use robot_detection_layer::detect::{NAMELESS, UNLISTED};
use robot_detection_traffic::traffic::{Parameter, PathFigure, PathFigures, PathGroup};
use url::form_urlencoded::Serializer;

use super::number::{group_digits, percent};

/// Number of values at which a parameter gives pages many URLs.
const MANY_VALUES: u64 = 3;

/// The name under which robots beyond the limit are counted.
const OTHER: &str = "other";

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

/// A table of the query parameters that robots use.
pub(super) struct ParametersView {
    pub(super) rows: Vec<ParameterRow>,
    /// Number of rows that are not shown, as text; empty if all rows are shown.
    pub(super) more: String,
}

/// A table row with a query parameter.
pub(super) struct ParameterRow {
    pub(super) robot: String,
    pub(super) path: String,
    /// Name of the parameter; empty for all names that are not stored.
    pub(super) name: String,
    pub(super) share: String,
    pub(super) requests: String,
    pub(super) values: String,
    pub(super) pages: String,
    /// Link to the preview of a rule that refuses these requests; empty if no rule is proposed.
    pub(super) rule: String,
}

impl ParametersView {
    /// Creates the table for parameters on a site, or on all sites.
    pub(super) fn new<'p>(
        all: impl Iterator<Item = Parameter<'p>>,
        site: Option<&str>,
        top: usize,
    ) -> Self {
        let mut rows: Vec<_> = all.map(|one| ParameterRow::new(&one, site)).collect();
        let more = rows.len().saturating_sub(top) as u64;
        rows.truncate(top);
        let more = if more == 0 {
            String::new()
        } else {
            group_digits(more)
        };
        Self { rows, more }
    }
}

impl ParameterRow {
    fn new(one: &Parameter<'_>, site: Option<&str>) -> Self {
        let rule = proposed_rule(one, site).map(|fields| {
            let page = "rules/confirm?";
            let mut link = Serializer::for_suffix(page.to_owned(), page.len());
            link.extend_pairs(fields).finish()
        });
        Self {
            robot: one.robot.to_owned(),
            path: one.path.to_owned(),
            name: one.name.to_owned(),
            share: percent(one.requests, one.all_requests),
            requests: group_digits(one.requests),
            values: group_digits(one.values),
            pages: group_digits(one.pages),
            rule: rule.unwrap_or_default(),
        }
    }
}

/// Returns the fields of a rule that refuses a robot's requests with a parameter, if the parameter
/// gives pages many URLs.
pub(super) fn proposed_rule<'p>(
    one: &Parameter<'p>,
    site: Option<&'p str>,
) -> Option<Vec<(&'static str, &'p str)>> {
    if one.name.is_empty() || one.values < MANY_VALUES || one.robot == OTHER {
        return None;
    }
    let visitors = match one.robot {
        UNLISTED | NAMELESS => "visitors",
        _ => "robot",
    };
    let fields = [
        ("action", "refuse"),
        (visitors, one.robot),
        ("path", one.path),
        ("query", one.name),
    ];
    Some(
        fields
            .into_iter()
            .chain(site.map(|site| ("site", site)))
            .collect(),
    )
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
