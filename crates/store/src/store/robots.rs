//! Robots are read: all, by page, by id, counted.

use std::fmt::Write as _;

use robot_detection_layer::registry::Source;

use super::{
    StoreError, StoredRobot,
    columns::from_sql,
    row::RobotRow,
    statement::{Statement, Value},
};

/// Query for a page of robots.
#[derive(Clone, Debug, Default)]
pub struct RobotQuery {
    /// Words looked for in id, name, useragent and operator, ignoring case.
    ///
    /// A robot must hold all of them; the first 16 count.
    pub search: String,
    /// Source that the robots come from; any without one.
    pub source: Option<Source>,
    /// Status: `active`, `quarantined` or `unusable`; any without one.
    pub status: Option<String>,
    /// Column that the robots are sorted by; ties by id, then source.
    pub sort: RobotSort,
    /// Whether the column is sorted from its end.
    pub descending: bool,
    /// Robots that are passed over.
    pub offset: u64,
    /// Robots on the page; 0 for all that are left.
    pub limit: u64,
}

/// Column that a page of robots is sorted by.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum RobotSort {
    /// By name, ignoring ASCII case.
    #[default]
    Name,
    /// By id.
    Id,
    /// By source.
    Source,
    /// By the purpose's word.
    Purpose,
    /// By the status's word.
    Status,
    /// By the date of the last change.
    Modified,
}

/// Page of robots.
#[derive(Clone, Debug, Default)]
pub struct RobotPage {
    /// The robots of this page.
    pub robots: Vec<StoredRobot>,
    /// Robots on all pages.
    pub total: u64,
}

/// Number of robots of one source.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RobotCount {
    /// The source.
    pub source: Source,
    /// Robots that take part in detection.
    pub active: u64,
    /// Robots that a browser would have been taken for.
    pub quarantined: u64,
    /// Robots without a pattern.
    pub unusable: u64,
}

/// Words of a search that count; more than these are ignored.
pub(super) const SEARCH_WORDS: usize = 16;

statements! {
    ROBOTS = "read the robots",
        concat!("SELECT ", robot_columns!(), " FROM robots ORDER BY source, robot_id");
    ROBOTS_BY_ID = "read a robot",
        concat!("SELECT ", robot_columns!(), " FROM robots WHERE robot_id = $1 ORDER BY source");
    ROBOT_EXISTS = "look for a robot",
        "SELECT source FROM robots WHERE robot_id = $1 LIMIT 1";
    ROBOT_COUNTS = "count the robots",
        "SELECT source, status, COUNT(*) FROM robots GROUP BY source, status ORDER BY source";
}

handle! {
    /// The robots table.
    Robots, robots
}

impl Robots<'_> {
    /// Returns all robots, by source and id, as they were at one moment.
    ///
    /// A row whose patterns or status cannot be read is there too, as unusable.
    ///
    /// # Errors
    ///
    /// Fails when the database does, or when a row's source is no source's name.
    pub async fn list(self) -> Result<Vec<StoredRobot>, StoreError> {
        let rows = self.db.rows(&ROBOTS, &[]).await?;
        self.stored(rows)
    }

    /// Returns the robots that a query finds on one page, and how many in all.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn page(self, query: &RobotQuery) -> Result<RobotPage, StoreError> {
        let patterns = like_patterns(&query.search);
        let mut values: Vec<Value<'_>> = vec![
            query.source.as_ref().map_or("", Source::as_str).into(),
            query.status.as_deref().unwrap_or("").into(),
        ];
        values.extend(patterns.iter().map(Value::from));

        // One state for both statements, so that the number of robots fits the page.
        let mut transaction = self.db.begin_reading("read the robots").await?;
        let count = count_page(patterns.len());
        let (total,) = transaction.one::<(i64,)>(&count, &values).await?;
        let limit = if query.limit == 0 {
            u64::MAX
        } else {
            query.limit
        };
        values.extend([Value::from(limit), Value::from(query.offset)]);
        let page = read_page(query, patterns.len());
        let rows = transaction.rows(&page, &values).await?;
        transaction.commit().await?;

        Ok(RobotPage {
            robots: self.stored(rows)?,
            total: from_sql(total),
        })
    }

    /// Returns the robots of an id, the source that wins first.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn by_id(self, id: &str) -> Result<Vec<StoredRobot>, StoreError> {
        let rows = self.db.rows(&ROBOTS_BY_ID, &[id.into()]).await?;
        let mut robots = self.stored(rows)?;
        robots.sort_by_key(|stored| stored.robot.source.precedence());
        Ok(robots)
    }

    /// Returns `true` if any source knows a robot of this id.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn exists(self, id: &str) -> Result<bool, StoreError> {
        let values = [id.into()];
        let found = self.db.value::<String>(&ROBOT_EXISTS, &values);
        Ok(found.await?.is_some())
    }

    /// Counts the robots of each source that has some.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn counts(self) -> Result<Vec<RobotCount>, StoreError> {
        let rows = self.db.rows(&ROBOT_COUNTS, &[]).await?;
        let mut counts: Vec<RobotCount> = Vec::new();
        for (source, status, robots) in rows as Vec<(String, String, i64)> {
            let Ok(source) = source.parse::<Source>() else {
                continue; // Reading the robots tells of it.
            };
            if counts.last().is_none_or(|count| count.source != source) {
                counts.push(RobotCount {
                    source,
                    active: 0,
                    quarantined: 0,
                    unusable: 0,
                });
            }
            if let Some(count) = counts.last_mut() {
                match status.as_str() {
                    "active" => count.active = from_sql(robots),
                    "quarantined" => count.quarantined = from_sql(robots),
                    _ => count.unusable += from_sql(robots),
                }
            }
        }
        Ok(counts)
    }

    fn stored(self, rows: Vec<RobotRow>) -> Result<Vec<StoredRobot>, StoreError> {
        rows.into_iter()
            .map(|row| row.into_stored(&self.db.place))
            .collect()
    }
}

impl RobotSort {
    /// Every column that a page can be sorted by.
    pub const ALL: &'static [Self] = &[
        Self::Name,
        Self::Id,
        Self::Source,
        Self::Purpose,
        Self::Status,
        Self::Modified,
    ];
}

/// Returns the statement that counts what a query finds; its parameters are `$1` source,
/// `$2` status, then the patterns of the words.
pub(super) fn count_page(words: usize) -> Statement {
    let sql = format!("SELECT COUNT(*) FROM robots{}", page_filter(words));
    Statement::assembled("count the robots of a page", sql)
}

/// Returns the statement that reads a page; limit and offset follow the parameters of
/// [`count_page`].
pub(super) fn read_page(query: &RobotQuery, words: usize) -> Statement {
    let key = match query.sort {
        RobotSort::Name => "lower(robot_name)",
        RobotSort::Id => "robot_id",
        RobotSort::Source => "source",
        RobotSort::Purpose => "purpose",
        RobotSort::Status => "status",
        RobotSort::Modified => "modified_date",
    };
    let direction = if query.descending { "DESC" } else { "ASC" };
    let columns = robot_columns!();
    let filter = page_filter(words);
    let (limit, offset) = (words + 3, words + 4);
    let sql = format!(
        "SELECT {columns} FROM robots{filter} \
         ORDER BY {key} {direction}, robot_id, source LIMIT ${limit} OFFSET ${offset}"
    );
    Statement::assembled("read a page of robots", sql)
}

fn page_filter(words: usize) -> String {
    let mut filter = " WHERE ($1 = '' OR source = $1) AND ($2 = '' OR status = $2)".to_owned();
    for word in 0..words {
        let _ = write!(filter, " AND search_text LIKE ${} ESCAPE '\\'", word + 3);
    }
    filter
}

/// Returns a `LIKE` pattern for each word of a search.
fn like_patterns(search: &str) -> Vec<String> {
    search
        .split_whitespace()
        .take(SEARCH_WORDS)
        .map(|word| {
            let mut pattern = String::from("%");
            for letter in word.to_lowercase().chars() {
                if matches!(letter, '%' | '_' | '\\') {
                    pattern.push('\\');
                }
                pattern.push(letter);
            }
            pattern.push('%');
            pattern
        })
        .collect()
}

/// Returns the statements that are put together, in each form.
pub(super) fn assembled_statements() -> Vec<Statement> {
    let mut all = Vec::new();
    for words in [0, 1, SEARCH_WORDS] {
        all.push(count_page(words));
        for sort in RobotSort::ALL {
            for descending in [false, true] {
                let query = RobotQuery {
                    sort: *sort,
                    descending,
                    ..RobotQuery::default()
                };
                all.push(read_page(&query, words));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_in_a_search_are_only_characters() {
        assert_eq!(like_patterns(r" 50%_A\b  C "), [r"%50\%\_a\\b%", "%c%"]);
    }

    #[test]
    fn a_search_has_a_bounded_number_of_words() {
        assert_eq!(like_patterns(&"word ".repeat(1000)).len(), SEARCH_WORDS);
    }
}
