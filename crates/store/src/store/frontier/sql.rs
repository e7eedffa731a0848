//! SQL statements for runs and the frontier.

use std::{fmt::Write as _, sync::LazyLock};

use super::super::{
    descriptions::sql::parameters,
    error::Engine,
    statement::{ByRows, Statement},
};

/// The statement that adds found URLs. Parameters: `$1` site, `$2` run, `$3` position.
///
/// This statement is for `PostgreSQL` only; `SQLite` uses [`ENTER_LIST`].
pub(super) static ENTER: LazyLock<ByRows> = LazyLock::new(|| ByRows::new(&[16, 8, 4, 2, 1], enter));

/// The `SQLite` statement that adds found URLs. Parameters: `$1` site, `$2` run, `$3` position,
/// `$4` JSON arrays.
///
/// A single statement adds any number of URLs, so it can be sent together with others.
pub(super) static ENTER_LIST: LazyLock<Statement> = LazyLock::new(enter_list);

/// The statement that records visits. Parameters: `$1` site, `$2` run, `$3` settings.
///
/// Statements with many rows are slow, because `SQLite` searches all parameters for each parameter.
pub(super) static RECORD: LazyLock<ByRows> =
    LazyLock::new(|| ByRows::new(&[8, 6, 5, 4, 3, 2, 1], record));

macro_rules! run_columns {
    () => {
        "run_id, site, state, wanted, settings, started_ms, finished_ms, found, fetched, \
         unmodified, bytes, added, changed, same, withdrawn, rejected, failed, held"
    };
}

macro_rules! counted {
    () => {
        "fetched = fetched + $2, unmodified = unmodified + $3, bytes = bytes + $4, \
         added = added + $5, changed = changed + $6, same = same + $7, \
         withdrawn = withdrawn + $8, rejected = rejected + $9, failed = failed + $10 \
         WHERE run_id = $11"
    };
}

/// Descriptions that would have the same content as others once the run is published. Parameters:
/// `$1` site, `$2` run.
///
/// Contents are counted first, so that only the few repeated contents are examined further.
macro_rules! described_now {
    () => {
        "WITH repeated AS (SELECT md5 FROM (SELECT md5 FROM staged_descriptions \
         WHERE site = $1 AND change = 'save' AND md5 IS NOT NULL UNION ALL \
         SELECT md5 FROM resource_descriptions WHERE site = $1 AND md5 IS NOT NULL) AS contents \
         GROUP BY md5 HAVING COUNT(*) > 1), \
         described AS (SELECT staged.md5 AS md5, staged.url AS url, \
         CAST(CASE WHEN known.url IS NULL THEN 0 ELSE 1 END AS BIGINT) AS is_published \
         FROM staged_descriptions AS staged LEFT JOIN resource_descriptions AS known \
         ON known.site = staged.site AND known.url = staged.url AND known.hidden_ms IS NULL \
         WHERE staged.site = $1 AND staged.change = 'save' \
         AND staged.md5 IN (SELECT md5 FROM repeated) \
         AND NOT EXISTS (SELECT 1 FROM site_robot_urls AS seen WHERE seen.site = $1 \
         AND seen.url = staged.url AND seen.loss IS NOT NULL) \
         UNION ALL SELECT known.md5, known.url, CAST(1 AS BIGINT) FROM resource_descriptions AS known \
         JOIN site_robot_urls AS seen ON seen.site = known.site AND seen.url = known.url \
         WHERE known.site = $1 AND known.md5 IN (SELECT md5 FROM repeated) \
         AND known.hidden_ms IS NULL \
         AND seen.run_id = $2 AND seen.described = 1 AND seen.loss IS NULL \
         AND NOT EXISTS (SELECT 1 FROM staged_descriptions AS newer \
         WHERE newer.site = $1 AND newer.url = known.url)) "
    };
}

// `state` of a URL: 0 waiting, 1 claimed, 2 failed and waiting for `due_ms`, 3 done. A claim turns
// 0 into 1, a record turns 1 into 2 or 3. The state returns to 0 when the holder releases the URL
// or dies, when `due_ms` is reached, and when a page that is done is found at a lower depth.
statements! {
    OPEN_RUN = "read the current run of the site robot",
        concat!("SELECT ", run_columns!(),
            " FROM site_robot_runs WHERE site = $1 AND finished_ms IS NULL");
    // The unique index on unfinished runs lets one of two instances begin; the other resumes.
    ADD_RUN = "begin a run of the site robot",
        "INSERT INTO site_robot_runs (site, state, wanted, settings, started_ms, found, fetched, \
         unmodified, bytes, added, changed, same, withdrawn, rejected, failed) \
         VALUES ($1, 'running', 'run', $2, $3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) \
         ON CONFLICT (site) WHERE finished_ms IS NULL DO NOTHING";
    END_RUN = "end a run of the site robot",
        "UPDATE site_robot_runs SET state = $2, finished_ms = $3 \
         WHERE run_id = $1 AND finished_ms IS NULL";
    HOLD_RUN = "hold the results of a run",
        "UPDATE site_robot_runs SET state = $2, held = $4, finished_ms = $3 \
         WHERE run_id = $1 AND finished_ms IS NULL";
    ACCEPT_RUN = "accept the results of a run",
        "UPDATE site_robot_runs SET state = $2, held = NULL \
         WHERE run_id = $1 AND state = 'held'";
    COUNT_RUN = "update the counts of a site robot run",
        concat!("UPDATE site_robot_runs SET found = found + $1, ", counted!());
    WANT_RUN = "send a command to the site robot",
        "UPDATE site_robot_runs SET wanted = $2 WHERE site = $1 AND finished_ms IS NULL";
    RUN = "read a run of the site robot",
        concat!("SELECT ", run_columns!(), " FROM site_robot_runs WHERE run_id = $1");
    RUNS = "read the runs of the site robot",
        concat!("SELECT ", run_columns!(),
            " FROM site_robot_runs WHERE site = $1 ORDER BY run_id DESC LIMIT $2");
    RUN_SITES = "list the sites of the site robot",
        "SELECT DISTINCT site FROM site_robot_runs ORDER BY site";
    PRUNE_RUNS = "remove old runs of the site robot",
        "DELETE FROM site_robot_runs WHERE site = $1 AND run_id NOT IN \
         (SELECT run_id FROM site_robot_runs WHERE site = $1 ORDER BY run_id DESC LIMIT 100)";

    // `state < 3` is required to use the partial index of open URLs. The recursion jumps from host
    // to host in the index; DISTINCT would read every waiting URL.
    WAITING_HOSTS = "find hosts to visit",
        "WITH RECURSIVE hosts (host) AS ( \
         SELECT first.host FROM (SELECT host FROM site_robot_urls WHERE site = $1 \
         AND run_id = $2 AND state = 0 AND state < 3 AND host > $3 ORDER BY host LIMIT 1) AS first \
         UNION ALL SELECT (SELECT host FROM site_robot_urls AS next WHERE next.site = $1 \
         AND next.run_id = $2 AND next.state = 0 AND next.state < 3 AND next.host > hosts.host \
         ORDER BY next.host LIMIT 1) FROM hosts WHERE hosts.host IS NOT NULL) \
         SELECT host FROM hosts WHERE host IS NOT NULL LIMIT $4";
    OPEN_URLS = "find URLs to visit",
        "SELECT (SELECT CAST(1 AS BIGINT) FROM site_robot_urls WHERE site = $1 AND run_id = $2 \
         AND state = 0 AND state < 3 LIMIT 1), \
         (SELECT CAST(1 AS BIGINT) FROM site_robot_urls WHERE site = $1 AND run_id = $2 \
         AND state = 1 AND state < 3 LIMIT 1), \
         (SELECT MIN(due_ms) FROM site_robot_urls WHERE site = $1 AND run_id = $2 \
         AND state = 2 AND state < 3)";
    DUE_URLS = "retry failed URLs",
        "UPDATE site_robot_urls SET state = 0 WHERE site = $1 AND run_id = $2 \
         AND state = 2 AND state < 3 AND due_ms <= $3";
    RELEASE_URLS = "release URLs",
        "UPDATE site_robot_urls SET state = 0, holder = NULL WHERE site = $1 AND run_id = $2 \
         AND state = 1 AND state < 3 AND holder = $3";
    OTHER_HOLDERS = "find other holders of URLs",
        "SELECT DISTINCT holder FROM site_robot_urls WHERE site = $1 AND run_id = $2 \
         AND state = 1 AND state < 3 AND holder <> $3 ORDER BY holder LIMIT 256";
    KNOWN_URL = "read the state of a URL",
        "SELECT run_id, depth, found_on, CASE state WHEN 0 THEN 'waiting' WHEN 1 THEN 'taken' \
        WHEN 2 THEN 'deferred' ELSE 'done' END AS state, described AS is_described, status, \
        outcome, fetched_ms, loss, COALESCE(asks_password, 0) AS asks_password, content_hash \
         FROM site_robot_urls WHERE site = $1 AND url = $2";
    // Due time of the page at the given position, ordered by due time.
    LAST_DUE = "find pages to revisit",
        "SELECT next_ms FROM site_robot_urls WHERE site = $1 AND next_ms <= $2 \
         ORDER BY next_ms LIMIT 1 OFFSET $3 + 0";
    LINKS = "read the links of a page",
        "SELECT COALESCE(links, '') FROM site_robot_urls WHERE site = $1 AND url = $2";
    // `$3` is the depth when claimed: a URL found at a lower depth since then waits again.
    RELINKED = "record links followed again",
        "UPDATE site_robot_urls SET holder = NULL, \
         relink = CASE WHEN depth < $3 THEN 1 ELSE 0 END, \
         state = CASE WHEN depth < $3 THEN 0 ELSE 3 END WHERE site = $1 AND url = $2";
    DESCRIBED_MD5 = "read the digests of described resources",
        "SELECT seen.url, COALESCE(staged.md5, known.md5), seen.preference \
         FROM site_robot_urls AS seen \
         LEFT JOIN staged_descriptions AS staged ON staged.site = seen.site \
         AND staged.url = seen.url AND staged.change = 'save' \
         LEFT JOIN resource_descriptions AS known ON known.site = seen.site \
         AND known.url = seen.url AND known.hidden_ms IS NULL \
         WHERE seen.site = $1 AND seen.url > $2 AND seen.run_id = $3 AND seen.state = 3 \
         AND seen.described = 1 AND seen.loss IS NULL AND (staged.url IS NOT NULL \
         OR known.url IS NOT NULL) ORDER BY seen.url LIMIT $4 + 0";
    MD5 = "read the digest of a described resource",
        "SELECT COALESCE((SELECT md5 FROM staged_descriptions WHERE site = $1 AND url = $2 \
         AND change = 'save'), (SELECT md5 FROM resource_descriptions WHERE site = $1 \
         AND url = $2 AND hidden_ms IS NULL)), \
         (SELECT preference FROM site_robot_urls WHERE site = $1 AND url = $2)";

    DESCRIBED_TWICE = "find resources that are described twice",
        concat!(described_now!(), "SELECT md5, url, is_published, COALESCE((SELECT preference \
        FROM site_robot_urls AS seen WHERE seen.site = $1 AND seen.url = described.url), 255) \
        AS preference \
         FROM described WHERE md5 IN \
         (SELECT md5 FROM described GROUP BY md5 HAVING COUNT(*) > 1) ORDER BY md5, url LIMIT $3 + 0");
    // URLs that specify each other as canonical are kept, as are URLs whose canonical URL specifies
    // yet another one.
    NOT_CANONICAL = "find resources that are also described by their canonical URL",
        "SELECT seen.url, seen.alias_of, \
         CAST(CASE WHEN known.url IS NULL THEN 0 ELSE 1 END AS BIGINT) AS is_published \
        FROM site_robot_urls AS seen \
         JOIN site_robot_urls AS page ON page.site = seen.site AND page.url = seen.alias_of \
         LEFT JOIN resource_descriptions AS known ON known.site = seen.site \
         AND known.url = seen.url AND known.hidden_ms IS NULL \
         WHERE seen.site = $1 AND seen.run_id = $2 AND seen.described = 1 AND seen.loss IS NULL \
         AND page.run_id = $2 AND page.described = 1 AND page.loss IS NULL \
         AND page.alias_of IS NULL ORDER BY seen.url LIMIT $3 + 0";
    // A page behind a password form is not the page that was requested.
    ALIASES = "read the canonical URLs of pages",
        "SELECT seen.url, seen.alias_of FROM site_robot_urls AS seen \
         WHERE seen.site = $1 AND seen.url > $2 AND seen.described = 0 \
         AND seen.alias_of IS NOT NULL AND NOT EXISTS (SELECT 1 FROM site_robot_urls AS page \
         WHERE page.site = $1 AND page.url = seen.alias_of AND page.asks_password = 1) \
         ORDER BY seen.url LIMIT $3 + 0";
    NOT_DESCRIBED = "record that a page is not described",
        "UPDATE site_robot_urls SET described = 0, loss = 'duplicate', outcome = $3, alias_of = $4 \
         WHERE site = $1 AND url = $2 AND described = 1";
    UNCOUNT_ADDED = "update the counts of discarded descriptions",
        "UPDATE site_robot_runs SET added = added - $2, rejected = rejected + $2 \
         WHERE run_id = $1";
    // Without validators and hash, the next visit reads the page as if it had changed.
    DOUBT_DUPLICATES = "mark duplicates to be checked again",
        "UPDATE site_robot_urls SET etag = NULL, last_modified = NULL, content_hash = NULL \
         WHERE site = $1 AND described = 0 AND loss = 'duplicate'";
    // URLs with a description are kept: the last visit determines whether they are lost.
    FORGET_URLS = "remove URLs that are no longer found",
        "DELETE FROM site_robot_urls WHERE site = $1 AND run_id < $2 AND NOT EXISTS (SELECT 1 \
         FROM resource_descriptions AS known WHERE known.site = $1 \
         AND known.url = site_robot_urls.url)";
    CLEAR_URLS = "remove all URLs",
        "DELETE FROM site_robot_urls WHERE site = $1";
    CLEAR_RUNS = "remove all runs",
        "DELETE FROM site_robot_runs WHERE site = $1";
    CLEAR_ROBOTS_TXT = "remove all robots.txt files",
        "DELETE FROM site_robot_robots_txt WHERE site = $1";

    ROBOTS_TXT_COPY = "read the copy of a robots.txt",
        "SELECT url, etag, last_modified, body FROM site_robot_robots_txt \
         WHERE site = $1 AND url = $2";
    KEEP_ROBOTS_TXT = "save a copy of a robots.txt",
        "INSERT INTO site_robot_robots_txt (site, url, etag, last_modified, body) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (site, url) DO UPDATE SET \
         etag = excluded.etag, last_modified = excluded.last_modified, body = excluded.body";
    FORGET_ROBOTS_TXT = "remove the copy of a robots.txt",
        "DELETE FROM site_robot_robots_txt WHERE site = $1 AND url = $2";
    RELEASE_DEAD = "release the URLs of stopped instances",
        "UPDATE site_robot_urls SET state = 0, holder = NULL WHERE site = $1 AND run_id = $2 \
        AND state = 1 AND state < 3 AND NOT EXISTS (SELECT 1 FROM leases \
        WHERE leases.name = 'site-robot/' || site_robot_urls.holder AND leases.until_ms > {now})";
}

/// The `SQLite` statement that returns the number of rows changed by the previous statement.
pub(super) static FOUND: Statement = Statement::new("count found URLs", "SELECT changes()");

/// The `SQLite` variant of `COUNT_RUN` that also adds the number of rows changed by the previous
/// statement.
pub(super) static COUNT_FOUND: Statement = Statement::new(
    "update the counts of a site robot run",
    concat!(
        "UPDATE site_robot_runs SET found = found + changes() + $1,  ",
        counted!()
    ),
);

/// Returns the statement that claims URLs of a host. Parameters: `$1` site, `$2` run, `$3` host,
/// `$4` number of URLs, `$5` holder.
pub(super) fn claim(engine: Engine) -> Statement {
    // SQLite has a single writer, so rows need not be locked.
    let (place, lock) = match engine {
        Engine::Sqlite => ("rowid", ""),
        Engine::Postgres => ("url", " FOR UPDATE SKIP LOCKED"),
    };
    // A subquery may be evaluated more than once and claim more; a materialized CTE is not.
    let sql = format!(
        "WITH next AS MATERIALIZED (SELECT {place} AS place FROM site_robot_urls WHERE site = $1 \
         AND run_id = $2 AND state = 0 AND state < 3 AND host = $3 \
         ORDER BY depth, position LIMIT $4{lock}) \
         UPDATE site_robot_urls SET state = 1, holder = $5 \
         WHERE site = $1 AND {place} IN (SELECT place FROM next) \
         RETURNING depth, max_depth, position, url, host, found_on, attempts, relink AS is_relink, \
         described AS is_described, etag, last_modified, content_hash, settings, \
         COALESCE(asks_password, 0) AS asks_password, COALESCE(steady, 0) AS steady, next_ms"
    );
    Statement::assembled("claim URLs", sql)
}

/// The `ON CONFLICT` clause that leaves a URL already known to the run unchanged, unless it is now
/// found at a lower depth. In that case, if the page was already fetched, its links are followed
/// again.
const NEAREST_STAYS: &str = " ON CONFLICT (site, url) DO UPDATE SET run_id = excluded.run_id, \
    state = CASE WHEN site_robot_urls.run_id = excluded.run_id \
    AND site_robot_urls.state <> 3 THEN site_robot_urls.state ELSE 0 END, \
    relink = CASE WHEN site_robot_urls.run_id = excluded.run_id \
    AND (site_robot_urls.state = 3 OR site_robot_urls.relink = 1) THEN 1 ELSE 0 END, \
    attempts = CASE WHEN site_robot_urls.run_id = excluded.run_id \
    THEN site_robot_urls.attempts ELSE 0 END, \
    holder = CASE WHEN site_robot_urls.run_id = excluded.run_id \
    THEN site_robot_urls.holder ELSE NULL END, \
    position = excluded.position, depth = excluded.depth, max_depth = excluded.max_depth, \
    host = excluded.host, found_on = excluded.found_on \
    WHERE site_robot_urls.run_id < excluded.run_id \
    OR (site_robot_urls.run_id = excluded.run_id AND site_robot_urls.depth > excluded.depth)";

fn enter_list() -> Statement {
    let sql = format!(
        "INSERT INTO site_robot_urls (site, run_id, position, state, relink, attempts, \
         described, url, host, depth, max_depth, found_on) \
         SELECT $1, $2, $3, 0, 0, 0, 0, value ->> 0, value ->> 1, value ->> 2, value ->> 3, \
         value ->> 4 FROM json_each($4) WHERE true{NEAREST_STAYS}"
    );
    Statement::lasting("add found URLs", sql)
}

fn enter(rows: usize) -> Statement {
    let mut sql = "INSERT INTO site_robot_urls (site, run_id, position, state, relink, attempts, \
         described, url, host, depth, max_depth, found_on) VALUES "
        .to_owned();
    for row in 0..rows {
        let comma = if row == 0 { "" } else { ", " };
        let values = parameters(4 + row * 5, 5);
        let _ = write!(sql, "{comma}($1, $2, $3, 0, 0, 0, 0, {values})");
    }
    sql.push_str(NEAREST_STAYS);
    Statement::assembled("add found URLs", sql)
}

/// Returns the statement that records visits. A URL that was found at a lower depth in the meantime
/// is marked as waiting again. For an unchanged page, the reason why it is not described is
/// retained; its links are retained if the visit provides no new links.
fn record(rows: usize) -> Statement {
    const COLUMNS: usize = 21;
    let mut sql = "INSERT INTO site_robot_urls (site, run_id, settings, position, relink, url, \
         host, depth, found_on, state, attempts, described, due_ms, fetched_ms, status, outcome, \
         etag, last_modified, content_hash, links, loss, asks_password, alias_of, preference, \
         steady, next_ms) VALUES "
        .to_owned();
    for row in 0..rows {
        let comma = if row == 0 { "" } else { ", " };
        let values = parameters(4 + row * COLUMNS, COLUMNS);
        let _ = write!(sql, "{comma}($1, $2, $3, 0, 0, {values})");
    }
    sql.push_str(
        " ON CONFLICT (site, url) DO UPDATE SET \
         state = CASE WHEN excluded.state = 3 AND site_robot_urls.depth < excluded.depth \
         THEN 0 ELSE excluded.state END, \
         relink = CASE WHEN excluded.state = 3 AND site_robot_urls.depth < excluded.depth \
         THEN 1 ELSE 0 END, \
         holder = NULL, attempts = excluded.attempts, described = excluded.described, \
         due_ms = excluded.due_ms, fetched_ms = excluded.fetched_ms, status = excluded.status, \
         outcome = CASE WHEN excluded.described = 0 AND excluded.outcome = 'unmodified' \
         AND site_robot_urls.outcome LIKE 'not described%' \
         THEN site_robot_urls.outcome ELSE excluded.outcome END, \
         loss = CASE WHEN excluded.outcome = 'unmodified' AND site_robot_urls.loss <> 'missing' \
         THEN site_robot_urls.loss ELSE excluded.loss END, \
         asks_password = COALESCE(excluded.asks_password, site_robot_urls.asks_password), etag = excluded.etag, \
         last_modified = excluded.last_modified, content_hash = excluded.content_hash, \
         settings = excluded.settings, links = COALESCE(excluded.links, site_robot_urls.links), \
         alias_of = CASE WHEN excluded.outcome = 'unmodified' OR excluded.outcome LIKE 'failed%' \
         THEN site_robot_urls.alias_of ELSE excluded.alias_of END, \
         preference = COALESCE(excluded.preference, site_robot_urls.preference), \
         steady = COALESCE(excluded.steady, site_robot_urls.steady), \
         next_ms = COALESCE(excluded.next_ms, site_robot_urls.next_ms)",
    );
    Statement::assembled("record visits", sql)
}

/// Returns all statements that are assembled at run time.
pub(in crate::store) fn assembled_statements(engine: Engine) -> Vec<Statement> {
    let mut all = vec![claim(engine)];
    all.extend(RECORD.all().cloned());
    match engine {
        Engine::Sqlite => all.extend([ENTER_LIST.clone(), COUNT_FOUND.clone(), FOUND.clone()]),
        Engine::Postgres => all.extend(ENTER.all().cloned()),
    }
    all
}
