//! Deletion of stored data about visitors.

use super::EvidenceRows;
use super::{
    super::{AuditEntry, StoreError, audit, columns::from_sql, statement::Value, traffic},
    AddressNetwork, sql,
};

/// A filter for the data to delete: all rows that match every condition that is set.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DeletionFilter {
    /// The address or network of the visitors whose data is deleted.
    pub address: Option<AddressNetwork>,
    /// The ID of the robot whose data is deleted.
    pub robot: Option<String>,
    /// The time before which data is deleted, in milliseconds since the Unix epoch.
    pub before_ms: Option<i64>,
}

/// The numbers of rows that were deleted or would be deleted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct DeletedRows {
    /// The number of requests stored as evidence.
    pub evidence: u64,
    /// The number of requests whose address is stored only as a network; some may be from other
    /// visitors.
    pub of_networks: u64,
    /// The number of path count rows; each row counts the requests for a path in an hour or a day.
    pub paths: u64,
}

impl EvidenceRows<'_> {
    /// Counts the rows that [`delete`](Self::delete) would delete.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn count_matching(
        self,
        forgetting: &DeletionFilter,
    ) -> Result<DeletedRows, StoreError> {
        let values = forgetting.values();
        let rows = self.db.rows(&sql::ADDRESSES, &values).await?;
        let (_, mut rows) = forgetting.chosen(rows);
        if let Some(values) = forgetting.path_values() {
            let [count, _] = traffic::deletion_statements();
            let paths = self.db.rows::<(i64,)>(count, &values);
            rows.paths = paths
                .await?
                .into_iter()
                .map(|(paths,)| from_sql(paths))
                .sum();
        }
        Ok(rows)
    }

    /// Deletes stored data about visitors, except traffic totals, and records the deletion in the
    /// audit log.
    ///
    /// Everything is deleted in one transaction. Path counts are deleted in whole hours and days
    /// that began before the given time. If an address is given, path counts are retained, as they
    /// contain no addresses. The audit log entry contains only the network of the address.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is deleted.
    pub async fn delete(
        self,
        forgetting: &DeletionFilter,
        actor: &str,
        now_ms: i64,
    ) -> Result<DeletedRows, StoreError> {
        let mut transaction = self.db.begin(sql::FORGET.what).await?;
        let [robot, before] = forgetting.values();
        let rows = transaction.rows(&sql::ADDRESSES, &[robot, before]).await?;
        let (addresses, mut forgotten) = forgetting.chosen(rows);
        forgotten.evidence = 0;
        for address in &addresses {
            let values = [address.into(), robot, before];
            forgotten.evidence += transaction.execute(&sql::FORGET, &values).await?;
        }
        if let Some(values) = forgetting.path_values() {
            let [_, forget] = traffic::deletion_statements();
            forgotten.paths = transaction.execute(forget, &values).await?;
            transaction
                .execute(traffic::parameters::deletion_statement(), &values)
                .await?;
        }
        let entry = AuditEntry {
            at_ms: now_ms,
            actor: actor.to_owned(),
            event: "visitors-forgotten".to_owned(),
            subject: forgetting.subject(),
            detail: format!(
                "{} evidence requests, {} path count rows",
                forgotten.evidence, forgotten.paths
            ),
        };
        audit::add_to(&mut transaction, &entry).await?;
        transaction.commit().await?;
        Ok(forgotten)
    }
}

impl DeletionFilter {
    /// Returns the values that select path counts, or `None` if an address is given, as path counts
    /// contain none.
    fn path_values(&self) -> Option<[Value<'_>; 2]> {
        let before = self.before_ms.map(|before_ms| before_ms.div_euclid(60_000));
        let values = [Value::Text(self.robot.as_deref()), Value::Int(before)];
        self.address.is_none().then_some(values)
    }

    fn values(&self) -> [Value<'_>; 2] {
        let robot = self.robot.as_deref().unwrap_or_default();
        [robot.into(), self.before_ms.unwrap_or(i64::MAX).into()]
    }

    /// Returns the stored addresses that match the filter, and the number of their rows.
    fn chosen(&self, rows: Vec<(String, i64)>) -> (Vec<String>, DeletedRows) {
        let mut rows_of_all = DeletedRows::default();
        let is_meant = |kept: &str| self.address.is_none_or(|meant| meant.overlaps(kept));
        let chosen = rows.into_iter().filter(|(kept, _)| is_meant(kept));
        let addresses = chosen.map(|(kept, rows)| {
            rows_of_all.evidence += from_sql(rows);
            if kept.contains('/') {
                rows_of_all.of_networks += from_sql(rows);
            }
            kept
        });
        (addresses.collect(), rows_of_all)
    }

    /// Returns the subject of the audit log entry, which does not contain a complete address.
    fn subject(&self) -> String {
        let address = self
            .address
            .map(|meant| format!("address in {}", meant.widened()));
        let robot = self.robot.as_ref().map(|robot| format!("robot {robot}"));
        let before = self
            .before_ms
            .map(|before_ms| format!("before {before_ms} ms"));
        let all = [address, robot, before].into_iter().flatten();
        all.collect::<Vec<_>>().join(", ")
    }
}
