//! Every statement, the same for both engines.
//!
//! A statement's first text completes the sentence "cannot …". Integers are
//! `BIGINT`; columns are named, never `*`.

use std::fmt::Write as _;

use super::{
    descriptions,
    error::Engine,
    frontier,
    robots::{RobotQuery, RobotSort},
    statement::Statement,
};

/// Rows in one statement that inserts robots.
///
/// SQLite looks each parameter's name up in a list: more rows make it slower.
pub(super) const INSERT_ROWS: usize = 25;

/// Words of a search that count; more than these are ignored.
pub(super) const SEARCH_WORDS: usize = 16;

/// Columns that are read; `search_text` is written only.
macro_rules! robot_columns {
    () => {
        "source, robot_id, robot_name, robot_details_url, robot_useragent, patterns, purpose, \
         operator, product_token, status, status_detail, facts, insertion_date, modified_date"
    };
}

macro_rules! refresh_columns {
    () => {
        "refresh_id, source, url, triggered_by, started_ms, finished_ms, outcome, error, records, \
         added, changed, removed, skipped, quarantined, unusable, problems"
    };
}

macro_rules! statements {
    ($($name:ident = $what:literal, $sql:expr;)*) => {
        $(pub(super) static $name: Statement = Statement::new($what, $sql);)*
        static FIXED: &[&Statement] = &[$(&$name),*];
    };
}

pub(super) use statements;

statements! {
    ROBOTS = "read the robots",
        concat!("SELECT ", robot_columns!(), " FROM robots ORDER BY source, robot_id");
    ROBOTS_OF_SOURCE = "read the robots of a source",
        concat!("SELECT ", robot_columns!(), " FROM robots WHERE source = $1");
    ROBOTS_BY_ID = "read a robot",
        concat!("SELECT ", robot_columns!(), " FROM robots WHERE robot_id = $1 ORDER BY source");
    ROBOT_EXISTS = "look for a robot",
        "SELECT source FROM robots WHERE robot_id = $1 LIMIT 1";
    ROBOT_COUNTS = "count the robots",
        "SELECT source, status, COUNT(*) FROM robots GROUP BY source, status ORDER BY source";
    DELETE_ROBOTS_OF_SOURCE = "remove the robots of a source",
        "DELETE FROM robots WHERE source = $1";
    DELETE_ROBOT = "remove a robot",
        "DELETE FROM robots WHERE source = $1 AND robot_id = $2";

    REGISTRY_VERSION = "read the registry's version",
        "SELECT version FROM registry_version WHERE id = 1";
    LOCK_REGISTRY = "lock the registry",
        "UPDATE registry_version SET version = version WHERE id = 1";
    BUMP_REGISTRY_VERSION = "change the registry's version",
        "UPDATE registry_version SET version = version + 1 WHERE id = 1";

    SOURCE_STATE = "read what is known of a source",
        "SELECT url, etag, last_modified, content_sha256, succeeded_ms FROM sources \
         WHERE source = $1";
    SAVE_SOURCE_STATE = "save what is known of a source",
        "INSERT INTO sources (source, url, etag, last_modified, content_sha256, succeeded_ms) \
         VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (source) DO UPDATE SET url = excluded.url, etag = excluded.etag, \
         last_modified = excluded.last_modified, content_sha256 = excluded.content_sha256, \
         succeeded_ms = excluded.succeeded_ms";
    DELETE_SOURCE_STATE = "forget a source",
        "DELETE FROM sources WHERE source = $1";

    ADD_REFRESH = "record a refresh",
        "INSERT INTO refreshes (source, url, triggered_by, started_ms, finished_ms, outcome, \
         error, records, added, changed, removed, skipped, quarantined, unusable, problems) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
         RETURNING refresh_id";
    PRUNE_REFRESHES = "remove old refreshes",
        "DELETE FROM refreshes WHERE source = $1 AND refresh_id NOT IN \
         (SELECT refresh_id FROM refreshes WHERE source = $1 ORDER BY refresh_id DESC LIMIT $2)";
    REFRESHES = "read the refreshes",
        concat!("SELECT ", refresh_columns!(), " FROM refreshes ORDER BY refresh_id DESC LIMIT $1");
    LAST_REFRESH = "read the last refresh",
        concat!("SELECT ", refresh_columns!(),
            " FROM refreshes WHERE source = $1 ORDER BY refresh_id DESC LIMIT 1");

    ACQUIRE_LEASE = "take a lease",
        "INSERT INTO leases (name, holder, until_ms) VALUES ($1, $2, $3) \
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms \
         WHERE leases.until_ms <= $4 OR leases.holder = excluded.holder";
    LEASE_HOLDER = "read who has a lease",
        "SELECT holder FROM leases WHERE name = $1";
    RELEASE_LEASE = "give a lease back",
        "DELETE FROM leases WHERE name = $1 AND holder = $2";

    SAVE_ADDRESS_RANGES = "save a list of address ranges",
        "INSERT INTO address_ranges (url, prefixes, created, unreadable, etag, last_modified, \
         rules, fetched_ms, checked_ms, tried_ms, failures, error) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (url) DO UPDATE SET \
         prefixes = COALESCE(excluded.prefixes, address_ranges.prefixes), \
         created = excluded.created, unreadable = excluded.unreadable, etag = excluded.etag, \
         last_modified = excluded.last_modified, rules = excluded.rules, \
         fetched_ms = excluded.fetched_ms, checked_ms = excluded.checked_ms, \
         tried_ms = excluded.tried_ms, failures = excluded.failures, error = excluded.error";
    ADDRESS_RANGES = "read a list of address ranges",
        "SELECT url, prefixes, created, unreadable, etag, last_modified, rules, fetched_ms, \
         checked_ms, tried_ms, failures, error FROM address_ranges WHERE url = $1";
    ADDRESS_RANGE_STATES = "read what is known of the lists of address ranges",
        "SELECT url, CAST(NULL AS TEXT) AS prefixes, created, unreadable, etag, last_modified, \
         rules, fetched_ms, checked_ms, tried_ms, failures, error FROM address_ranges \
         ORDER BY url";
    REMOVE_ADDRESS_RANGES = "forget a list of address ranges",
        "DELETE FROM address_ranges WHERE url = $1";

    ADMIN_PASSWORD = "read the administrator's password hash",
        "SELECT password_hash FROM admin_credentials WHERE id = 1";
    SET_ADMIN_PASSWORD = "set the administrator's password",
        "INSERT INTO admin_credentials (id, password_hash, changed_ms) VALUES (1, $1, $2) \
         ON CONFLICT (id) DO UPDATE SET password_hash = excluded.password_hash, \
         changed_ms = excluded.changed_ms";
    INIT_ADMIN_PASSWORD = "set the administrator's first password",
        "INSERT INTO admin_credentials (id, password_hash, changed_ms) VALUES (1, $1, $2) \
         ON CONFLICT (id) DO NOTHING";
    ADD_ADMIN_TOKEN = "add a token",
        "INSERT INTO admin_tokens (name, sha256, created_ms) VALUES ($1, $2, $3)";
    ADMIN_TOKEN_NAME = "look for a token",
        "SELECT name FROM admin_tokens WHERE sha256 = $1";
    DELETE_ADMIN_TOKEN = "remove a token",
        "DELETE FROM admin_tokens WHERE name = $1";

    SAVE_SESSION = "save a session",
        "INSERT INTO admin_sessions (id_sha256, data, expires_ms) VALUES ($1, $2, $3) \
         ON CONFLICT (id_sha256) DO UPDATE SET data = excluded.data, \
         expires_ms = excluded.expires_ms";
    LOAD_SESSION = "load a session",
        "SELECT data FROM admin_sessions WHERE id_sha256 = $1 AND expires_ms > $2";
    DELETE_SESSION = "end a session",
        "DELETE FROM admin_sessions WHERE id_sha256 = $1";
    DELETE_SESSIONS = "end all sessions",
        "DELETE FROM admin_sessions";
    PRUNE_SESSIONS = "remove ended sessions",
        "DELETE FROM admin_sessions WHERE expires_ms <= $1";
}

/// Tells the other instances; PostgreSQL only, they hear it when the transaction commits.
pub(super) static NOTIFY: Statement = Statement::new(
    "tell the other instances",
    "SELECT CAST(pg_notify($1, '') AS TEXT)",
);

/// Returns the statement that inserts so many robots.
pub(super) fn insert_robots(rows: usize) -> Statement {
    const COLUMNS: usize = 15;
    let mut sql = String::from(concat!(
        "INSERT INTO robots (",
        robot_columns!(),
        ", search_text) VALUES "
    ));
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 1..=COLUMNS {
            let comma = if column == 1 { "" } else { ", " };
            let _ = write!(sql, "{comma}${}", row * COLUMNS + column);
        }
        sql.push(')');
    }
    Statement::assembled("write the robots", sql)
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

/// Returns every statement that can be asked for, those put together in each form.
pub(super) fn every_statement(engine: Engine) -> Vec<Statement> {
    let mut all: Vec<Statement> = FIXED.iter().copied().cloned().collect();
    all.extend([insert_robots(1), insert_robots(INSERT_ROWS)]);
    all.extend(descriptions::sql::every_statement());
    all.extend(frontier::sql::every_statement(engine));
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

fn page_filter(words: usize) -> String {
    let mut filter = " WHERE ($1 = '' OR source = $1) AND ($2 = '' OR status = $2)".to_owned();
    for word in 0..words {
        let _ = write!(filter, " AND search_text LIKE ${} ESCAPE '\\'", word + 3);
    }
    filter
}
