//! SQL statements for publications.

use std::sync::LazyLock;

use super::super::{
    descriptions::sql::{SAVED_OVER, parameters, values_of_rows},
    statement::{ByRows, Statement},
};

/// The statement that stages descriptions. Parameters: `$1` site, `$2` run, `$3` current time.
///
/// A published description that has the same content and depth is not written again.
pub(super) static STAGE: LazyLock<ByRows> =
    LazyLock::new(|| ByRows::new(&[8, 6, 5, 4, 3, 2, 1], stage));

/// The columns to save when a description is replaced.
const KEPT: [&str; 16] = [
    "fingerprint",
    "title",
    "title_key",
    "depth_key",
    "md5",
    "first_seen_ms",
    "modified_ms",
    "run_id",
    "hidden_ms",
    "hidden_reason",
    "missing_ms",
    "attributes",
    "partial_text",
    "full_text",
    "contents",
    "marks",
];

macro_rules! is_staged {
    () => {
        "EXISTS (SELECT 1 FROM staged_descriptions AS staged WHERE staged.site = $1 \
         AND staged.change = $2 AND staged.url = resource_descriptions.url)"
    };
}

macro_rules! ask_again {
    () => {
        "UPDATE site_robot_urls SET etag = NULL, last_modified = NULL, content_hash = NULL, \
         loss = NULL, asks_password = NULL, described = CASE WHEN EXISTS (SELECT 1 \
         FROM resource_descriptions AS known WHERE known.site = $1 \
         AND known.url = site_robot_urls.url AND known.hidden_ms IS NULL) THEN 1 ELSE 0 END \
         WHERE site = $1 AND url IN "
    };
}

/// Changes the address in the rows of a table. Parameters: `$1` site, `$2` previous address, `$3`
/// new address.
macro_rules! moved {
    ($table:literal, $more:literal, $key:literal) => {
        concat!(
            "UPDATE ",
            $table,
            " SET url = CAST($3 AS TEXT) || \
             SUBSTR(url, LENGTH(CAST($2 AS TEXT)) + 1)",
            $more,
            " WHERE site = $1 AND url >= CAST($2 AS TEXT) || '/' \
             AND url < CAST($2 AS TEXT) || '0' AND NOT EXISTS (SELECT 1 FROM ",
            $table,
            " AS there WHERE there.site = $1",
            $key,
            " AND there.url = CAST($3 AS TEXT) || \
             SUBSTR(",
            $table,
            ".url, LENGTH(CAST($2 AS TEXT)) + 1))"
        )
    };
    ($table:literal, $key:literal) => {
        moved!(
            $table,
            ", attributes = REPLACE(attributes, CAST($2 AS TEXT) || '/', CAST($3 AS TEXT) || '/')",
            $key
        )
    };
}

statements! {
    STAGE_CHANGE = "stage a change of a resource description",
        "INSERT INTO staged_descriptions (site, url, change, reason, run_id, fingerprint, title, \
         title_key, depth_key, seen_ms, attributes) \
         VALUES ($1, $2, $3, $4, $5, '', '', '', '', $6, '') \
         ON CONFLICT (site, url) DO UPDATE SET change = excluded.change, \
         reason = excluded.reason, run_id = excluded.run_id";
    ASK_STAGED_AGAIN = "mark pages with discarded descriptions to be fetched again",
        concat!(ask_again!(), "(SELECT url FROM staged_descriptions WHERE site = $1)");
    CLEAR_STAGED = "discard staged descriptions",
        "DELETE FROM staged_descriptions WHERE site = $1";
    UNSTAGE = "discard a staged description",
        "DELETE FROM staged_descriptions WHERE site = $1 AND url = $2";
    STAGED_COUNTS = "count staged changes",
        "SELECT change, COUNT(*) FROM staged_descriptions WHERE site = $1 \
         GROUP BY change ORDER BY change";

    // Counts all kinds of changes, so that the key suffices and no row with texts is read.
    LAST_STAGED_OF_PIECE = "find staged changes",
        "SELECT url FROM staged_descriptions WHERE site = $1 AND url > $2 \
         ORDER BY url LIMIT 1 OFFSET $3";
    PUBLISH_HIDDEN = "hide resource descriptions",
        concat!("UPDATE resource_descriptions SET hidden_ms = $5, missing_ms = NULL, \
         hidden_reason = (SELECT staged.reason FROM staged_descriptions AS staged \
         WHERE staged.site = $1 AND staged.url = resource_descriptions.url) \
         WHERE site = $1 AND url > $3 AND url <= $4 AND hidden_ms IS NULL AND ", is_staged!());
    PUBLISH_REMOVED = "remove resource descriptions",
        concat!("DELETE FROM resource_descriptions \
         WHERE site = $1 AND url > $3 AND url <= $4 AND ", is_staged!());
    PUBLISH_MISSED = "record pages that do not respond",
        concat!("UPDATE resource_descriptions SET missing_ms = COALESCE(missing_ms, $5) \
         WHERE site = $1 AND url > $3 AND url <= $4 AND hidden_ms IS NULL AND ", is_staged!());
    STILL_DESCRIBED = "record that pages are still described",
        "UPDATE site_robot_urls SET described = 1 WHERE site = $1 AND described = 0 \
         AND url IN (SELECT url FROM staged_descriptions WHERE site = $1 AND change = $2 \
         AND url > $3 AND url <= $4)";
    DROP_STAGED = "remove published changes from the staging table",
        "DELETE FROM staged_descriptions WHERE site = $1 AND change = $2 \
         AND url > $3 AND url <= $4";
    FOUND_AGAIN = "record pages that respond again",
        "UPDATE resource_descriptions SET missing_ms = NULL \
         WHERE site = $1 AND missing_ms IS NOT NULL AND EXISTS (SELECT 1 \
         FROM site_robot_urls AS seen WHERE seen.site = $1 \
         AND seen.url = resource_descriptions.url AND seen.run_id = $2 \
         AND seen.described = 1 AND seen.loss IS NULL)";

    STAGED_TEXTS = "read staged texts",
        "SELECT url, title, COALESCE(full_text, partial_text, '') FROM staged_descriptions \
         WHERE site = $1 AND change = 'save' AND url > $2 ORDER BY url LIMIT $3 + 0";

    ADDRESSES = "read the addresses of a site",
        "SELECT addresses FROM heaven_publications WHERE site = $1";
    SET_ADDRESSES = "save the addresses of a site",
        "UPDATE heaven_publications SET addresses = $2 WHERE site = $1";
    MOVE_DESCRIPTIONS = "move the resource descriptions of a site",
        moved!("resource_descriptions", "");
    MOVE_STAGED = "move staged descriptions",
        moved!("staged_descriptions", "");
    MOVE_PREVIOUS = "move previous descriptions",
        moved!("previous_descriptions", " AND there.turn = previous_descriptions.turn");
    MOVE_WITHDRAWN = "move withdrawn pages",
        moved!("withdrawn_urls", "", "");
    // The stored links have the former address, so the next run requests every page in full.
    MOVE_URLS = "move the URLs of the site robot",
        moved!("site_robot_urls", ", links = NULL, etag = NULL, last_modified = NULL, \
         content_hash = NULL, steady = NULL, next_ms = NULL, \
         alias_of = REPLACE(alias_of, CAST($2 AS TEXT) || '/', CAST($3 AS TEXT) || '/')", "");

    // This update changes nothing but locks the row until the transaction ends, on both engines.
    LOCK_PUBLICATION = "lock the publication",
        "INSERT INTO heaven_publications (site, version) VALUES ($1, 0) \
         ON CONFLICT (site) DO UPDATE SET version = heaven_publications.version";
    BUMP_PUBLICATION = "increment the version of heaven",
        "INSERT INTO heaven_publications (site, version) VALUES ($1, 1) \
         ON CONFLICT (site) DO UPDATE SET version = heaven_publications.version + 1";
    // A run may publish several times: the state before its first publication is kept.
    FORGET_PREVIOUS = "remove previous descriptions",
        "DELETE FROM previous_descriptions WHERE site = $1 AND NOT EXISTS (SELECT 1 \
         FROM heaven_publications AS known WHERE known.site = $1 AND known.run_id = $2 \
         AND known.undone_ms IS NULL)";
    BEGIN_PUBLICATION = "begin a publication",
        "UPDATE heaven_publications SET run_id = $2, published_ms = $3, undone_ms = NULL \
         WHERE site = $1";
    PUBLICATION = "read the last publication",
        "SELECT run_id, COALESCE(published_ms, 0) AS published_ms, undone_ms FROM heaven_publications \
         WHERE site = $1 AND run_id IS NOT NULL";
    CLEAR_PUBLICATION = "remove the last publication",
        "UPDATE heaven_publications SET run_id = NULL, published_ms = NULL, undone_ms = NULL, \
         version = version + 1 WHERE site = $1";
    CLEAR_PREVIOUS = "remove previous descriptions",
        "DELETE FROM previous_descriptions WHERE site = $1";

    SHOWN_AFTER_UNDO = "count the pages shown after undoing a publication",
        "SELECT (SELECT COUNT(*) FROM previous_descriptions WHERE site = $1 AND turn = 0 \
         AND was_there = 1 AND hidden_ms IS NULL) + (SELECT COUNT(*) \
         FROM resource_descriptions AS known WHERE known.site = $1 AND known.hidden_ms IS NULL \
         AND NOT EXISTS (SELECT 1 FROM previous_descriptions AS before WHERE before.site = $1 \
         AND before.turn = 0 AND before.url = known.url))";
    UNDO_REMOVE = "remove the descriptions of an undone publication",
        "DELETE FROM resource_descriptions WHERE site = $1 AND url IN (SELECT url \
         FROM previous_descriptions WHERE site = $1 AND turn = 0)";
    UNDO_DROP = "remove restored descriptions",
        "DELETE FROM previous_descriptions WHERE site = $1 AND turn = 0";
    UNDO_TURN = "keep the undone descriptions",
        "UPDATE previous_descriptions SET turn = 0 WHERE site = $1 AND turn = 1";
    ASK_UNDONE_AGAIN = "mark restored pages to be fetched again",
        concat!(ask_again!(), "(SELECT url FROM previous_descriptions WHERE site = $1)");
    UNDO_MARK = "record that a publication was undone",
        "UPDATE heaven_publications SET version = version + 1, \
         undone_ms = CASE WHEN undone_ms IS NULL THEN CAST($2 AS BIGINT) ELSE NULL END \
         WHERE site = $1";

    WITHDRAW_URL = "withdraw a page",
        "UPDATE resource_descriptions SET hidden_ms = COALESCE(hidden_ms, $3), \
         hidden_reason = $4 WHERE site = $1 AND url = $2";
    WITHDRAW_PREVIOUS = "withdraw a page that was published before",
        "UPDATE previous_descriptions SET hidden_ms = COALESCE(hidden_ms, $3), \
         hidden_reason = $4 WHERE site = $1 AND url = $2 AND was_there = 1";
    ASK_URL_AGAIN = "mark a page to be fetched again",
        "UPDATE site_robot_urls SET etag = NULL, last_modified = NULL, content_hash = NULL, \
         described = 0 WHERE site = $1 AND url = $2";
    KEEP_OUT = "withdraw a page permanently",
        "INSERT INTO withdrawn_urls (site, url, withdrawn_ms) VALUES ($1, $2, $3) \
         ON CONFLICT (site, url) DO NOTHING";
    ADMIT = "readmit a page",
        "DELETE FROM withdrawn_urls WHERE site = $1 AND url = $2";
    // A page that the run has lost for another reason stays hidden.
    SHOW_URL = "show a page again",
        "UPDATE resource_descriptions SET hidden_ms = NULL, hidden_reason = NULL \
         WHERE site = $1 AND url = $2 AND hidden_reason = $3 AND NOT EXISTS (SELECT 1 \
         FROM site_robot_urls AS seen WHERE seen.site = $1 AND seen.url = $2 \
         AND seen.loss IS NOT NULL AND seen.loss <> 'withdrawn')";
    HIDE_WITHDRAWN = "hide withdrawn pages",
        "UPDATE resource_descriptions SET hidden_ms = $2, hidden_reason = $3 \
         WHERE site = $1 AND hidden_ms IS NULL \
         AND url IN (SELECT url FROM withdrawn_urls WHERE site = $1)";
    WITHDRAWN_URLS = "list the withdrawn pages",
        "SELECT url FROM withdrawn_urls WHERE site = $1 ORDER BY url";
    STATES = "count the hidden pages",
        "SELECT (SELECT COUNT(*) FROM resource_descriptions WHERE site = $1 \
         AND hidden_ms IS NOT NULL) AS hidden, (SELECT COUNT(*) FROM resource_descriptions \
         WHERE site = $1 AND missing_ms IS NOT NULL AND hidden_ms IS NULL) AS missing, \
         (SELECT COUNT(*) FROM withdrawn_urls WHERE site = $1) AS kept_out";
    HIDDEN_REASON = "read the reason why a page is hidden",
        "SELECT COALESCE(hidden_reason, '') FROM resource_descriptions \
         WHERE site = $1 AND url = $2 AND hidden_ms IS NOT NULL";

    UNMET = "find pages that a run has not found",
        "SELECT known.url, seen.depth FROM resource_descriptions AS known \
         LEFT JOIN site_robot_urls AS seen ON seen.site = known.site AND seen.url = known.url \
         WHERE known.site = $1 AND known.url > $2 \
         AND (seen.url IS NULL OR seen.run_id <> $3) ORDER BY known.url LIMIT $4 + 0";
    LOST = "find pages that a run has not described",
        "SELECT known.url, CAST(CASE WHEN known.hidden_ms IS NULL THEN 1 ELSE 0 END AS BIGINT) \
        AS is_shown, seen.run_id, seen.depth, seen.status, seen.loss, \
        COALESCE(seen.outcome, '') AS outcome, seen.content_hash \
         FROM resource_descriptions AS known \
         LEFT JOIN site_robot_urls AS seen ON seen.site = known.site AND seen.url = known.url \
         WHERE known.site = $1 AND known.url > $2 AND (seen.url IS NULL OR seen.run_id <> $3 \
         OR seen.described = 0 OR seen.loss IS NOT NULL) ORDER BY known.url LIMIT $4 + 0";
    ANSWERING_HOSTS = "find hosts that respond",
        "SELECT DISTINCT host FROM site_robot_urls WHERE site = $1 AND run_id = $2 \
         AND state = 3 AND status IN (200, 203, 304) AND (loss IS NULL \
         OR loss IN ('told', 'excluded', 'duplicate', 'withdrawn')) ORDER BY host";
    MIN_IDENTICAL = "find identical pages",
        "SELECT seen.content_hash, COUNT(*) FROM site_robot_urls AS seen \
         JOIN resource_descriptions AS known ON known.site = seen.site AND known.url = seen.url \
         WHERE seen.site = $1 AND seen.run_id = $2 AND seen.status IN (200, 203) \
         AND seen.content_hash IS NOT NULL AND known.hidden_ms IS NULL \
         GROUP BY seen.content_hash HAVING COUNT(DISTINCT known.fingerprint) >= $3 \
         ORDER BY COUNT(*) DESC, seen.content_hash LIMIT 100";
    WITHOUT_WORDS = "find pages without words",
        "SELECT url, outcome FROM site_robot_urls WHERE site = $1 AND run_id = $2 \
         AND outcome LIKE $3 ORDER BY url LIMIT 1000";
    OUTCOMES = "count undescribed pages",
        "SELECT outcome, COUNT(*), MIN(url) FROM site_robot_urls WHERE site = $1 AND run_id = $2 \
         AND (outcome LIKE 'not described: %' OR outcome LIKE 'failed: %') AND outcome > $3 \
         GROUP BY outcome ORDER BY outcome LIMIT 1000";
    DISCARD_LOGINS = "discard staged login pages",
        "DELETE FROM staged_descriptions WHERE site = $1 AND change = 'save' AND url IN \
         (SELECT url FROM site_robot_urls WHERE site = $1 AND run_id = $2 AND loss = 'login')";
    KEEP_LOGINS = "keep pages replaced by a login page",
        "UPDATE site_robot_urls SET etag = NULL, last_modified = NULL, content_hash = NULL, \
         asks_password = NULL, loss = 'missing', described = 1 \
         WHERE site = $1 AND run_id = $2 AND loss = 'login'";
    DISCARD_ALIKE = "discard identical staged pages",
        "DELETE FROM staged_descriptions WHERE site = $1 AND change = 'save' AND url IN \
         (SELECT seen.url FROM site_robot_urls AS seen JOIN resource_descriptions AS known \
         ON known.site = seen.site AND known.url = seen.url WHERE seen.site = $1 \
         AND seen.run_id = $2 AND seen.content_hash = $3 AND known.hidden_ms IS NULL)";
    KEEP_ALIKE = "keep pages replaced by identical ones",
        "UPDATE site_robot_urls SET etag = NULL, last_modified = NULL, content_hash = NULL, \
         loss = 'missing', described = 1 WHERE site = $1 AND run_id = $2 AND content_hash = $3 \
         AND EXISTS (SELECT 1 FROM resource_descriptions AS known WHERE known.site = $1 \
         AND known.url = site_robot_urls.url AND known.hidden_ms IS NULL)";
    STAGED_LOGIN = "find staged login pages",
        "SELECT CAST(1 AS BIGINT) FROM staged_descriptions AS staged JOIN site_robot_urls AS seen \
         ON seen.site = staged.site AND seen.url = staged.url WHERE staged.site = $1 \
         AND seen.run_id = $2 AND seen.loss = 'login' LIMIT 1";
    ACCEPT_LOGINS = "accept login pages",
        "UPDATE site_robot_urls SET loss = NULL \
         WHERE site = $1 AND run_id = $2 AND loss = 'login'";
}

/// The statement that reads the version of a site's heaven pages. Parameter: `$1` site.
pub(in crate::store) static HEAVEN_VERSION: Statement = Statement::new(
    "read the version of heaven",
    "SELECT version FROM heaven_publications WHERE site = $1",
);

/// The statement that saves descriptions before they are replaced. Parameters: `$1` site, `$2`
/// change, `$3` and `$4` URL range.
pub(super) static KEEP_PREVIOUS: LazyLock<Statement> = LazyLock::new(|| {
    keep(
        "save previous descriptions",
        0,
        "staged_descriptions AS newer",
        "newer.change = $2 AND newer.url > $3 AND newer.url <= $4 \
         ON CONFLICT (site, turn, url) DO NOTHING",
    )
});

/// The statement that saves descriptions before their publication is undone. Parameter: `$1` site.
pub(super) static UNDO_KEEP: LazyLock<Statement> = LazyLock::new(|| {
    keep(
        "save the undone descriptions",
        1,
        "previous_descriptions AS newer",
        "newer.turn = 0",
    )
});

/// The statement that restores the previous descriptions. Parameter: `$1` site.
pub(super) static UNDO_RESTORE: LazyLock<Statement> = LazyLock::new(|| {
    let columns = KEPT.join(", ");
    let sql = format!(
        "INSERT INTO resource_descriptions (site, url, {columns}) SELECT site, url, {columns} \
         FROM previous_descriptions WHERE site = $1 AND turn = 0 AND was_there = 1"
    );
    Statement::lasting("restore previous descriptions", sql)
});

/// The statement that publishes staged descriptions. Parameters: `$1` site, `$2` change, `$3` and
/// `$4` URL range.
pub(super) static PUBLISH_SAVED: LazyLock<Statement> = LazyLock::new(|| {
    let columns = "site, url, run_id, fingerprint, title, title_key, depth_key, md5, attributes, \
         partial_text, full_text, contents, marks";
    let sql = format!(
        "INSERT INTO resource_descriptions ({columns}, first_seen_ms, modified_ms) \
         SELECT {columns}, seen_ms, seen_ms FROM staged_descriptions \
         WHERE site = $1 AND change = $2 AND url > $3 AND url <= $4{}",
        *SAVED_OVER
    );
    Statement::lasting("publish resource descriptions", sql)
});

fn keep(what: &'static str, turn: u8, newer: &str, which: &str) -> Statement {
    let columns = KEPT.join(", ");
    let known = KEPT.map(|column| format!("known.{column}")).join(", ");
    let sql = format!(
        "INSERT INTO previous_descriptions (site, turn, url, was_there, {columns}) \
         SELECT newer.site, {turn}, newer.url, \
         CASE WHEN known.url IS NULL THEN 0 ELSE 1 END, {known} FROM {newer} \
         LEFT JOIN resource_descriptions AS known ON known.site = newer.site \
         AND known.url = newer.url WHERE newer.site = $1 AND {which}"
    );
    Statement::lasting(what, sql)
}

fn stage(rows: usize) -> Statement {
    let columns = "url, fingerprint, title, title_key, depth_key, md5, attributes, partial_text, \
         full_text, contents, marks";
    let made = parameters_of_columns(11);
    let values = values_of_rows(rows);
    let mut over = String::new();
    for column in columns.split(", ").skip(1) {
        over.push_str(", ");
        over.push_str(column);
        over.push_str(" = excluded.");
        over.push_str(column);
    }
    let sql = format!(
        "INSERT INTO staged_descriptions (site, run_id, seen_ms, change, {columns}) \
         SELECT $1, $2, $3, 'save', {made} FROM (VALUES {values}) AS made \
         WHERE NOT EXISTS (SELECT 1 FROM resource_descriptions AS known WHERE known.site = $1 \
         AND known.url = made.column1 AND known.fingerprint = made.column2 \
         AND known.depth_key = made.column5 AND known.hidden_ms IS NULL) \
         ON CONFLICT (site, url) DO UPDATE SET run_id = excluded.run_id, \
         seen_ms = excluded.seen_ms, change = excluded.change{over}"
    );
    Statement::assembled("stage resource descriptions", sql)
}

/// Returns the column names that both engines assign to `VALUES`.
fn parameters_of_columns(count: usize) -> String {
    parameters(1, count).replace('$', "made.column")
}

/// Returns all statements that are assembled at run time.
pub(in crate::store) fn assembled_statements() -> Vec<Statement> {
    let mut all = vec![HEAVEN_VERSION.clone()];
    all.extend(STAGE.all().cloned());
    for statement in [&KEEP_PREVIOUS, &UNDO_KEEP, &UNDO_RESTORE, &PUBLISH_SAVED] {
        all.push((**statement).clone());
    }
    all
}
