//! Evidence is read.

use super::EvidenceRows;
use std::ops::Range;

use super::{
    super::{StoreError, columns::columns, robots::from_sql},
    BrokenRule, Evidence, sql,
};

/// What evidence is asked for; an empty text stands for all.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EvidenceQuery {
    /// Times, in milliseconds since 1970.
    pub times_ms: Range<i64>,
    /// Name of a site.
    pub site: String,
    /// Id of a robot.
    pub robot: String,
    /// Word for what was done.
    pub decision: String,
    /// Word for a verdict.
    pub verdict: String,
    /// One of [`EVIDENCE_EVENTS`](super::EVIDENCE_EVENTS).
    pub event: String,
    /// Code of a reason why the visitor was suspect, or [`ANY_REASON`](super::ANY_REASON).
    pub suspect: String,
    /// Id of the last one that was read before.
    pub before: Option<i64>,
    /// Most that are wanted.
    pub limit: u64,
}

/// Evidence with its id: a later one has a higher one.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StoredEvidence {
    /// Id, from 1.
    pub id: i64,
    /// What is kept.
    pub evidence: Evidence,
}

/// What one robot broke of robots.txt on one host, as far as it is kept.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct KeptViolation {
    /// The last request.
    pub last: Evidence,
    /// Requests.
    pub hits: u64,
    /// Those of the requests that were answered for it.
    pub refused: u64,
    /// When the first came, in milliseconds since 1970.
    pub first_ms: i64,
    /// Shortest time between two requests, in milliseconds, where that is what is broken.
    pub shortest_gap_ms: u64,
}

/// Violations of a day, as far as they are kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ViolationDay {
    /// Day in UTC, since 1970.
    pub day: i64,
    /// Requests.
    pub hits: u64,
    /// Those of the requests that were answered for it.
    pub refused: u64,
}

columns! {
    #[derive(Debug)]
    struct Row {
        evidence_id: i64,
        at_ms: i64,
        event: String,
        site: String,
        kind: String,
        robot: String,
        verdict: String,
        decision: String,
        cause: String,
        status: i64,
        method: String,
        host: String,
        path: String,
        address: String,
        user_agent: String,
        referrer: String,
        proof: String,
        broken: String,
        line: i64,
        rule: String,
        group_line: i64,
        agents: String,
        delay_ms: i64,
        gap_ms: i64,
        suspect: String,
    }
}

columns! {
    #[derive(Debug)]
    struct Counts {
        hits: i64,
        refused: i64,
        first_ms: i64,
        shortest_ms: i64,
    }
}

/// Both, side by side.
#[derive(Debug)]
struct ViolationRow(Row, Counts);

impl Default for EvidenceQuery {
    fn default() -> Self {
        Self {
            times_ms: i64::MIN..i64::MAX,
            site: String::new(),
            robot: String::new(),
            decision: String::new(),
            verdict: String::new(),
            event: String::new(),
            suspect: String::new(),
            before: None,
            limit: 100,
        }
    }
}

impl EvidenceRows<'_> {
    /// Returns evidence, the last first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn list(self, query: &EvidenceQuery) -> Result<Vec<StoredEvidence>, StoreError> {
        let values = [
            query.times_ms.start.into(),
            query.times_ms.end.into(),
            (&query.site).into(),
            (&query.robot).into(),
            (&query.decision).into(),
            (&query.verdict).into(),
            (&query.event).into(),
            (&query.suspect).into(),
            query.before.unwrap_or(i64::MAX).into(),
            query.limit.into(),
        ];
        let rows = self.store.database.rows::<Row>(&sql::FIND, &values).await?;
        let stored = |row: Row| StoredEvidence {
            id: row.evidence_id,
            evidence: row.into(),
        };
        Ok(rows.into_iter().map(stored).collect())
    }

    /// Returns the violations of a site's robots.txt by robot, host and rule, the last first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn violations(
        self,
        site: &str,
        limit: u64,
    ) -> Result<Vec<KeptViolation>, StoreError> {
        let values = [site.into(), limit.into()];
        let rows = self
            .store
            .database
            .rows::<ViolationRow>(&sql::VIOLATIONS, &values);
        let violation = |ViolationRow(last, counts)| KeptViolation {
            last: Evidence::from(last),
            hits: from_sql(counts.hits),
            refused: from_sql(counts.refused),
            first_ms: counts.first_ms,
            shortest_gap_ms: from_sql(counts.shortest_ms),
        };
        Ok(rows.await?.into_iter().map(violation).collect())
    }

    /// Returns how many violations of a site's robots.txt each day has had since a time.
    ///
    /// Days without any are left out.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn violation_days(
        self,
        site: &str,
        since_ms: i64,
    ) -> Result<Vec<ViolationDay>, StoreError> {
        let values = [site.into(), since_ms.into()];
        let rows = self.store.database.rows(&sql::VIOLATION_DAYS, &values);
        let day = |(day, refused, hits): (i64, i64, i64)| ViolationDay {
            day,
            hits: from_sql(hits),
            refused: from_sql(refused),
        };
        Ok(rows.await?.into_iter().map(day).collect())
    }
}

impl From<Row> for Evidence {
    fn from(row: Row) -> Self {
        Self {
            at_ms: row.at_ms,
            event: row.event,
            site: row.site,
            kind: row.kind,
            robot: row.robot,
            verdict: row.verdict,
            decision: row.decision,
            cause: row.cause,
            status: u16::try_from(row.status).unwrap_or_default(),
            method: row.method,
            host: row.host,
            path: row.path,
            address: row.address,
            user_agent: row.user_agent,
            referrer: row.referrer,
            proof: row.proof,
            broken: match &*row.broken {
                sql::RULE => Some(BrokenRule::Rule {
                    line: from_sql(row.line),
                    rule: row.rule,
                    group_line: from_sql(row.group_line),
                    group: row.agents,
                }),
                sql::DELAY => Some(BrokenRule::Delay {
                    delay_ms: from_sql(row.delay_ms),
                    gap_ms: from_sql(row.gap_ms),
                }),
                _ => None,
            },
            suspect: row.suspect,
        }
    }
}

impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for ViolationRow
where
    Row: sqlx::FromRow<'r, R>,
    Counts: sqlx::FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        Ok(Self(Row::from_row(row)?, Counts::from_row(row)?))
    }
}
