//! Queries for evidence.

use super::EvidenceRows;
use std::ops::Range;

use super::{super::StoreError, Evidence, sql};

/// A query for evidence; an empty text matches everything.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EvidenceQuery {
    /// The time range of the requests, in milliseconds since the Unix epoch.
    pub times_ms: Range<i64>,
    /// The name of the site that received the requests.
    pub site: String,
    /// The ID of the robot that sent the requests.
    pub robot: String,
    /// The decision made for the requests.
    pub decision: String,
    /// The verdict on the requests' claims.
    pub verdict: String,
    /// The event for which requests are stored, one of [`EVIDENCE_EVENTS`](super::EVIDENCE_EVENTS).
    pub event: String,
    /// The code of a reason for suspicion, or [`ANY_REASON`](super::ANY_REASON).
    pub suspect: String,
    /// The ID of the last row of the previous page of results; `None` for the first page.
    pub before: Option<i64>,
    /// The maximum number of rows to return.
    pub limit: u64,
}

columns! {
    /// Evidence and its ID; newer evidence has a higher ID.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct StoredEvidence {
        /// The ID of the row, starting at 1.
        pub id: i64,
        /// The request stored as evidence.
        pub evidence: Evidence,
    }
}

columns! {
    /// The stored violations of a single robots.txt rule by one robot on one host.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct StoredViolation {
        /// The most recent violation.
        pub last: Evidence,
        /// The number of violations.
        pub hits: u64,
        /// The number of requests that were refused or slowed because of the violation.
        pub refused: u64,
        /// The time of the first violation, in milliseconds since the Unix epoch.
        pub first_ms: i64,
        /// The shortest time between two requests in milliseconds, if a `Crawl-delay` was violated.
        pub shortest_gap_ms: u64,
    }
}

columns! {
    /// The number of stored violations on one day.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct ViolationDay {
        /// The UTC day, as the number of days since the Unix epoch.
        pub day: i64,
        /// The number of violations.
        pub hits: u64,
        /// The number of requests that were refused or slowed because of the violation.
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
    /// Returns evidence that matches a query, newest first.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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

    /// Returns the violations of a site's robots.txt, grouped by robot, host and rule, most recent
    /// first.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn violations(
        self,
        site: &str,
        limit: u64,
    ) -> Result<Vec<StoredViolation>, StoreError> {
        let values = [site.into(), limit.into()];
        self.db.rows(&sql::VIOLATIONS, &values).await
    }

    /// Returns the number of violations of a site's robots.txt for each day since `since_ms`.
    ///
    /// Days without violations are omitted.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn violation_days(
        self,
        site: &str,
        since_ms: i64,
    ) -> Result<Vec<ViolationDay>, StoreError> {
        let values = [site.into(), since_ms.into()];
        self.db.rows(&sql::VIOLATION_DAYS, &values).await
    }
}
