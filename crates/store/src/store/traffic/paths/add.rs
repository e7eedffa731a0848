//! What was counted is added, and removed again when it is old.

use super::super::TrafficSums;
use std::collections::BTreeMap;

use super::{
    super::{
        super::{
            StoreError,
            statement::{Statement, Step, Value},
        },
        TrafficSpan,
    },
    CountedPaths, PathCount, PathCut, PathKey, sql,
};

/// Spans of which paths are kept, and the minutes after which they are removed.
pub(super) const KEPT: [(TrafficSpan, i64); 2] = [
    (TrafficSpan::Hour, 48 * 60),
    (TrafficSpan::Day, 400 * 24 * 60),
];

/// Place of a row.
type Place<'k> = (TrafficSpan, i64, &'k PathKey);

impl TrafficSums<'_> {
    /// Removes paths that are kept no longer.
    pub(in super::super) async fn prune_paths(self, now: i64) -> Result<(), StoreError> {
        for (span, kept) in KEPT {
            let values = [span.number().into(), span.start(now - kept).into()];
            for statement in [&sql::PRUNE, &sql::PRUNE_CUTS] {
                self.db.execute(statement, &values).await?;
            }
        }
        Ok(())
    }
}

/// Returns the statements that count and that remove the paths of a robot, those of spans that
/// began before a minute, or those that are both.
///
/// People are the robot without a name. What was folded into `other` has no robot any more, and
/// stays.
pub(in crate::store) fn forgetting() -> [&'static Statement; 2] {
    [&sql::FORGETTABLE, &sql::FORGET]
}

/// Returns what is done to add paths, in an order that is the same for every instance.
pub(in super::super) fn steps(counted: &[CountedPaths]) -> impl Iterator<Item = Step<'_>> {
    let mut cuts = BTreeMap::<(TrafficSpan, i64, &str), PathCut>::new();
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
    // What is left out first: whoever adds to the rows of a site, or trims them, holds that row
    // before, so that no two of them wait for each other for ever.
    let cuts = cuts.into_iter().map(|((span, began, site), cut)| {
        let values = cut_values(span, began, site, cut);
        (&sql::ADD_CUT, values)
    });
    let spans = KEPT.into_iter();
    cuts.chain(spans.flat_map(move |(span, _)| row_steps(sums(counted, span).into_iter())))
}

/// Returns the rows of a span.
fn sums(counted: &[CountedPaths], span: TrafficSpan) -> BTreeMap<Place<'_>, PathCount> {
    let mut rows = BTreeMap::<Place<'_>, PathCount>::new();
    for counted in counted {
        let began = span.start(counted.minute);
        for (key, count) in &counted.rows {
            *rows.entry((span, began, key)).or_default() += *count;
        }
    }
    rows
}

/// Returns what is done to add to rows.
pub(super) fn row_steps<'k>(
    rows: impl ExactSizeIterator<Item = (Place<'k>, PathCount)>,
) -> impl Iterator<Item = Step<'k>> {
    sql::ADD.steps(rows, row_values)
}

/// Returns the values of a statement that adds to what is left out.
pub(super) fn cut_values(
    span: TrafficSpan,
    began: i64,
    site: &str,
    cut: PathCut,
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
    ((span, began, key), count): &(Place<'k>, PathCount),
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
