//! What is kept of a visitor is forgotten.

use super::EvidenceRows;
use super::{
    super::{AuditEntry, StoreError, audit, columns::from_sql, statement::Value, traffic},
    AddressNetwork, sql,
};

/// What is to be forgotten: all that fits each of the conditions that are set.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Forgetting {
    /// Address, or network of addresses.
    pub address: Option<AddressNetwork>,
    /// Id of a robot.
    pub robot: Option<String>,
    /// Time in milliseconds since 1970: what came before.
    pub before_ms: Option<i64>,
}

/// What was forgotten, or would be.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ForgottenRows {
    /// Requests of the evidence.
    pub evidence: u64,
    /// Those among them of which only a network was kept, so that they may be somebody else's.
    pub of_networks: u64,
    /// Rows of paths: what of a robot, or of people, was asked for most in an hour or a day.
    pub paths: u64,
}

impl EvidenceRows<'_> {
    /// Counts what [`forget`](Self::forget) would forget.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn count_forgettable(
        self,
        forgetting: &Forgetting,
    ) -> Result<ForgottenRows, StoreError> {
        let values = forgetting.values();
        let rows = self.db.rows(&sql::ADDRESSES, &values).await?;
        let (_, mut rows) = forgetting.chosen(rows);
        if let Some(values) = forgetting.path_values() {
            let [count, _] = traffic::forgetting();
            let paths = self.db.rows::<(i64,)>(count, &values);
            rows.paths = paths
                .await?
                .into_iter()
                .map(|(paths,)| from_sql(paths))
                .sum();
        }
        Ok(rows)
    }

    /// Forgets what is kept of visitors, and records that with who did it; sums have nobody's name.
    ///
    /// All of it happens in one transaction. Of paths whole hours and days go that began before
    /// the time; where an address is named they stay, as they have none. The record tells the network of an address, not
    /// the address.
    ///
    /// # Errors
    ///
    /// Fails when the database does; then nothing was forgotten.
    pub async fn forget(
        self,
        forgetting: &Forgetting,
        actor: &str,
        now_ms: i64,
    ) -> Result<ForgottenRows, StoreError> {
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
            let [_, forget] = traffic::forgetting();
            forgotten.paths = transaction.execute(forget, &values).await?;
        }
        let entry = AuditEntry {
            at_ms: now_ms,
            actor: actor.to_owned(),
            event: "visitors-forgotten".to_owned(),
            subject: forgetting.subject(),
            detail: format!(
                "{} requests of the evidence, {} rows of paths",
                forgotten.evidence, forgotten.paths
            ),
        };
        audit::add_to(&mut transaction, &entry).await?;
        transaction.commit().await?;
        Ok(forgotten)
    }
}

impl Forgetting {
    /// Returns what says which paths are meant; `None` for an address, as paths have none.
    fn path_values(&self) -> Option<[Value<'_>; 2]> {
        let before = self.before_ms.map(|before_ms| before_ms.div_euclid(60_000));
        let values = [Value::Text(self.robot.as_deref()), Value::Int(before)];
        self.address.is_none().then_some(values)
    }

    fn values(&self) -> [Value<'_>; 2] {
        let robot = self.robot.as_deref().unwrap_or_default();
        [robot.into(), self.before_ms.unwrap_or(i64::MAX).into()]
    }

    /// Returns the addresses that are meant, and how many rows they have.
    fn chosen(&self, rows: Vec<(String, i64)>) -> (Vec<String>, ForgottenRows) {
        let mut rows_of_all = ForgottenRows::default();
        let is_meant = |kept: &str| self.address.is_none_or(|meant| meant.concerns(kept));
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

    /// Returns what is meant, for the log of changes, which keeps no address.
    fn subject(&self) -> String {
        let address = self
            .address
            .map(|meant| format!("address in {}", meant.coarse()));
        let robot = self.robot.as_ref().map(|robot| format!("robot {robot}"));
        let before = self
            .before_ms
            .map(|before_ms| format!("before {before_ms} ms"));
        let all = [address, robot, before].into_iter().flatten();
        all.collect::<Vec<_>>().join(", ")
    }
}
