//! SQL statements for path counts.

use std::sync::LazyLock;

use super::super::{
    super::statement::{ByRows, Statement},
    sql::values,
};

/// The number of columns in the row of a path count, and in the row of an omission.
pub(super) const ROW_COLUMNS: usize = 11;
pub(super) const CUT_COLUMNS: usize = 6;

/// The statement that adds to the path counts.
pub(super) static ADD: LazyLock<ByRows> = LazyLock::new(|| ByRows::new(&[6, 3, 2, 1], add));

statements! {
    ADD_CUT = "record omitted path counts",
        "INSERT INTO traffic_path_cuts (span, began, site, paths, patterns, skipped) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (span, began, site) DO UPDATE SET \
         paths = traffic_path_cuts.paths + excluded.paths, \
         patterns = traffic_path_cuts.patterns + excluded.patterns, \
         skipped = traffic_path_cuts.skipped + excluded.skipped";
    SUMS = "read path counts",
        "SELECT site, robot, path, CAST(SUM(requests) AS BIGINT) AS requests, \
         CAST(SUM(redirects) AS BIGINT) AS redirects, \
         CAST(SUM(client_errors) AS BIGINT) AS client_errors, \
         CAST(SUM(server_errors) AS BIGINT) AS server_errors \
         FROM traffic_paths WHERE span = $1 AND began >= $2 AND began < $3 \
         AND (CAST($4 AS TEXT) IS NULL OR site = CAST($4 AS TEXT)) \
         GROUP BY site, robot, path";
    CUTS = "read omitted path counts",
        "SELECT site, CAST(SUM(paths) AS BIGINT) AS paths, \
        CAST(SUM(patterns) AS BIGINT) AS patterns, CAST(SUM(skipped) AS BIGINT) AS skipped FROM traffic_path_cuts \
         WHERE span = $1 AND began >= $2 AND began < $3 \
         AND (CAST($4 AS TEXT) IS NULL OR site = CAST($4 AS TEXT)) GROUP BY site";
    FULL = "find sites with too many paths",
        "SELECT site, CAST(SUM(CASE WHEN is_path = 1 THEN 1 ELSE 0 END) AS BIGINT), \
         CAST(SUM(CASE WHEN is_path = 1 THEN 0 ELSE 1 END) AS BIGINT) FROM traffic_paths \
         WHERE span = $1 AND began = $2 GROUP BY site HAVING COUNT(*) > $3 ORDER BY site";
    // Concurrent additions of other instances are either returned, or create a new row.
    TRIM = "combine paths into patterns",
        "DELETE FROM traffic_paths WHERE span = $1 AND began = $2 AND site = $3 \
         AND (robot, path) IN (SELECT robot, path FROM traffic_paths \
         WHERE span = $1 AND began = $2 AND site = $3 AND is_path = $4 \
         AND (depth > 0 OR robot NOT IN ('', 'other')) \
         ORDER BY depth DESC, requests, robot, path LIMIT $5) \
         RETURNING site, robot, path, requests, redirects, client_errors, server_errors";
    PRUNE = "remove old path counts",
        "DELETE FROM traffic_paths WHERE span = $1 AND began < $2";
    PRUNE_CUTS = "remove old omissions of path counts",
        "DELETE FROM traffic_path_cuts WHERE span = $1 AND began < $2";
    FORGETTABLE = "count the path counts to delete",
        "SELECT COUNT(*) FROM traffic_paths \
         WHERE (CAST($1 AS TEXT) IS NULL OR robot = CAST($1 AS TEXT)) \
         AND (CAST($2 AS BIGINT) IS NULL OR began < CAST($2 AS BIGINT))";
    FORGET = "delete path counts",
        "DELETE FROM traffic_paths WHERE (CAST($1 AS TEXT) IS NULL OR robot = CAST($1 AS TEXT)) \
         AND (CAST($2 AS BIGINT) IS NULL OR began < CAST($2 AS BIGINT))";
}

/// Returns all statements that are assembled at run time.
pub(in crate::store) fn assembled_statements() -> Vec<Statement> {
    ADD.all().cloned().collect()
}

fn add(rows: usize) -> Statement {
    let sql = values(
        "INSERT INTO traffic_paths (span, began, site, robot, path, is_path, depth, \
         requests, redirects, client_errors, server_errors)",
        rows,
        ROW_COLUMNS,
    ) + " ON CONFLICT (span, began, site, robot, path) DO UPDATE SET \
         requests = traffic_paths.requests + excluded.requests, \
         redirects = traffic_paths.redirects + excluded.redirects, \
         client_errors = traffic_paths.client_errors + excluded.client_errors, \
         server_errors = traffic_paths.server_errors + excluded.server_errors";
    Statement::assembled("add to path counts", sql)
}
