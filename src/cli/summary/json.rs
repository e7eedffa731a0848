//! The summary for programs.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::{Count, Grouping, Rows, Summary};

/// Writes one object: the totals, and an array for each grouping.
pub(super) fn write<S: Summary>(
    summary: &S,
    groupings: &[S::By],
    top: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let all = summary.all();
    let mut object = Map::new();
    object.insert("totals".to_owned(), totals(summary, all));
    for by in groupings.iter().filter(|by| **by != S::By::TOTAL) {
        let mut rows = summary.rows(*by);
        rows.truncate(top);
        object.insert(by.plural().to_owned(), array(&rows, all));
    }
    writeln!(out, "{:#}", Value::Object(object))
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
    let (hits_share, bytes_share) = count.shares_of(all);
    [
        ("hits", json!(count.hits)),
        ("hits_share", json!(hits_share)),
        ("bytes", json!(count.bytes)),
        ("bytes_share", json!(bytes_share)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::identify::{By, Tally, sample};

    #[test]
    fn object_has_totals_and_an_array_for_each_grouping() {
        let detector = sample::detector();
        let mut tally = Tally::new(&detector);
        sample::fill(&mut tally);
        let mut out = Vec::new();
        write(&tally, &[By::Robot, By::Operator], 0, &mut out).unwrap();
        let value: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(
            value["totals"]["people"],
            json!({"hits": 10, "hits_share": 0.5, "bytes": 10_000, "bytes_share": 10_000.0 / 10_715.0})
        );
        assert_eq!(value["totals"]["all"]["hits"], 20);
        assert_eq!(value["totals"]["no_user_agent"]["bytes"], 5);
        assert_eq!(value["robots"].as_array().unwrap().len(), 4);
        assert_eq!(value["robots"][1]["robot"], "gammabot");
        assert_eq!(value["robots"][1]["operator"], Value::Null);
        assert_eq!(value["robots"][2]["operator"], "=Beta, \"B\"");
        assert_eq!(value["operators"][0]["operator"], "Alpha");
        assert_eq!(value["operators"][0]["hits"], 5);
        assert_eq!(value.get("purposes"), None);
    }
}
