//! Lists robots, with filters and a sort order.

use std::sync::Arc;

use clap::Args;
use robot_detection_layer::detect::{Detector, Duplicates};
use robot_detection_layer::registry::{Purpose, Robot, Source, bundled as bundled_registry};
use robot_detection_site_robot::spelling::unknown_word;
use robot_detection_store::store::{Store, StoredRobot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RobotView;
use crate::{Caller, Invalid, Paging, Refusal, filled};

/// Maximum number of characters in a search text; further characters are ignored.
const MAX_SEARCH_CHARS: usize = 200;

/// Statuses by which robots can be filtered.
const STATUSES: [&str; 3] = ["active", "quarantined", "unusable"];

/// Words for the columns by which robots can be sorted.
const SORTS: [&str; 6] = ["name", "id", "purpose", "source", "status", "modified"];

/// The filter and sort order for a list of robots.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListRobots {
    /// Text to search for in the ID, name, User-Agent and operator
    #[arg(skip)]
    pub q: String,
    /// Only robots with this ID
    #[arg(skip)]
    #[serde(deserialize_with = "filled")]
    pub id: Option<String>,
    /// Only robots from this source
    #[arg(long, value_name = "NAME")]
    #[serde(deserialize_with = "filled")]
    pub source: Option<String>,
    /// Only robots with this status: active, quarantined or unusable
    #[arg(long, value_name = "STATUS")]
    #[serde(deserialize_with = "filled")]
    pub status: Option<String>,
    /// Only robots with these purposes, such as ai-training,ai-search
    #[arg(long, value_name = "PURPOSE")]
    #[serde(deserialize_with = "filled")]
    pub purpose: Option<String>,
    /// Only robots run by this operator, ignoring case
    #[arg(long, value_name = "NAME")]
    #[serde(deserialize_with = "filled")]
    pub operator: Option<String>,
    /// Only robots that duplicate a robot from a preferred source
    #[arg(long)]
    pub duplicates: bool,
    /// Sort key: name (the default), id, purpose, source, status or modified
    #[arg(skip)]
    #[serde(deserialize_with = "filled")]
    pub sort: Option<String>,
    /// Order: asc (the default) or desc
    #[arg(skip)]
    #[serde(deserialize_with = "filled")]
    pub dir: Option<String>,
}

/// A robot from the database or from the bundled registry.
#[derive(Clone, Debug)]
pub struct Row {
    /// The listed robot.
    pub robot: Arc<Robot>,
    /// Times at which the robot was inserted and last changed; `None` for the bundled registry.
    pub dates_ms: Option<(i64, i64)>,
}

/// One page of the list of robots.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RobotList")]
pub struct RobotViews {
    /// Robots on the page.
    pub robots: Vec<RobotView>,
    /// Number of robots on all pages.
    pub total: usize,
    /// Cursor of the next page; absent on the last page.
    pub next: Option<String>,
}

/// The validated filter for the list of robots.
struct Selection<'r> {
    words: Vec<String>,
    source: Option<Source>,
    purposes: Vec<Purpose>,
    request: &'r ListRobots,
}

/// Returns all robots in the database.
///
/// # Errors
///
/// Returns an error if the database operation fails.
pub async fn stored(store: &Store) -> Result<Vec<Row>, Refusal> {
    let stored = store.robots().list().await?;
    Ok(stored.into_iter().map(Row::from).collect())
}

/// Returns the robots in the bundled registry.
pub fn bundled() -> Vec<Row> {
    let robots = bundled_registry().robots.into_iter();
    let row = |robot| Row {
        robot: Arc::new(robot),
        dates_ms: None,
    };
    robots.map(row).collect()
}

/// Returns the robots that match the filter, in the requested sort order.
///
/// # Errors
///
/// Returns an error that names the invalid field.
pub fn select(
    rows: Vec<Row>,
    request: &ListRobots,
    detector: &Detector,
) -> Result<Vec<Row>, Refusal> {
    let selection = Selection::parse(request)?;
    let duplicates = Duplicates::new(detector);
    let mut rows = rows;
    rows.retain(|row| {
        selection.includes(&row.robot)
            && (!request.duplicates || duplicates.winner(&row.robot).is_some())
    });
    rows.sort_by_cached_key(|row| request.key(row));
    if request.is_descending() {
        rows.reverse();
    }
    Ok(rows)
}

/// Lists a page of robots, or all robots if `paging` is `None`.
///
/// # Errors
///
/// Returns an error that names the invalid field.
pub fn list(
    rows: Vec<Row>,
    request: &ListRobots,
    paging: Option<&Paging>,
    detector: &Detector,
    now_ms: i64,
) -> Result<RobotViews, Refusal> {
    let rows = select(rows, request, detector)?;
    let total = rows.len();
    let (rows, next) = match paging {
        Some(paging) => paging.page(rows, request.is_descending(), |row| request.key(row))?,
        None => (rows, None),
    };
    let duplicates = Duplicates::new(detector);
    let view = |row| RobotView::new(row, &duplicates, now_ms);
    Ok(RobotViews {
        robots: rows.iter().map(view).collect(),
        total,
        next,
    })
}

/// Finds a robot by its source and ID.
///
/// # Errors
///
/// Returns an error if no such robot exists, or if a database operation fails.
pub async fn find(
    caller: &Caller<'_>,
    detector: &Detector,
    source: &str,
    id: &str,
) -> Result<RobotView, Refusal> {
    let mut found = caller.store.robots().by_id(id).await?.into_iter();
    let found = found.find(|stored| stored.robot.source.as_str() == source);
    let row = found.map(Row::from).ok_or_else(|| {
        Refusal::not_found(format!(
            "The source {source:?} has no robot with the ID {id:?}."
        ))
    })?;
    Ok(RobotView::new(
        &row,
        &Duplicates::new(detector),
        caller.now_ms,
    ))
}

impl ListRobots {
    /// Statuses by which robots can be filtered.
    pub const STATUSES: [&str; 3] = STATUSES;
    /// Words for the columns by which robots can be sorted.
    pub const SORTS: [&str; 6] = SORTS;

    /// Returns the word for the column by which robots are sorted.
    pub fn sort(&self) -> &str {
        self.sort.as_deref().unwrap_or("name")
    }

    /// Returns `true` if the order is descending.
    pub fn is_descending(&self) -> bool {
        self.dir.as_deref() == Some("desc")
    }

    fn key(&self, row: &Row) -> (String, String, String) {
        let robot = &row.robot;
        let first = match self.sort() {
            "id" => String::new(),
            "purpose" => robot.purpose.to_string(),
            "source" => robot.source.to_string(),
            "status" => robot.status.as_str().to_owned(),
            // Padded to a width that fits all times, so that text order equals numeric order.
            "modified" => format!("{:020}", row.dates_ms.map_or(0, |(_, at_ms)| at_ms)),
            _ => robot.name.to_lowercase(),
        };
        (first, robot.id.clone(), robot.source.to_string())
    }
}

impl<'r> Selection<'r> {
    fn parse(request: &'r ListRobots) -> Result<Self, Refusal> {
        let source = request.source.as_deref().map(str::parse).transpose();
        let source = source.map_err(|error| Refusal::invalid("source", format!("{error}")))?;
        let words = |field: &'static str, word: Option<&str>, known: &[&'static str]| match word {
            Some(word) if !known.contains(&word) => Err(Invalid::new(
                field,
                unknown_word(field, word, known.iter().copied()),
            )),
            _ => Ok(()),
        };
        words("status", request.status.as_deref(), &STATUSES)?;
        words("sort", request.sort.as_deref(), &SORTS)?;
        words("dir", request.dir.as_deref(), &["asc", "desc"])?;
        let purposes = request.purpose.iter().flat_map(|all| all.split(','));
        let purposes = purposes.map(|word| {
            Purpose::from_word(word.trim()).ok_or_else(|| {
                let words = Purpose::ALL.iter().map(|purpose| purpose.as_str());
                Invalid::new("purpose", unknown_word("purpose", word, words))
            })
        });
        let search: String = request.q.chars().take(MAX_SEARCH_CHARS).collect();
        Ok(Self {
            words: search.split_whitespace().map(str::to_lowercase).collect(),
            source,
            purposes: purposes.collect::<Result<_, _>>()?,
            request,
        })
    }

    fn includes(&self, robot: &Robot) -> bool {
        let operator = robot.operator.as_deref().unwrap_or_default();
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|it| it == found);
        let is_of = |wanted: &String| operator.eq_ignore_ascii_case(wanted);
        is(&self.request.id, &robot.id)
            && is(&self.request.status, robot.status.as_str())
            && self.source.as_ref().is_none_or(|it| *it == robot.source)
            && (self.purposes.is_empty() || self.purposes.contains(&robot.purpose))
            && self.request.operator.as_ref().is_none_or(is_of)
            && self.has_words(robot, operator)
    }

    fn has_words(&self, robot: &Robot, operator: &str) -> bool {
        if self.words.is_empty() {
            return true;
        }
        // Fields are separated by line breaks, so that no search text matches across two fields.
        let text = [&robot.id, &robot.name, &robot.useragent, operator].join("\n");
        let text = text.to_lowercase();
        self.words.iter().all(|word| text.contains(word))
    }
}

impl From<StoredRobot> for Row {
    fn from(stored: StoredRobot) -> Self {
        Self {
            robot: Arc::new(stored.robot),
            dates_ms: Some((stored.insertion_ms, stored.modified_ms)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(request: &ListRobots) -> Vec<String> {
        let robot = |id: &str, name: &str, operator: &str| {
            let mut robot = Robot::new(id, Source::manual());
            (robot.name, robot.operator) = (name.to_owned(), Some(operator.to_owned()));
            robot
        };
        let robots = [
            robot("b", "beta_50%", "Acme"),
            robot("C", "Alpha", "acme"),
            robot("a", "gamma", "Größe"),
        ];
        let rows = robots.map(|robot| Row {
            robot: Arc::new(robot),
            dates_ms: None,
        });
        let detector = Detector::new(Vec::<Arc<Robot>>::new()).unwrap();
        let rows = select(rows.to_vec(), request, &detector).unwrap();
        rows.iter().map(|row| row.robot.id.clone()).collect()
    }

    #[test]
    fn robots_are_searched_and_sorted() {
        let of = |q: &str, sort: &str, dir: &str| ListRobots {
            q: q.to_owned(),
            sort: Some(sort.to_owned()),
            dir: Some(dir.to_owned()),
            ..ListRobots::default()
        };
        assert_eq!(ids(&of("", "name", "asc")), ["C", "b", "a"]);
        assert_eq!(ids(&of("", "id", "desc")), ["b", "a", "C"]);
        assert_eq!(ids(&of("ACME 50%", "name", "asc")), ["b"]);
        assert_eq!(ids(&of("b_ta", "name", "asc")), [""; 0]);
        assert_eq!(ids(&of("GRÖßE", "name", "asc")), ["a"]);
    }

    #[test]
    fn invalid_selection_is_refused_with_the_choices() {
        for (field, request) in [
            (
                "status",
                ListRobots {
                    status: Some("activ".to_owned()),
                    ..ListRobots::default()
                },
            ),
            (
                "sort",
                ListRobots {
                    sort: Some("size".to_owned()),
                    ..ListRobots::default()
                },
            ),
            (
                "purpose",
                ListRobots {
                    purpose: Some("serch".to_owned()),
                    ..ListRobots::default()
                },
            ),
        ] {
            let refusal = Selection::parse(&request).err().unwrap();
            assert!(refusal.to_string().starts_with(field), "{refusal}");
        }
    }
}
