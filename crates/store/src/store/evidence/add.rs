//! What was noted is added, and what is too much or too old goes.

use super::EvidenceRows;
use super::{
    super::{StoreError, statement::Value, traffic},
    BrokenRule, Evidence, sql,
};

/// Rows of one event that are kept, and of one robot or, of people, one User-Agent among them: who
/// is noisy pushes out nobody else.
const MAX_OF_EVENT: i64 = 3_000;
const MAX_OF_ROBOT: i64 = 500;

/// What a writer adds in one transaction.
#[derive(Clone, Copy, Debug)]
pub struct EvidenceBatch<'b> {
    /// Who writes: another name for each start of a process, and another one than of traffic.
    pub writer: &'b str,
    /// Number of the batch: each is higher than the one before.
    pub number: i64,
    /// What was noted.
    pub noted: &'b [Evidence],
}

impl EvidenceRows<'_> {
    /// Adds a batch of evidence; of a batch that was added already, nothing.
    ///
    /// # Errors
    ///
    /// Fails when the database does; then nothing was added, or all of it.
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

    /// Removes evidence of before a time, and the oldest of what there is too much of.
    ///
    /// Kept are 3,000 requests of each event, 500 of one robot, or of one User-Agent of people, among
    /// them.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn prune(self, before_ms: i64) -> Result<(), StoreError> {
        let old = [before_ms.into()];
        self.db.execute(&sql::PRUNE_OLD, &old).await?;
        // First by robot: what one has too much of must not count against the others.
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
