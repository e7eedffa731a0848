//! Summaries as JSON.

use serde_json::{Map, Value, json};

use super::{Count, Grouping, Rows, Summary};

/// Returns a JSON object that contains the totals and an array for each grouping.
pub fn object<S: Summary>(summary: &S, groupings: &[S::By], top: usize) -> Map<String, Value> {
    let all = summary.all();
    let mut object = Map::new();
    object.insert("totals".to_owned(), totals(summary, all));
    for by in groupings.iter().filter(|by| **by != S::By::TOTAL) {
        let mut rows = summary.rows(*by);
        rows.truncate(top);
        object.insert(by.plural().to_owned(), array(&rows, all));
    }
    object
}

fn totals(summary: &impl Summary, all: Count) -> Value {
    let kinds = summary.totals().into_iter().chain([("all", all)]);
    kinds
        .map(|(name, count)| {
            let figures = figures(count, all).into_iter();
            let figures: Value = figures
                .map(|(name, figure)| (name.to_owned(), figure))
                .collect();
            (name.replace('-', "_"), figures)
        })
        .collect()
}

fn array(rows: &Rows, all: Count) -> Value {
    let object = |row: &super::Row| {
        let cells = rows.columns.iter().zip(&row.cells);
        let cells = cells.map(|(name, cell)| (*name, json!(cell)));
        let all = cells.chain(figures(row.count, all));
        all.map(|(name, value)| (name.to_owned(), value))
            .collect::<Value>()
    };
    rows.rows.iter().map(object).collect()
}

fn figures(count: Count, all: Count) -> [(&'static str, Value); 4] {
    let (hits_share, bytes_share) = count.shares_in(all);
    [
        ("hits", json!(count.hits)),
        ("hits_share", json!(hits_share)),
        ("bytes", json!(count.bytes)),
        ("bytes_share", json!(bytes_share)),
    ]
}
