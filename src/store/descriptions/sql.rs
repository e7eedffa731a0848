//! Statements about descriptions.

use std::fmt::Write as _;

use super::{
    super::{sql::statements, statement::Statement},
    DescriptionOrder,
};

/// Rows in one statement that writes descriptions; other numbers are made up of these.
const SAVE_ROWS: [usize; 4] = [8, 4, 2, 1];

/// URLs in one statement that asks about descriptions.
pub(in crate::store) const URLS: [usize; 3] = [50, 10, 1];

macro_rules! description_columns {
    () => {
        "url, first_seen_ms, modified_ms, attributes, partial_text, full_text, contents"
    };
}

statements! {
    DESCRIPTION = "read a resource description",
        concat!("SELECT ", description_columns!(),
            " FROM resource_descriptions WHERE site = $1 AND url = $2");
    DESCRIPTION_COUNT = "count the resource descriptions",
        "SELECT COUNT(*) FROM resource_descriptions WHERE site = $1";
    DESCRIPTION_SITES = "list the sites with resource descriptions",
        "SELECT site, COUNT(*), MAX(modified_ms) FROM resource_descriptions \
         GROUP BY site ORDER BY site";
    NEWEST_DESCRIPTIONS = "read the newest resource descriptions",
        concat!("SELECT ", description_columns!(), " FROM resource_descriptions \
            WHERE site = $1 ORDER BY modified_ms DESC, url DESC LIMIT $2");
    CHANGED_DESCRIPTIONS = "read the changed resource descriptions",
        concat!("SELECT ", description_columns!(), " FROM resource_descriptions \
            WHERE site = $1 AND (modified_ms, url) > ($2, $3) \
            ORDER BY modified_ms, url LIMIT $4");
    CLEAR_DESCRIPTIONS = "remove the resource descriptions",
        "DELETE FROM resource_descriptions WHERE site = $1";
}

/// Returns the statement that reads whole descriptions in an order.
pub(super) fn read(order: DescriptionOrder, with_key: bool) -> Statement {
    let columns = description_columns!();
    ordered("read the resource descriptions", columns, order, with_key)
}

/// Returns the statement that reads descriptions by URL without their texts.
pub(super) fn read_without_texts() -> Statement {
    let columns = "url, first_seen_ms, modified_ms, attributes, CAST(NULL AS TEXT) AS partial_text, \
                   CAST(NULL AS TEXT) AS full_text, CAST(NULL AS TEXT) AS contents";
    let what = "read the resource descriptions without their texts";
    ordered(what, columns, DescriptionOrder::Url, false)
}

/// Returns the statement that reads what an index shows of descriptions.
pub(super) fn read_entries(order: DescriptionOrder, with_key: bool) -> Statement {
    let key = column(order).unwrap_or("''");
    let columns = format!("url, title, {key}, first_seen_ms, modified_ms");
    let what = "read an index of the resource descriptions";
    ordered(what, &columns, order, with_key)
}

/// Returns the statement that counts the descriptions of each key; by URL there is none.
pub(super) fn keys(order: DescriptionOrder) -> Option<Statement> {
    let key = column(order)?;
    let (beyond, direction) = direction(order);
    let sql = format!(
        "SELECT {key}, COUNT(*) FROM resource_descriptions \
         WHERE site = $1 AND {key} <> '' AND {key} {beyond} $2 \
         GROUP BY {key} ORDER BY {key} {direction} LIMIT $3"
    );
    Some(Statement::assembled("count an index's entries", sql))
}

/// Returns the statement that reads the fingerprints of so many URLs.
pub(super) fn fingerprints(urls: usize) -> Statement {
    let sql = format!(
        "SELECT url, fingerprint FROM resource_descriptions WHERE site = $1 AND url IN ({})",
        parameters(2, urls)
    );
    Statement::assembled("look for resource descriptions", sql)
}

/// Returns the statement that removes the descriptions of so many URLs.
pub(super) fn delete(urls: usize) -> Statement {
    let sql = format!(
        "DELETE FROM resource_descriptions WHERE site = $1 AND url IN ({})",
        parameters(2, urls)
    );
    Statement::assembled("remove resource descriptions", sql)
}

/// Returns the statement that writes so many descriptions: `$1` site, `$2` run, `$3` now.
pub(super) fn save(rows: usize) -> Statement {
    const COLUMNS: usize = 13;
    let mut sql = "INSERT INTO resource_descriptions (site, run_id, first_seen_ms, modified_ms, \
         url, fingerprint, title, classification_key, title_key, author_key, date_key, depth_key, \
         md5, attributes, partial_text, full_text, contents) VALUES "
        .to_owned();
    for row in 0..rows {
        let comma = if row == 0 { "" } else { ", " };
        let values = parameters(4 + row * COLUMNS, COLUMNS);
        let _ = write!(sql, "{comma}($1, $2, $3, $3, {values})");
    }
    // What says the same stays as it is, dates and all, as it does when a server
    // answers that nothing changed.
    let kept = |column: &str, unless: &str| {
        format!(
            "{column} = CASE WHEN resource_descriptions.fingerprint = excluded.fingerprint{unless} \
             THEN resource_descriptions.{column} ELSE excluded.{column} END, "
        )
    };
    let as_near = " AND resource_descriptions.depth_key = excluded.depth_key";
    sql.push_str(" ON CONFLICT (site, url) DO UPDATE SET ");
    sql.push_str(&kept("modified_ms", ""));
    sql.push_str(&kept("date_key", as_near));
    for column in ["attributes", "partial_text", "full_text", "contents"] {
        sql.push_str(&kept(column, as_near));
    }
    sql.push_str(
        "run_id = excluded.run_id, fingerprint = excluded.fingerprint, title = excluded.title, \
         classification_key = excluded.classification_key, title_key = excluded.title_key, \
         author_key = excluded.author_key, depth_key = excluded.depth_key, md5 = excluded.md5",
    );
    Statement::assembled("write resource descriptions", sql)
}

/// Splits a list into pieces for which there is a statement.
pub(in crate::store) fn pieces<'l, T>(
    mut list: &'l [T],
    sizes: &'static [usize],
) -> impl Iterator<Item = &'l [T]> {
    std::iter::from_fn(move || {
        let size = sizes.iter().find(|size| **size <= list.len())?;
        let (piece, rest) = list.split_at_checked(*size)?;
        list = rest;
        Some(piece)
    })
}

/// Splits URLs into lists for which there is a statement; the last one of a list may repeat.
pub(super) fn lists<'u>(urls: &[&'u str]) -> impl Iterator<Item = Vec<&'u str>> {
    let [most, ..] = URLS;
    urls.chunks(most).map(|piece| {
        let mut list = piece.to_vec();
        let sizes = URLS.iter().copied();
        let size = sizes.filter(|size| *size >= piece.len()).min();
        if let (Some(size), Some(last)) = (size, piece.last()) {
            list.resize(size, last);
        }
        list
    })
}

/// Splits descriptions into pieces that one statement writes.
pub(super) fn save_pieces<T>(list: &[T]) -> impl Iterator<Item = &[T]> {
    pieces(list, &SAVE_ROWS)
}

/// Returns `$FIRST, …`, so many.
pub(in crate::store) fn parameters(first: usize, count: usize) -> String {
    let mut list = String::new();
    for number in first..first + count {
        let comma = if number == first { "" } else { ", " };
        let _ = write!(list, "{comma}${number}");
    }
    list
}

/// Returns every statement that can be asked for.
pub(in crate::store) fn every_statement() -> Vec<Statement> {
    let mut all: Vec<Statement> = FIXED.iter().copied().cloned().collect();
    all.push(read_without_texts());
    all.extend(SAVE_ROWS.map(save));
    all.extend(URLS.map(fingerprints));
    all.extend(URLS.map(delete));
    for order in DescriptionOrder::ALL {
        all.extend(keys(order));
        for with_key in [false, true] {
            all.extend([read(order, with_key), read_entries(order, with_key)]);
        }
    }
    all
}

/// `$1` site, `$2` key, `$3` URL that it goes on behind, `$4` limit.
fn ordered(
    what: &'static str,
    columns: &str,
    order: DescriptionOrder,
    with_key: bool,
) -> Statement {
    let (beyond, direction) = direction(order);
    let (filter, sorted) = match (column(order), with_key) {
        // The partial indexes want to hear that the key is not empty.
        (Some(key), true) => (
            format!("{key} <> '' AND {key} = $2 AND url {beyond} $3"),
            format!("url {direction}"),
        ),
        (Some(key), false) => (
            format!("{key} <> '' AND ({key}, url) {beyond} ($2, $3)"),
            format!("{key} {direction}, url {direction}"),
        ),
        (None, _) => ("$2 = $2 AND url > $3".to_owned(), "url".to_owned()),
    };
    let sql = format!(
        "SELECT {columns} FROM resource_descriptions WHERE site = $1 AND {filter} \
         ORDER BY {sorted} LIMIT $4"
    );
    Statement::assembled(what, sql)
}

fn direction(order: DescriptionOrder) -> (&'static str, &'static str) {
    if order.is_descending() {
        ("<", "DESC")
    } else {
        (">", "ASC")
    }
}

fn column(order: DescriptionOrder) -> Option<&'static str> {
    match order {
        DescriptionOrder::Url => None,
        DescriptionOrder::Classification => Some("classification_key"),
        DescriptionOrder::Title => Some("title_key"),
        DescriptionOrder::Author => Some("author_key"),
        DescriptionOrder::Date => Some("date_key"),
        DescriptionOrder::Depth => Some("depth_key"),
    }
}
