//! Robots are read: all, by page, by id, counted.

use super::{StoreError, StoredRobot, row::RobotRow, sql};
use robot_detection_layer::registry::Source;

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

/// Returns a count as the database has it, which is never negative.
pub(super) fn from_sql(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
