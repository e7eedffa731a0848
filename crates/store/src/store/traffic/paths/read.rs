//! Paths are read.

use super::super::TrafficSums;
use std::{collections::BTreeMap, ops::Range};

use super::{
    super::{
        super::{StoreError, statement::Value},
        TrafficSpan,
    },
    PathCount, PathCut, PathKey,
    add::KEPT,
    sql,
};

columns! {
    /// How often somebody asked for a path, or for what is counted with a pattern.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct PathSum {
        /// Who asked for what.
        pub key: PathKey,
        /// How often, at least.
        pub count: PathCount,
    }
}

/// Paths of some time.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct PathSums {
    /// The paths and patterns, in no order; each key once.
    pub rows: Vec<PathSum>,
    /// How much higher numbers may be, by the names of sites.
    pub cuts: BTreeMap<String, PathCut>,
    /// The time that is told of, in minutes: whole hours, where they are kept, and whole days.
    pub minutes: Range<i64>,
}

columns! {
    struct CutRow {
        site: String,
        cut: PathCut,
    }
}

impl TrafficSums<'_> {
    /// Returns the paths of some minutes since 1970, of all sites or of one.
    ///
    /// Each number is at most as much too low as the cuts say.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn paths(
        self,
        minutes: Range<i64>,
        site: Option<&str>,
        now_ms: i64,
    ) -> Result<PathSums, StoreError> {
        let pieces = TrafficSpan::cover_of(
            &KEPT,
            minutes.clone(),
            now_ms.div_euclid(60_000),
            TrafficSpan::Day,
        );
        let mut transaction = self.db.begin_reading("read paths").await?;
        let mut rows = BTreeMap::<PathKey, PathCount>::new();
        let mut cuts = BTreeMap::<String, PathCut>::new();
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
    /// Creates the sum of a key.
    pub fn new(key: PathKey, count: PathCount) -> Self {
        Self { key, count }
    }
}
