//! Adds evidence, and removes evidence that is old or exceeds the limits.

use super::EvidenceRows;
use super::{
    super::{StoreError, statement::Value, traffic},
    BrokenRule, Evidence, sql,
};

/// The maximum number of rows per event, and per robot (per User-Agent for human visitors), so that
/// noisy clients do not displace evidence about other clients.
const MAX_OF_EVENT: i64 = 3_000;
const MAX_OF_ROBOT: i64 = 500;

/// Evidence to be added in a single transaction.
#[derive(Clone, Copy, Debug)]
pub struct EvidenceBatch<'b> {
    /// The ID of the writer, newly generated each time the process starts, and different from the
    /// traffic writer's ID.
    pub writer: &'b str,
    /// The number of the batch, which increases with each batch from the same writer.
    pub number: i64,
    /// Evidence to be added.
    pub noted: &'b [Evidence],
}

impl EvidenceRows<'_> {
    /// Adds a batch of evidence; does nothing if the batch was already added.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails. The batch is always added completely or not at all.
    pub async fn add(self, batch: &EvidenceBatch<'_>, now_ms: i64) -> Result<(), StoreError> {
        let mut transaction = self.db.begin(sql::ADD_WHAT).await?;
        if !traffic::is_next_batch(&mut transaction, batch.writer, batch.number, now_ms).await? {
            return Ok(());
        }
        let steps: Vec<_> = (sql::ADD.pieces(batch.noted))
            .map(|(statement, rows)| (statement, rows.iter().flat_map(values_of).collect()))
            .collect();
        transaction.commit_with::<(i64,)>(&steps).await.map(|_| ())
    }

    /// Removes evidence older than the given time, and the oldest evidence that exceeds the limits.
    ///
    /// The limits are 3,000 requests per event, and 500 per robot (per User-Agent for human
    /// visitors).
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn prune(self, before_ms: i64) -> Result<(), StoreError> {
        let old = [before_ms.into()];
        self.db.execute(&sql::PRUNE_OLD, &old).await?;
        // Robots are trimmed first, so that excess evidence about one robot does not displace that
        // about others.
        for (statement, most) in [
            (&sql::PRUNE_OF_ROBOT, MAX_OF_ROBOT),
            (&sql::PRUNE_OF_EVENT, MAX_OF_EVENT),
        ] {
            self.db.execute(statement, &[most.into()]).await?;
        }
        Ok(())
    }
}

fn values_of(noted: &Evidence) -> [Value<'_>; sql::COLUMNS] {
    let none = ("", 0, "", 0, "", 0, 0);
    let (broken, line, rule, group_line, group, delay_ms, gap_ms) = match &noted.broken {
        None => none,
        Some(BrokenRule::Rule {
            line,
            rule,
            group_line,
            group,
        }) => (sql::RULE, *line, &**rule, *group_line, &**group, 0, 0),
        Some(BrokenRule::Delay { delay_ms, gap_ms }) => {
            (sql::DELAY, 0, "", 0, "", *delay_ms, *gap_ms)
        }
    };
    values![
        noted; at_ms, event, site, kind, robot, verdict, decision, cause, status, method, host,
        path, address, user_agent, referrer, proof; broken, line, rule, group_line, group,
        delay_ms, gap_ms, &noted.suspect
    ]
}
