//! Evidence is read.

use super::EvidenceRows;
use std::ops::Range;

use super::{super::StoreError, Evidence, sql};

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

columns! {
    /// Evidence with its id: a later one has a higher one.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct StoredEvidence {
        /// Id, from 1.
        pub id: i64,
        /// What is kept.
        pub evidence: Evidence,
    }
}

columns! {
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
}

columns! {
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
}

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
        self.db.rows(&sql::FIND, &values).await
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
        self.db.rows(&sql::VIOLATIONS, &values).await
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
        self.db.rows(&sql::VIOLATION_DAYS, &values).await
    }
}
