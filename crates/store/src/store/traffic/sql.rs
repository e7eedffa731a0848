//! SQL statements for traffic.

use std::{fmt::Write as _, sync::LazyLock};

use super::super::{
    descriptions::sql::parameters,
    error::Engine,
    statement::{ByRows, Statement},
};

/// The numbers of columns in the rows of a key, of a total, and of an import's total.
pub(super) const KEY_COLUMNS: usize = 8;
pub(super) const SUM_COLUMNS: usize = 6;
pub(super) const IMPORTED_COLUMNS: usize = 7;

/// The statement that adds traffic keys.
///
/// Statements with many rows are slow, because `SQLite` searches all parameters for each parameter.
pub(super) static KEYS: LazyLock<ByRows> = LazyLock::new(|| ByRows::new(&[6, 3, 2, 1], keys));

/// The statement that records the counts that an import has added.
pub(super) static IMPORTED: LazyLock<ByRows> =
    LazyLock::new(|| ByRows::new(&[8, 4, 2, 1], imported));

/// The statement that adds to the traffic totals.
pub(super) static ADD: LazyLock<ByRows> = LazyLock::new(|| ByRows::new(&[8, 4, 2, 1], add));

statements! {
    // Nothing changes if the batch is not newer than the last one, as it was already added.
    NEXT_BATCH = "count a batch of traffic",
        "INSERT INTO traffic_writers (writer, batch, seen_ms) VALUES ($1, $2, $3) \
         ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch, seen_ms = excluded.seen_ms \
         WHERE traffic_writers.batch < excluded.batch";
    LIVE = "record the counted minutes",
        "INSERT INTO traffic_live (site, writer, began, ended) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (site, writer) DO UPDATE SET ended = excluded.ended \
         WHERE traffic_live.ended < excluded.ended";
    LIVE_MINUTES = "read the counted minutes",
        "SELECT began, ended FROM traffic_live WHERE site = $1 AND began <= $3 AND ended >= $2 \
         ORDER BY began, ended";
    IMPORTS = "find an imported log",
        "SELECT import_id, first_line, head_bytes, head, name, counted, requests \
         FROM traffic_imports WHERE first_line = $1 ORDER BY head_bytes DESC, import_id";
    BEGIN_IMPORT = "record a log",
        "INSERT INTO traffic_imports (import_id, first_line, head_bytes, head, name, counted, \
         requests, updated_ms) VALUES ($1, $2, $3, $4, $5, 0, 0, $6) \
         ON CONFLICT (import_id) DO NOTHING";
    // Nothing changes if another process has continued from the same position.
    IMPORT = "record the progress of an import",
        "UPDATE traffic_imports SET head_bytes = $3, head = $4, name = $5, counted = $6, \
         requests = requests + $7, updated_ms = $8 WHERE import_id = $1 AND counted = $2";
    LAST_IMPORTS = "list the imported logs",
        "SELECT import_id, first_line, head_bytes, head, name, counted, requests \
         FROM traffic_imports WHERE requests > 0 ORDER BY updated_ms DESC, import_id LIMIT $1";
    FORGET_IMPORT = "remove an imported log",
        "DELETE FROM traffic_imports WHERE import_id = $1 RETURNING requests";
    IMPORTED_REQUESTS = "read the sums of an import",
        "SELECT CAST(COALESCE(SUM(requests), 0) AS BIGINT) FROM traffic_import_sums \
         WHERE import_id = $1";
    IMPORTED_PACKED = "unpack the sums of an import",
        "DELETE FROM traffic_packed WHERE span = $2 AND began IN (SELECT DISTINCT began - began % $3 \
         FROM traffic_import_sums WHERE import_id = $1) RETURNING began, packed";
    SUBTRACT = "subtract the sums of an import",
        "UPDATE traffic_counts SET requests = traffic_counts.requests - undone.requests, \
         bytes = traffic_counts.bytes - undone.bytes, \
         micros = traffic_counts.micros - undone.micros \
         FROM (SELECT began - began % $3 AS start, key_id, \
         CAST(SUM(requests) AS BIGINT) AS requests, CAST(SUM(bytes) AS BIGINT) AS bytes, \
         CAST(SUM(micros) AS BIGINT) AS micros FROM traffic_import_sums \
         WHERE import_id = $1 GROUP BY 1, 2) AS undone \
         WHERE traffic_counts.span = $2 AND traffic_counts.began = undone.start \
         AND traffic_counts.key_id = undone.key_id";
    REMOVE_EMPTY = "remove empty sums",
        "DELETE FROM traffic_counts WHERE span = $2 AND requests <= 0 \
         AND began IN (SELECT DISTINCT began - began % $3 FROM traffic_import_sums \
         WHERE import_id = $1)";
    FORGET_IMPORTED = "remove the sums of an import",
        "DELETE FROM traffic_import_sums WHERE import_id = $1";
    PRUNE_IMPORTED = "remove the sums of old imports",
        "DELETE FROM traffic_import_sums WHERE added_ms < $1";
    SUMS = "read the traffic",
        "SELECT key_id, CAST(SUM(requests) AS BIGINT), CAST(SUM(bytes) AS BIGINT), \
         CAST(SUM(micros) AS BIGINT) FROM traffic_counts \
         WHERE span = $1 AND began >= $2 AND began < $3 GROUP BY key_id";
    // One row per span start: `SQLite` returns a long text faster than a thousand rows, and needs
    // no sorting, as the rows are stored in this order.
    CELLS = "read the traffic over time",
        "SELECT began, string_agg(CAST(key_id AS TEXT) || ' ' || CAST(requests AS TEXT) || ' ' || \
         CAST(bytes AS TEXT) || ' ' || CAST(micros AS TEXT), ',') FROM traffic_counts \
         WHERE span = $1 AND began >= $2 AND began < $3 GROUP BY began ORDER BY began";
    // Each key of the robot is looked up at each span start, so that no other rows are read.
    CELLS_OF_ROBOT = "read a robot's traffic over time",
        "WITH RECURSIVE steps (step) AS (SELECT CAST($2 AS BIGINT) UNION ALL \
         SELECT step + CAST($4 AS BIGINT) FROM steps \
         WHERE step + CAST($4 AS BIGINT) < CAST($3 AS BIGINT)) \
         SELECT began, traffic_counts.key_id, requests, bytes, micros \
         FROM traffic_keys CROSS JOIN steps CROSS JOIN traffic_counts \
         WHERE robot = $5 AND span = $1 AND began = step \
         AND traffic_counts.key_id = traffic_keys.key_id ORDER BY began";
    PACKED = "read the packed traffic",
        "SELECT began, packed FROM traffic_packed WHERE span = $1 AND began >= $2 AND began < $3 \
         ORDER BY began LIMIT $4";
    FIRST_ROW = "find traffic that can be packed",
        "SELECT MIN(began) FROM traffic_counts WHERE span = $1 AND began >= $2 AND began < $3";
    // Creates the row if it is missing, and locks the row without changing it until the transaction
    // ends.
    TAKE_PACKED = "lock the packed traffic",
        "INSERT INTO traffic_packed (span, began, packed) VALUES ($1, $2, $3) \
         ON CONFLICT (span, began) DO UPDATE SET began = excluded.began RETURNING packed";
    TAKE_ROWS = "read the traffic to be packed",
        "DELETE FROM traffic_counts WHERE span = $1 AND began = $2 \
         RETURNING key_id, requests, bytes, micros";
    SAVE_PACKED = "pack the traffic",
        "UPDATE traffic_packed SET packed = $3 WHERE span = $1 AND began = $2";
    PRUNE_PACKED = "remove old packed sums of traffic",
        "DELETE FROM traffic_packed WHERE span = $1 AND began < $2";
    PRUNE = "remove old sums of traffic",
        "DELETE FROM traffic_counts WHERE span = $1 AND began < $2";
    PRUNE_WRITERS = "remove old traffic writers",
        "DELETE FROM traffic_writers WHERE seen_ms < $1";
    FIRST_DAY = "find the first day of traffic",
        "SELECT MIN(began) FROM (SELECT MIN(began) AS began FROM traffic_counts WHERE span = $1 \
         UNION ALL SELECT MIN(began) FROM traffic_packed WHERE span = $1) AS firsts";
}

/// The `PostgreSQL` statement that locks the totals of a span in the order in which they are
/// written, to avoid deadlocks.
pub(super) static LOCK_ROWS: Statement = Statement::new(
    "lock the traffic to be packed",
    "SELECT COUNT(*) FROM (SELECT key_id FROM traffic_counts WHERE span = $1 AND began = $2 \
     ORDER BY key_id FOR UPDATE) AS locked",
);

/// Returns the statement that reads all traffic keys as a single text, since reading ten thousand
/// rows would take longer than reading the traffic itself.
pub(super) fn all_keys(engine: Engine) -> Statement {
    let (list, row) = match engine {
        Engine::Sqlite => ("json_group_array", "json_array"),
        Engine::Postgres => ("json_agg", "json_build_array"),
    };
    let sql = format!(
        "SELECT CAST({list}({row}(key_id, site, kind, robot, verdict, decision, cause, status)) \
         AS TEXT) FROM traffic_keys"
    );
    Statement::assembled("read the traffic keys", sql)
}

/// Returns all statements that are assembled at run time.
pub(in crate::store) fn assembled_statements(engine: Engine) -> Vec<Statement> {
    let mut all = vec![all_keys(engine)];
    all.extend(KEYS.all().chain(ADD.all()).chain(IMPORTED.all()).cloned());
    if engine == Engine::Postgres {
        all.push(LOCK_ROWS.clone());
    }
    all.extend(super::paths::sql::assembled_statements());
    all
}

fn keys(rows: usize) -> Statement {
    let sql = values(
        "INSERT INTO traffic_keys (key_id, site, kind, robot, verdict, decision, cause, status)",
        rows,
        KEY_COLUMNS,
    ) + " ON CONFLICT (key_id) DO NOTHING";
    Statement::assembled("add the traffic keys", sql)
}

fn imported(rows: usize) -> Statement {
    let sql = values(
        "INSERT INTO traffic_import_sums \
         (import_id, began, key_id, requests, bytes, micros, added_ms)",
        rows,
        IMPORTED_COLUMNS,
    ) + " ON CONFLICT (import_id, began, key_id)"
        + &adding_to("traffic_import_sums");
    Statement::assembled("record the sums of an import", sql)
}

fn add(rows: usize) -> Statement {
    let sql = values(
        "INSERT INTO traffic_counts (span, began, key_id, requests, bytes, micros)",
        rows,
        SUM_COLUMNS,
    ) + " ON CONFLICT (span, began, key_id)"
        + &adding_to("traffic_counts");
    Statement::assembled("add to the traffic sums", sql)
}

/// Returns the `ON CONFLICT` action that adds the inserted counts to an existing row.
fn adding_to(table: &str) -> String {
    let sum = |column| format!("{column} = {table}.{column} + excluded.{column}");
    let sums = ["requests", "bytes", "micros"].map(sum).join(", ");
    format!(" DO UPDATE SET {sums}")
}

pub(in crate::store) fn values(insert: &str, rows: usize, columns: usize) -> String {
    let mut sql = format!("{insert} VALUES ");
    for row in 0..rows {
        let comma = if row == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(sql, "{comma}({})", parameters(1 + row * columns, columns));
    }
    sql
}
