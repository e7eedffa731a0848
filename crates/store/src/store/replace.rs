//! Writes to the robots table: replaces the robots of a source, or adds a single robot.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
};

use robot_detection_layer::registry::{Robot, Source};

use super::{
    Lease, SourceState, StoreError, StoreErrorKind,
    changes::notify,
    error::Engine,
    link::Channel,
    refreshes::save_source,
    robots::Robots,
    row::RobotRow,
    statement::{Statement, Value},
    transaction::Transaction,
};

/// The changes made by replacing robots; all IDs are sorted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct RobotChanges {
    /// The IDs of new robots.
    pub added: Vec<String>,
    /// The IDs of changed robots.
    pub changed: Vec<String>,
    /// The IDs of removed robots.
    pub removed: Vec<String>,
    /// The number of unchanged robots.
    pub unchanged: u64,
}

/// The number of rows per `INSERT` statement.
pub(super) const INSERT_ROWS: usize = 50;

statements! {
    ROBOTS_OF_SOURCE = "read the robots of a source",
        concat!("SELECT ", robot_columns!(), " FROM robots WHERE source = $1");
    DELETE_ROBOTS_OF_SOURCE = "remove the robots of a source",
        "DELETE FROM robots WHERE source = $1";
    DELETE_ROBOT = "remove a robot",
        "DELETE FROM robots WHERE source = $1 AND robot_id = $2";
    // This update changes nothing but locks the row until the transaction ends, on both engines.
    LOCK_REGISTRY = "lock the registry",
        "UPDATE registry_version SET version = version WHERE id = 1";
    BUMP_REGISTRY_VERSION = "change the registry's version",
        "UPDATE registry_version SET version = version + 1 WHERE id = 1";
    DELETE_SOURCE_STATE = "remove the state of a source",
        "DELETE FROM sources WHERE source = $1";
}

impl Robots<'_> {
    /// Replaces all robots of a source, and the source's state, in one transaction.
    ///
    /// Robots that already existed retain their insertion date; unchanged robots also retain their
    /// modification date. Other sources are not affected, and readers see either the old or the new
    /// robots. If nothing changes, the registry version remains the same.
    ///
    /// # Errors
    ///
    /// Returns `Conflict` if two robots have the same ID, or an error if the query fails. In both
    /// cases, the old robots remain stored.
    pub async fn replace_source(
        self,
        source: &Source,
        robots: &[Robot],
        state: &SourceState,
        now_ms: i64,
    ) -> Result<RobotChanges, StoreError> {
        let replaced = self.replace_source_as(None, source, robots, state, now_ms);
        replaced.await
    }

    /// Replaces the robots of a source, provided that `lease` (if given) is still held.
    pub(super) async fn replace_source_as(
        self,
        lease: Option<&Lease>,
        source: &Source,
        robots: &[Robot],
        state: &SourceState,
        now_ms: i64,
    ) -> Result<RobotChanges, StoreError> {
        let mut rows: Vec<RobotRow> = robots
            .iter()
            .map(|robot| RobotRow::new(robot, source, now_ms))
            .collect();

        let mut transaction = self.db.begin("replace the robots of a source").await?;
        if let Some(lease) = lease {
            lease.guard(&mut transaction).await?;
        }
        transaction.execute(&LOCK_REGISTRY, &[]).await?;
        let values = [source.as_str().into()];
        let old = transaction.rows(&ROBOTS_OF_SOURCE, &values).await?;
        let changes = compare(old, &mut rows);
        if !changes.is_empty() {
            let drop_all = &DELETE_ROBOTS_OF_SOURCE;
            transaction.execute(drop_all, &values).await?;
            let inserted = insert(&mut transaction, &rows).await;
            inserted.map_err(|error| name_duplicate(error, source, &rows))?;
            announce(&mut transaction).await?;
        }
        save_source(&mut transaction, source, state).await?;
        transaction.commit().await?;
        Ok(changes)
    }

    /// Removes a source's robots and state. Returns the number of removed robots.
    ///
    /// The refresh history of the source is not deleted.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is removed.
    pub async fn drop_source(self, source: &Source) -> Result<u64, StoreError> {
        let values = [source.as_str().into()];
        let mut transaction = self.db.begin("drop a source").await?;
        transaction.execute(&LOCK_REGISTRY, &[]).await?;
        let drop_all = &DELETE_ROBOTS_OF_SOURCE;
        let removed = transaction.execute(drop_all, &values).await?;
        let forget = &DELETE_SOURCE_STATE;
        transaction.execute(forget, &values).await?;
        if removed > 0 {
            announce(&mut transaction).await?;
        }
        transaction.commit().await?;
        Ok(removed)
    }

    /// Adds a robot manually. The robot's source is stored as `manual`, regardless of the source
    /// that the robot specifies.
    ///
    /// # Errors
    ///
    /// Returns `Conflict` if a robot with this ID was already added manually.
    pub async fn add(self, robot: &Robot, now_ms: i64) -> Result<(), StoreError> {
        self.add_or_replace(robot, now_ms, false).await
    }

    /// Adds a robot manually; replaces a manually added robot with the same ID.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn replace(self, robot: &Robot, now_ms: i64) -> Result<(), StoreError> {
        self.add_or_replace(robot, now_ms, true).await
    }

    async fn add_or_replace(
        self,
        robot: &Robot,
        now_ms: i64,
        replaces: bool,
    ) -> Result<(), StoreError> {
        let row = RobotRow::new(robot, &Source::manual(), now_ms);
        let mut transaction = self.db.begin("add a robot").await?;
        announce(&mut transaction).await?;
        if replaces {
            let values = [row.source.as_str().into(), row.robot_id.as_str().into()];
            transaction.execute(&DELETE_ROBOT, &values).await?;
        }
        let inserted = insert(&mut transaction, std::slice::from_ref(&row)).await;
        inserted.map_err(|error| match error.kind() {
            StoreErrorKind::Conflict => StoreError::new(
                StoreErrorKind::Conflict,
                format!(
                    "a robot with the id {:?} was already added manually; remove it first",
                    row.robot_id
                ),
            ),
            _ => error,
        })?;
        transaction.commit().await
    }

    /// Removes a manually added robot.
    ///
    /// # Errors
    ///
    /// Returns `NotFound` if no robot with this ID was added manually.
    pub async fn remove(self, id: &str) -> Result<(), StoreError> {
        let mut transaction = self.db.begin("remove a robot").await?;
        announce(&mut transaction).await?;
        let manual = Source::manual();
        let values = [manual.as_str().into(), id.into()];
        let removed = transaction.execute(&DELETE_ROBOT, &values).await?;
        if removed == 0 {
            return Err(StoreError::new(
                StoreErrorKind::NotFound,
                format!(
                    "no robot with the id {id:?} was added manually; \
                     robots from a source are added and removed by its refresh"
                ),
            ));
        }
        transaction.commit().await
    }
}

impl Lease {
    /// Replaces the robots of a source, like [`Robots::replace_source`], but fails unless the lease
    /// is still held.
    ///
    /// # Errors
    ///
    /// Returns `LeaseLost` if another process has acquired the lease, or an error for the same
    /// reasons as [`Robots::replace_source`].
    pub async fn replace_source(
        &self,
        source: &Source,
        robots: &[Robot],
        state: &SourceState,
        now_ms: i64,
    ) -> Result<RobotChanges, StoreError> {
        let robots_of = Robots {
            db: self.database(),
        };
        let replaced = robots_of.replace_source_as(Some(self), source, robots, state, now_ms);
        replaced.await
    }
}

impl RobotChanges {
    /// Returns `true` if the replacement changed nothing.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Compares old and new rows, and copies the dates of existing robots to their new rows.
fn compare(old: Vec<RobotRow>, new: &mut [RobotRow]) -> RobotChanges {
    let mut old: HashMap<String, RobotRow> = old
        .into_iter()
        .map(|row| (row.robot_id.clone(), row))
        .collect();
    let mut changes = RobotChanges::default();
    for row in new {
        let id = row.robot_id.clone();
        match old.remove(&id) {
            None => changes.added.push(id),
            Some(before) => {
                row.insertion_date = before.insertion_date;
                if row.equals_ignoring_dates(&before) {
                    row.modified_date = before.modified_date;
                    changes.unchanged += 1;
                } else {
                    changes.changed.push(id);
                }
            }
        }
    }
    changes.removed = old.into_keys().collect();
    for ids in [
        &mut changes.added,
        &mut changes.changed,
        &mut changes.removed,
    ] {
        ids.sort_unstable();
    }
    changes
}

async fn insert(transaction: &mut Transaction<'_>, rows: &[RobotRow]) -> Result<(), StoreError> {
    for rows in rows.chunks(INSERT_ROWS) {
        let values: Vec<Value<'_>> = rows.iter().flat_map(RobotRow::values).collect();
        let statement = insert_robots(rows.len(), transaction.engine());
        transaction.execute(&statement, &values).await?;
    }
    Ok(())
}

/// Increases the registry version and, on `PostgreSQL`, notifies the other instances.
///
/// Every change to the robots table calls this function first or locks the version, so that changes
/// are serialised and cannot deadlock.
async fn announce(transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
    transaction.execute(&BUMP_REGISTRY_VERSION, &[]).await?;
    notify(transaction, Channel::Registry).await
}

fn name_duplicate(error: StoreError, source: &Source, rows: &[RobotRow]) -> StoreError {
    if error.kind() != StoreErrorKind::Conflict {
        return error;
    }
    // The database reports a duplicate, but not which ID is duplicated.
    let mut seen = HashSet::new();
    let twice = rows.iter().find(|row| !seen.insert(&row.robot_id));
    let id = twice.map_or("", |row| row.robot_id.as_str());
    StoreError::new(
        StoreErrorKind::Conflict,
        format!("cannot replace the robots of {source}: two robots have the id {id:?}"),
    )
}

/// Returns the statement that inserts `rows` robots.
pub(super) fn insert_robots(rows: usize, engine: Engine) -> Statement {
    const COLUMNS: usize = 14;
    let mut sql = String::from(concat!(
        "INSERT INTO robots (",
        robot_columns!(),
        ") VALUES "
    ));
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 1..=COLUMNS {
            sql.push_str(if column == 1 { "" } else { ", " });
            let _ = match engine {
                // Numbered parameters are slow, because `SQLite` looks up each of them in a list.
                Engine::Sqlite => sql.write_char('?'),
                Engine::Postgres => write!(sql, "${}", row * COLUMNS + column),
            };
        }
        sql.push(')');
    }
    Statement::assembled("write the robots", sql)
}

/// Returns the statements assembled at run time, one for each number of rows.
pub(super) fn assembled_statements(engine: Engine) -> [Statement; 2] {
    [1, INSERT_ROWS].map(|rows| insert_robots(rows, engine))
}
