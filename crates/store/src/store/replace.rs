//! Robots are written: a source is replaced, a robot is added by hand.

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

/// Changes of a replacement: ids, sorted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Changes {
    /// Ids that the source had not before.
    pub added: Vec<String>,
    /// Ids of which the source says something else now.
    pub changed: Vec<String>,
    /// Ids that the source has no more.
    pub removed: Vec<String>,
    /// Number of robots that stayed as they were.
    pub unchanged: u64,
}

/// Rows in one statement that inserts robots.
pub(super) const INSERT_ROWS: usize = 50;

statements! {
    ROBOTS_OF_SOURCE = "read the robots of a source",
        concat!("SELECT ", robot_columns!(), " FROM robots WHERE source = $1");
    DELETE_ROBOTS_OF_SOURCE = "remove the robots of a source",
        "DELETE FROM robots WHERE source = $1";
    DELETE_ROBOT = "remove a robot",
        "DELETE FROM robots WHERE source = $1 AND robot_id = $2";
    // An update that changes nothing locks the row until the transaction ends, on both engines.
    LOCK_REGISTRY = "lock the registry",
        "UPDATE registry_version SET version = version WHERE id = 1";
    BUMP_REGISTRY_VERSION = "change the registry's version",
        "UPDATE registry_version SET version = version + 1 WHERE id = 1";
    DELETE_SOURCE_STATE = "forget a source",
        "DELETE FROM sources WHERE source = $1";
}

impl Robots<'_> {
    /// Replaces all robots of a source and what is remembered of it, or nothing.
    ///
    /// One short transaction drops the source's rows and repopulates. An id
    /// that stays keeps its insertion date, a robot that stays as it was its
    /// modified date too. Other sources are not touched; readers see the old
    /// set or the new one. When nothing changed, the registry's version stays.
    ///
    /// # Errors
    ///
    /// `Conflict` when two of the robots have the same id; else as the
    /// database fails. The old rows are there as before.
    pub async fn replace_source(
        self,
        source: &Source,
        robots: &[Robot],
        state: &SourceState,
        now_ms: i64,
    ) -> Result<Changes, StoreError> {
        let replaced = self.replace_source_as(None, source, robots, state, now_ms);
        replaced.await
    }

    /// Replaces the robots only while the lease is held, if there is one.
    pub(super) async fn replace_source_as(
        self,
        lease: Option<&Lease>,
        source: &Source,
        robots: &[Robot],
        state: &SourceState,
        now_ms: i64,
    ) -> Result<Changes, StoreError> {
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

    /// Removes a source's robots and what is remembered of it; returns how many robots.
    ///
    /// Its refreshes stay in the history.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then removes nothing.
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

    /// Adds a robot by hand; its source is `manual`, whatever the robot says.
    ///
    /// # Errors
    ///
    /// `Conflict` when a robot of this id was added by hand before.
    pub async fn add(self, robot: &Robot, now_ms: i64) -> Result<(), StoreError> {
        self.add_or_replace(robot, now_ms, false).await
    }

    /// Replaces a robot that was added by hand.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
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
                    "a robot with the id {:?} was added by hand before; remove it first",
                    row.robot_id
                ),
            ),
            _ => error,
        })?;
        transaction.commit().await
    }

    /// Removes a robot that was added by hand.
    ///
    /// # Errors
    ///
    /// `NotFound` when no robot of this id was added by hand.
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
                    "no robot with the id {id:?} was added by hand; \
                     those of a source go and come with its refresh"
                ),
            ));
        }
        transaction.commit().await
    }
}

impl Lease {
    /// Replaces a source as [`Robots::replace_source`](super::Robots::replace_source) does, as the lease's holder only.
    ///
    /// # Errors
    ///
    /// `LeaseLost` when somebody else has taken the lease; else as there.
    pub async fn replace_source(
        &self,
        source: &Source,
        robots: &[Robot],
        state: &SourceState,
        now_ms: i64,
    ) -> Result<Changes, StoreError> {
        let robots_of = Robots {
            db: self.database(),
        };
        let replaced = robots_of.replace_source_as(Some(self), source, robots, state, now_ms);
        replaced.await
    }
}

impl Changes {
    /// Returns `true` if nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Compares old and new rows, and gives the new ones the dates that they keep.
fn compare(old: Vec<RobotRow>, new: &mut [RobotRow]) -> Changes {
    let mut old: HashMap<String, RobotRow> = old
        .into_iter()
        .map(|row| (row.robot_id.clone(), row))
        .collect();
    let mut changes = Changes::default();
    for row in new {
        let id = row.robot_id.clone();
        match old.remove(&id) {
            None => changes.added.push(id),
            Some(before) => {
                row.insertion_date = before.insertion_date;
                if row.says_the_same(&before) {
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

/// Raises the registry's version; on `PostgreSQL` the other instances hear of it.
///
/// Whoever changes robots does this first, or locks the version: so changes
/// queue up, and never wait for each other in a circle.
async fn announce(transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
    transaction.execute(&BUMP_REGISTRY_VERSION, &[]).await?;
    notify(transaction, Channel::Registry).await
}

fn name_duplicate(error: StoreError, source: &Source, rows: &[RobotRow]) -> StoreError {
    if error.kind() != StoreErrorKind::Conflict {
        return error;
    }
    // The database says that two are alike, but not which.
    let mut seen = HashSet::new();
    let twice = rows.iter().find(|row| !seen.insert(&row.robot_id));
    let id = twice.map_or("", |row| row.robot_id.as_str());
    StoreError::new(
        StoreErrorKind::Conflict,
        format!("cannot replace the robots of {source}: two of them have the id {id:?}"),
    )
}

/// Returns the statement that inserts so many robots.
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
                // It looks each number up in a list of all: one by one they take no time.
                Engine::Sqlite => sql.write_char('?'),
                Engine::Postgres => write!(sql, "${}", row * COLUMNS + column),
            };
        }
        sql.push(')');
    }
    Statement::assembled("write the robots", sql)
}

/// Returns the statements that are put together, in each form.
pub(super) fn assembled_statements(engine: Engine) -> [Statement; 2] {
    [1, INSERT_ROWS].map(|rows| insert_robots(rows, engine))
}
