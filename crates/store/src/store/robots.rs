//! Robots are read: all, by page, by id, counted.

use super::{StoreError, StoredRobot, row::RobotRow, sql, statement::Value};
use robot_detection_layer::registry::Source;

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
        let rows = self.store.database.rows(&sql::ROBOTS, &[]).await?;
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
        let mut transaction = self.store.database.begin_reading("read the robots").await?;
        let count = sql::count_page(patterns.len());
        let (total,) = transaction.one::<(i64,)>(&count, &values).await?;
        let limit = if query.limit == 0 {
            u64::MAX
        } else {
            query.limit
        };
        values.extend([Value::from(limit), Value::from(query.offset)]);
        let page = sql::read_page(query, patterns.len());
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
        let rows = self
            .store
            .database
            .rows(&sql::ROBOTS_BY_ID, &[id.into()])
            .await?;
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
        let found = self
            .store
            .database
            .first::<(String,)>(&sql::ROBOT_EXISTS, &values);
        Ok(found.await?.is_some())
    }

    /// Counts the robots of each source that has some.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn counts(self) -> Result<Vec<RobotCount>, StoreError> {
        let rows = self.store.database.rows(&sql::ROBOT_COUNTS, &[]).await?;
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
            .map(|row| row.into_stored(&self.store.database.place))
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

/// Returns a `LIKE` pattern for each word of a search.
fn like_patterns(search: &str) -> Vec<String> {
    search
        .split_whitespace()
        .take(sql::SEARCH_WORDS)
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

/// Returns a count as the database has it, which is never negative.
pub(super) fn from_sql(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
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
        assert_eq!(
            like_patterns(&"word ".repeat(1000)).len(),
            sql::SEARCH_WORDS
        );
    }
}
