//! Reads the robots table.

use robot_detection_layer::registry::Source;

use super::{StoreError, StoredRobot, columns::from_sql, row::RobotRow};

/// The number of robots from one source.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RobotCount {
    /// The source of the counted robots.
    pub source: Source,
    /// The number of robots used for detection.
    pub active: u64,
    /// The number of quarantined robots, whose patterns also match browsers.
    pub quarantined: u64,
    /// The number of robots without a pattern.
    pub unusable: u64,
}

statements! {
    ROBOTS = "read the robots",
        concat!("SELECT ", robot_columns!(), " FROM robots ORDER BY source, robot_id");
    ROBOTS_BY_ID = "read a robot",
        concat!("SELECT ", robot_columns!(), " FROM robots WHERE robot_id = $1 ORDER BY source");
    ROBOT_EXISTS = "find a robot",
        "SELECT source FROM robots WHERE robot_id = $1 LIMIT 1";
    ROBOT_COUNTS = "count the robots",
        "SELECT source, status, COUNT(*) FROM robots GROUP BY source, status ORDER BY source";
}

handle! {
    /// Access to the robots table.
    Robots, robots
}

impl Robots<'_> {
    /// Returns all robots, ordered by source and ID, from one consistent snapshot.
    ///
    /// A robot with unreadable patterns or status is included, but marked as unusable.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails, or if a row has an unknown source.
    pub async fn list(self) -> Result<Vec<StoredRobot>, StoreError> {
        let rows = self.db.rows(&ROBOTS, &[]).await?;
        self.stored(rows)
    }

    /// Returns all robots with the given ID, ordered by the precedence of their sources.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`list`](Self::list).
    pub async fn by_id(self, id: &str) -> Result<Vec<StoredRobot>, StoreError> {
        let rows = self.db.rows(&ROBOTS_BY_ID, &[id.into()]).await?;
        let mut robots = self.stored(rows)?;
        robots.sort_by_key(|stored| stored.robot.source.precedence());
        Ok(robots)
    }

    /// Returns `true` if any source contains a robot with the given ID.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn exists(self, id: &str) -> Result<bool, StoreError> {
        let values = [id.into()];
        let found = self.db.value::<String>(&ROBOT_EXISTS, &values);
        Ok(found.await?.is_some())
    }

    /// Counts the robots of each source; sources without robots are omitted.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`list`](Self::list).
    pub async fn counts(self) -> Result<Vec<RobotCount>, StoreError> {
        let rows = self.db.rows(&ROBOT_COUNTS, &[]).await?;
        let mut counts: Vec<RobotCount> = Vec::new();
        for (source, status, robots) in rows as Vec<(String, String, i64)> {
            let Ok(source) = source.parse::<Source>() else {
                continue; // `list` reports unknown sources.
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
