//! Logs that were written before, or by others, are counted once.

use super::{
    super::{Store, StoreError, columns::columns, robots::from_sql},
    CountedMinute, CountedPaths,
    add::steps,
    sql,
};

/// Log that was counted, or is about to be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TrafficImport {
    /// Its id, made from its first lines.
    pub import_id: String,
    /// Hash of its first line.
    pub first_line: String,
    /// Length of its beginning that is known, in bytes.
    pub head_bytes: u64,
    /// Hash of that beginning.
    pub head: String,
    /// Name of the file.
    pub name: String,
    /// Bytes, unpacked, that have been counted.
    pub counted: u64,
    /// Requests among them.
    pub requests: u64,
}

/// What was counted of a log since the last time.
#[derive(Clone, Copy, Debug)]
pub struct ImportProgress<'p> {
    /// The log, with how much of it has been counted before.
    pub import: &'p TrafficImport,
    /// Length and hash of its beginning, as they are now.
    pub head: (u64, &'p str),
    /// Bytes, unpacked, that have been counted now.
    pub counted_to: u64,
    /// What was counted.
    pub counted: &'p [CountedMinute],
    /// Paths that were asked for.
    pub paths: &'p [CountedPaths],
}

columns! {
    #[derive(Debug)]
    struct ImportRow {
        import_id: String,
        first_line: String,
        head_bytes: i64,
        head: String,
        name: String,
        counted: i64,
        requests: i64,
    }
}

impl Store {
    /// Returns the logs that begin with a line, those of which most is known first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn traffic_imports(
        &self,
        first_line: &str,
    ) -> Result<Vec<TrafficImport>, StoreError> {
        let values = [first_line.into()];
        let rows: Vec<ImportRow> = self.database.rows(&sql::IMPORTS, &values).await?;
        Ok(rows.into_iter().map(TrafficImport::from).collect())
    }

    /// Notes a log of which nothing has been counted, unless it is there already.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn begin_traffic_import(
        &self,
        import: &TrafficImport,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let values = [
            (&import.import_id).into(),
            (&import.first_line).into(),
            import.head_bytes.into(),
            (&import.head).into(),
            (&import.name).into(),
            now_ms.into(),
        ];
        let begun = self.database.execute(&sql::BEGIN_IMPORT, &values);
        begun.await.map(|_| ())
    }

    /// Adds what was counted of a log; returns `false` where somebody else has counted it
    /// meanwhile, and nothing was added.
    ///
    /// # Errors
    ///
    /// Fails when the database does; then nothing was added, or all of it.
    pub async fn import_traffic(
        &self,
        progress: &ImportProgress<'_>,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let import = progress.import;
        let counted = progress.counted.iter();
        let requests: u64 = counted.map(|counted| counted.count.requests).sum();
        let values = [
            (&import.import_id).into(),
            import.counted.into(),
            progress.head.0.into(),
            progress.head.1.into(),
            (&import.name).into(),
            progress.counted_to.into(),
            requests.into(),
            now_ms.into(),
        ];
        let mut transaction = self.database.begin("count a log").await?;
        if transaction.execute(&sql::IMPORT, &values).await? == 0 {
            return Ok(false);
        }
        let steps = steps(progress.counted, progress.paths, "", &[]);
        transaction.commit_as_made(steps).await?;
        Ok(true)
    }
}

impl From<ImportRow> for TrafficImport {
    fn from(row: ImportRow) -> Self {
        Self {
            import_id: row.import_id,
            first_line: row.first_line,
            head_bytes: from_sql(row.head_bytes),
            head: row.head,
            name: row.name,
            counted: from_sql(row.counted),
            requests: from_sql(row.requests),
        }
    }
}
