//! Adds path counts, and removes old ones.

use super::super::TrafficSums;
use std::collections::BTreeMap;

use super::{
    super::{
        super::{
            StoreError,
            statement::{Statement, Step, Value},
        },
        TrafficSpan,
        parameters::deletion_statement,
    },
    CountedPaths, PathCount, PathKey, PathOmissions, sql,
};

/// The time spans for which path counts are stored, each with its storage time in minutes.
pub(super) const KEPT: [(TrafficSpan, i64); 2] = [
    (TrafficSpan::Hour, 48 * 60),
    (TrafficSpan::Day, 400 * 24 * 60),
];

/// The primary key of a path count's row.
type RowKey<'k> = (TrafficSpan, i64, &'k PathKey);

impl TrafficSums<'_> {
    /// Removes expired path counts.
    pub(in super::super) async fn prune_paths(self, now: i64) -> Result<(), StoreError> {
        for (span, kept) in KEPT {
            let values = [span.number().into(), span.start(now - kept).into()];
            for statement in [&sql::PRUNE, &sql::PRUNE_CUTS] {
                self.db.execute(statement, &values).await?;
            }
            if span == TrafficSpan::Day {
                let before = span.start(now - kept).into();
                let values = [Value::Text(None), before];
                self.db.execute(deletion_statement(), &values).await?;
            }
        }
        Ok(())
    }
}

/// Returns the statements that count and delete the path counts of a robot, of spans that began
/// before a given minute, or both.
///
/// The empty robot ID stands for human visitors. Counts that were merged into `other` no longer
/// belong to a robot and are not deleted.
pub(in crate::store) fn deletion_statements() -> [&'static Statement; 2] {
    [&sql::FORGETTABLE, &sql::FORGET]
}

/// Returns the steps that add path counts, in an order that is the same on all instances.
pub(in super::super) fn steps(counted: &[CountedPaths]) -> impl Iterator<Item = Step<'_>> {
    let mut cuts = BTreeMap::<(TrafficSpan, i64, &str), PathOmissions>::new();
    for counted in counted {
        for (span, _) in KEPT {
            let began = span.start(counted.minute);
            for (key, _) in &counted.rows {
                cuts.entry((span, began, &key.site)).or_default();
            }
            for (site, cut) in &counted.cuts {
                *cuts.entry((span, began, site)).or_default() += *cut;
            }
        }
    }
    // The omissions of a site first: adding to and trimming a site's rows both lock this row before
    // others, which prevents deadlocks.
    let cuts = cuts.into_iter().map(|((span, began, site), cut)| {
        let values = cut_values(span, began, site, cut);
        (&sql::ADD_CUT, values)
    });
    let spans = KEPT.into_iter();
    cuts.chain(spans.flat_map(move |(span, _)| row_steps(sums(counted, span).into_iter())))
}

/// Returns the path counts for each row of a span.
fn sums(counted: &[CountedPaths], span: TrafficSpan) -> BTreeMap<RowKey<'_>, PathCount> {
    let mut rows = BTreeMap::<RowKey<'_>, PathCount>::new();
    for counted in counted {
        let began = span.start(counted.minute);
        for (key, count) in &counted.rows {
            *rows.entry((span, began, key)).or_default() += *count;
        }
    }
    rows
}

/// Returns the steps that add path counts to rows.
pub(super) fn row_steps<'k>(
    rows: impl ExactSizeIterator<Item = (RowKey<'k>, PathCount)>,
) -> impl Iterator<Item = Step<'k>> {
    sql::ADD.steps(rows, row_values)
}

/// Returns the values for the statement that adds to omissions.
pub(super) fn cut_values(
    span: TrafficSpan,
    began: i64,
    site: &str,
    cut: PathOmissions,
) -> Vec<Value<'_>> {
    let values: [Value<'_>; sql::CUT_COLUMNS] = [
        span.number().into(),
        began.into(),
        site.into(),
        cut.paths.into(),
        cut.patterns.into(),
        cut.skipped.into(),
    ];
    values.to_vec()
}

fn row_values<'k>(
    ((span, began, key), count): &(RowKey<'k>, PathCount),
) -> [Value<'k>; sql::ROW_COLUMNS] {
    [
        span.number().into(),
        (*began).into(),
        (&key.site).into(),
        (&key.robot).into(),
        (&key.path).into(),
        i64::from(key.is_path()).into(),
        i64::from(key.depth()).into(),
        count.requests.into(),
        count.redirects.into(),
        count.client_errors.into(),
        count.server_errors.into(),
    ]
}
