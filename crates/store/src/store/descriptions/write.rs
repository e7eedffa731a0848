//! Saves and deletes descriptions.

use super::Descriptions;
use std::collections::HashMap;

use super::{
    super::{
        StoreError,
        publications::{clear_publications, hide_withdrawn, increment_heaven_version},
        statement::{ByRows, Step, Value},
        transaction::Transaction,
    },
    row::WriteRow,
    sql,
};
use crate::description::ResourceDescription;

/// The result of saving a description.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SaveOutcome {
    /// The URL did not have a description.
    Added,
    /// The description of the URL has changed.
    Changed,
    /// The description has not changed, except possibly for its times and depth.
    Same,
}

impl Descriptions<'_> {
    /// Saves descriptions of a site in one transaction. Returns the result for each description.
    ///
    /// If a URL occurs several times, its last description is saved. The modification time of an
    /// unchanged description remains the same.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn save(
        self,
        site: &str,
        run_id: i64,
        descriptions: &[ResourceDescription],
        now_ms: i64,
    ) -> Result<Vec<SaveOutcome>, StoreError> {
        let mut transaction = self.db.begin("save resource descriptions").await?;
        let mut all = Vec::with_capacity(descriptions.len());
        // The number of rows of the largest `SAVE` statement.
        for piece in descriptions.chunks(8) {
            let piece: Vec<_> = piece.iter().collect();
            let of = (site, run_id);
            let saved = write_to(&sql::SAVE, &mut transaction, of, &piece, Vec::new(), now_ms);
            all.extend(saved.await?);
        }
        hide_withdrawn(&mut transaction, site, now_ms).await?;
        increment_heaven_version(&mut transaction, site).await?;
        transaction.commit().await?;
        Ok(all)
    }

    /// Deletes the descriptions of URLs. Returns the number of deleted descriptions.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is deleted.
    pub async fn delete(self, site: &str, urls: &[&str]) -> Result<u64, StoreError> {
        let mut transaction = self.db.begin("remove resource descriptions").await?;
        let deleted = delete(&mut transaction, site, urls).await?;
        increment_heaven_version(&mut transaction, site).await?;
        transaction.commit().await?;
        Ok(deleted)
    }

    /// Deletes all descriptions of a site. Returns the number of deleted descriptions.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is deleted.
    pub async fn clear(self, site: &str) -> Result<u64, StoreError> {
        let mut transaction = self.db.begin(sql::CLEAR_DESCRIPTIONS.what).await?;
        let cleared = clear(&mut transaction, site).await?;
        transaction.commit().await?;
        Ok(cleared)
    }
}

/// Writes descriptions with the statements `into`, then runs the steps `others`. Returns how each
/// description differs from its published version.
pub(in crate::store) async fn write_to<'v>(
    into: &ByRows,
    transaction: &mut Transaction<'_>,
    (site, run_id): (&'v str, i64),
    descriptions: &[&'v ResourceDescription],
    others: Vec<Step<'v>>,
    now_ms: i64,
) -> Result<Vec<SaveOutcome>, StoreError> {
    let mut rows: Vec<WriteRow<'_>> = Vec::with_capacity(descriptions.len());
    let mut places: HashMap<&str, usize> = HashMap::new();
    for description in descriptions {
        let row = WriteRow::new(description);
        let place = places.entry(description.url()).or_insert(rows.len());
        match rows.get_mut(*place) {
            Some(earlier) => *earlier = row,
            None => rows.push(row),
        }
    }
    let urls: Vec<&str> = rows.iter().map(|row| row.url).collect();
    // The previous fingerprints are read before anything is written.
    let known = sql::FINGERPRINTS.padded(&urls);
    let mut steps: Vec<Step<'_>> = known
        .map(|(statement, list)| (statement, of_urls(site, &list)))
        .collect();
    for (statement, piece) in into.pieces(&rows) {
        let mut values: Vec<Value<'_>> = vec![site.into(), run_id.into(), now_ms.into()];
        values.extend(piece.iter().flat_map(WriteRow::values));
        steps.push((statement, values));
    }
    steps.extend(others);
    let known: Vec<(String, String)> = transaction.rows_of_all(&steps).await?;
    let known: HashMap<&str, &str> = known
        .iter()
        .map(|(url, fingerprint)| (url.as_str(), fingerprint.as_str()))
        .collect();
    let saved = |row: &WriteRow<'_>| match known.get(row.url) {
        None => SaveOutcome::Added,
        Some(before) if *before == row.fingerprint => SaveOutcome::Same,
        Some(_) => SaveOutcome::Changed,
    };
    let of_url = |url| places.get(url).and_then(|place| rows.get(*place));
    let all = descriptions
        .iter()
        .map(|it| of_url(it.url()).map_or(SaveOutcome::Same, saved));
    Ok(all.collect())
}

/// Deletes all descriptions of a site within a transaction.
pub(in crate::store) async fn clear(
    transaction: &mut Transaction<'_>,
    site: &str,
) -> Result<u64, StoreError> {
    let cleared = transaction
        .execute(&sql::CLEAR_DESCRIPTIONS, &[site.into()])
        .await?;
    clear_publications(transaction, site).await?;
    increment_heaven_version(transaction, site).await?;
    Ok(cleared)
}

/// Deletes descriptions within a transaction.
async fn delete(
    transaction: &mut Transaction<'_>,
    site: &str,
    urls: &[&str],
) -> Result<u64, StoreError> {
    let mut deleted = 0;
    for (statement, list) in sql::DELETE.padded(urls) {
        let values = of_urls(site, &list);
        deleted += transaction.execute(statement, &values).await?;
    }
    Ok(deleted)
}

fn of_urls<'v>(site: &'v str, urls: &[&'v str]) -> Vec<Value<'v>> {
    let urls = urls.iter().map(|url| (*url).into());
    std::iter::once(site.into()).chain(urls).collect()
}
