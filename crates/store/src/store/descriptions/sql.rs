//! SQL statements for descriptions.

use std::{fmt::Write as _, sync::LazyLock};

use super::{
    super::statement::{ByRows, Statement},
    DescriptionOrder,
};

/// The number of columns that are written per description.
const COLUMNS: usize = 11;

/// The statement that writes descriptions. Parameters: `$1` site, `$2` run, `$3` current time.
pub(super) static SAVE: LazyLock<ByRows> =
    LazyLock::new(|| ByRows::new(&[8, 6, 5, 4, 3, 2, 1], save));

/// The statement that reads the fingerprints of descriptions by URL.
pub(super) static FINGERPRINTS: LazyLock<ByRows> =
    LazyLock::new(|| ByRows::new(&[50, 8, 4, 1], fingerprints));

/// The statement that deletes the descriptions of the given URLs.
pub(super) static DELETE: LazyLock<ByRows> = LazyLock::new(|| ByRows::new(&[50, 8, 1], delete));

macro_rules! description_columns {
    () => {
        "url, first_seen_ms, modified_ms, attributes, partial_text, full_text, contents, marks"
    };
}

statements! {
    DESCRIPTION = "read a resource description",
        concat!("SELECT ", description_columns!(),
            " FROM resource_descriptions WHERE site = $1 AND url = $2 AND hidden_ms IS NULL");
    KEPT_DESCRIPTION = "read a resource description that may be hidden",
        concat!("SELECT ", description_columns!(),
            " FROM resource_descriptions WHERE site = $1 AND url = $2");
    FIRST_DESCRIBED_URL = "look for a described URL",
        "SELECT url FROM resource_descriptions WHERE site = $1 AND url >= $2 \
         AND hidden_ms IS NULL ORDER BY url LIMIT 1";
    DESCRIPTION_COUNT = "count the resource descriptions",
        // Few descriptions are hidden, so both counts use indexes, and no text is read.
        "SELECT COUNT(*) - (SELECT COUNT(*) FROM resource_descriptions AS hidden \
         WHERE hidden.site = $1 AND hidden.hidden_ms IS NOT NULL) \
         FROM resource_descriptions WHERE site = $1";
    // The recursion jumps from site to site in the index; DISTINCT would read every row.
    DESCRIBED_SITES = "list the sites with resource descriptions",
        "WITH RECURSIVE sites (site) AS (SELECT MIN(site) FROM resource_descriptions \
         UNION ALL SELECT (SELECT MIN(next.site) FROM resource_descriptions AS next \
         WHERE next.site > sites.site) FROM sites WHERE sites.site IS NOT NULL) \
         SELECT site FROM sites WHERE site IS NOT NULL";
    DESCRIPTIONS_CHANGED = "look for the last change of a resource description",
        "SELECT modified_ms FROM resource_descriptions WHERE site = $1 \
         ORDER BY modified_ms DESC LIMIT 1";
    CLEAR_DESCRIPTIONS = "remove the resource descriptions",
        "DELETE FROM resource_descriptions WHERE site = $1";
}

/// Returns the statement that reads complete descriptions in a given order.
pub(super) fn read_complete(order: DescriptionOrder, with_key: bool) -> Statement {
    let columns = description_columns!();
    ordered("read the resource descriptions", columns, order, with_key)
}

/// Returns the statement that reads descriptions, ordered by URL, without their texts.
pub(super) fn read_without_texts() -> Statement {
    let columns = "url, first_seen_ms, modified_ms, attributes, CAST(NULL AS TEXT) AS partial_text, \
                   CAST(NULL AS TEXT) AS full_text, CAST(NULL AS TEXT) AS contents, CAST(NULL AS TEXT) AS marks";
    let what = "read the resource descriptions without their texts";
    ordered(what, columns, DescriptionOrder::Url, false)
}

/// Returns the statement that reads index entries of descriptions.
pub(super) fn read_entries(order: DescriptionOrder, with_key: bool) -> Statement {
    let key = column(order).unwrap_or("''");
    let columns = format!("url, title, {key} AS key, first_seen_ms, modified_ms");
    let what = "read an index of the resource descriptions";
    ordered(what, &columns, order, with_key)
}

fn fingerprints(urls: usize) -> Statement {
    let sql = format!(
        "SELECT url, fingerprint FROM resource_descriptions WHERE site = $1 \
         AND hidden_ms IS NULL AND url IN ({})",
        parameters(2, urls)
    );
    Statement::assembled("look for resource descriptions", sql)
}

fn delete(urls: usize) -> Statement {
    let sql = format!(
        "DELETE FROM resource_descriptions WHERE site = $1 AND url IN ({})",
        parameters(2, urls)
    );
    Statement::assembled("remove resource descriptions", sql)
}

fn save(rows: usize) -> Statement {
    let mut sql = "INSERT INTO resource_descriptions (site, run_id, first_seen_ms, modified_ms, \
         url, fingerprint, title, title_key, depth_key, md5, attributes, partial_text, full_text, \
         contents, marks) VALUES "
        .to_owned();
    for row in 0..rows {
        let comma = if row == 0 { "" } else { ", " };
        let values = parameters(4 + row * COLUMNS, COLUMNS);
        let _ = write!(sql, "{comma}($1, $2, $3, $3, {values})");
    }
    sql.push_str(&SAVED_OVER);
    Statement::assembled("write resource descriptions", sql)
}

/// Returns the parameters for `rows` rows, starting with `$4`; each row is enclosed in parentheses.
pub(in crate::store) fn values_of_rows(rows: usize) -> String {
    let row = |row| format!("({})", parameters(4 + row * COLUMNS, COLUMNS));
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// The `ON CONFLICT` clause that updates an existing description and makes it visible.
///
/// An unchanged description retains its columns and dates, as if the server had responded with 304.
pub(in crate::store) static SAVED_OVER: LazyLock<String> = LazyLock::new(|| {
    let kept = |column: &str, unless: &str| {
        format!(
            "{column} = CASE WHEN resource_descriptions.fingerprint = excluded.fingerprint{unless} \
             THEN resource_descriptions.{column} ELSE excluded.{column} END, "
        )
    };
    // The fingerprint does not include the depth, but the attributes do.
    let as_near = " AND resource_descriptions.depth_key = excluded.depth_key";
    let mut sql = " ON CONFLICT (site, url) DO UPDATE SET ".to_owned();
    sql.push_str(&kept("modified_ms", ""));
    for column in [
        "attributes",
        "partial_text",
        "full_text",
        "contents",
        "marks",
    ] {
        sql.push_str(&kept(column, as_near));
    }
    sql.push_str(
        "run_id = excluded.run_id, fingerprint = excluded.fingerprint, title = excluded.title, \
         title_key = excluded.title_key, depth_key = excluded.depth_key, md5 = excluded.md5, \
         hidden_ms = NULL, hidden_reason = NULL, missing_ms = NULL",
    );
    sql
});

/// Returns a list of `count` parameters, such as `$3, $4`.
pub(in crate::store) fn parameters(first: usize, count: usize) -> String {
    let mut list = String::new();
    for number in first..first + count {
        let comma = if number == first { "" } else { ", " };
        let _ = write!(list, "{comma}${number}");
    }
    list
}

/// Returns all statements that are assembled at run time.
pub(in crate::store) fn assembled_statements() -> Vec<Statement> {
    let mut all = vec![read_without_texts()];
    for rows in [&SAVE, &FINGERPRINTS, &DELETE] {
        all.extend(rows.all().cloned());
    }
    for order in DescriptionOrder::ALL {
        for with_key in [false, true] {
            all.extend([
                read_complete(order, with_key),
                read_entries(order, with_key),
            ]);
        }
    }
    all
}

/// Parameters: `$1` site, `$2` key, `$3` URL after which the query starts, `$4` limit.
fn ordered(
    what: &'static str,
    columns: &str,
    order: DescriptionOrder,
    with_key: bool,
) -> Statement {
    let (filter, sorted) = match (column(order), with_key) {
        // The partial index is only used with the condition that the key is not empty.
        (Some(key), true) => (
            format!("{key} <> '' AND {key} = $2 AND url > $3"),
            "url".to_owned(),
        ),
        (Some(key), false) => (
            format!("{key} <> '' AND ({key}, url) > ($2, $3)"),
            format!("{key}, url"),
        ),
        // `$2` is compared with itself, because `PostgreSQL` requires that every parameter be used.
        (None, _) => ("$2 = $2 AND url > $3".to_owned(), "url".to_owned()),
    };
    // SQLite recompiles a statement for each value of a bare limit.
    let sql = format!(
        "SELECT {columns} FROM resource_descriptions WHERE site = $1 AND hidden_ms IS NULL \
         AND {filter} ORDER BY {sorted} LIMIT $4 + 0"
    );
    Statement::assembled(what, sql)
}

fn column(order: DescriptionOrder) -> Option<&'static str> {
    match order {
        DescriptionOrder::Url => None,
        DescriptionOrder::Title => Some("title_key"),
    }
}
