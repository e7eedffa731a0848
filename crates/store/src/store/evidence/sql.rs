//! SQL statements for evidence.

use std::sync::LazyLock;

use super::super::{
    statement::{ByRows, Statement},
    traffic,
};

/// The words that denote the kind of a robots.txt violation.
pub(super) const RULE: &str = "rule";
pub(super) const DELAY: &str = "delay";

/// The number of columns that are written per stored request.
pub(super) const COLUMNS: usize = 24;

pub(super) const ADD_WHAT: &str = "add evidence";

macro_rules! evidence_columns {
    () => {
        "at_ms, event, site, kind, robot, verdict, decision, cause, status, method, host, path, \
         address, user_agent, referrer, proof, broken, line, rule, group_line, agents, delay_ms, \
         gap_ms, suspect"
    };
}

/// The statement that adds requests as evidence.
///
/// Statements with many rows are slow, because `SQLite` searches all parameters for each parameter.
pub(super) static ADD: LazyLock<ByRows> = LazyLock::new(|| ByRows::new(&[4, 2, 1], add));

statements! {
    PRUNE_OLD = "remove old evidence",
        "DELETE FROM evidence WHERE at_ms < $1";
    PRUNE_OF_ROBOT = "remove excess evidence about a robot",
        "DELETE FROM evidence WHERE evidence_id IN (SELECT evidence_id FROM \
         (SELECT evidence_id, ROW_NUMBER() OVER (PARTITION BY event, robot, \
         CASE WHEN robot = '' THEN user_agent ELSE '' END ORDER BY evidence_id DESC) AS place FROM evidence) AS placed WHERE place > $1)";
    PRUNE_OF_EVENT = "remove excess evidence for an event",
        "DELETE FROM evidence WHERE evidence_id IN (SELECT evidence_id FROM \
         (SELECT evidence_id, ROW_NUMBER() OVER (PARTITION BY event \
         ORDER BY evidence_id DESC) AS place FROM evidence) AS placed WHERE place > $1)";
    // An impostor's rule violation is stored as a violation, but also matches `impostor`.
    FIND = "read the evidence",
        concat!(
            "SELECT evidence_id AS id, ", evidence_columns!(), " FROM evidence \
             WHERE at_ms >= $1 AND at_ms < $2 AND ($3 = '' OR site = $3) \
             AND ($4 = '' OR robot = $4) AND ($5 = '' OR decision = $5) \
             AND ($6 = '' OR verdict = $6) AND ($7 = '' OR event = $7 \
             OR ($7 = 'impostor' AND verdict = 'spoofed')) AND ($8 = '' \
             OR ($8 = 'any' AND suspect <> '') OR ',' || suspect || ',' LIKE '%,' || $8 || ',%') \
             AND evidence_id < $9 ORDER BY evidence_id DESC LIMIT $10"
        );
    VIOLATIONS = "read the violations of robots.txt",
        concat!(
            "SELECT ", evidence_columns!(), ", hits, refused, first_ms, \
             shortest_gap_ms FROM (SELECT MAX(evidence_id) AS last_id, COUNT(*) AS hits, \
             CAST(SUM(CASE WHEN cause IN ('robots.txt', 'crawl-delay') \
             AND decision NOT LIKE 'would-%' THEN 1 ELSE 0 END) AS BIGINT) AS refused, \
             MIN(at_ms) AS first_ms, MIN(gap_ms) AS shortest_gap_ms FROM evidence \
             WHERE broken <> '' AND site = $1 GROUP BY robot, host, broken, line, rule) AS grouped \
             JOIN evidence ON evidence.evidence_id = grouped.last_id \
             ORDER BY evidence.evidence_id DESC LIMIT $2"
        );
    VIOLATION_DAYS = "count the violations of robots.txt",
        "SELECT at_ms / 86400000 AS day, CAST(SUM(CASE WHEN cause IN ('robots.txt', 'crawl-delay') \
         AND decision NOT LIKE 'would-%' THEN 1 ELSE 0 END) AS BIGINT) AS refused, COUNT(*) AS hits \
         FROM evidence WHERE broken <> '' AND site = $1 AND at_ms >= $2 GROUP BY 1 ORDER BY 1";
    ADDRESSES = "find the evidence to delete",
        "SELECT address, COUNT(*) FROM evidence WHERE ($1 = '' OR robot = $1) AND at_ms < $2 \
         GROUP BY address";
    FORGET = "delete evidence",
        "DELETE FROM evidence WHERE address = $1 AND ($2 = '' OR robot = $2) AND at_ms < $3";
}

/// Returns all statements that are assembled at run time.
pub(in crate::store) fn assembled_statements() -> Vec<Statement> {
    ADD.all().cloned().collect()
}

fn add(rows: usize) -> Statement {
    let insert = concat!("INSERT INTO evidence (", evidence_columns!(), ")");
    Statement::assembled(ADD_WHAT, traffic::sql::values(insert, rows, COLUMNS))
}
