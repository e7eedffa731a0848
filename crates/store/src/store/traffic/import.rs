//! Logs that were written before, or by others, are counted once.

use super::TrafficSums;
use super::{
    super::{
        StoreError, StoreErrorKind, columns::from_sql, statement::Value, transaction::Transaction,
    },
    CountedMinute, CountedPaths, TrafficSpan,
    add::{steps, sum_values},
    pack::unpacked,
    sql,
};

columns! {
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

impl TrafficSums<'_> {
    /// Returns the logs that begin with a line, those of which most is known first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn imports(self, first_line: &str) -> Result<Vec<TrafficImport>, StoreError> {
        let values = [first_line.into()];
        self.db.rows(&sql::IMPORTS, &values).await
    }

    /// Notes a log of which nothing has been counted, unless it is there already.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn begin_import(self, import: &TrafficImport, now_ms: i64) -> Result<(), StoreError> {
        let values = values![import; import_id, first_line, head_bytes, head, name; now_ms];
        self.db.run(&sql::BEGIN_IMPORT, &values).await
    }

    /// Adds what was counted of a log; returns `false` where somebody else has counted it
    /// meanwhile, and nothing was added.
    ///
    /// # Errors
    ///
    /// Fails when the database does; then nothing was added, or all of it.
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
        let mut transaction = self.db.begin("count a log").await?;
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
        transaction.commit_as_made(noted.chain(steps)).await?;
        Ok(true)
    }

    /// Returns the logs that were counted last.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn last_imports(self, limit: i64) -> Result<Vec<TrafficImport>, StoreError> {
        let values = [limit.into()];
        self.db.rows(&sql::LAST_IMPORTS, &values).await
    }

    /// Subtracts what was counted of a log, which can be counted again then; returns the requests.
    ///
    /// Paths stay, as their numbers are approximate.
    ///
    /// # Errors
    ///
    /// `NotFound` for an unknown log, `Conflict` for one whose counts are older than a week; else as
    /// the database fails. Nothing has changed then.
    pub async fn undo_import(self, import_id: &str) -> Result<u64, StoreError> {
        let mut transaction = self.db.begin("undo an import").await?;
        let id = [import_id.into()];
        let rows: Vec<(i64,)> = transaction.rows(&sql::FORGET_IMPORT, &id).await?;
        let Some((requests,)) = rows.first().copied() else {
            let text = format!("no log with the id {import_id:?} was imported");
            return Err(StoreError::new(StoreErrorKind::NotFound, text));
        };
        let (noted,): (i64,) = transaction.one(&sql::IMPORTED_REQUESTS, &id).await?;
        if noted != requests {
            let text = format!(
                "the import {import_id} cannot be undone: \
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

    /// Makes rows of the packed sums that an import has added to.
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
