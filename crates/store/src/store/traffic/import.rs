//! Imports access logs, counting each request only once.

use super::TrafficSums;
use super::{
    super::{
        StoreError, StoreErrorKind, columns::from_sql, statement::Value, transaction::Transaction,
    },
    CountedPaths, MinuteCounts, TrafficSpan,
    add::{steps, sum_values},
    pack::unpacked,
    sql,
};

columns! {
    /// An access log that has been imported, or is about to be imported.
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub struct TrafficImport {
        /// The ID of the import, derived from the first lines of the log.
        pub import_id: String,
        /// The hash of the first line of the log.
        pub first_line: String,
        /// The length of the hashed beginning of the log, in bytes.
        pub head_bytes: u64,
        /// The hash of the beginning of the log.
        pub head: String,
        /// The file name of the imported log.
        pub name: String,
        /// The number of uncompressed bytes that have been counted.
        pub counted: u64,
        /// The number of requests that have been counted.
        pub requests: u64,
    }
}

/// The progress of an import since the previous call.
#[derive(Clone, Copy, Debug)]
pub struct ImportProgress<'p> {
    /// The state of the import before this progress.
    pub import: &'p TrafficImport,
    /// The new length and hash of the beginning of the log.
    pub head: (u64, &'p str),
    /// The number of uncompressed bytes counted so far.
    pub counted_to: u64,
    /// Counts of requests since the previous call.
    pub counted: &'p [MinuteCounts],
    /// Counts of paths since the previous call.
    pub paths: &'p [CountedPaths],
}

impl TrafficSums<'_> {
    /// Returns the imports of logs with the given first line, in decreasing order of the length of
    /// their known beginning.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn imports(self, first_line: &str) -> Result<Vec<TrafficImport>, StoreError> {
        let values = [first_line.into()];
        self.db.rows(&sql::IMPORTS, &values).await
    }

    /// Records the start of an import, unless the import already exists.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn begin_import(self, import: &TrafficImport, now_ms: i64) -> Result<(), StoreError> {
        let values = values![import; import_id, first_line, head_bytes, head, name; now_ms];
        self.db.run(&sql::BEGIN_IMPORT, &values).await
    }

    /// Adds newly counted requests from a log. Returns `false` and adds nothing if another process
    /// has counted them in the meantime.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails. The counts are always added completely or not at all.
    pub async fn import(
        self,
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
        let mut transaction = self.db.begin("add the counts of a log").await?;
        if transaction.execute(&sql::IMPORT, &values).await? == 0 {
            return Ok(false);
        }
        let noted = progress.counted.iter().map(|counted| {
            let count = counted.count;
            [
                (&import.import_id).into(),
                counted.minute.into(),
                counted.key.id().into(),
                count.requests.into(),
                count.bytes.into(),
                count.micros.into(),
                now_ms.into(),
            ]
        });
        let noted: Vec<[Value<'_>; sql::IMPORTED_COLUMNS]> = noted.collect();
        let noted = sql::IMPORTED.steps(noted.into_iter(), |values| *values);
        let steps = steps(progress.counted, progress.paths, "", &[]);
        transaction.commit_streaming(noted.chain(steps)).await?;
        Ok(true)
    }

    /// Returns the most recently updated imports.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn last_imports(self, limit: i64) -> Result<Vec<TrafficImport>, StoreError> {
        let values = [limit.into()];
        self.db.rows(&sql::LAST_IMPORTS, &values).await
    }

    /// Undoes an import, so that the log can be counted again. Returns the number of requests in
    /// the import.
    ///
    /// Path counts are not changed, since they are approximate.
    ///
    /// # Errors
    ///
    /// Returns `NotFound` if the import is unknown, `Conflict` if some of its counts are older than
    /// a week, or an error if the query fails. In each case, nothing is changed.
    pub async fn undo_import(self, import_id: &str) -> Result<u64, StoreError> {
        let mut transaction = self.db.begin("undo an import").await?;
        let id = [import_id.into()];
        let rows: Vec<(i64,)> = transaction.rows(&sql::FORGET_IMPORT, &id).await?;
        let Some((requests,)) = rows.first().copied() else {
            let text = format!("there is no import with the id {import_id:?}");
            return Err(StoreError::new(StoreErrorKind::NotFound, text));
        };
        let (noted,): (i64,) = transaction.one(&sql::IMPORTED_REQUESTS, &id).await?;
        if noted != requests {
            let text = format!(
                "cannot undo the import {import_id}: \
                 {} of its {requests} requests were counted more than a week ago",
                requests - noted
            );
            return Err(StoreError::new(StoreErrorKind::Conflict, text));
        }
        for span in TrafficSpan::ALL {
            self.unpack_imported(&mut transaction, import_id, span)
                .await?;
            let values = [
                import_id.into(),
                span.number().into(),
                span.minutes().into(),
            ];
            for statement in [&sql::SUBTRACT, &sql::REMOVE_EMPTY] {
                transaction.execute(statement, &values).await?;
            }
        }
        transaction.execute(&sql::FORGET_IMPORTED, &id).await?;
        transaction.commit().await?;
        Ok(from_sql(requests))
    }

    /// Converts the packed totals to which an import has contributed back into rows.
    async fn unpack_imported(
        self,
        transaction: &mut Transaction<'_>,
        import_id: &str,
        span: TrafficSpan,
    ) -> Result<(), StoreError> {
        let values = [
            import_id.into(),
            span.number().into(),
            span.minutes().into(),
        ];
        let taken: Vec<(i64, Vec<u8>)> = transaction.rows(&sql::IMPORTED_PACKED, &values).await?;
        for (began, packed) in taken {
            let sums = unpacked(transaction, span, began, &packed)?;
            let sums = sums.into_iter().map(|(id, count)| ((began, id), count));
            let sums: Vec<_> = sums.collect();
            for (statement, values) in sql::ADD.steps(sums.into_iter(), |sum| sum_values(span, sum))
            {
                transaction.execute(statement, &values).await?;
            }
        }
        Ok(())
    }
}
