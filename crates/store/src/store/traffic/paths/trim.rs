//! Limits the number of path counts per site, hour and day; excess paths are combined under
//! patterns.

use super::super::TrafficSums;
use std::collections::BTreeMap;

use super::{
    super::{
        super::{StoreError, columns::from_sql, statement::Step, transaction::Transaction},
        TrafficSpan,
    },
    PathCount, PathKey, PathOmissions,
    add::{KEPT, cut_values, row_steps},
    read::PathSum,
    sql,
};

impl TrafficSums<'_> {
    /// Combines paths of sites that have too many path counts in the hour and day of the given
    /// minute.
    ///
    /// At most 1,000 rows per hour and 500 per day remain; the totals do not change.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn trim_paths(self, minute: i64) -> Result<(), StoreError> {
        for (span, _) in KEPT {
            let (began, most) = (span.start(minute), most(span));
            let values = [span.number().into(), began.into(), most.into()];
            let full = self.db.rows::<(String, i64, i64)>(&sql::FULL, &values);
            for (site, paths, patterns) in full.await? {
                let mut transaction = self.db.begin("combine path counts").await?;
                let mut trimming = PathTrimmer {
                    transaction: &mut transaction,
                    place: (span, began, &site),
                };
                trimming
                    .trim(from_sql(paths), from_sql(patterns), most)
                    .await?;
                transaction.commit().await?;
            }
        }
        Ok(())
    }
}

/// Returns the maximum number of rows for a site in one span.
fn most(span: TrafficSpan) -> u64 {
    if span == TrafficSpan::Day { 500 } else { 1_000 }
}

/// The path count rows of one site and span, whose number is to be reduced.
struct PathTrimmer<'t, 'd> {
    transaction: &'t mut Transaction<'d>,
    place: (TrafficSpan, i64, &'t str),
}

impl PathTrimmer<'_, '_> {
    async fn trim(&mut self, paths: u64, patterns: u64, most: u64) -> Result<(), StoreError> {
        let (span, began, site) = self.place;
        let lock = cut_values(span, began, site, PathOmissions::default());
        self.transaction.execute(&sql::ADD_CUT, &lock).await?;
        // Removes a quarter more than needed, so that the next path does not trigger this again.
        let left = most / 4 * 3;
        // Patterns get half of the rows, plus the rows not needed by paths.
        let room = left - paths.min(left / 2);
        let too_many = patterns.saturating_sub(room);
        // The more general patterns may be new rows, which makes the next trimming happen sooner.
        self.fold(false, too_many).await?;
        let room = left - patterns.min(room);
        self.fold(true, paths.saturating_sub(room)).await
    }

    /// Combines the least frequent paths, or patterns, under their more general patterns.
    async fn fold(&mut self, is_path: bool, number: u64) -> Result<(), StoreError> {
        if number == 0 {
            return Ok(());
        }
        let (span, began, site) = self.place;
        let values = [
            span.number().into(),
            began.into(),
            site.into(),
            i64::from(is_path).into(),
            number.into(),
        ];
        let rows: Vec<PathSum> = self.transaction.rows(&sql::TRIM, &values).await?;
        let mut folded = BTreeMap::<PathKey, PathCount>::new();
        let mut cut = PathOmissions::default();
        let largest = if is_path {
            &mut cut.paths
        } else {
            &mut cut.patterns
        };
        for PathSum { key, count } in rows {
            *largest = count.requests.max(*largest);
            let above = key.generalised().unwrap_or(key);
            *folded.entry(above).or_default() += count;
        }
        let rows = folded
            .iter()
            .map(|(key, count)| ((span, began, key), *count));
        let mut steps: Vec<Step<'_>> = row_steps(rows).collect();
        steps.push((&sql::ADD_CUT, cut_values(span, began, site, cut)));
        let done: Vec<(i64,)> = self.transaction.rows_of_all(&steps).await?;
        drop(done);
        Ok(())
    }
}
