//! Reads path counts.

use super::super::TrafficSums;
use std::{collections::BTreeMap, ops::Range};

use super::{
    super::{
        super::{StoreError, statement::Value},
        TrafficSpan,
    },
    PathCount, PathKey, PathOmissions,
    add::KEPT,
    sql,
};

columns! {
    /// The number of a visitor's requests for a path, or for all paths combined under a pattern.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct PathSum {
        /// The visitor and path of the requests.
        pub key: PathKey,
        /// The lower bound of the number of requests.
        pub count: PathCount,
    }
}

/// The path counts of a period.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct PathSums {
    /// Counts of paths and patterns, unordered; each key occurs once.
    pub rows: Vec<PathSum>,
    /// The maximum errors in the counts, by site name.
    pub cuts: BTreeMap<String, PathOmissions>,
    /// The minutes covered: whole hours if these are stored, otherwise whole days.
    pub minutes: Range<i64>,
}

columns! {
    struct CutRow {
        site: String,
        cut: PathOmissions,
    }
}

impl TrafficSums<'_> {
    /// Returns the path counts for a range of minutes since the Unix epoch, for one site or all
    /// sites.
    ///
    /// Each count may be too low, but by no more than the number in `cuts`.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn paths(
        self,
        minutes: Range<i64>,
        site: Option<&str>,
        now_ms: i64,
    ) -> Result<PathSums, StoreError> {
        let pieces = TrafficSpan::cover_with(
            &KEPT,
            minutes.clone(),
            now_ms.div_euclid(60_000),
            TrafficSpan::Day,
        );
        let mut transaction = self.db.begin_reading("read paths").await?;
        let mut rows = BTreeMap::<PathKey, PathCount>::new();
        let mut cuts = BTreeMap::<String, PathOmissions>::new();
        for (span, piece) in &pieces {
            let values = [
                span.number().into(),
                piece.start.into(),
                piece.end.into(),
                Value::Text(site),
            ];
            for sum in transaction.rows::<PathSum>(&sql::SUMS, &values).await? {
                *rows.entry(sum.key).or_default() += sum.count;
            }
            for CutRow { site, cut } in transaction.rows(&sql::CUTS, &values).await? {
                *cuts.entry(site).or_default() += cut;
            }
        }
        transaction.commit().await?;
        let rows = rows.into_iter();
        let told = TrafficSpan::covered(&pieces);
        Ok(PathSums {
            rows: rows.map(|(key, count)| PathSum { key, count }).collect(),
            cuts,
            minutes: told.unwrap_or(minutes),
        })
    }
}

impl PathSum {
    /// Creates a path total from a key and a count.
    pub fn new(key: PathKey, count: PathCount) -> Self {
        Self { key, count }
    }
}
