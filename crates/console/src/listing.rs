//! Search, order and page of the robots table.

use std::{fmt::Write as _, sync::Arc};

use serde::Deserialize;

use super::{page::encode, problem::Problem, robot_view::RobotView, state::AdminState};
use robot_detection_layer::detect::Duplicates;
use robot_detection_layer::registry::{ExportFormat, Robot, Source};
use robot_detection_store::store::{RobotQuery, RobotSort};

/// Rows of one page.
const PAGE_ROWS: u64 = 100;
/// Longest search text; the rest is ignored.
const MAX_SEARCH_CHARS: usize = 200;
pub(super) const STATUSES: &[&str] = &["active", "quarantined", "unusable"];
const SORTS: &[(RobotSort, &str, &str)] = &[
    (RobotSort::Name, "name", "Robot"),
    (RobotSort::Id, "id", "Id"),
    (RobotSort::Purpose, "purpose", "Purpose"),
    (RobotSort::Source, "source", "Source"),
    (RobotSort::Status, "status", "Status"),
    (RobotSort::Modified, "modified", "Modified"),
];

/// Query of a robots table.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ListParams {
    #[serde(default)]
    q: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    sort: String,
    #[serde(default)]
    dir: String,
    #[serde(default)]
    page: String,
    #[serde(default)]
    pub(super) note: String,
}

/// Selection and order of robots.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Listing {
    pub(super) search: String,
    pub(super) source: Option<Source>,
    pub(super) status: Option<&'static str>,
    pub(super) sort: RobotSort,
    pub(super) descending: bool,
    /// From 1.
    pub(super) number: u64,
}

/// One page of robots.
#[derive(Clone, Debug)]
pub(super) struct ListingPage {
    pub(super) robots: Vec<RobotView>,
    pub(super) total: u64,
    pub(super) pages: u64,
    /// From 1; the last page where a later one was asked for.
    pub(super) number: u64,
}

/// Heading of a column.
pub(super) struct Column {
    pub(super) label: &'static str,
    pub(super) link: String,
    /// "ascending", "descending" or "none".
    pub(super) order: &'static str,
}

impl Listing {
    pub(super) fn parse(params: &ListParams) -> Result<Self, Problem> {
        Ok(Self {
            search: params.q.trim().chars().take(MAX_SEARCH_CHARS).collect(),
            source: optional(&params.source)
                .map(str::parse)
                .transpose()
                .map_err(|error| Problem::invalid(format!("source: {error}")))?,
            status: optional(&params.status)
                .map(|word| one_of("status", word, STATUSES.iter().map(|&word| (word, word))))
                .transpose()?,
            sort: optional(&params.sort)
                .map(|word| {
                    one_of(
                        "sort",
                        word,
                        SORTS.iter().map(|&(sort, word, _)| (word, sort)),
                    )
                })
                .transpose()?
                .unwrap_or_default(),
            descending: optional(&params.dir)
                .map(|word| one_of("dir", word, [("asc", false), ("desc", true)].into_iter()))
                .transpose()?
                .unwrap_or_default(),
            number: optional(&params.page)
                .map(str::parse)
                .transpose()
                .map_err(|_| Problem::invalid("page: use a number from 1"))?
                .unwrap_or(1)
                .max(1),
        })
    }

    /// Parses the query of a program, to whom a page number below 1 is an error.
    ///
    /// A person is shown the first page instead.
    pub(super) fn parse_strictly(params: &ListParams) -> Result<Self, Problem> {
        let is_number = |page: &str| page.parse::<u64>().is_ok_and(|number| number > 0);
        if optional(&params.page).is_some_and(|page| !is_number(page)) {
            return Err(Problem::out_of_range("page: use a number from 1"));
        }
        Self::parse(params)
    }

    /// Loads the page; the last one where a later one is asked for.
    pub(super) async fn load(&self, state: &AdminState) -> Result<ListingPage, Problem> {
        let store = &state.operations().store;
        let mut number = self.number;
        let mut found = store.robots().page(&self.query(number)).await?;
        let pages = found.total.div_ceil(PAGE_ROWS).max(1);
        // Robots may have been removed since the link was made.
        if number > pages {
            number = pages;
            found = store.robots().page(&self.query(number)).await?;
        }
        let now_ms = state.now_ms();
        let detector = state.operations().detector.load();
        let duplicates = Duplicates::new(&detector);
        Ok(ListingPage {
            robots: found
                .robots
                .iter()
                .map(|stored| RobotView::new(stored, &duplicates, now_ms))
                .collect(),
            total: found.total,
            pages,
            number,
        })
    }

    /// Loads all robots that are asked for, by source and id.
    pub(super) async fn all(&self, state: &AdminState) -> Result<Vec<Arc<Robot>>, Problem> {
        let query = RobotQuery {
            sort: RobotSort::Source,
            descending: false,
            // 0 is no limit: an export is never of one page.
            limit: 0,
            ..self.query(1)
        };
        let found = state.operations().store.robots().page(&query).await?;
        let robots = found.robots.into_iter();
        Ok(robots.map(|stored| Arc::new(stored.robot)).collect())
    }

    fn query(&self, number: u64) -> RobotQuery {
        RobotQuery {
            search: self.search.clone(),
            source: self.source.clone(),
            status: self.status.map(str::to_owned),
            sort: self.sort,
            descending: self.descending,
            offset: number
                .saturating_sub(1)
                .saturating_mul(PAGE_ROWS)
                // Both databases have signed offsets.
                .min(i64::MAX.unsigned_abs()),
            limit: PAGE_ROWS,
        }
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        // The id stands below the name, so it has no column of its own.
        let shown = SORTS.iter().filter(|(sort, ..)| *sort != RobotSort::Id);
        shown
            .map(|&(sort, _, label)| {
                let is_sorted = self.sort == sort;
                let next = Self {
                    sort,
                    descending: is_sorted && !self.descending,
                    number: 1,
                    ..self.clone()
                };
                Column {
                    label,
                    link: next.link(),
                    order: match (is_sorted, self.descending) {
                        (false, _) => "none",
                        (true, false) => "ascending",
                        (true, true) => "descending",
                    },
                }
            })
            .collect()
    }

    pub(super) fn at(&self, number: u64) -> String {
        Self {
            number,
            ..self.clone()
        }
        .link()
    }

    /// Returns the formats in which the listing can be had, with their links.
    pub(super) fn exports(&self) -> Vec<(&'static str, String)> {
        let formats = ExportFormat::ALL.iter().map(|format| {
            let word = format.as_str();
            let search = self.at(1);
            let search = search.split_once('?').map_or("", |(_, search)| search);
            let mark = if search.is_empty() { "" } else { "&" };
            (word, format!("robots/export?format={word}{mark}{search}"))
        });
        formats.collect()
    }

    /// Returns the link to this listing from the top of the router.
    fn link(&self) -> String {
        let mut link = "registry".to_owned();
        let number = self.number.to_string();
        let sort = if self.sort == RobotSort::default() {
            ""
        } else {
            sort_word(self.sort)
        };
        let parts = [
            ("q", self.search.as_str()),
            ("source", self.source.as_ref().map_or("", Source::as_str)),
            ("status", self.status.unwrap_or_default()),
            ("sort", sort),
            ("dir", if self.descending { "desc" } else { "" }),
            ("page", if self.number > 1 { &number } else { "" }),
        ];
        let mut mark = '?';
        for (key, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
            let _ = write!(link, "{mark}{key}={}", encode(value));
            mark = '&';
        }
        link
    }

    pub(super) fn sort_word(&self) -> &'static str {
        sort_word(self.sort)
    }

    pub(super) fn is_narrowed(&self) -> bool {
        !self.search.is_empty() || self.source.is_some() || self.status.is_some()
    }

    pub(super) fn has_status(&self, status: &str) -> bool {
        self.status == Some(status)
    }
}

impl ListingPage {
    pub(super) fn first(&self) -> u64 {
        if self.total == 0 {
            0
        } else {
            (self.number - 1) * PAGE_ROWS + 1
        }
    }

    pub(super) fn last(&self) -> u64 {
        (self.number * PAGE_ROWS).min(self.total)
    }
}

fn sort_word(wanted: RobotSort) -> &'static str {
    SORTS
        .iter()
        .find(|(sort, ..)| *sort == wanted)
        .map_or("name", |&(_, word, _)| word)
}

fn optional(value: &str) -> Option<&str> {
    Some(value.trim()).filter(|value| !value.is_empty())
}

fn one_of<T: Copy>(
    key: &str,
    word: &str,
    choices: impl Iterator<Item = (&'static str, T)> + Clone,
) -> Result<T, Problem> {
    choices
        .clone()
        .find(|(choice, _)| *choice == word)
        .map(|(_, value)| value)
        .ok_or_else(|| {
            let words: Vec<&str> = choices.map(|(choice, _)| choice).collect();
            Problem::invalid(format!("{key}: use one of {}", words.join(", ")))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(sort: &str, dir: &str, page: &str) -> ListParams {
        ListParams {
            sort: sort.to_owned(),
            dir: dir.to_owned(),
            page: page.to_owned(),
            ..ListParams::default()
        }
    }

    #[test]
    fn an_empty_query_lists_by_name() {
        let listing = Listing::parse(&ListParams::default()).unwrap();
        assert_eq!(listing.sort, RobotSort::Name);
        assert_eq!(listing.number, 1);
        assert_eq!(listing.link(), "registry");
    }

    #[test]
    fn what_cannot_be_asked_is_refused_with_the_choices() {
        for (params, told) in [
            (params("size", "", ""), "name, id, purpose"),
            (params("", "up", ""), "asc, desc"),
            (params("", "", "first"), "number"),
        ] {
            let problem = Listing::parse(&params).unwrap_err();
            assert!(problem.message.contains(told), "{}", problem.message);
        }
    }

    #[test]
    fn a_link_keeps_the_search() {
        let listing = Listing {
            search: "a&b=\"<".to_owned(),
            source: Some(Source::manual()),
            status: Some("active"),
            sort: RobotSort::Modified,
            descending: true,
            number: 3,
        };
        assert_eq!(
            listing.link(),
            "registry?q=a%26b%3D%22%3C&source=manual&status=active&sort=modified&dir=desc&page=3"
        );
    }

    #[test]
    fn a_second_click_on_a_column_turns_the_order() {
        let listing = Listing::parse(&params("status", "", "")).unwrap();
        let columns = listing.columns();
        let status = columns.iter().find(|c| c.label == "Status").unwrap();
        assert_eq!(status.order, "ascending");
        assert_eq!(status.link, "registry?sort=status&dir=desc");
        assert_eq!(columns[0].order, "none");
    }

    #[test]
    fn a_page_beyond_all_numbers_does_not_overflow() {
        let listing = Listing {
            number: u64::MAX,
            ..Listing::default()
        };
        assert!(i64::try_from(listing.query(u64::MAX).offset).is_ok());
        assert!(!listing.link().is_empty());
    }
}
